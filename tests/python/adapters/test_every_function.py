"""Every function of wellposed.linalg through every adapter: the values are wellposed's own, eager and compiled."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

import points
import wellposed as wp
from wellposed.jax import linalg as in_jax
from wellposed.tensorflow import linalg as in_tensorflow
from wellposed.torch import linalg as in_torch

jax.config.update("jax_enable_x64", True)
R = np.random.default_rng(3)
SPD, A, TALL, V = points.spd(4, 1, (5,)), R.normal(size=(5, 4, 4)) + 3 * np.eye(4), R.normal(size=(5, 6, 4)), R.normal(size=(5, 4))
FLAT = A * [1, 1, 1, 0]  # of rank 3
OF_OBJECTS = {"cg", "gmres", "lsmr", "factored"}  # of wellposed's own
OF_FUNCTIONS = {"through_svd", "through_eigh", "svd_apply", "eigh_apply"}  # test_<framework>_linalg.py: they take a function of the framework
STRUCTURE = set("cross diagonal kron matmul matrix_transpose multi_dot outer tensordot trace vecdot".split())  # JAX's own there
OF_VALUES = {"null_space", "orth"}  # the shapes of the results depend on values
L, (P, LOWER, UPPER) = np.linalg.cholesky(SPD), (np.asarray(y) for y in wp.linalg.lu(wp.asarray(A)))
# name: calls of it, (arguments, options).
CALLS = {
    **{name: [((A,), {})] for name in "inv pinv svd svdvals qr eig eigvals det slogdet cond rcond matrix_rank expm polar lu schur diagonal matrix_transpose "
       "matrix_norm qr_pivoted multi_dot".split()},
    **{name: [((SPD,), {})] for name in "cholesky eigh eigvalsh logdet logm sqrtm ldl nearest_spd nearest_correlation".split()},
    **{name: [((A, np.swapaxes(TALL, -1, -2)), {}), ((A[0], V[0]), {})] for name in ("solve", "lstsq", "solve_triangular")},
    **{name: [((FLAT,), {})] for name in ("null_space", "orth", "projector")},
    "chol_update": [((L, V), {}), ((L, A), {"columns": True}), ((L[0], V), {}), ((L, 0.1 * V[0]), {"downdate": True})],
    "cho_solve": [((L, A), {}), ((L[0], V[0]), {})], "covariance": [((TALL,), {}), ((TALL,), {"shrinkage": "ledoit_wolf"})],
    "cross": [((V[:, :3], TALL[:, 0, :3]), {})], "eigh_generalized": [((A + np.swapaxes(A, -1, -2), SPD), {}), ((A[0] + A[0].T, SPD), {})],
    "householder_product": [((TALL, V), {}), ((TALL[0], V[0]), {})], "kron": [((A, TALL), {}), ((V[0], A[0]), {}), ((V[0], V[1]), {})],
    "low_rank": [((A, 2), {})], "lu_solve": [((P, LOWER, UPPER, A), {}), ((P[0], LOWER[0], UPPER[0], V[0]), {})],
    "matmul": [((A, SPD), {}), ((A, V[0]), {})], "matrix_power": [((A, 3), {}), ((SPD, -0.5), {})], "outer": [((V, V[::-1].copy()), {})],
    "randomized_svd": [((TALL, 2, 7, 0), {})], "solve_banded": [((TALL[:, :3] + [[0], [5], [0]], A, 1, 1), {}), ((TALL[0, :3] + [[0], [5], [0]], V[0], 1, 1), {})],
    "solve_sylvester": [((A, SPD, TALL[:, :4]), {})], "tensordot": [((A, SPD[0]), {}), ((A, SPD), {"x1_axes": (0, 1), "x2_axes": (0, 2)})],
    "solve_toeplitz": [((V + [9, 0, 0, 0], A), {}), ((V[0] + [9, 0, 0, 0], V[1]), {}), ((V + [9, 0, 0, 0], A, V[::-1].copy()), {})],
    "trace": [((A,), {}), ((A,), {"offset": 1})], "vecdot": [((V, TALL[:, 0]), {})],
    "vector_norm": [((A,), {}), ((A,), {"axis": 1}), ((A,), {"axis": (0, -1), "ord": 3.0}), ((A,), {"axis": -2, "ord": 1.0, "keepdims": True}),
                    ((A,), {"axis": 0, "ord": float("inf")})],
}
CALLS["inv"] += [((SPD,), {"shift": 0.5, "assume": "spd"}), ((A,), {"ridge": 0.5})]
CALLS["solve"] += [((SPD, A), {"shift": 0.5, "assume": "spd"})]
CALLS["matrix_norm"] += [((A,), {"ord": "nuc"}), ((A,), {"ord": 1})]
CALLS["multi_dot"] = [((A, SPD, A), {}), ((V[0], A[0], SPD[0], V[1]), {})]
WAYS = {
    "torch": (in_torch, torch.as_tensor, lambda f, xs: f(*xs)),
    "torch.func.vmap": (in_torch, torch.as_tensor, lambda f, xs: torch.func.vmap(f)(*xs)),
    "tensorflow": (in_tensorflow, tf.constant, lambda f, xs: f(*xs)),
    "tf.function": (in_tensorflow, tf.constant, lambda f, xs: tf.function(f)(*xs)),
    "jax": (in_jax, jnp.asarray, lambda f, xs: f(*xs)),
    "jax.jit": (in_jax, jnp.asarray, lambda f, xs: jax.jit(f)(*xs)),
    "jax.vmap": (in_jax, jnp.asarray, lambda f, xs: jax.vmap(f)(*xs)),
}


def names():
    own = {n for n in dir(wp.linalg) if not n.startswith("_") and callable(getattr(wp.linalg, n)) and not isinstance(getattr(wp.linalg, n), type)}
    return sorted(own)


def flat(y):
    return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]


def own(name, args, options):
    return flat(getattr(wp.linalg, name)(*(wp.asarray(a) if isinstance(a, np.ndarray) else a for a in args), **options))


@pytest.mark.parametrize("adapter", [in_torch, in_tensorflow, in_jax], ids=["torch", "tensorflow", "jax"])
def test_no_name_of_wellposed_is_missing(adapter):
    assert set(names()) == set(CALLS) | OF_FUNCTIONS | OF_OBJECTS
    there = set(names()) - OF_OBJECTS
    assert not there - set(dir(adapter)) and all(callable(getattr(adapter, n)) for n in there)
    for name in OF_OBJECTS:
        with pytest.raises(AttributeError, match=f"use wellposed.linalg.{name} on wellposed's tensors"):
            getattr(adapter, name)
    assert not {n for n in dir(wp.linalg.diagnosed) if n in CALLS} - set(dir(adapter.diagnosed))


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("way", WAYS)
def test_values_are_those_of_wellposed(way, name):
    adapter, tensor, run = WAYS[way]
    for args, options in CALLS[name]:
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        mapped = way.endswith("vmap")
        if mapped and (name in ("tensordot", "randomized_svd") or any(len(a) != 5 for a in arrays) or "axis" in options):
            continue  # not one member after the other

        def call(*xs):
            left = iter(xs)
            return getattr(adapter, name)(*(next(left) if isinstance(a, np.ndarray) else a for a in args), **options)
        xs = [tensor(a) for a in arrays]
        if name in OF_VALUES and way in ("jax.jit", "jax.vmap"):
            with pytest.raises(wp.ArgumentError, match="depends on values"):
                run(call, xs)
            continue
        one_by_one = mapped and name in ("vector_norm", "multi_dot")
        want = own(name, args, options) if not one_by_one else [np.stack([own(name, [a[i] for a in args], options)[0] for i in range(5)])]
        if way == "tf.function" and name not in OF_VALUES:
            outs = tf.function(call).get_concrete_function(*(tf.TensorSpec(x.shape, x.dtype) for x in xs)).outputs
            assert [tuple(y.shape) for y in outs] == [w.shape for w in want]
        got = flat(run(call, xs))
        assert [g.shape for g in got] == [w.shape for w in want] and [g.dtype for g in got] == [w.dtype for w in want]
        for g, w in zip(got, want):
            if name in STRUCTURE and adapter is in_jax or mapped:
                np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)
            else:
                np.testing.assert_array_equal(g, w)
