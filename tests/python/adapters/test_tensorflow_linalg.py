"""wellposed.tensorflow.linalg: eager and in tf.function; policies, diagnoses, and derivatives against exact answers."""
import types

import numpy as np
import pytest
import tensorflow as tf

import hard_gradients as hard
import wellposed as wp
from wellposed.tensorflow import linalg

N = types.SimpleNamespace(la=linalg, sum=tf.reduce_sum, real=tf.math.real, conj=tf.math.conj, log=tf.math.log, sqrt=tf.sqrt, mT=tf.linalg.matrix_transpose,
                          like=lambda s, u: tf.cast(s, u.dtype), diagonal=tf.linalg.diag_part)


def gradient(f, a):
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    return tape.gradient(y, a)


@pytest.mark.parametrize("case", [pytest.param((c, loss), id=name) for c, loss, name in hard.cases()])
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_hard_gradient(case):
    c, loss = case
    arrays = hard.inputs(c)
    order = (c.get("params") or {}).get("order", 1)
    a, *rest = map(tf.constant, arrays)

    def run():
        if order == 2:
            return gradient(lambda t: tf.reduce_sum(gradient(lambda s: loss(N, s, *rest[:-1]), t) * rest[-1]), a)
        return gradient(lambda t: loss(N, t, *rest), a)
    if c["expect"] == "undefined" or hard.needs_more_than_cotangents(c):
        with pytest.raises(wp.Error):
            run()
        return
    hard.judge(c, arrays[0], run())


def spd(n, seed=0, batch=()):
    x = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return tf.constant(x @ np.swapaxes(x, -1, -2) + n * np.eye(n))


CHECKED = {
    "inv": lambda a: linalg.inv(a), "solve": lambda a: linalg.solve(a, a[..., :1] * 2), "pinv": lambda a: linalg.pinv(a[..., :2]),
    "svdvals": lambda a: linalg.svdvals(a), "eigvalsh": lambda a: linalg.eigvalsh(a), "cholesky": lambda a: linalg.cholesky(a),
    "logdet": lambda a: linalg.logdet(a), "qr": lambda a: linalg.qr(a)[1], "polar": lambda a: linalg.polar(a)[0],
    "svd": lambda a: (lambda f: (f.U * f.S[..., None, :]) @ f.Vh @ a)(linalg.svd(a, full_matrices=False)),
    "through_eigh": lambda a: linalg.through_eigh(a, lambda w, v: tf.reduce_sum((v * tf.math.log(w)) @ tf.transpose(v))),
}


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("name", CHECKED)
def test_first_and_second_derivatives_agree_with_differences(name, mode):
    def f(x):
        return tf.reduce_sum(CHECKED[name]((x + tf.transpose(x)) / 2) ** 2)
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
    with pytest.raises(Exception, match="a Diagnosis is an object of Python"):  # AutoGraph wraps it
        tf.function(lambda x: linalg.diagnosed.inv(x)[0])(a)


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
