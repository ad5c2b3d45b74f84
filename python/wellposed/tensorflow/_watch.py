"""watch: eager ops are looked at one by one; calls of tf.function by their results and variables, and op by op if those are wrong."""
import re
import sys
import threading
import traceback

import keras
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from .. import cuda
from .._adapters.judge import Operand, judge
from .._adapters.ops import kind_of
from .._adapters.session import Session, blame_of, datasets, folder_of, given_note, linalg_op, version_guard
from ._arrays import as_numpy, elsewhere, flat, is_eager, is_float
from ._calls import Calls, is_users

context, _add_callback, _remove_callback, *_ = version_guard("tensorflow", tf.__version__, "2.16", [
    "tensorflow.python.eager.context", "tensorflow.python.framework.op_callbacks:add_op_callback",
    "tensorflow.python.framework.op_callbacks:remove_op_callback", "tensorflow.python.eager.context:Context.call_function", "tensorflow.python.framework.ops:EagerTensor.backing_device"])
for _module in ("tensorflow", "keras"):
    if _module in sys.modules and getattr(sys.modules[_module], "__file__", None):
        _core.pass_over(folder_of(_module))

_NO_VALUES = {"Empty", "VarHandleOp", "Placeholder", "ReadVariableOp", "Identity", "Const", "Shape", "EagerPyFunc", "DestroyResourceOp"}
_MOST_LINES, _MOST_NOTES = 50_000, 512
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in ')
_INDEX = re.compile(r"indices\[([\d, ]+)\] = (-?\d+) is not in \[0, (\d+)\)")


class Watch(Calls, Session):
    """with watch() as w: … names the op that made an Inf or NaN when it reaches a gradient, a variable or the result of a tf.function."""

    def __init__(self, *, data=None, level="escape", record=None, trends=False, guard=False, device="name"):
        super().__init__(level, record, device=device, trends=trends)
        self.guard, self._scale = guard, 1.0
        self._notes, self._lines, self._busy, self._last = {}, {}, False, None
        self._undo, self._known = [], []
        self._read = set()  # numbers of tensors with notes that an op has read
        for name, x in datasets(data):
            a = np.asarray(x)
            self.rows_known.add(a.ctypes.data, a.strides, a.shape, range(len(a)), name, lasting=True, keep=a)
            self._known.append((name, a))

    # ---- the block ------------------------------------------------------------------------------------------------------
    def __enter__(self):
        self._begin()
        self._thread, ctx = threading.get_ident(), context.context()
        _add_callback(self._saw)
        call = ctx.call_function
        ctx.call_function = lambda name, inputs, count: self._called(call, name, inputs, count)
        self._undo = [lambda: ctx.__dict__.pop("call_function", None), lambda: _remove_callback(self._saw)]
        scaling = keras.optimizers.LossScaleOptimizer
        self._around(tf.GradientTape, "gradient", self._gradient)
        self._around(scaling, "scale_loss", self._scale_loss)
        self._around(scaling, "apply", self._apply_scaled)
        self._around(keras.optimizers.Optimizer, "apply", self._apply)
        self._comes()
        return self

    def _around(self, owner, name, method):
        """owner.name runs through method(original, …) in the block."""
        plain, own = getattr(owner, name), name in vars(owner)

        @tf.autograph.experimental.do_not_convert
        def watched(*args, **kwargs):
            return method(plain, *args, **kwargs)
        setattr(owner, name, watched)
        self._undo.append(lambda: setattr(owner, name, plain) if own else delattr(owner, name))

    def __exit__(self, kind, error, trace):
        self._goes()
        self._leaves_with(error)
        held = list(sys._getframe(1).f_locals.values()) if error is None else []
        for undo in self._undo:
            undo()
        self._undo = []
        try:
            if error is None:
                self._quietly(self._look_to_the_end, held)
            elif not isinstance(error, wp.Error):
                self.guarded(self._explain, error, trace)
        finally:
            self._notes.clear()
            self._read.clear()
            self._lines.clear()
            self._last = None
            self._end()

    def _look_to_the_end(self, held):
        """The last call, and results of the block: what an op made, no other op has read, and the block's function keeps (held: its variables)."""
        if self._last is not None:
            self._look_back()
        results = {k: note for k, (_, note) in self._notes.items() if note.made and k not in self._read}
        if self.level == "escape" and not self.guard and not self.findings and results:
            found = next((results[id(t)] for t in _tensors(held) if id(t) in results), None)
            if found is not None:
                self._left(found, "the result of the block")

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
            inside = [(file, line) for file, line in _FRAME.findall(words) if is_users(file)]  # of an op of a function: where it was written
            frames = inside or [(f.filename, f.lineno) for f in traceback.extract_tb(trace) if is_users(f.filename)]
            place = "{}:{}".format(frames[-1][0].rpartition("/")[2], frames[-1][1]) if frames else ""
            error.add_note("\n".join([f"wellposed: at {place}, step {_core.current_step()}", *("  " + line for line in lines)]))

    # ---- rows of data ---------------------------------------------------------------------------------------------------
    def rows(self, batch, ids, name="data"):
        """Says which rows of a data set a batch (a tensor or a structure of them) consists of; returns the batch."""
        ids = [int(i) for i in np.asarray(ids)]
        for x in flat(batch):
            a = as_numpy(x) if is_eager(x) and elsewhere(x) is None else None  # rows are found by address
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
        a = self._array(x) if x is not None else None
        if a is None:
            return {}
        found = self.located(a.ctypes.data + sum(i * s for i, s in zip(element, a.strides)))
        like = self._row_like(a[element[0]]) if found is None and a.ndim and element else None
        return found or ({"source": "data", "name": like[0], "row": like[1], "entry": element[1:]} if like else {"name": "an argument"})

    def _rests_on(self, note, out, operands):
        element = note.link["element"]
        if not element or "derivative" in note.link["op"]:
            return None
        alike = (self._row_like(o.value[element[0]]) for o in operands if o.value is not None and o.value.ndim and o.value.shape[0] == out.shape[0])
        return self.row_of_batch(element, out) or next(((name, [row]) for name, row in filter(None, alike)), None)

    # ---- eager ops ------------------------------------------------------------------------------------------------------
    def _saw(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        op_type = op_type.decode() if isinstance(op_type, bytes) else op_type
        if graph is not None or self._busy or op_type in _NO_VALUES or op_type.startswith("__"):
            return None
        self._busy = True
        try:
            self.guarded(self._look, op_type, inputs, outputs)
        finally:
            self._busy = False
        return None

    def _look(self, op_type, inputs, outputs):
        if op_type == "OptionalGetValue" and self._took_out(inputs, outputs):
            return
        if inputs:  # where the op ran, for the day when its gradient does; by the number of its first operand or result, of which the gradient may know one
            place = _core.user_line()
            for t in (inputs[0], *outputs[:1]):
                self._lines[op_type, getattr(t, "_id", None)] = place
            if len(self._lines) > _MOST_LINES:
                self._lines = dict(list(self._lines.items())[_MOST_LINES // 2:])
        if self._notes:
            self._read.update(id(x) for x in inputs if id(x) in self._notes)
        bad = False
        for t in outputs:
            if is_float(t):
                bad |= self._bad(t)
            elif t.dtype.is_quantized:
                self.not_looked_at("a quantised tensor")
        if bad:
            self._judge_eager(op_type, inputs, outputs)

    def _array(self, x):
        """The elements as an array; None: it has none, or they are out of reach."""
        return as_numpy(x) if is_eager(x) and (self.copies or elsewhere(x) is None) else None

    def _bad(self, t):
        where = elsewhere(t)
        if where is None:
            try:
                return _core.first_nonfinite(t) >= 0
            except Exception:  # float8
                pass
        elif not self.copies:
            self.not_looked_at(where)
            return False
        a = as_numpy(t)
        return a is not None and a.dtype.kind in "fc" and not np.isfinite(a).all()

    def _forward_of(self):
        """The op whose gradient runs now: (type, its first input, its first result), found on the stack; None in the forward pass."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "_gradient_function" and "op_name" in frame.f_locals:
                kind, *tensors = (frame.f_locals.get(name) for name in ("op_name", "inputs", "outputs"))
                return (kind.decode() if isinstance(kind, bytes) else kind), *(t[0] if t else None for t in tensors)
            frame = frame.f_back
        return None

    def saw(self, name, inputs, outputs):
        """What wellposed.tensorflow.linalg has computed."""
        if not self._passes():
            self._saw(linalg_op(name), inputs, None, outputs)

    def operand_refused(self, name, inputs):
        """A function of wellposed.tensorflow.linalg does not take what is not finite: where that came from."""
        for x in inputs:
            if not self._passes() and is_float(x) and self._bad(x) and self.level not in ("off", "warn"):
                self.escaped(self.note_of(x), linalg_op(name))

    def _judge_eager(self, op_type, inputs, outputs):
        file, line = _core.user_line()
        scope = (context.context().scope_name or "").rstrip("/")
        label, forward = op_type, self._forward_of()
        if forward is not None:
            label = f"{op_type} in the derivative of {forward[0]}"
            known = (self._lines.get((forward[0], t._id)) for t in forward[1:] if hasattr(t, "_id"))
            file, line = next(filter(None, known), (file, line))
        scope = scope or _layer_on_stack()
        where = {"file": file, "line": line, "scope": scope, "step": _core.current_step()}
        note = self._judge(op_type, label, where, inputs, outputs)
        if note is not None and note.made and note.before is None and self.level in ("raise", "warn"):
            self.escaped(note, op_type)

    def _judge(self, op_type, label, where, inputs, outputs):
        operands, tensors = [], {}
        for k, x in enumerate(inputs):
            value, note = self._array(x), self._note(x)
            if value is None and note is None:
                continue
            o = Operand(f"x{k + 1}", value, note)
            tensors[id(o)] = x
            operands.append(o)
        if op_type in ("SelectV2", "Select"):
            operands = operands[1:]
        newest = None
        for t in outputs:
            out = self._array(t)
            if out is None or out.dtype.kind not in "fc" or np.isfinite(out).all():
                continue
            note = judge(label, kind_of(op_type), operands, out, where, lambda o, at: self.entrance(tensors.get(id(o)), at))
            if note.made and note.before is None:
                note.origin["rows"] = self._rests_on(note, out, operands)
            self._keep_note([t], note)
            newest = note
        return newest

    def _keep_note(self, tensors, note):
        self._notes.update((id(t), (t, note)) for t in tensors)
        self._read.difference_update(map(id, tensors))
        if len(self._notes) > _MOST_NOTES:
            self._notes = dict(list(self._notes.items())[_MOST_NOTES // 2:])

    def _note(self, x):
        kept = self._notes.get(id(x))
        return kept[1] if kept is not None and kept[0] is x else None

    # ---- where values leave -----------------------------------------------------------------------------------------------
    def _gradient(self, gradient, tape, target, sources, *args, **kwargs):
        found = gradient(tape, target, sources, *args, **kwargs)
        self.guarded(self._leaves, found, lambda k: "gradient", self._scale)
        return found

    def _scale_loss(self, scale_loss, optimizer, loss):
        """From here to the optimizer's step gradients are scaled, and beyond the range of f16 now and then: that is judged by the optimizer."""
        if tf.executing_eagerly() and not self._passes():
            self._scale = float(optimizer.dynamic_scale) if optimizer.built else optimizer.initial_scale
        return scale_loss(optimizer, loss)

    def _apply_scaled(self, apply, optimizer, *args, **kwargs):
        if tf.executing_eagerly() and not self._passes():
            self._scale = 1.0
        return apply(optimizer, *args, **kwargs)

    def _apply(self, apply, optimizer, grads, trainable_variables=None):
        if not self.guard:
            names = [getattr(v, "path", "a variable") for v in trainable_variables or optimizer._trainable_variables or ()]
            grads = list(grads)
            self.guarded(self._leaves, grads, lambda k: f"gradient of {names[k]}" if k < len(names) else "gradient")
        return apply(optimizer, grads, trainable_variables)

    def _passes(self):
        """Whether what happens now is that of the adapter itself, or of another thread."""
        return self._busy or threading.get_ident() != self._thread

    def _leaves(self, found, sink, scale=1.0):
        """sink(k): the name of the k-th. scale: of the loss."""
        if self.level == "off" or self._passes() or not tf.executing_eagerly():
            return
        for k, x in enumerate(flat(found)):
            if is_eager(x) and x.dtype.is_floating and self._bad(x) and not self.note_of(x).owed_to_scale(scale):
                self._left(self.note_of(x), sink(k))
                return
        self.ok = True

    def _left(self, note, sink):
        if self.guard:
            self.refuse(note, sink)
        else:
            self.escaped(note, sink)

    def note_of(self, x):
        return self._note(x) or given_note(x, self._array(x), self.entrance)

    def blame(self, x):
        """The way back of a tensor's first element that is not finite, or of an error."""
        return wp.blame(x) if isinstance(x, BaseException) else blame_of(self.note_of(x))

    # ---- trends -----------------------------------------------------------------------------------------------------------
    def see(self, variables, gradients):
        """Tells the trends of a step. Needs watch(trends=True)."""
        self._busy = True
        try:
            self.see_trends((v.name.split(":")[0], wp.asarray(v.numpy()), wp.asarray(tf.convert_to_tensor(g).numpy()))
                            for v, g in zip(flat(variables), flat(gradients)))
        finally:
            self._busy = False
        self.next_step()


def _tensors(values, depth=4):
    """The tensors in lists and dicts, to a depth."""
    for x in values:
        if isinstance(x, tf.Tensor):
            yield x
        elif depth and isinstance(x, (list, tuple, dict)):
            yield from _tensors(x.values() if isinstance(x, dict) else x, depth - 1)


def _layer_on_stack():
    """Names of the Keras layers that run, the outermost first."""
    names, frame = [], sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "call" and isinstance(frame.f_locals.get("self"), keras.layers.Layer):
            names.append(frame.f_locals["self"].name)
        frame = frame.f_back
    return "/".join(reversed(names))


def watch(*, data=None, level="escape", record=None, trends=False, guard=False, device="name"):
    """with watch() as w: … looks at every eager op, and at results and variables of every tf.function; what is wrong is traced op by op.

    data: an array or a dict of arrays whose rows are named in reports. level: "escape" raises NonFiniteError where an Inf or NaN reaches a gradient, the
    result of a tf.function or a variable; "warn" warns; "raise" raises where it is made; "off" only records. record: a file that
    `wellposed postmortem` reads. trends: w.see(variables, gradients) tells gradients that grow. guard: nothing is raised; w.ok says whether the last
    gradient or function was good, so that the update can be left out. device="copy": tensors on a GPU are looked at as copies. For Keras' fit use
    wellposed.tensorflow.Callback.
    """
    return Watch(data=data, level=level, record=record, trends=trends, guard=guard, device=device)
