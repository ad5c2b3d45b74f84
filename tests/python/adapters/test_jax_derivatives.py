"""Which op a derivative belongs to, where several stand on one line: in flat programs, under jit, in loops, computed again."""
import jax
import jax.numpy as jnp
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
    assert "Source: inv[0, 0] made nan" in report and "wellposed" not in report.replace("WP", ""), report


def test_an_argument_of_linear_algebra_that_is_nan_is_refused_by_name():
    with pytest.raises(wp.NonFiniteError, match=r"inv: x\[0, 0\] is nan"):
        watch(linalg.inv)(jnp.array([[jnp.nan, 1.0], [1.0, 2.0]]))
