"""Calls of tf.function: looked at by their results and the variables they write to, and run again op by op when those are wrong."""
import itertools
import re
import sys
import threading

import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from .._adapters.judge import Note
from .._adapters.session import first_bad, folder_of, linalg_op, version_guard
from . import _graph
from ._arrays import is_eager, is_float

context, _execute = version_guard("tensorflow", tf.__version__, "2.16", [
    "tensorflow.python.eager.context", "tensorflow.python.pywrap_tfe:TFE_Py_FastPathExecute"])

_FINITE = ("Op by op it came out finite: the function draws random numbers or reads data, which are others the second time. Where it takes batches from an "
           "iterator, hand it the batch instead; for Keras' fit there is wellposed.tensorflow.Callback.")
_TAKEN = ("It was not run again op by op: it takes data from an iterator, which has no more, or none that the program, which goes on, can spare. Hand it the "
          "batch as an argument instead; for Keras' fit there is wellposed.tensorflow.Callback.")
_REFUSED = "wellposed._errors.NonFiniteError"
_FAILED = "It could not be run again op by op."
GRAPH_OP = "WellposedLinalg"  # a call of wellposed.linalg in a graph
_GRAPHS = {}  # what is known of functions, by their names, which are never given twice


class Calls:
    """What Watch has for calls of functions."""
    _last = None  # the call before, until its variables have been looked at

    def _called(self, call, name, inputs, count):
        """Results are looked at after the call, the variables that it wrote to when the next call reads them, or at the end."""
        if self._passes():
            return call(name, inputs, count)
        this = self._quietly(self._prepare, name, inputs)
        outputs, refused = None, None
        try:
            outputs = call(name, inputs, count)
        except tf.errors.OpError as error:
            if this is None or _REFUSED not in str(error):
                raise
            refused = error
        if refused is not None:  # by linear algebra of wellposed: something is not finite
            self._blame_call(this, None, None, failed=True)
            raise refused
        if this is None:
            return outputs
        results = outputs or ()  # None where there are none
        this["optionals"] = [t for t in results if t.dtype == tf.variant]
        bad = self._quietly(self._first_bad, results)
        if this["recorded"] is not None:
            self._quietly(lambda: this["recorded"].done(self._tensors(results), bad is not None))
        self._last, self.ok = this, bad is None
        if bad is not None:
            self._blame_call(this, bad, None)
        return outputs

    def _quietly(self, function, *arguments):
        """Calls a function of the adapter without being called back."""
        ctx = context.context()
        self._busy = ctx.invoking_op_callbacks = True
        try:
            return self.guarded(function, *arguments)
        finally:
            self._busy = ctx.invoking_op_callbacks = False

    def _prepare(self, name, inputs):
        graph, places, scale = self._graph(name, inputs)
        before = {i: _read(inputs[i], dtype) for i, dtype in places}
        if self._last is not None:
            same = self._last["name"] == name and all(self._last["inputs"][i] is inputs[i] for i, _ in places)
            self._look_back(before if same else None)
        recorded = _core.Recorded(_short(name), self._tensors(inputs)) if self.recording else None
        return {"name": name, "graph": graph, "places": places, "scale": scale, "inputs": inputs, "before": before, "recorded": recorded}

    def _tensors(self, values):
        """The first of the values that have elements, for recordings."""
        arrays = (self._array(x) for x in values if is_eager(x))
        return [wp.asarray(a) for a in itertools.islice((a for a in arrays if a is not None), 3)]

    def _first_bad(self, outputs):
        return next((t for t in outputs if is_float(t) and self._bad(t)), None)

    def _took_out(self, inputs, outputs):
        """What a function gave in an Optional (Keras' steps do) is taken out of it: a result of that function."""
        this, bad = self._last, self._first_bad(outputs)
        if bad is None or this is None or not any(inputs[0] is t for t in this["optionals"]):
            return False
        self.ok = False
        self._blame_call(this, bad, None)
        return True

    def _look_back(self, now=None):
        """Did the last call spoil a variable? now: the values, where they are known."""
        last, self._last = self._last, None
        for i, dtype in last["places"]:
            value, before = now[i] if now is not None else _read(last["inputs"][i], dtype), last["before"][i]
            if is_float(value) and self._bad(value) and not self._bad(before):
                self._blame_call(last, None, i)
                return
            if i == last["scale"] and float(value) < float(before):  # a step was left out
                self._blame_call(last, None, i, float(before))

    def _blame_call(self, this, bad, variable, scale=None, failed=False):
        """scale: of a loss whose optimizer has left out a step; then only what is not the scale's doing is told. failed: the call ended with an error."""
        if self.level == "off":
            return
        name = _short(this["name"])
        note = self._quietly(self._replay, this["name"], this["graph"], this["inputs"], this["before"], bad, variable, scale)
        if scale is not None or failed:
            if note is not None and note.origin["source"] != "unknown":
                self._left(note, f"function {name}" if failed else f"a gradient in function {name}")
            return
        if note is None:  # it could not be run again, of which there is a note: an infinity may be one that was put in
            note = self._unknown(name, bad, _FAILED)
        if note.made or note.origin["value"] == "nan" or variable is not None:
            self._left(note, f"function {name}" if bad is not None else f"a variable of {name}")

    def _graph(self, name, inputs):
        """The graph of a function, the variables that it writes to, (place among the inputs, dtype), and the place of one that scales a loss."""
        if name not in _GRAPHS:
            key = name if isinstance(name, str) else name.decode()
            graph = _traced_graph(key) or _graph.graph_of(key)
            places = ((i, _dtype_of(inputs[i], graph.inputs[i])) for i in sorted(_graph.written(graph)))
            names = _names(graph)
            scale = next((i for i, x in enumerate(inputs) if names.get(id(x), "").endswith("dynamic_scale")), None)
            _GRAPHS[name] = graph, [(i, dtype) for i, dtype in places if dtype is not None], scale
        return _GRAPHS[name]

    def _replay(self, name, graph, inputs, before, bad, variable, scale):
        feed, copies, names, judged = list(inputs), [], _names(graph), []
        for i, value in before.items():
            copies.append(tf.Variable(value, trainable=False))
            feed[i] = copies[-1].handle
            names[id(feed[i])] = names.get(id(inputs[i]), "a variable")
        first = []
        forward = _forward_ops(graph)

        def saw(op, ins, outs):
            self._carry(op.type, ins, outs)
            if op.type == "IsFinite":
                judged.append(self._note(ins[0]))
            if not any(is_float(t) and self._bad(t) for t in outs):
                return
            file, line = next(filter(any, map(_user_line, reversed(runner.inside))), ("", 0))
            label = _label(op)
            if label == op.type and ("gradient_tape" in op.name or "gradients" in op.name.split("/")[0]):
                source = forward(op)
                label = f"{op.type} in the derivative of {source.type}" if source is not None else f"{op.type} in a derivative"
                file, line = _user_line(source) if source is not None else (file, line)
            scope = "/".join(p for p in op.name.split("/")[:-1] if p != "gradient_tape")
            if runner.turn is not None:
                scope = f"{scope}/turn {runner.turn}".strip("/")
            note = self._judge(op.type, label, {"file": file, "line": line, "scope": scope or _short(name), "step": _core.current_step()}, ins, outs)
            if note is not None:
                if note.before is None and not note.made and op.type == "ReadVariableOp":
                    note.origin["name"] = names.get(id(ins[0]), "a variable")
                first.append(note)
        runner, why = _graph.GraphRunner(saw, goes_on=self.guard or self.level == "warn"), _FINITE
        try:
            outs = runner.run(graph, feed)
        except (_graph.TakesAway, tf.errors.OutOfRangeError):
            outs, why = [], _TAKEN
        except tf.errors.OpError as error:
            if _REFUSED not in str(error):
                raise
            outs, first[:0] = [], filter(None, map(self._note, runner.operands()))
        if scale is not None:
            return next((n for n in judged if n is not None and "derivative" in n.link["op"] and not n.owed_to_scale(scale)), None)
        if bad is not None:
            for t in outs:
                if is_eager(t) and is_float(t) and self._bad(t):
                    found = self._note(t)
                    if found is not None:
                        return found
        made = [n for n in first if n.made] or first
        if made:
            return made[0]
        return self._unknown(_short(name), bad, why)

    def _unknown(self, name, bad, why):
        """The note of a function that did not show who made it."""
        a = self._array(bad) if bad is not None else None
        at = first_bad(a) if a is not None else ()
        value = "nan" if a is None or why != _FAILED or np.isnan(a).any() else str(a[at])
        return Note({"op": f"function {name}", "element": at, "value": str(a[at]) if a is not None else "nan"}, None,
                    {"source": "unknown", "number": id(bad), "value": value, "spread": 0, "entry": at, "missing": why})

    def _carry(self, op_type, ins, outs):
        """A list of tensors (TensorArray), or a variable, has the note of what went into it."""
        holders = [t for t in outs if t.dtype == tf.variant] or [t for t in ins if t.dtype == tf.resource and op_type.startswith(_graph.WRITES)]
        notes = [n for t in ins if holders and t.dtype != tf.resource for n in [self._note(t)] if n is not None]
        if notes:
            self._keep_note(holders, next((n for n in notes if n.made), notes[0]))


def _read(handle, dtype):
    """The value of a variable, sharing its memory: a later write makes a copy."""
    return _execute(context.context(), "ReadVariableOp", None, handle, "dtype", dtype)


def _dtype_of(handle, like):
    """None: a resource that is no variable."""
    known = (getattr(t, "_handle_data", None) for t in (handle, like))
    return next((tf.DType(d.shape_and_type[0].dtype) for d in known if d is not None and d.shape_and_type), None)


def _label(op):
    """The name of an op; that of a function of wellposed.linalg has it in its name."""
    of = re.search(r"(?:^|/)(linalg|vjp|jvp)\.([a-z_]+?)(?:_\d+)?$", op.name) if op.type == GRAPH_OP or "PyFunc" in op.type else None
    return op.type if of is None else f"linalg.{of[2]}" if of[1] == "linalg" else linalg_op(f"{of[1]} of {of[2]}")


def _names(graph):
    """Handle → name of the variables that a graph has; those that are gone have none."""
    try:
        return {id(v.handle): v.name.split(":")[0] for v in getattr(graph, "variables", ())}
    except AssertionError:
        return {}


def _short(name):
    name = name if isinstance(name, str) else name.decode()
    return name.removeprefix("__inference_").rpartition("_")[0] or name


def _traced_graph(name):
    """The graph as it was traced, which knows its lines: on the stack of the call."""
    frame = sys._getframe(1)
    while frame is not None:
        me = frame.f_locals.get("self") if "self" in frame.f_code.co_varnames else None
        graph = getattr(me, "graph", None) or getattr(me, "_graph", None)
        own = getattr(me, "name", None) or getattr(me, "_name", None)
        own = own.decode() if isinstance(own, bytes) else own
        if graph is not None and own == name and hasattr(graph, "inputs") and hasattr(graph, "get_operations"):
            return graph
        frame = frame.f_back
    return None


_PACKAGES = tuple(folder_of(m) for m in ("tensorflow", "keras") if m in sys.modules and getattr(sys.modules[m], "__file__", None)) + (
    threading.__file__,)


def is_users(file):
    return not file.startswith(_PACKAGES) and not file.startswith(folder_of("wellposed"))


def _user_line(op):
    frames = [(f.filename, f.lineno) for f in reversed(list(op.traceback or [])) if is_users(f.filename)]
    return next((f for f in frames if "__autograph_generated_file" not in f[0]), frames[0] if frames else ("", 0))


def _forward_ops(graph):
    """Finds the op that a gradient op belongs to: one of the forward pass that has an operand, or a result, in common with it."""
    users = {}
    for op in graph.get_operations():
        if "gradient_tape" in op.name or op.type in ("Identity", "Const", "Shape"):
            continue
        for t in [*op.inputs, *op.outputs]:
            users.setdefault(t.ref(), []).append(op)

    def inside(op):
        """Of a branch or a loop that is differentiated TensorFlow keeps the graph, and names derivatives by its ops: gradients/x/Sqrt_grad/… is of x/Sqrt."""
        named = re.search(r"gradients/(.+?)_grad/", op.name)
        within = getattr(op.graph, "_forward_graph", None)
        return next((u for u in within.get_operations() if u.name == named[1]), None) if named and within is not None else None

    def find(op, depth=3):
        if op.graph is not graph:
            return inside(op)
        for t in op.inputs:
            for u in users.get(t.ref(), []):
                if u.type + "Grad" == op.type:
                    return u
        for t in op.inputs:
            near = [u for u in users.get(t.ref(), []) if u.type not in ("ReadVariableOp", "Placeholder") and any(t is i for i in u.inputs)]
            if near and "gradient_tape" not in t.op.name:
                return near[0]
        for t in op.inputs:
            if depth and "gradient_tape" in t.op.name:
                found = find(t.op, depth - 1)
                if found is not None:
                    return found
        return None
    return find
