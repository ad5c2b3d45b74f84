"""Linear algebra of wellposed on tensors of TensorFlow: the same functions, policies and diagnoses, with derivatives of any order, in tf.function too.

Inside a tf.function the functions run through tf.numpy_function: values, policies and gradients are the same, but such a function cannot be saved as a
SavedModel. diagnosed.inv(A) gives (value, Diagnosis) in eager mode. through_svd and through_eigh take the function that follows.
"""
import sys
import types

import numpy as np
import tensorflow as tf

import wellposed as wp

from .._adapters.functions import NOT_DIFFERENTIABLE, Framework, fill, linalg_function, named, through
from ._arrays import as_numpy


_LARGE = 4096  # elements


def _to_wp(x):
    a = as_numpy(x)
    if a is None:
        raise wp.DtypeError(f"linalg: needs tensors of numbers; got {x.dtype.name}.")
    return wp.asarray(a)


def _to_tf(y):
    a = np.asarray(y)
    if a.size >= _LARGE and a.flags.c_contiguous and a.dtype.kind in "fc":  # nobody else sees its memory: it is handed over
        return tf.experimental.dlpack.from_dlpack(y.__dlpack__(copy=False))
    return tf.convert_to_tensor(a)


def _eager(fn, xs):
    return [_to_tf(y) for y in fn([_to_wp(x) for x in xs])]


def _refuse_device(name, xs):
    for x in xs:
        if tf.executing_eagerly() and "GPU" in (x.device or ""):
            raise wp.ArgumentError(f"{name}: a tensor is on {x.device}; wellposed computes on the CPU. Use with tf.device('CPU'): x = tf.identity(x).")


def _run(fn, xs, like=None):
    """fn(xs) with its derivatives: a list of tensors. like: (dtype, shape) of the results, for graphs."""
    @tf.custom_gradient
    def call(*xs):
        outs = _eager(fn, xs) if tf.executing_eagerly() else _in_graph(fn, xs, like)

        def gradient(*gs):
            gs = [tf.zeros_like(y) if g is None else g for g, y in zip(gs, outs)]
            return _run(fn.vjp(len(xs)), [*xs, *gs], [(x.dtype, x.shape) for x in xs])
        return outs, gradient
    out = call(*xs)
    return list(out) if isinstance(out, (list, tuple)) else [out]


def _in_graph(fn, xs, like):
    def run(*values):
        return [np.asarray(y) for y in fn([wp.asarray(v) for v in values])]
    outs = tf.numpy_function(run, list(xs), [d for d, _ in like])
    outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    for y, (_, shape) in zip(outs, like):
        y.set_shape(shape)
    return outs


def _like(fn, xs):
    """(dtype, shape) of the results: by the function itself on small matrices of the same form."""
    probes = []
    for x in xs:
        dims = [1 if n is None else n for n in x.shape.as_list()]
        m, n = dims[-2] if len(dims) > 1 else dims[-1], dims[-1]
        p = np.eye(m, n) * (2 + np.arange(n) / max(n, 1)) + 0.25 / max(m, n)
        p = p[:, 0] if len(dims) == 1 else np.broadcast_to(p, (1,) * (len(dims) - 2) + (m, n))
        probes.append(wp.asarray(p.astype(x.dtype.as_numpy_dtype)))
    outs = fn(probes)
    most = max(xs, key=lambda x: x.shape.rank)
    batch = most.shape[:-2]
    known = all(n is not None for x in xs for n in x.shape.as_list()[-2:])
    return [(tf.as_dtype(np.asarray(y).dtype), batch.concatenate(tf.TensorShape(y.shape[len(batch):])) if known else tf.TensorShape(None)) for y in outs]


def _function(name, diagnosed):
    def call(*args, **kwargs):
        args = [tf.convert_to_tensor(a) if isinstance(a, (tf.Variable, np.ndarray)) else a for a in args]
        at = [i for i, a in enumerate(args) if isinstance(a, tf.Tensor)]
        if not at:
            raise wp.DtypeError(f"{name}: needs tensors of TensorFlow; got {', '.join(type(a).__name__ for a in args) or 'nothing'}.")
        xs = [args[i] for i in at]
        _refuse_device(name, xs)
        box = {}
        fn = linalg_function(name, diagnosed, args, at, kwargs, box)
        if tf.executing_eagerly():
            out = _eager(fn, xs) if name in NOT_DIFFERENTIABLE else _run(fn, xs)
        else:
            if diagnosed:
                raise wp.ArgumentError(f"diagnosed.{name}: a Diagnosis is an object of Python; call it outside of tf.function, or through tf.numpy_function.")
            quiet = linalg_function(name, False, args, at, {k: v for k, v in kwargs.items() if k != "if_ill"}, box)
            out = _run(fn, xs, _like(quiet, xs))
        value = box["type"](*out) if box["type"] is not None else out[0]
        return (value, box["diagnosis"]) if diagnosed else value
    return named(call, name, getattr(wp.linalg, name))


class _TensorFlow(Framework):
    def to_wp(self, x):
        return _to_wp(x)

    def from_wp(self, x):
        return _to_tf(x)

    def vjp(self, f, xs, gs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            ys = f(list(xs))
        found = tape.gradient(ys, list(xs), output_gradients=list(gs), unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [tf.convert_to_tensor(g) for g in found]

    def jvp(self, f, xs, vs):
        """By reverse mode twice: gᵀ ↦ the vjp is linear in g, and its gradient along v is the jvp. (ForwardAccumulator over nested tapes fails.)"""
        gs = [tf.zeros_like(y) for y in f(list(xs))]
        with tf.GradientTape() as tape:
            tape.watch(gs)
            along = tf.add_n([tf.reduce_sum(tf.math.real(g * tf.math.conj(v))) for g, v in zip(self.vjp(f, xs, gs), vs)])
        return [tf.convert_to_tensor(t) for t in tape.gradient(along, gs, unconnected_gradients=tf.UnconnectedGradients.ZERO)]


def _through(name, function):
    def call(A, f):
        A = tf.convert_to_tensor(A)
        fn = through(name, f, _TensorFlow())
        if tf.executing_eagerly():
            return _run(fn, [A])[0]
        return _run(fn, [A], [(A.dtype.real_dtype if name.startswith("through") else A.dtype,
                               tf.TensorShape([]) if name.startswith("through") else A.shape)])[0]
    return named(call, name, function)


diagnosed = types.ModuleType(f"{__name__}.diagnosed", "The functions of wellposed.tensorflow.linalg with what can be said of the answer: (value, Diagnosis).")
sys.modules[diagnosed.__name__] = diagnosed
fill(wp.linalg, globals(), lambda name: _function(name, False))
fill(wp.linalg.diagnosed, vars(diagnosed), lambda name: _function(name, True))
for _name in ("through_svd", "through_eigh", "svd_apply", "eigh_apply"):
    globals()[_name] = _through(_name, getattr(wp.linalg, _name))
