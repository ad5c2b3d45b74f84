"""Runs the graph of a tf.function op by op on real values, with its variables as they were before the call."""
import numpy as np
import tensorflow as tf

from .._adapters.session import version_guard

context, quick_execute, function_def_to_graph, *_ = version_guard("tensorflow", tf.__version__, "2.16", [
    "tensorflow.python.eager.context", "tensorflow.python.eager.execute:quick_execute",
    "tensorflow.python.framework.function_def_to_graph:function_def_to_graph", "tensorflow.python.eager.context:Context.get_function_def"])
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_CHOICES = {"If", "StatelessIf"}
_LOOPS = {"While", "StatelessWhile"}
_MOST_TURNS = 100_000
WRITES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")


def graph_of(name):
    """The graph of a function by its name."""
    return function_def_to_graph(context.context().get_function_def(name))


def written(graph, seen=None):
    """Indices of inputs whose variables the graph writes to."""
    places = {t.ref(): i for i, t in enumerate(graph.inputs)}
    found = set()
    for op in graph.get_operations():
        inside = _functions(op)
        for g in inside:
            start = 1 if op.type in _CHOICES else 0
            for k in written(g):
                t = op.inputs[k + start]
                if t.ref() in places:
                    found.add(places[t.ref()])
        if not inside and op.type.startswith(WRITES):
            for t in op.inputs:
                if t.dtype == tf.resource and t.ref() in places:
                    found.add(places[t.ref()])
    return found


_TRACED = {"then_branch": "_true_graph", "else_branch": "_false_graph", "cond": "_cond_graph", "body": "_body_graph"}


def _functions(op):
    names = (["f"] if op.type in _CALLS else ["then_branch", "else_branch"] if op.type in _CHOICES else ["cond", "body"] if op.type in _LOOPS else
             [])
    return [_inner(op, n) for n in names]


def _inner(op, attribute):
    """The graph of a branch or a loop as it was traced, which knows its lines; else that of the function of its name, which has none."""
    name = op.get_attr(attribute).name
    traced = getattr(op, _TRACED.get(attribute, ""), None)
    return traced if getattr(traced, "name", None) == name and len(traced.inputs) == len(op.inputs) - (op.type in _CHOICES) else graph_of(name)


def _shape(proto):
    """A shape as ops take it: None where the rank is not known, −1 for an axis of unknown length."""
    return None if proto.unknown_rank else [d.size for d in proto.dim]


def _attributes(op):
    flat = []
    for name, value in op.node_def.attr.items():
        if name.startswith("_"):
            continue
        v = op.get_attr(name)
        if isinstance(v, tf.DType):
            v = v.as_datatype_enum
        elif isinstance(v, list) and v and isinstance(v[0], tf.DType):
            v = [d.as_datatype_enum for d in v]
        elif value.list.shape:
            v = [_shape(p) for p in value.list.shape]
        elif value.HasField("func"):
            v = v.name
        flat += [name, v]
    return tuple(flat)


def _in_order(graph):
    """Ops after those that they need, else as they were made: a loop that is differentiated gets further inputs, which are made after it."""
    done, order = set(), []
    for root in graph.get_operations():
        todo = [root]
        while todo:
            op = todo[-1]
            missing = [] if op in done else [t.op for t in op.inputs if t.op not in done] + [c for c in op.control_inputs if c not in done]
            if missing:
                todo += reversed(missing)
                continue
            todo.pop()
            if op not in done:
                done.add(op)
                order.append(op)
    return order


class GraphRunner:
    """saw(op, inputs, outputs) is called after every op that computes."""

    def __init__(self, saw):
        self.saw, self.turn = saw, None

    def run(self, graph, inputs):
        values = {t.ref(): x for t, x in zip(graph.inputs, inputs)}
        for op in _in_order(graph):
            if op.type == "Placeholder":
                continue
            outs = self.step(op, [values[t.ref()] for t in op.inputs])
            for t, x in zip(op.outputs, outs):
                values[t.ref()] = x
        return [values[t.ref()] for t in graph.outputs]

    def step(self, op, inputs):
        if op.type in _CALLS:
            return self.run(*[_functions(op)[0]], inputs)
        if op.type in _CHOICES:
            then, other = _functions(op)
            return self.run(then if bool(np.asarray(inputs[0])) else other, inputs[1:])
        if op.type in _LOOPS:
            cond, body = _functions(op)
            state = list(inputs)
            for self.turn in range(_MOST_TURNS):
                if not bool(np.asarray(self.run(cond, state)[0])):
                    break
                state = self.run(body, state)
            self.turn = None
            return state
        if op.type == "NoOp":
            return []
        if op.type == "Const":
            return [tf.constant(tf.make_ndarray(op.get_attr("value")))]
        outs = quick_execute(op.type.encode(), len(op.outputs), list(inputs), _attributes(op), context.context())
        self.saw(op, inputs, outs)
        return outs
