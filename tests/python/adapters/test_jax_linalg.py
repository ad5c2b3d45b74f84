"""wellposed.jax.linalg: under jit, vmap, jvp and grad; policies, diagnoses, and derivatives against exact answers."""
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hard_gradients as hard
import wellposed as wp
from wellposed.jax import linalg

jax.config.update("jax_enable_x64", True)
N = types.SimpleNamespace(la=linalg, sum=jnp.sum, real=jnp.real, conj=jnp.conj, log=jnp.log, sqrt=jnp.sqrt, mT=lambda x: jnp.swapaxes(x, -1, -2),
                          like=lambda s, u: s.astype(u.dtype), diagonal=lambda x: jnp.diagonal(x, axis1=-2, axis2=-1))


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("case", [pytest.param((c, loss, name), id=name) for c, loss, name in hard.cases()])
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_hard_gradient(case, jit):
    c, loss, name = case
    arrays = hard.inputs(c)
    order = (c.get("params") or {}).get("order", 1)
    a, *rest = map(jnp.asarray, arrays)
    if order == 2:
        def gradient(a):
            return jax.grad(lambda t: (jax.grad(lambda s: jnp.real(loss(N, s, *rest[:-1])))(t) * rest[-1]).sum())(a)
    else:
        def gradient(a):
            return jnp.conj(jax.grad(lambda t: jnp.real(loss(N, t, *rest)))(a))  # JAX's gradient is the conjugate
    run = jax.jit(gradient) if jit else gradient
    if order == 2 and name.endswith("through"):
        with pytest.raises(wp.GradientError, match="second derivatives"):
            run(a)
        return
    if c["expect"] == "undefined" or hard.needs_more_than_cotangents(c):
        try:
            assert np.isnan(np.asarray(run(a))).any()  # inside a compiled program there is no raising from a rule
            assert jit
        except (wp.Error, jax.errors.JaxRuntimeError):
            pass
        return
    hard.judge(c, arrays[0], run(a))


def spd(n, seed=0, batch=()):
    x = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return jnp.asarray(x @ np.swapaxes(x, -1, -2) + n * np.eye(n))


CHECKED = {
    "inv": lambda a: linalg.inv(a), "solve": lambda a: linalg.solve(a, a[..., 0]), "pinv": lambda a: linalg.pinv(a[..., :2]),
    "lstsq": lambda a: linalg.lstsq(a[..., :2], a[..., 2:]), "svdvals": lambda a: linalg.svdvals(a), "eigvalsh": lambda a: linalg.eigvalsh(a),
    "cholesky": lambda a: linalg.cholesky(a), "logdet": lambda a: linalg.logdet(a), "det": lambda a: linalg.det(a), "qr": lambda a: linalg.qr(a)[1],
    "polar": lambda a: linalg.polar(a)[0], "sqrtm": lambda a: linalg.sqrtm(a), "logm": lambda a: linalg.logm(a),
    "svd": lambda a: (lambda f: (f.U * f.S[..., None, :]) @ f.Vh @ a)(linalg.svd(a, full_matrices=False)),
    "ridge": lambda a: linalg.solve(a, a[..., :1], ridge=0.5),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_derivatives_agree_with_differences(name, jit):
    from jax.test_util import check_grads
    f = CHECKED[name]
    g = (lambda x: f((x + x.T) / 2))
    check_grads(jax.jit(g) if jit else g, (spd(3, 1),), order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["inv", "solve", "svdvals", "det", "cholesky"])
def test_vmap_makes_batches(name):
    f, a = CHECKED[name], spd(3, 2, (4, 5))
    one_by_one = jnp.stack([jnp.stack([f(m) for m in row]) for row in a])
    assert jnp.array_equal(jax.vmap(jax.vmap(f))(a), one_by_one)
    assert jnp.array_equal(jax.jit(jax.vmap(jax.vmap(f), in_axes=1, out_axes=1))(a), one_by_one)
    per = jax.vmap(jax.vmap(jax.grad(lambda x: f(x).sum())))(a)
    assert jnp.allclose(per, jax.grad(lambda x: jax.vmap(jax.vmap(f))(x).sum())(a))


def test_one_matrix_and_many_right_hand_sides():
    a, b = spd(3), jnp.ones((7, 3))
    assert jnp.allclose(jax.vmap(lambda v: linalg.solve(a, v))(b), jnp.linalg.solve(a, b.T).T)


def test_a_singular_member_is_named_also_under_jit():
    a = spd(2, 0, (4,)).at[2].set(jnp.array([[1.0, 1.0], [1.00001, 1.00001]]))
    with pytest.raises(wp.SingularMatrix, match="Row 1 = 1.00001 × row 0"):
        linalg.inv(a)
    with pytest.raises(jax.errors.JaxRuntimeError, match="matrix 2 of 4"):
        jax.block_until_ready(jax.jit(linalg.inv)(a))
    value = jax.jit(lambda a: linalg.inv(a, if_ill="nan"))(a)
    assert jnp.isnan(value[2]).all() and jnp.isfinite(value[3]).all()
    value, d = linalg.diagnosed.inv(a)
    assert d.status[2] == "singular"
    value, verdict = jax.jit(linalg.diagnosed.inv)(a)
    assert linalg.STATUS[int(verdict.status[2])] == "singular" and int(verdict.status[0]) == 0 and jnp.isnan(value[2]).all()


def test_ties_are_refused_where_cotangents_do_not_tell():
    m = jnp.asarray(np.random.default_rng(0).normal(size=(3, 3)))

    def loss(a):
        f = linalg.svd(a, full_matrices=False)
        return (m * (f.U @ f.Vh)).sum()
    with pytest.raises(wp.GaugeError, match="through_svd"):
        jax.grad(loss)(2 * jnp.eye(3))
    g = jax.jit(jax.grad(lambda a: linalg.through_svd(a, lambda u, s, vh: (m * (u @ vh)).sum())))(2 * jnp.eye(3))
    assert jnp.allclose(g, (m - m.T) / 4, atol=1e-10)
    with pytest.raises(wp.GaugeError):
        jax.grad(lambda a: linalg.through_svd(a, lambda u, s, vh: (m * u).sum()))(2 * jnp.eye(3))
    with pytest.raises(wp.GradientError, match="second derivatives"):
        jax.hessian(lambda a: linalg.through_svd(a, lambda u, s, vh: (s**2).sum()))(jnp.diag(jnp.array([2.0, 1.0])))


def test_other_arguments_get_their_gradients():
    a, w = spd(3), jnp.asarray(np.random.default_rng(1).normal(size=(3, 3)))
    ga, gw = jax.grad(lambda a, w: linalg.through_svd(a, lambda u, s, vh, w: (w * ((u * s) @ vh)).sum(), w), argnums=(0, 1))(a, w)
    assert jnp.allclose(ga, w) and jnp.allclose(gw, a)
    root = linalg.eigh_apply(a, jnp.sqrt)
    assert jnp.allclose(root @ root, a)


def test_dtypes_and_refusals():
    a = spd(3)
    assert linalg.inv(a.astype(jnp.float32)).dtype == jnp.float32 and linalg.matrix_rank(a) == 3
    with pytest.raises(wp.ShapeError):
        linalg.inv(jnp.ones(3))
    with pytest.raises(wp.DtypeError):
        linalg.inv([[1.0]])
    c = a + 1j * (a - a.T)
    assert jnp.allclose(jax.jit(linalg.inv)(c) @ c, jnp.eye(3))
