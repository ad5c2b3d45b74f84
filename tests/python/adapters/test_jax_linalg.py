"""wellposed.jax.linalg: under jit, vmap, jvp and grad; policies, diagnoses, and derivatives against exact answers."""
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import hard_gradients as hard
import points
import wellposed as wp
from wellposed.jax import _call, linalg

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
    if order == 2 and name.endswith("through") and jit:
        with pytest.raises(wp.GradientError, match="only first derivatives"):
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
    return jnp.asarray(points.spd(n, seed, batch))


@pytest.mark.parametrize("name", hard.CHECKED)
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_derivatives_agree_with_differences(name, jit):
    def f(x):
        return hard.CHECKED[name](N, (x + x.T) / 2)
    if jit and name in hard.FOLLOWED:
        check_grads(jax.jit(f), (spd(3, 1),), order=1, modes=["rev"], rtol=1e-4, atol=1e-4)
        with pytest.raises(wp.GradientError, match="outside of jit"):
            jax.jit(jax.grad(lambda x: jax.grad(lambda t: f(t).sum())(x).sum()))(spd(3, 1))
    else:
        check_grads(jax.jit(f) if jit else f, (spd(3, 1),), order=2, rtol=1e-4, atol=1e-4)


def test_one_right_hand_side_is_a_vector():
    a = spd(3)
    assert jnp.allclose(a @ linalg.solve(a, a[:, 0]), a[:, 0])
    check_grads(lambda x: linalg.solve(x, x[:, 0] * 2 + 1), (a,), order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["inv", "solve", "svdvals", "det", "cholesky"])
def test_vmap_makes_batches(name):
    a = spd(3, 2, (4, 5))

    def f(x):
        return hard.CHECKED[name](N, x)
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
    at_a_tie = jax.jacrev(jax.jacrev(lambda a: linalg.through_svd(a, lambda u, s, vh: (s**2).sum())))(2 * jnp.eye(2))  # of ‖A‖²
    assert jnp.allclose(at_a_tie.reshape(4, 4), 2 * jnp.eye(4), atol=1e-9)
    with pytest.raises(wp.GradientError, match="only first derivatives"):
        jax.jacrev(jax.jacrev(lambda a: linalg.through_svd(a, lambda u, s, vh, w: w * (s**2).sum(), jnp.ones(()))))(2 * jnp.eye(2))
    with pytest.raises(wp.ArgumentError, match="Hand it over"):
        jax.grad(lambda w: linalg.through_svd(jnp.eye(2), lambda u, s, vh: w * (s**2).sum()))(1.0)


def test_programs_for_a_gpu_are_refused_by_name_and_call_back_when_asked(monkeypatch):
    a = jnp.eye(2)
    for f in (linalg.inv, linalg.diagnosed.inv, jax.grad(lambda x: linalg.inv(x).sum())):
        with pytest.raises(wp.ArgumentError, match=r'inv: an array is on cuda; wellposed computes on the CPU.*device="copy"'):
            jax.jit(f).trace(a).lower(lowering_platforms=("cuda",))
    hosts = []

    def callback(host, like, *xs):  # JAX's own wants the GPU to be there
        hosts.append(host)
        return [jnp.zeros(t.shape, t.dtype) for t in like]
    monkeypatch.setattr(jax, "pure_callback", callback)
    jax.jit(lambda x: linalg.inv(x, device="copy")).trace(a).lower(lowering_platforms=("cuda",))
    assert np.array_equal(hosts[0](np.array([[2.0, 0.0], [0.0, 4.0]]))[0], [[0.5, 0.0], [0.0, 0.25]])
    with pytest.raises(wp.ArgumentError, match='device must be "copy"'):
        linalg.inv(a, device="gpu")


def test_arrays_on_a_gpu_are_refused_by_name_and_copied_when_asked(monkeypatch):
    monkeypatch.setattr("wellposed.jax._call.elsewhere", lambda x: "on cuda:0")
    a = spd(2)
    for f in (linalg.inv, linalg.diagnosed.inv):
        with pytest.raises(wp.ArgumentError, match="an array is on cuda:0"):
            f(a)
    assert jnp.allclose(linalg.inv(a, device="copy") @ a, jnp.eye(2)) and linalg.diagnosed.inv(a, device="copy")[1].status == "ok"
    assert jnp.allclose(jax.grad(lambda x: linalg.logdet(x, device="copy"))(a), linalg.inv(a, device="copy"))


def test_results_of_every_kind_come_out_of_compiled_programs():
    a = spd(3, 3, (5,))
    for f in (linalg.inv, linalg.svd, linalg.eigh, linalg.slogdet, linalg.matrix_rank, linalg.lu, lambda x: linalg.solve(x, x[..., :1]), lambda x: linalg.low_rank(x, 2),
              lambda x: linalg.inv(x, ridge=0.5), lambda x: linalg.inv(x[:0]), lambda x: linalg.eigvalsh(x, uplo="lower"), linalg.diagnosed.inv):
        plain, compiled = f(a), jax.jit(f)(a)
        for x, y in zip(jax.tree_util.tree_leaves(plain if f is not linalg.diagnosed.inv else plain[0]), jax.tree_util.tree_leaves(compiled)):
            assert x.dtype == y.dtype and jnp.array_equal(x, y)
    with pytest.raises(TypeError, match="has no argument"):
        jax.jit(lambda x: linalg.inv(x, upside="down"))(a)


def test_warnings_of_compiled_programs_are_told():
    with pytest.warns(wp.FindingWarning, match="WP-LIN-002"):
        jax.block_until_ready(jax.jit(lambda x: linalg.inv(x, if_ill="warn"))(jnp.ones((2, 2))))


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


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("case", list(hard.pinv_at_ties()), ids=["square", "tall"])
def test_gradient_of_pinv_at_equal_singular_values(case, jit):
    a, w, exact = case
    f = jax.grad(lambda a: (w * linalg.pinv(a)).sum())
    np.testing.assert_allclose((jax.jit(f) if jit else f)(jnp.asarray(a)), exact, rtol=1e-13, atol=1e-13)


def test_vmap_is_one_call_of_a_batch_and_compiled_programs_call_through_the_foreign_function_interface(monkeypatch):
    calls, inv = [], wp.linalg.inv
    _call._known_function.cache_clear()
    monkeypatch.setattr(wp.linalg, "inv", lambda x, **options: calls.append(x.shape) or inv(x, **options))
    a = spd(3, batch=(5,))
    mapped = jax.vmap(linalg.inv)(a)
    _call._known_function.cache_clear()
    assert calls == [(5, 3, 3)] and jnp.array_equal(mapped, linalg.inv(a))
    monkeypatch.undo()
    _call._known_function.cache_clear()
    for f in (linalg.inv, jax.vmap(linalg.inv)):
        assert jax.jit(f).lower(a).as_text().count("custom_call @wellposed(") == 1


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap, lambda f: jax.jit(jax.vmap(f))], ids=["plain", "jit", "vmap", "jit of vmap"])
def test_subnormal_numbers_are_numbers_also_in_the_threads_of_compiled_programs(wrap):
    """XLA's threads flush them to zero."""
    for stack in (2, 300):
        a = jnp.asarray(np.stack([np.diag([3e-310, 1e-310])] * stack))
        assert np.array_equal(np.asarray(wrap(linalg.svdvals)(a)), [[3e-310, 1e-310]] * stack)
