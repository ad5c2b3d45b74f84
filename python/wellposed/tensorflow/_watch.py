"""watch: eager ops are looked at one by one; calls of tf.function by their results and variables, and op by op if those are wrong."""
import re
import sys
import traceback

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import op_callbacks

import wellposed as wp
from wellposed import _core

from .. import cuda
from .._adapters.judge import Note, Operand, judge
from .._adapters.ops import kind_of
from .._adapters.rows import Rows
from .._adapters.session import Session, blame_of, folder_of, version_guard
from ._arrays import as_numpy, flat, is_eager, is_float
from ._calls import Calls, is_users

version_guard("tensorflow", tf.__version__, "2.16", {
    "tensorflow.python.framework.op_callbacks": hasattr(op_callbacks, "add_op_callback"),
    "Context.call_function": hasattr(context.Context, "call_function"), "Context.get_function_def": hasattr(context.Context, "get_function_def")})
for _module in ("tensorflow", "keras"):
    if _module in sys.modules and getattr(sys.modules[_module], "__file__", None):
        _core.pass_over(folder_of(_module))

_NO_VALUES = {"Empty", "VarHandleOp", "Placeholder", "ReadVariableOp", "Identity", "Const", "Shape", "EagerPyFunc", "DestroyResourceOp"}
_MOST_LINES, _MOST_NOTES = 50_000, 512
_INDEX = re.compile(r"indices\[([\d, ]+)\] = (-?\d+) is not in \[0, (\d+)\)")


class Watch(Calls, Session):
    """with watch() as w: … names the op that made an Inf or NaN when it reaches a gradient, a variable or the result of a tf.function."""

    def __init__(self, *, data=None, level="escape", record=None, trends=False, guard=False):
        super().__init__(level, record)
        self.guard = guard
        self.trends = wp.Trends() if trends else None
        self.rows_known = Rows()
        self._notes, self._lines, self._busy, self._last = {}, {}, False, None
        self._undo, self._known = [], []
        for name, x in (data.items() if isinstance(data, dict) else [("data", data)] if data is not None else []):
            a = np.asarray(x)
            self.rows_known.add(a.ctypes.data, a.strides, a.shape, range(len(a)), name, lasting=True, keep=a)
            self._known.append((name, a))

    # ---- the block ------------------------------------------------------------------------------------------------------
    def __enter__(self):
        self._begin()
        ctx = context.context()
        op_callbacks.add_op_callback(self._saw)
        call = ctx.call_function
        ctx.call_function = lambda name, inputs, count: self._called(call, name, inputs, count)
        gradient = tf.GradientTape.gradient

        def watched_gradient(tape, target, sources, *args, **kwargs):
            found = gradient(tape, target, sources, *args, **kwargs)
            self._leaves(found, "gradient")
            return found
        tf.GradientTape.gradient = watched_gradient
        self._undo = [lambda: ctx.__dict__.pop("call_function", None), lambda: setattr(tf.GradientTape, "gradient", gradient),
                      lambda: op_callbacks.remove_op_callback(self._saw)]
        return self

    def __exit__(self, kind, error, trace):
        for undo in self._undo:
            undo()
        self._undo = []
        try:
            if error is None and self._last is not None:
                self._quietly(self._look_back)
            elif error is not None and not isinstance(error, wp.Error):
                self.guarded(self._explain, error, trace)
        finally:
            self._notes.clear()
            self._lines.clear()
            self._last = None
            self._end()

    def _explain(self, error, trace):
        """Adds to an error of TensorFlow what is known of its operands."""
        words = str(error)
        told, index = cuda.explain(words), _INDEX.search(words)
        lines = [told.text()] if told is not None else []
        if index:
            value = int(index[2])
            lines.append(f"indices[{index[1]}] = {value} is out of range: it must be from 0 to {int(index[3]) - 1}.")
            for name, a in self._known:
                found = np.argwhere(a == value) if a.dtype.kind in "iu" else []
                if len(found):
                    lines.append(f"Source: {name} row {found[0][0]}, column {', '.join(str(i) for i in found[0][1:])} = {value}")
        if lines:
            place = next((f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in reversed(traceback.extract_tb(trace)) if is_users(f.filename)), "")
            error.add_note("\n".join([f"wellposed: at {place}, step {_core.current_step()}", *("  " + line for line in lines)]))

    # ---- rows of data ---------------------------------------------------------------------------------------------------
    def rows(self, batch, ids, name="data"):
        """Says which rows of a data set a batch (a tensor or a structure of them) consists of; returns the batch."""
        ids = [int(i) for i in np.asarray(ids)]
        for x in flat(batch):
            a = as_numpy(x)
            if a is not None and a.ndim and a.shape[0] == len(ids):
                self.rows_known.add(a.ctypes.data, a.strides, a.shape, ids, name, keep=x)
        return batch

    def _row_like(self, row):
        """(name, number) of the row of the data that equals this one."""
        for name, a in self._known:
            if a.shape[1:] == row.shape:
                same = (a == row) | ((a != a) & (row != row)) if a.dtype.kind == "f" else a == row
                found = np.flatnonzero(same.reshape(len(a), -1).all(1))
                if len(found):
                    return name, int(found[0])
        return None

    def entrance(self, x, element):
        a = as_numpy(x)
        if a is None:
            return {}
        at = self.rows_known.locate(a.ctypes.data + sum(i * s for i, s in zip(element, a.strides))) if self.rows_known else None
        if at is None and a.ndim and element:
            like = self._row_like(a[element[0]])
            at = (*like, element[1:]) if like else None
        return {"source": "data", "name": at[0], "row": at[1], "entry": at[2]} if at else {"name": "an argument"}

    def _rests_on(self, note, out, operands):
        element = note.link["element"]
        if not element or "derivative" in note.link["op"]:
            return None
        batch = self.rows_known.of_batch(out.shape[0])
        if batch:
            return batch[0], [batch[1][element[0]]]
        for o in operands:
            if o.value is not None and o.value.ndim and o.value.shape[0] == out.shape[0]:
                like = self._row_like(o.value[element[0]])
                if like:
                    return like[0], [like[1]]
        return None

    # ---- eager ops ------------------------------------------------------------------------------------------------------
    def _saw(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        if graph is not None or self._busy or op_type in _NO_VALUES or (isinstance(op_type, str) and op_type.startswith("__")):
            return None
        self._busy = True
        try:
            if inputs:  # where the op ran, for the day when its gradient does; by the number of its first operand
                self._lines[op_type, getattr(inputs[0], "_id", None)] = _core.user_line()
                if len(self._lines) > _MOST_LINES:
                    self._lines = dict(list(self._lines.items())[_MOST_LINES // 2:])
            if any(is_float(t) and self._bad(t) for t in outputs):
                self.guarded(self._judge_eager, op_type, inputs, outputs)
        finally:
            self._busy = False
        return None

    def _bad(self, t):
        try:
            return _core.first_nonfinite(t) >= 0
        except Exception:
            a = as_numpy(t)
            return a is not None and a.dtype.kind in "fc" and not np.isfinite(a).all()

    def _forward_of(self):
        """The op whose gradient runs now: (type, its first input), found on the stack; None in the forward pass."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "_gradient_function" and "op_name" in frame.f_locals:
                kind, inputs = frame.f_locals["op_name"], frame.f_locals.get("inputs")
                return (kind.decode() if isinstance(kind, bytes) else kind), inputs[0] if inputs else None
            frame = frame.f_back
        return None

    def _judge_eager(self, op_type, inputs, outputs):
        file, line = _core.user_line()
        scope = (context.context().scope_name or "").rstrip("/")
        label, forward = op_type, self._forward_of()
        if forward is not None:
            label = f"{op_type} in the derivative of {forward[0]}"
            file, line = self._lines.get((forward[0], getattr(forward[1], "_id", None)), (file, line))
        scope = scope or _layer_on_stack()
        where = {"file": file, "line": line, "scope": scope, "step": _core.current_step()}
        note = self._judge(op_type, label, where, inputs, outputs)
        if note is not None and note.made and note.before is None and self.level in ("raise", "warn"):
            self.escaped(note, op_type)

    def _judge(self, op_type, label, where, inputs, outputs):
        operands, tensors = [], {}
        for k, x in enumerate(inputs):
            x = x if is_eager(x) else None
            value = as_numpy(x) if x is not None else None
            if value is None:
                continue
            o = Operand(f"x{k + 1}", value, self._note(x))
            tensors[id(o)] = x
            operands.append(o)
        if op_type in ("SelectV2", "Select"):
            operands = operands[1:]
        newest = None
        for t in outputs:
            out = as_numpy(t)
            if out is None or out.dtype.kind not in "fc" or np.isfinite(out).all():
                continue
            note = judge(label, kind_of(op_type), operands, out, where, lambda o, at: self.entrance(tensors.get(id(o)), at))
            if note.made and note.before is None:
                note.origin["rows"] = self._rests_on(note, out, operands)
            self._notes[id(t)] = (t, note)
            if len(self._notes) > _MOST_NOTES:
                self._notes = dict(list(self._notes.items())[_MOST_NOTES // 2:])
            newest = note
        return newest

    def _note(self, x):
        kept = self._notes.get(id(x))
        return kept[1] if kept is not None and kept[0] is x else None

    # ---- where values leave -----------------------------------------------------------------------------------------------
    def _leaves(self, found, sink):
        if self.level == "off" or self._busy or not tf.executing_eagerly():
            return
        for x in flat(found):
            if is_eager(x) and x.dtype.is_floating and self._bad(x):
                return self._left(self.note_of(x), sink)
        self.ok = True

    def _left(self, note, sink):
        if self.guard:
            self.refuse(note, sink)
        else:
            self.escaped(note, sink)

    def note_of(self, x):
        note = self._note(x)
        if note is not None:
            return note
        a = as_numpy(x)
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
        return Note(None, None, {"source": "given", "number": -id(x), "value": str(a[at]), "spread": 0, "entry": at, **self.entrance(x, at)})

    def blame(self, x):
        """The way back of a tensor's first element that is not finite, or of an error."""
        return wp.blame(x) if isinstance(x, BaseException) else blame_of(self.note_of(x))

    # ---- trends -----------------------------------------------------------------------------------------------------------
    def see(self, variables, gradients):
        """Tells the trends of a step. Needs watch(trends=True)."""
        if self.trends is None:
            raise wp.ArgumentError("see: trends are not watched: watch(trends=True).")
        self._busy, before = True, len(self.trends.findings)
        try:
            for v, g in zip(flat(variables), flat(gradients)):
                self.trends.see(v.name.split(":")[0], wp.asarray(v.numpy()), wp.asarray(tf.convert_to_tensor(g).numpy()))
        finally:
            self._busy = False
        self.findings += self.trends.findings[before:]
        self.next_step()


def _layer_on_stack():
    """Names of the Keras layers that run, the outermost first."""
    keras = sys.modules.get("keras")
    names, frame = [], sys._getframe(1)
    while frame is not None and keras is not None:
        if frame.f_code.co_name == "call" and isinstance(frame.f_locals.get("self"), keras.layers.Layer):
            names.append(frame.f_locals["self"].name)
        frame = frame.f_back
    return "/".join(reversed(names))


def watch(*, data=None, level="escape", record=None, trends=False, guard=False):
    """with watch() as w: … looks at every eager op, and at results and variables of every tf.function; what is wrong is traced op by op.

    data: an array or a dict of arrays whose rows are named in reports. level: "escape" raises NonFiniteError where an Inf or NaN reaches a gradient, the
    result of a tf.function or a variable; "warn" warns; "raise" raises where it is made; "off" only records. record: a file that
    `wellposed postmortem` reads. trends: w.see(variables, gradients) tells gradients that grow. guard: nothing is raised; w.ok says whether the last
    gradient or function was good, so that the update can be left out. For Keras' fit use wellposed.tensorflow.Callback.
    """
    return Watch(data=data, level=level, record=record, trends=trends, guard=guard)
