"""Which op a derivative belongs to, where several stand on one line: in flat programs, under jit, in loops, computed again."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wellposed as wp
from points import report_of
from wellposed.jax import linalg, watch

X = jnp.array([0.0, 1.0, 4.0])


def rooted(x):
    return jnp.sum(jnp.exp(x) * jnp.sqrt(x) * jnp.log(x + 1) + jnp.tanh(x))


def masked(x):
    return jnp.sum(jnp.where(x > 0, jnp.cos(x) * jnp.log(x), 0.0))


def divided(x):
    return jnp.sum(jnp.where(x > 0, jnp.exp(x) * jnp.cos(x) / x, 0.0))


def raised(x):
    return jnp.sum(jnp.exp(-x) * jnp.sin(x + 1) * x**0.5)


def scanned(x):
    return jax.lax.scan(lambda c, r: (c + jnp.exp(r) * jnp.sqrt(r), None), 0.0, x)[0]


def again(x):
    return jnp.sum(jax.checkpoint(lambda x: jnp.exp(x) * jnp.sqrt(x))(x))


@pytest.mark.parametrize("wrapped", [jax.grad, lambda f: jax.jit(jax.grad(f)), lambda f: jax.grad(jax.jit(f)), jax.value_and_grad, lambda f: jax.grad(lambda x: f(1 * x))],
                         ids=["grad", "jit of grad", "grad of jit", "value and grad", "within"])
@pytest.mark.parametrize("f, op", [(rooted, "sqrt"), (masked, "log"), (divided, "div"), (raised, "pow"), (scanned, "sqrt"), (again, "sqrt")])
def test_a_derivative_is_that_of_the_op_that_made_it_and_of_no_other_on_the_line(wrapped, f, op):
    source = next(line for line in report_of(lambda: watch(wrapped(f))(X)).splitlines() if "Source" in line)
    assert f" in the derivative of {op}" in source and "made" in source, source


def test_what_the_forward_pass_makes_is_no_derivative():
    report = report_of(lambda: watch(jax.value_and_grad(lambda x: jnp.sum(jnp.exp(x) * jnp.log(x) / jnp.sqrt(x + 1))))(X))
    assert "Source: log[0] made -inf" in report, report


def test_linear_algebra_is_named_by_its_function():
    report = report_of(lambda: watch(lambda a: linalg.inv(a, if_ill="nan") * 2)(jnp.ones((2, 2))))
    assert "Source: linalg.inv[0, 0] made nan" in report, report


def test_an_argument_of_linear_algebra_that_is_nan_is_refused_by_name():
    with pytest.raises(wp.NonFiniteError, match=r"inv: x\[0, 0\] is nan"):
        watch(linalg.inv)(jnp.array([[jnp.nan, 1.0], [1.0, 2.0]]))


# ---- vmap over derivatives
A, B = np.random.default_rng(0).normal(size=(5, 4, 3, 3)) + 3 * np.eye(3), np.random.default_rng(1).normal(size=(5, 3, 2))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("derivative", [jax.grad, jax.jacfwd, jax.jacrev])
def test_mapped_derivatives_of_arguments_with_other_batches_are_those_of_each_member(derivative, which):
    def f(a, b):
        return (linalg.solve(a, b) ** 2).sum()
    with jax.enable_x64(True):
        a, b = jnp.asarray(A), jnp.asarray(B)
        mapped = jax.vmap(derivative(f, which))(a, b)
        assert np.allclose(mapped, [jax.grad(lambda a, b: (jnp.linalg.inv(a) @ b).__pow__(2).sum(), which)(x, y) for x, y in zip(a, b)])


def test_the_axes_of_a_norm_are_those_of_each_member():
    x = jnp.asarray(A[:, :2], jnp.float32)
    for axis in ((0, 1), (1, 2), (-2, -1), (0, 2)):
        mapped = jax.vmap(lambda y, axis=axis: linalg.matrix_norm(y, axis=axis))(x)
        assert np.allclose(mapped, [wp.linalg.matrix_norm(np.asarray(y), axis=axis) for y in x], rtol=1e-5)


@pytest.mark.parametrize("mode", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ["inv", "svdvals", "solve", "cholesky", "eigvalsh"])
def test_bfloat16_stays_what_it_is(mode, name):
    a = jnp.asarray([[2.0, 1.0], [1.0, 3.0]], jnp.bfloat16)
    function, more = getattr(linalg, name), (a,) if name == "solve" else ()
    found, wanted = mode(function)(a, *more), function(a.astype(jnp.float32), *(x.astype(jnp.float32) for x in more))
    assert found.dtype == jnp.bfloat16 and np.allclose(found.astype(jnp.float32), wanted, rtol=2**-7)
    gradient = mode(jax.grad(lambda a: function(a, *more).astype(jnp.float32).sum()))(a)
    assert gradient.dtype == jnp.bfloat16 and jnp.isfinite(gradient).all()
