"""wellposed.tensorflow.linalg: eager and in tf.function; policies, diagnoses, and derivatives against exact answers."""
import types

import numpy as np
import pytest
import tensorflow as tf

import hard_gradients as hard
import points
import wellposed as wp
from wellposed.tensorflow import linalg

N = types.SimpleNamespace(la=linalg, sum=tf.reduce_sum, real=tf.math.real, conj=tf.math.conj, log=tf.math.log, sqrt=tf.sqrt, mT=tf.linalg.matrix_transpose,
                          like=lambda s, u: tf.cast(s, u.dtype), diagonal=tf.linalg.diag_part)


def gradient(f, a):
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    return tape.gradient(y, a)


MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])


@MODES
@pytest.mark.parametrize("case", [pytest.param((c, loss), id=name) for c, loss, name in hard.cases()])
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_hard_gradient(case, mode):
    c, loss = case
    arrays = hard.inputs(c)
    order = (c.get("params") or {}).get("order", 1)
    a, *rest = map(tf.constant, arrays)

    @mode
    def run(a):
        if order == 2:
            return gradient(lambda t: tf.reduce_sum(gradient(lambda s: loss(N, s, *rest[:-1]), t) * rest[-1]), a)
        return gradient(lambda t: loss(N, t, *rest), a)
    if c["expect"] == "undefined" or hard.needs_more_than_cotangents(c):
        with pytest.raises((wp.Error, tf.errors.OpError)):
            run(a)
        return
    hard.judge(c, arrays[0], run(a))


def spd(n, seed=0, batch=()):
    return tf.constant(points.spd(n, seed, batch))


@MODES
@pytest.mark.parametrize("name", hard.CHECKED)
def test_first_and_second_derivatives_agree_with_differences(name, mode):
    def f(x):
        return tf.reduce_sum(hard.CHECKED[name](N, (x + tf.transpose(x)) / 2) ** 2)
    a = spd(3, 1)
    v = tf.constant(np.random.default_rng(5).normal(size=(3, 3)))
    h = 1e-5
    first = mode(lambda x: gradient(f, x))
    assert np.allclose(tf.reduce_sum(first(a) * v), (f(a + h * v) - f(a - h * v)) / (2 * h), rtol=1e-6)
    assert np.allclose(gradient(mode(f), a), first(a))  # the tape inside or outside of the function
    second = mode(lambda x: gradient(lambda t: tf.reduce_sum(gradient(f, t) * v), x))(a)
    assert np.allclose(second, (first(a + h * v) - first(a - h * v)) / (2 * h), rtol=1e-5, atol=1e-6)


def test_policies_and_diagnoses():
    a = np.array(spd(2, 0, (4,)))
    a[2] = [[1.0, 1.0], [1.00001, 1.00001]]
    a = tf.constant(a)
    with pytest.raises(wp.SingularMatrix, match="Row 1 = 1.00001 × row 0"):
        linalg.inv(a)
    value, d = linalg.diagnosed.inv(a)
    assert d.status[2] == "singular" and np.isnan(value[2]).all() and np.isfinite(value[3]).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="matrix 2 of 4"):
        tf.function(linalg.inv)(a)
    inside = tf.function(lambda x: linalg.inv(x, if_ill="nan"))(a)
    assert np.isnan(inside[2]).all() and inside.shape == (4, 2, 2)
    value, verdict = tf.function(linalg.diagnosed.inv)(a)
    assert np.isnan(value[2]).all() and np.isfinite(value[3]).all()
    assert linalg.STATUS[int(verdict.status[2])] == "singular" and int(verdict.status[0]) == 0 and verdict.digits.shape == (4,)
    assert np.array_equal(verdict.rcond, d.rcond)
    (s, verdict), eager = tf.function(lambda x: linalg.diagnosed.svdvals(x))(a[0]), linalg.diagnosed.svdvals(a[0])
    assert np.array_equal(s, eager[0]) and verdict.status.shape == ()


def test_other_arguments_of_through_get_their_gradients_and_captured_ones_are_refused():
    a, w = spd(3), tf.Variable(np.random.default_rng(1).normal(size=(3, 3)))

    def f(u, s, vh, weight):
        return tf.reduce_sum(weight * ((u * s) @ vh))

    def both(a, w):
        with tf.GradientTape() as tape:
            tape.watch([a, w])
            y = linalg.through_svd(a, f, w)
        return tape.gradient(y, [a, w])
    for mode in (lambda g: g, tf.function):
        ga, gw = mode(both)(a, tf.convert_to_tensor(w))
        assert np.allclose(ga, w) and np.allclose(gw, a)
    for captured in (w, tf.convert_to_tensor(w)):
        with tf.GradientTape() as tape, pytest.raises(wp.ArgumentError, match="Hand it over"):
            tape.watch(captured)
            linalg.through_svd(a, lambda u, s, vh: f(u, s, vh, captured))
    assert np.allclose(linalg.through_svd(a, lambda u, s, vh: f(u, s, vh, w)), tf.reduce_sum(w * a))  # nobody asks for a gradient
    with pytest.raises(wp.GradientError, match="second derivatives"):
        gradient(lambda x: tf.reduce_sum(gradient(lambda t: linalg.through_svd(t, f, w), x)), a)


def test_tensors_on_a_gpu_are_refused_by_name_and_copied_when_asked(monkeypatch):
    a = spd(2)
    monkeypatch.setattr(linalg, "elsewhere", lambda x: "on GPU:0")
    with pytest.raises(wp.ArgumentError, match=r'a tensor is on GPU:0; .*inv\(x, device="copy"\)'):
        linalg.inv(a)
    assert np.allclose(linalg.inv(a, device="copy") @ a, np.eye(2))
    with pytest.raises(wp.ArgumentError, match='device must be "copy"'):
        linalg.inv(a, device="cuda")
    assert np.allclose(tf.function(linalg.inv)(a) @ a, np.eye(2))  # there is no GPU that a graph may run on
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind=None: ["GPU:0"])
    with pytest.raises(wp.ArgumentError, match="in a graph that may run on a GPU"):
        tf.function(linalg.inv, autograph=False)(a)

    @tf.function(autograph=False)
    def placed(x):
        with tf.device("CPU:0"):
            return linalg.inv(x)
    assert np.allclose(placed(a) @ a, np.eye(2)) and np.allclose(tf.function(lambda x: linalg.inv(x, device="copy"))(a) @ a, np.eye(2))


def test_shapes_in_graphs():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, 3], tf.float64)])
    def f(a):
        y = linalg.svd(a, full_matrices=False)
        assert y.S.shape.as_list() == [None, 3] and y.U.shape.as_list() == [None, 3, 3]
        return linalg.det(a), y.S
    det, s = f(spd(3, 0, (5,)))
    assert det.shape == (5,) and s.shape == (5, 3)


def test_ties_and_refusals():
    m = tf.constant(np.random.default_rng(0).normal(size=(3, 3)))
    a = 2 * tf.eye(3, dtype=tf.float64)

    def loss(x):
        f = linalg.svd(x, full_matrices=False)
        return tf.reduce_sum(m * (f.U @ f.Vh))
    with pytest.raises(wp.GaugeError, match="through_svd"):
        gradient(loss, a)
    g = gradient(lambda x: linalg.through_svd(x, lambda u, s, vh: tf.reduce_sum(m * (u @ vh))), a)
    assert np.allclose(g, (m - tf.transpose(m)) / 4, atol=1e-12)
    with pytest.raises(wp.DtypeError, match="TensorFlow"):
        linalg.inv([[1.0]])
    with pytest.raises(wp.ShapeError):
        linalg.inv(tf.ones([2, 3]))
    assert int(linalg.matrix_rank(tf.Variable(a))) == 3


@MODES
def test_bfloat16_stays_what_it_is(mode):
    a = tf.constant([[2.0, 1.0], [1.0, 3.0]], tf.bfloat16)

    def f(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = linalg.inv(a)
        return y, tape.gradient(y, a)
    y, g = mode(f)(a)
    assert y.dtype == g.dtype == tf.bfloat16 and np.allclose(tf.cast(y, tf.float32), [[0.6, -0.2], [-0.2, 0.4]], rtol=2**-7)


@MODES
@pytest.mark.parametrize("name", ["inv", "svdvals", "det", "through_svd"])
@pytest.mark.filterwarnings("ignore")
def test_jacobians_and_mapped_functions_are_those_of_one_after_the_other(mode, name):
    x = tf.constant(points.spd(3, 1))
    function = (lambda a: linalg.through_svd(a, lambda u, s, vh: tf.reduce_sum(s) * u @ vh)) if name == "through_svd" else getattr(linalg, name)

    def theirs(a):
        s, u, v = tf.linalg.svd(a)
        return {"inv": tf.linalg.inv, "svdvals": lambda a: s, "det": tf.linalg.det, "through_svd": lambda a: tf.reduce_sum(s) * u @ tf.transpose(v)}[name](a)

    def jacobian(f):
        def run(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x)
            return tape.jacobian(y, x)
        return run
    assert np.allclose(mode(jacobian(function))(x), jacobian(theirs)(x))
    if name != "through_svd":
        stack = tf.stack([x, 2 * x])
        assert np.allclose(mode(lambda s: tf.vectorized_map(function, s))(stack), function(stack))


def test_names_are_those_of_functions_and_what_tensorflow_has_besides_is_there():
    assert not [n for n in dir(linalg) if n.startswith("_") or n in ("np", "tf", "wp", "fill", "named", "Framework")] and all(hasattr(linalg, n) for n in dir(linalg))
    assert linalg.matvec is tf.linalg.matvec and linalg.adjoint is tf.linalg.adjoint
    with pytest.raises(AttributeError, match=r"'cholesky_solve'; use cho_solve\(L, b\)"):
        linalg.cholesky_solve
    a = tf.constant(points.spd(3))
    assert np.allclose(linalg.multi_dot([a, a, a]), a @ a @ a)


@MODES
@pytest.mark.parametrize("case", list(hard.pinv_at_ties()), ids=["square", "tall"])
def test_gradient_of_pinv_at_equal_singular_values(case, mode):
    a, w, exact = case
    g = mode(lambda a: gradient(lambda x: tf.reduce_sum(w * linalg.pinv(x)), a))(tf.constant(a))
    np.testing.assert_allclose(g, exact, rtol=1e-13, atol=1e-13)


@MODES
def test_subnormal_numbers_are_numbers_also_in_the_threads_of_graphs(mode):
    """TensorFlow's threads flush them to zero."""
    for stack in (2, 300):
        a = tf.constant(np.stack([np.diag([3e-310, 1e-310])] * stack))
        assert np.array_equal(mode(linalg.svdvals)(a), [[3e-310, 1e-310]] * stack)
    b = tf.constant([[3e-310, 0.0], [0.0, 1e-310]], tf.float64)
    np.testing.assert_array_equal(mode(lambda b: gradient(lambda x: tf.reduce_sum(x * linalg.solve(tf.eye(2, dtype=tf.float64), x)), b))(b), 2 * b)


@pytest.mark.parametrize("name, count, options", [("inv", 1, {}), ("solve", 2, {}), ("cholesky", 1, {}), ("qr", 1, {}), ("svd", 1, {"full_matrices": False}), ("eigvalsh", 1, {}),
                                                  ("inv", 1, {"if_ill": "pinv"}), ("expm", 1, {}), ("lu", 1, {}), ("slogdet", 1, {})])
def test_a_call_in_a_graph_is_one_op_that_needs_no_python(name, count, options):
    f, a = tf.function(lambda *xs: getattr(linalg, name)(*xs, **options)), tf.constant(spd(5, batch=(400,)))
    ops = {op.type for op in f.get_concrete_function(*[a] * count).graph.get_operations()}
    assert "WellposedLinalg" in ops and not any("PyFunc" in op for op in ops), ops
    for stack in (a, a[:3], a[:0]):  # handed over, copied, empty
        own, found = getattr(wp.linalg, name)(*[np.asarray(stack)] * count, **options), f(*[stack] * count)
        for x, y in zip(own, found) if isinstance(own, tuple) else [(own, found)]:
            assert np.array_equal(x, y) and x.dtype == y.dtype.name


def test_what_an_op_of_a_graph_gives_is_its_own_memory():
    a = tf.constant(spd(5, batch=(400,)))
    same = tf.function(lambda a: (linalg.matrix_power(a, 1), linalg.inv(a)))  # a power of one may be its argument
    first, second = same(a), same(2 * a)
    assert np.array_equal(first[0], a) and np.array_equal(first[1], linalg.inv(a)) and np.array_equal(second[0], 2 * a)
    changed = tf.function(lambda a: -linalg.inv(a))(a)  # TensorFlow computes in place where it may
    assert np.array_equal(changed, -np.asarray(first[1])) and np.array_equal(linalg.inv(a), first[1])


def test_errors_and_warnings_of_an_op_of_a_graph_are_told():
    a = tf.constant([[[1.0, 2.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="wellposed._errors.SingularMatrix: WP-LIN-002 inv: matrix 0 of 2"):
        tf.function(linalg.inv)(a)
    with pytest.warns(wp.IllConditionedWarning, match="WP-LIN-002 inv: matrix 0 of 2"):
        tf.function(lambda a: linalg.inv(a, if_ill="warn"))(a)
    with pytest.raises(tf.errors.InvalidArgumentError, match="wellposed._errors.ShapeError"):
        tf.function(linalg.inv, input_signature=[tf.TensorSpec([None, None], tf.float32)])(tf.ones([2, 3]))
