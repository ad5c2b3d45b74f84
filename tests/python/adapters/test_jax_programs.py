"""The eight buggy programs of examples/crash_hunt, written in JAX, and five healthy models."""
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse

import wellposed as wp
from points import check, hidden, killed, line_of, notes_of, report_of
from wellposed.jax import watch
from wellposed.jax._interpret import Interpreter

jax.config.update("jax_enable_x64", True)


def normal(seed, shape, dtype=jnp.float32):
    return jax.random.normal(jax.random.PRNGKey(seed), shape, dtype)


# ---- log of zero
def log_model(w, x):
    with jax.named_scope("features"):
        f = jnp.log(x) - jnp.log(x + 1)  # here
    return jnp.tanh(jnp.tanh(f @ w) @ w)


def log_loss(w, x):
    return (log_model(w, x) * 0 + log_model(w, x) * jnp.exp(f_of(x))).mean()


def f_of(x):
    return x.sum() * 0


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.value_and_grad, lambda f: jax.jit(jax.value_and_grad(f))], ids=["plain", "jit", "grad", "jit-grad"])
def test_log_of_zero(wrap):
    x = jnp.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 0.0, 8.0]])
    w = jnp.array(np.diag([0.0, 1.0, 0.0, 1.0]))
    report = report_of(lambda: watch(wrap(lambda w, x: log_loss(w, x)))(w, x))
    missing = check(report, op=r"Source: log\[", scope="scope features", line=line_of(log_model), file=__file__, element=r"log\[1, 2\]", operands=r"x\[1, 2\] = 0",
                    origin="made -inf")
    assert not missing, report


# ---- zero by zero
def shares(counts):
    with jax.named_scope("normalize"):
        return counts / counts.sum(1, keepdims=True)  # here


def test_zero_by_zero():
    counts = np.floor(np.random.default_rng(7).random((64, 5)) * 4) + 1
    counts[41] = 0
    order = np.random.default_rng(1).permutation(64)
    w = watch(jax.jit(lambda x: (shares(x) * jnp.log(shares(x) + 1e-9)).sum()))

    def run():
        for b in range(4):
            ids = order[16 * b:16 * b + 16]
            w(w.rows(jnp.asarray(counts[ids]), ids, "counts"))
    report = report_of(run)
    missing = check(report, op=r"Source: div\[", scope="scope normalize", line=line_of(shares), file=__file__, element=r"div\[\d+, 0\]",
                    operands=r"x1\[\d+, 0\] = 0, x2\[\d+, 0\] = 0", origin="It rests on counts row 41")
    assert not missing, report


# ---- a masked branch
def masked(x):
    y = jnp.log(x)  # here
    return jnp.where(x > 0, y, 0.0).sum()


def test_masked_branch():
    x = jnp.array([1.0, 0.0, 4.0])
    assert watch(masked)(x) == pytest.approx(np.log(4.0))  # the forward pass is fine
    report = report_of(lambda: watch(jax.jit(jax.grad(masked)))(x))
    missing = check(report, op=r"Source: div in the derivative of log\[", scope=None, line=line_of(masked), file=__file__, element=r"log\[1\]",
                    operands=r"x1\[1\] = 0, x2\[1\] = 0", origin="made nan")
    assert not missing, report


# ---- divergence
def line(w, x, y):
    return jnp.square(x @ w - y).mean()  # here


@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_divergence():
    x, y, w0 = normal(1, (64, 8)), normal(2, (64, 1)), normal(3, (8, 1))
    step = watch(jax.jit(jax.value_and_grad(line)), trends=True)

    def run():
        w = {"w": w0}
        for _ in range(400):
            loss, g = step(w["w"], x, y)
            step.see(w, {"w": g})
            w = {"w": w["w"] - 1.1 * g}
    report = report_of(run)
    missing = check(report, op=r"Source: (square|mul|integer_pow|reduce_sum)", scope=None, line=line_of(line), file=__file__, element=r"\[\d+, 0\]",
                    operands=r"= -?\d\.\d+e\+\d\d", origin="made inf")
    assert not missing, report
    assert any(f.code == "WP-TRD-001" and 0 <= f.step < 30 for f in step.findings)


# ---- a bad row
def regression(w, x, y):
    return jnp.square((x - x.mean(1, keepdims=True)) @ w - y).mean()  # here


def test_bad_row():
    data = np.array(normal(3, (10000, 6)))
    data[7311, 4] = np.nan
    target, order = np.array(normal(4, (10000, 1))), np.random.default_rng(2).permutation(10000)
    step = watch(jax.jit(jax.value_and_grad(regression)))

    def run():
        w = normal(5, (6, 1))
        for b in range(100):
            ids = order[100 * b:100 * b + 100]
            _, g = step(w, step.rows(jnp.asarray(data[ids]), ids), jnp.asarray(target[ids]))
            w = w - 0.01 * g
    report = report_of(run)
    missing = check(report, op=r"first read by (sub|reduce_sum)", scope=None, line=line_of(regression), file=__file__, element="column 4", operands="= nan",
                    origin="data row 7311")
    assert not missing, report


# ---- overflow of exp
def softmax(logits):
    with jax.named_scope("softmax"):
        e = jnp.exp(logits)  # here
        return e / e.sum(-1, keepdims=True)


def test_exp_overflow():
    x = np.array(normal(5, (32, 4)))
    x[17, 2] = 900
    w = watch(jax.jit(jax.vmap(softmax)))
    report = report_of(lambda: w(w.rows(jnp.asarray(x), range(32), "features")))
    missing = check(report, op=r"Source: exp\[", scope="scope softmax", line=line_of(softmax), file=__file__, element=r"exp\[17, 2\]", operands=r"x\[17, 2\] = 900",
                    origin="features row 17")
    assert not missing, report


# ---- an index out of range
def embed(table, tokens):
    with jax.named_scope("embed"):
        return jnp.take(table, tokens, axis=0).sum()  # here


def test_index_out_of_range():
    tokens = jnp.array([[3, 17, 999, 4], [12, 8, 5, 6], [2, 1000, 7, 9]])
    w = watch(jax.jit(embed), data={"tokens": tokens})
    report = report_of(lambda: w(jnp.ones((1000, 8)), tokens[jnp.array([2, 0])]))
    missing = check(report, op=r"Source: gather", scope="scope embed", line=line_of(embed), file=__file__, element=r"indices\[0, 1\]", operands=r"= 1000, axis 0 has length 1000",
                    origin="tokens row 2")
    assert not missing, report


# ---- killed
KILLED = textwrap.dedent("""
    import os, signal, sys, jax, jax.numpy as jnp, numpy as np
    from wellposed.jax import watch
    data = np.random.default_rng(0).normal(size=(512, 16)).astype("float32")
    def loss(w, x, kill):
        def out(z):
            if kill: os.kill(os.getpid(), signal.SIGKILL)
            return z
        z = jnp.tanh(x @ w)
        if kill: z = jax.pure_callback(out, z, z)
        return jnp.square(z).mean()
    step = watch(jax.value_and_grad(loss), record=sys.argv[1])
    w = jnp.full((16, 4), 0.1)
    for k in range(8):
        step.set_step(k)
        x = step.rows(jnp.asarray(data[64 * k:64 * k + 64]), range(64 * k, 64 * k + 64))
        if k == 7: step.f = lambda w, x, kill: loss(w, x, True)
        w = w - 0.1 * step(w, x, False)[1]  # here
    """)


def test_killed_in_training(tmp_path):
    report, line_number = killed(KILLED, tmp_path)
    missing = check(report, op=r"The call in flight\n  loss\b", scope=None, line=line_number, file="train.py", element="rows 448 to 511", operands=r"f32 \[64, 16\], 8 sampled in",
                    origin="killed without a word")
    assert not missing, report


# ---- healthy models
def attention(x, w):
    q, k, v = (x @ w[i] for i in range(3))
    n = x.shape[-2]
    mask = jnp.triu(jnp.full((n, n), -jnp.inf), 1)
    return (jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) + mask) @ v).mean()


def mixed(x, w):
    return (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32).mean()


def dropout(x, w):
    keep = jax.random.bernoulli(jax.random.PRNGKey(0), 0.5, x.shape)
    return jnp.where(keep, x / 0.5, 0).mean() * w.mean()


def embedding(x, w):
    return jax.nn.log_softmax(jnp.take(w, jnp.array([0, 1, 2]), axis=0)).mean() + x.mean()


def batch_norm(x, w):
    m, v = x.mean(0), x.var(0)
    def body(c, t):
        return jnp.maximum(c, t), jnp.where(t > 0, jnp.log(jnp.where(t > 0, t, 1)), 0)
    top, logs = jax.lax.scan(body, jnp.full(x.shape[1:], -jnp.inf), x)
    return ((x - m) / jnp.sqrt(v + 1e-5)).mean() + top.max() + logs.mean() + jnp.where(v > 0, 1 / v, 0).mean()


@pytest.mark.parametrize("model", [attention, mixed, dropout, embedding, batch_norm])
def test_no_alarm_and_the_same_numbers(model):
    x = normal(1, (6, 8)) if model is not attention else normal(1, (2, 6, 8))
    w = normal(2, (3, 8, 8)) if model is attention else normal(2, (8, 8))
    for f in (model, jax.jit(jax.value_and_grad(model, argnums=1))):
        for every_op in (False, True):
            watched = watch(f, every_op=every_op)
            assert jax.tree_util.tree_all(jax.tree_util.tree_map(lambda a, b: bool((a == b).all()), watched(x, w), f(x, w)))
            assert not watched.findings


def test_a_step_that_leaves_out_what_overflows_in_half_precision_raises_nothing():
    def step(w, x, scale):
        g = jax.grad(lambda v: (scale * (x.astype(jnp.float16) @ v.astype(jnp.float16)).astype(jnp.float32)).sum())(w) / scale
        good = jnp.isfinite(g).all()
        return jnp.where(good, w - 0.1 * g, w), jnp.where(good, scale, scale / 2)
    w = watch(jax.jit(step))
    out, scale = w(jnp.ones((4, 1)), jnp.full((2, 4), 3.0), jnp.float32(2.0**20))
    assert not w.findings and (out == 1).all() and scale == 2.0**19


def test_infinities_that_were_put_in_pass_and_levels_warn():
    assert watch(lambda x: jnp.where(x > 0, x, jnp.inf))(jnp.array([1.0, -1.0]))[1] == jnp.inf
    w = watch(lambda x: jnp.log(x), level="warn")
    with pytest.warns(wp.NonFiniteWarning, match="log"):
        assert w(jnp.zeros(2))[0] == -jnp.inf
    w = watch(lambda x: jnp.log(x), level="off")
    w(jnp.zeros(2))
    assert not w.findings


@pytest.mark.parametrize("f, op", [
    (lambda x: jax.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 1e200), (0, x))[1].sum(), "mul"),
    (lambda x: jax.lax.cond(x.sum() > 0, lambda t: t / 0, lambda t: t, x).sum(), "div"),
    (lambda x: jax.lax.scan(lambda c, t: (c / (t - 2), c), 1.0, jnp.arange(4.0))[0] + x.sum(), "div"),
    (lambda x: jax.vmap(lambda t: jnp.sqrt(t - 2))(x).sum(), "sqrt"),
    (lambda x: jax.checkpoint(lambda t: jnp.log(t - 1))(x).sum(), "log"),
    (lambda x: jax.grad(lambda t: jnp.sqrt(t - 1).sum())(x).sum(), "div in the derivative of sqrt[0] made inf of x1 = 0.5"),  # 0.5/√x
    (lambda x: jax.jit(jax.jit(lambda t: 1 / (t - 1)))(x).sum(), "div")], ids=["while", "cond", "scan", "vmap", "checkpoint", "grad", "jit"])
def test_control_flow_and_transformations_are_entered(f, op):
    report = report_of(lambda: watch(f)(jnp.ones(3)))
    assert op in report.partition("Source:")[2].partition("\n")[0], report


@pytest.mark.parametrize("loop", [
    lambda x: jax.lax.while_loop(lambda c: c[0] < 6, lambda c: (c[0] + 1, jnp.minimum(c[1], jnp.inf), jnp.sqrt(c[2] - 2)), (0, jnp.inf, x))[1:],
    lambda x: jax.lax.scan(lambda c, t: ((jnp.minimum(c[0], jnp.inf), jnp.sqrt(c[1] - 2)), c[0]), (jnp.inf, x), jnp.arange(6.0)),
    lambda x: jax.lax.fori_loop(0, 6, lambda i, c: (jnp.sqrt(c[0] - 2), c[1]), (x, jnp.inf))], ids=["while", "scan", "fori"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_a_given_infinity_in_a_loop_hides_no_nan(loop, wrap):
    report = report_of(lambda: watch(wrap(loop))(9.0))
    assert "Source: sqrt made nan of x = " in report, report


def test_a_given_infinity_before_a_nan_hides_it_not():
    assert "Source: log made nan" in report_of(lambda: watch(lambda x: (jnp.where(x < 0, jnp.inf, x), jnp.log(x)))(-1.0))
    w = watch(lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, x))[1])
    assert w(jnp.inf) == jnp.inf and not w.findings


def test_an_op_whose_inside_cannot_be_run_is_judged_as_one_with_one_note(monkeypatch):
    monkeypatch.setattr("wellposed._adapters.session.Session.raises_defects", False)
    plain = Interpreter.bind

    def bind(eqn, values):
        if eqn.primitive.name == "sin":
            raise NameError("unbound axis name: i")
        return plain(eqn, values)
    monkeypatch.setattr(Interpreter, "bind", staticmethod(bind))
    w = watch(lambda x: jnp.log(x - 1) + jax.jit(lambda t: jnp.sin(t) / (t - t))(x))
    report = report_of(lambda: w(jnp.full(3, 2.0)))
    assert "Source: jit[0] made inf" in report or "Source: pjit[0] made inf" in report, report
    assert [f.code for f in w.findings if f.severity == "note"] == ["WP-ADP-001"]
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    monkeypatch.setattr(Interpreter, "bind", staticmethod(plain))
    sharded = jax.shard_map(lambda t: jax.lax.psum(jnp.log(t), "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P(None))
    w = watch(lambda x: sharded(x) * 2)
    report = report_of(lambda: w(jnp.zeros(3)))
    assert "Source: shard_map[0] made -inf" in report or "Source: log[0] made -inf" in report, report
    assert len([f for f in w.findings if f.severity == "note"]) <= 1


def test_arrays_on_a_gpu_are_named_and_copied_only_when_asked(monkeypatch):
    monkeypatch.setattr("wellposed.jax._watch.elsewhere", lambda x: "on cuda:0")
    w = watch(jax.jit(jnp.log))
    with monkeypatch.context() as m:
        m.setattr("wellposed.jax._watch.array_of", None)  # nothing is copied
        w(jnp.zeros(2))
        w(jnp.zeros(2))
    assert notes_of(w) == ["a result is not looked at: on cuda:0."] and 'device="copy"' in w.findings[0].advice
    assert "log[0] made -inf of x[0] = 0" in report_of(lambda: watch(jax.jit(jnp.log), device="copy")(jnp.zeros(2)))
    with pytest.raises(wp.ArgumentError, match="device"):
        watch(jnp.log, device="gpu")


def test_errors_of_a_gpu_are_explained():
    def f(x):
        raise RuntimeError("INTERNAL: operation gpusolverDnCreate(&handle) failed: cuSolver internal error")
    with pytest.raises(RuntimeError) as caught:
        watch(f)(jnp.ones(1))
    assert "cuSOLVER INTERNAL_ERROR: the library gave up" in "\n".join(caught.value.__notes__)


def test_narrow_floats_keys_and_sparse_arrays_are_looked_at_or_pass():
    for dtype in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.bfloat16, jnp.float16):
        with pytest.warns(wp.NonFiniteWarning, match="div"):
            watch(lambda x: (x / 0).astype(dtype), level="warn")(jnp.zeros(2))
    w = watch(lambda x: (jax.random.key(0), jnp.arange(3, dtype=jnp.int4), x))
    w(jnp.ones(2))
    assert not w.findings
    assert "Source: div[0] made inf" in report_of(lambda: watch(lambda x: sparse.BCOO((x / 0, jnp.array([[0], [1]])), shape=(4,)))(jnp.ones(2)))


def test_an_interface_that_moved_is_named():
    for module in ("jax.extend.core", "jax.interpreters.batching", "jax.ffi"):
        assert f"does not have {module}" in hidden("jax", module)


def test_custom_rules_are_entered():
    @jax.custom_vjp
    def f(x):
        return jnp.log(x)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g / x,))
    assert "div" in report_of(lambda: watch(jax.grad(lambda x: (f(x) * 0).sum()))(jnp.array([0.0]))).partition("Source:")[2]


def slope(x):
    return 1 / (x - 1)  # here


@jax.custom_jvp
def by_jvp(x):
    return jnp.log(x) + slope(x)


@jax.custom_vjp
def by_vjp(x):
    return jnp.log(x) + slope(x)


by_jvp.defjvp(lambda primals, tangents: (by_jvp(primals[0]), tangents[0] * slope(primals[0])))
by_vjp.defvjp(lambda x: (by_vjp(x), x), lambda x, g: (g * slope(x),))


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("f", [by_jvp, by_vjp])
def test_ops_in_custom_rules_are_named_with_line_and_operands(f, jit):
    report = report_of(lambda: watch(jit(f))(jnp.array([3.0, 1.0])))
    missing = check(report, op=r"Source: div\[", scope=None, line=line_of(slope), file=__file__, element=r"div\[1\]", operands=r"x2\[1\] = 0", origin="made inf")
    assert not missing, report


@jax.custom_jvp
def only_slope_by_jvp(x):
    return x * x


@jax.custom_vjp
def only_slope_by_vjp(x):
    return x * x


only_slope_by_jvp.defjvp(lambda primals, tangents: (primals[0] * primals[0], tangents[0] * slope(primals[0])))
only_slope_by_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (g * slope(x),))


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("f", [only_slope_by_jvp, only_slope_by_vjp])
def test_ops_of_custom_derivatives_are_named_with_line_and_operands(f, jit):
    """The values are finite: only the program's own rule divides by 0. Of the way back of a custom_vjp JAX keeps the line where its function is called."""
    x = jnp.array([3.0, 1.0])
    assert jnp.isfinite(watch(f)(x)).all()

    def total(x):
        return f(x).sum()  # here
    report = report_of(lambda: watch(jit(jax.grad(total)))(x))
    missing = check(report, op=r"Source: div\b", scope=None, line=line_of(slope if f is only_slope_by_jvp else total), file=__file__, element=r"\[1\] made",
                    operands=r"x2\[1\] = 0", origin="made inf")
    assert not missing, report


def untraceable(x):
    y = jnp.sqrt(x) if x[0] >= 0 else x
    return jnp.where(y > 5, y, jnp.log(y))  # here


def test_functions_that_cannot_be_traced_are_run_without_jit():
    for f in (untraceable, jax.grad(lambda x: untraceable(x).sum())):
        w = watch(f)
        report = report_of(lambda: w(jnp.array([1.0, 0.0])))
        assert [f.code for f in w.findings if f.severity == "note"] == ["WP-ADP-001"]
        if f is untraceable:
            missing = check(report, op=r"Source: log\[", scope=None, line=line_of(untraceable), file=__file__, element=r"log\[1\]", operands=r"x\[1\] = 0", origin="made -inf")
            assert not missing, report
        else:
            assert "Source: div in a derivative[1] made inf of x1[1] = 1, x2[1] = 0" in report and f":{line_of(untraceable)}" in report, report


def test_inside_of_transformations_a_watched_function_is_itself():
    w = watch(lambda x: (x**2).sum())
    assert jax.grad(w)(jnp.array([3.0]))[0] == 6.0 and jax.jit(w)(jnp.array([3.0])) == 9.0


def test_a_guard_leaves_a_bad_step_out():
    step = watch(jax.jit(jax.value_and_grad(lambda w, x: jnp.log(x * w).sum())), guard=True)
    taken = 0
    with pytest.warns(wp.FindingWarning, match="an update was refused"):
        for x in (1.0, 0.0, 2.0):
            step(jnp.array(1.0), jnp.array([x]))
            taken += step.ok
    assert taken == 2 and step.refused == 1 and "made -inf" in step.report()


def test_primitives_that_nobody_knows_are_run_as_they_are():
    def f(x):
        return jax.pure_callback(lambda a: np.log(a - 1), x, x).sum()
    with np.errstate(all="ignore"):
        assert "pure_callback[0] made -inf" in report_of(lambda: watch(f)(jnp.ones(3)))


@pytest.mark.parametrize("f", [jax.vmap(lambda x: jax.lax.cond(x > 0, lambda y: jnp.log(y - 1), lambda y: y, x)),
                               lambda x: jnp.where(x > 0, 2 * jnp.log(x - 1), x), lambda x: jnp.log(x - 1)[None, 1:].T @ jnp.ones(1)], ids=["cond", "where", "slice"])
def test_the_element_that_was_taken_is_told_and_not_one_of_the_branch_that_was_not(f):
    report = report_of(lambda: watch(f)(jnp.array([-1.0, 3.0, 1.0])))  # log(-2) is not taken
    assert "log[2] made -inf of x[2] = 0" in report
