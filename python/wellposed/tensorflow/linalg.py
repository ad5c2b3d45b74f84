"""Linear algebra of wellposed on tensors of TensorFlow: the same functions, policies and diagnoses, with derivatives of any order, in tf.function too.

Inside a tf.function a call is an op of the graph, which runs without Python; derivatives, verdicts and functions that follow run through tf.numpy_function:
values, policies and gradients are the same, but such a function cannot be saved as a SavedModel. diagnosed.inv(A) gives (value, Diagnosis); in a tf.function (value, Verdict) with tensors of status (see STATUS), rcond and digits. through_svd and
through_eigh take the function that follows.
"""
import functools
import itertools
import json
import operator
import os
import sys
import types

import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from .._adapters.functions import (NOT_DIFFERENTIABLE, OF_VALUES, STATUS, Framework, Verdict, absent, arguments, asks_for_copies, fill, filled,
                                   form_options, linalg_function, named, of_numpy, probe, quiet_options, through, to_numpy, verdict_function)
from .._adapters.session import linalg_op, told, version_guard
from ._arrays import as_numpy, elsewhere
from ._calls import GRAPH_OP
from ._watch import Watch

_stop_recording, _record, _recorded_types, _apply_op = version_guard("tensorflow", tf.__version__, "2.16", [
    "tensorflow.python.eager.record:stop_recording", "tensorflow.python.eager.record:record_operation",
    "tensorflow.python.pywrap_tfe:TFE_Py_TapeSetPossibleGradientTypes", "tensorflow.python.framework.op_def_library:apply_op"])
_LARGE = 4096  # elements
_IN_PLACE = {tf.float32, tf.float64, tf.complex64, tf.complex128, tf.int32, tf.int64, tf.bool}
# What tf.linalg has besides and no conditioning can spoil: its own, so that a program has one import.
_THEIRS = """adjoint band_part diag diag_part einsum eye global_norm l2_normalize matvec norm normalize set_diag tensor_diag tensor_diag_part""".split()
_INSTEAD = {"cholesky_solve": "cho_solve(L, b)", "triangular_solve": "solve_triangular(L, b, lower=True)", "lu_matrix_inverse": "inv(A)",
            "tridiagonal_solve": "solve_banded(ab, b, 1, 1)", "banded_triangular_solve": "solve_banded(ab, b, l, u)"}


def _to_wp(x):
    a = as_numpy(x)
    if a is None:
        raise wp.DtypeError(f"linalg: needs tensors of numbers; got {x.dtype.name}.")
    return wp.astype(wp.asarray(a), wp.bfloat16) if x.dtype == tf.bfloat16 else of_numpy(a)


def _row_major(y):
    return y.strides == tuple(itertools.accumulate(reversed(y.shape[1:]), operator.mul, initial=1))[::-1]


def _to_tf(y):
    if y.size >= _LARGE and y.dtype not in (wp.bool, wp.bfloat16) and _row_major(y):  # nobody else sees its memory: it is handed over
        return tf.experimental.dlpack.from_dlpack(y.__dlpack__(copy=False))
    return tf.convert_to_tensor(to_numpy(y, tf.bfloat16.as_numpy_dtype))


_told = told(Watch, _to_wp, _to_tf)


def _eager(fn, xs):
    return _told(fn.name, xs, lambda xs: (fn(xs), None))[0]


def _recorded(xs):
    """Whether a tape or a forward accumulator follows one of the tensors."""
    return _recorded_types(list(xs)) != 0


def _refuse_device(name, xs, device):
    """Tensors of a graph have no place yet: where there is a GPU, they may be on it."""
    if asks_for_copies(name, device):
        return
    for x in xs:
        if tf.executing_eagerly():
            where = elsewhere(x)
        else:
            where = "in a graph that may run on a GPU" if tf.config.list_logical_devices("GPU") and "CPU" not in tf.identity(x).device else None
        if where is not None:
            raise wp.ArgumentError(f"{name}: a tensor is {where}; wellposed computes on the CPU. Use with tf.device('CPU'): x = tf.identity(x), or "
                                   f'{name}(x, device="copy"), which copies there and back.')


def _run(fn, xs, like=None, program=None):
    """fn(xs) with its derivatives: a list of tensors. For graphs: (dtype, shape) of the results, and the text of a call that needs no Python."""
    if tf.executing_eagerly():
        return _on_tape(fn, xs) if _recorded(xs) else _eager(fn, xs)

    @tf.custom_gradient
    def call(*xs):
        outs = _in_graph(fn, xs, like, program)
        return outs, lambda *gs: _gradient(fn, xs, _whole(gs, outs))
    out = call(*xs)
    return list(out) if isinstance(out, (list, tuple)) else [out]


def _on_tape(fn, xs):
    """What tf.custom_gradient does, without what it costs on the way: tensors are all there is."""
    outs, back = _told(fn.name, xs, fn.with_pullback)

    def gradient(*gs):
        gs = _whole(gs, outs)
        if tf.executing_eagerly() and not _recorded([*xs, *gs]):  # nobody asks for a second one
            return _told(f"vjp of {fn.name}", gs, lambda gs: (filled(back(gs), [_to_wp(x) for x in xs]), None), outs)[0]
        return _gradient(fn, xs, gs)
    _record(fn.name, outs, list(xs), gradient)
    return outs


def _whole(gs, outs):
    return [tf.zeros_like(y) if g is None else g for g, y in zip(gs, outs)]


def _gradient(fn, xs, gs):
    return _run(fn.vjp(len(xs)), [*xs, *gs], [(x.dtype, x.shape) for x in xs])


def _plan(program):
    """What the op of graphs calls: (function of the op table, options)."""
    name, options = json.loads(program)
    return getattr(wp.linalg, name), options


def _program(name, args, at, kwargs):
    """The text of a call of one function of the op table; None: it is more than that, or has options that are no plain data."""
    if not _has_op or len(at) != len(args):
        return None
    try:
        text = json.dumps([name, kwargs], sort_keys=True)
    except TypeError:
        return None
    return text if json.loads(text) == [name, kwargs] and _core.tensorflow_program(text, len(at)) else None


def _in_graph(fn, xs, like, program=None):
    def run(*values):
        outs = _core.standard_floats(lambda: fn([of_numpy(np.asarray(v)) for v in values]))
        return [to_numpy(y, tf.bfloat16.as_numpy_dtype) for y in outs]
    name, dtypes = linalg_op(fn.name).replace(" in the derivative of linalg", ""), [d for d, _ in like]
    if program is not None and all(d in _IN_PLACE for d in [*dtypes, *(x.dtype for x in xs)]):
        outs = _apply_op(GRAPH_OP, name=name, x=list(xs), Tout=dtypes, program=program)
    else:
        outs = tf.numpy_function(run, list(xs), dtypes, name=name)
    outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    for y, (_, shape) in zip(outs, like):
        y.set_shape(shape)
    return outs


def _like(fn, xs):
    """(dtype, shape) of the results: by the function itself on small matrices of the same form; where leading axes are no batch, of the same shape."""
    shapes, known = [[1 if n is None else n for n in x.shape.as_list()] for x in xs], not any(n is None for x in xs for n in x.shape.as_list())
    if not fn.cores:
        outs = fn([of_numpy(np.ones(shape, x.dtype.as_numpy_dtype)) for shape, x in zip(shapes, xs)])
        return [(tf.as_dtype(str(y.dtype)), tf.TensorShape(y.shape if known and fn.name not in OF_VALUES else None)) for y in outs]
    outs = fn([probe(shape, x.dtype.as_numpy_dtype, core) for shape, x, core in zip(shapes, xs, fn.cores)])
    batch = functools.reduce(tf.broadcast_static_shape, [x.shape[:-core] for x, core in zip(xs, fn.cores)])
    known = all(n is not None for x, core in zip(xs, fn.cores) for n in x.shape.as_list()[-core:])
    return [(tf.as_dtype(str(y.dtype)), batch.concatenate(tf.TensorShape(y.shape[len(batch):])) if known else tf.TensorShape(None)) for y in outs]


def _called_in_graph(name, diagnosed, args, at, kwargs, box):
    """Results, and a Verdict where a diagnosis is asked for: a Diagnosis is an object of Python."""
    xs = [args[i] for i in at]
    if diagnosed:
        kwargs = quiet_options(name, kwargs)
    fn, quiet = (linalg_function(name, False, args, at, options, box) for options in (kwargs, form_options(name, kwargs)))
    if diagnosed:
        judge = verdict_function(name, args, at, {k: v for k, v in kwargs.items() if k != "if_ill"})
        with _stop_recording():
            box["diagnosis"] = Verdict(*_in_graph(judge, xs, _like(judge, xs)))
    like, program = _like(quiet, xs), _program(name, args, at, kwargs)
    return _in_graph(fn, xs, like, program) if name in NOT_DIFFERENTIABLE else _run(fn, xs, like, program)


def _function(name, diagnosed):
    def call(*args, device=None, **kwargs):
        args = [tf.convert_to_tensor(a) if isinstance(a, (tf.Variable, np.ndarray)) else a for a in arguments(name, args, kwargs)]
        at = [i for i, a in enumerate(args) if isinstance(a, tf.Tensor)]
        if not at:
            raise wp.DtypeError(f"{name}: needs tensors of TensorFlow; got {', '.join(type(a).__name__ for a in args) or 'nothing'}.")
        xs, box = [args[i] for i in at], {}
        _refuse_device(name, xs, device)
        if tf.executing_eagerly():
            fn = linalg_function(name, diagnosed, args, at, kwargs, box)
            out = _eager(fn, xs) if name in NOT_DIFFERENTIABLE else _run(fn, xs)
        else:
            out = _called_in_graph(name, diagnosed, args, at, kwargs, box)
        value = box["type"](*out) if box["type"] is not None else out[0]
        return (value, box["diagnosis"]) if diagnosed else value
    return named(tf.autograph.experimental.do_not_convert(call), name, getattr(wp.linalg, name))


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


# ---- functions that follow ------------------------------------------------------------------------------------------------------
@tf.custom_gradient
def _once(g):
    def never(*_):
        raise wp.GradientError("through_svd, through_eigh: second derivatives are known only without other arguments: through_svd(A, f).")
    return tf.identity(g), never


@tf.custom_gradient
def _gate(x):
    return tf.identity(x), _once


@tf.custom_gradient
def _joined(y, z):
    """The value of y; gradients to y's matrix and to the other arguments through z. Only once: mixed derivatives are in neither."""
    return tf.identity(y), lambda g: (g, g)


def _parts(name, A):
    """The factors as constants."""
    wanted, options = ("svd", {"full_matrices": False}) if name == "through_svd" else ("eigh", {})
    with _stop_recording():
        return list(_function(wanted, False)(A, device="copy", **options))


def _through(name, function):
    def call(A, f, *others, device=None):
        A, others = tf.convert_to_tensor(A), [tf.convert_to_tensor(o) for o in others]
        _refuse_device(name, [A, *others], device)
        parts = _parts(name, A)
        with _stop_recording():
            fixed = [tf.identity(o) for o in others]
        like = f(*parts, *fixed)
        if _recorded([like]):
            raise wp.ArgumentError(f"{name}: f uses a tensor or variable that a tape follows and that is not among its arguments; its gradient would be lost. "
                                   f"Hand it over: {name}(A, f, w), with f(…, w).")
        fn = through(name, f, _TensorFlow())
        if not others or not _recorded(others):
            return _run(fn, [A, *fixed], [(like.dtype, like.shape)])[0]
        gated = [_gate(o) for o in others]
        return _joined(_run(fn, [_gate(A), *fixed], [(like.dtype, like.shape)])[0], f(*parts, *gated))
    return named(tf.autograph.experimental.do_not_convert(call), name, function)


def _apply(name, function):
    def call(A, f, *, device=None):
        A = tf.convert_to_tensor(A)
        _refuse_device(name, [A], device)
        return _run(through(name, f, _TensorFlow()), [A], [(A.dtype, A.shape)])[0]
    return named(tf.autograph.experimental.do_not_convert(call), name, function)


_has_op = _core.tensorflow_op(os.path.join(tf.sysconfig.get_lib(), "libtensorflow_framework.so.2"), _plan)
if _has_op:
    tf.no_gradient(GRAPH_OP)  # those who call it bring the gradient
diagnosed = types.ModuleType(f"{__name__}.diagnosed", "The functions of wellposed.tensorflow.linalg with what can be said of the answer: (value, Diagnosis).")
sys.modules[diagnosed.__name__] = diagnosed
__all__ = ["STATUS", "Verdict", "diagnosed", "eigh_apply", "svd_apply", "through_eigh", "through_svd", *fill(wp.linalg, globals(), lambda name: _function(name, False))]
fill(wp.linalg.diagnosed, vars(diagnosed), lambda name: _function(name, True))
through_svd = _through("through_svd", wp.linalg.through_svd)
through_eigh = _through("through_eigh", wp.linalg.through_eigh)
svd_apply, eigh_apply = _apply("svd_apply", wp.linalg.svd_apply), _apply("eigh_apply", wp.linalg.eigh_apply)
__all__ += _THEIRS


def __getattr__(name):
    if name in _THEIRS:
        return getattr(tf.linalg, name)
    instead = f"; use {_INSTEAD[name]}" if name in _INSTEAD else "; tf.linalg has it" if hasattr(tf.linalg, name) else ""
    absent(__name__, name, instead)


def __dir__():
    return __all__
