"""Runs the graph of a tf.function op by op on real values, with its variables as they were before the call."""
import itertools

import numpy as np
import tensorflow as tf

from .._adapters.session import version_guard

context, quick_execute, function_def_to_graph, *_ = version_guard("tensorflow", tf.__version__, "2.16", [
    "tensorflow.python.eager.context", "tensorflow.python.eager.execute:quick_execute",
    "tensorflow.python.framework.function_def_to_graph:function_def_to_graph", "tensorflow.python.eager.context:Context.get_function_def"])
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_CHOICES = {"If", "StatelessIf", "Case", "StatelessCase"}
_LOOPS = {"While", "StatelessWhile"}
_REDUCES = "ReduceDataset"  # a loop over a dataset
_MOST_TURNS = 100_000
WRITES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply", "RngReadAndSkip", "RngSkip", "Stateful")  # the last: random numbers
_TAKES = ("IteratorGetNext", "QueueDequeue")


class TakesAway(Exception):
    """Another run of the op would take from the program what it has not read yet."""


def graph_of(name):
    """The graph of a function by its name."""
    return function_def_to_graph(context.context().get_function_def(name))


def written(graph, seen=None):
    """Indices of inputs whose variables the graph writes to."""
    places = {t.ref(): i for i, t in enumerate(graph.inputs)}
    found = set()
    for op in graph.get_operations():
        inside = _functions(op)
        touched = [_argument(op, g, k) for g in inside for k in written(g)]
        if not inside and (op.type.startswith(WRITES) or any(a.HasField("func") for a in op.node_def.attr.values())):  # what is not entered may write
            touched = [t for t in op.inputs if t.dtype == tf.resource]
        found.update(places[t.ref()] for t in touched if t is not None and t.ref() in places)
    return found


def _argument(op, graph, k):
    """What op hands to input k of a function of its; None: an element of a dataset."""
    if op.type != _REDUCES:
        return op.inputs[k + (op.type in _CHOICES)]
    states, elements = len(op.get_attr("Tstate")), len(graph.inputs) - len(op.inputs) + 1
    return op.inputs[1 + k] if k < states else op.inputs[1 + k - elements] if k >= states + elements else None


_TRACED = {"then_branch": "_true_graph", "else_branch": "_false_graph", "cond": "_cond_graph", "body": "_body_graph"}


def _functions(op):
    if "Case" in op.type:
        traced = (getattr(op, f"_branch_graph_{k}", None) for k in itertools.count())
        return [_as_traced(op, branch.name, next(traced)) for branch in op.get_attr("branches")]
    names = (["f"] if op.type in _CALLS or op.type == _REDUCES else ["then_branch", "else_branch"] if op.type in _CHOICES else ["cond", "body"] if op.type in _LOOPS else
             [])
    return [_inner(op, n) for n in names]


def _inner(op, attribute):
    return _as_traced(op, op.get_attr(attribute).name, getattr(op, _TRACED.get(attribute, ""), None))


def _as_traced(op, name, traced):
    """The graph of a branch or a loop as it was traced, which knows its lines; else that of the function of its name, which has none."""
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
        elif value.HasField("shape"):
            v = _shape(value.shape)
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
    """saw(op, inputs, outputs) is called after every op that computes; `inside`: the calls, branches and loops that it is in.

    goes_on: the program will, so that TakesAway is raised where an op would take from an iterator of its. What only writes, and gives nothing, is not
    run a second time: prints, summaries, files, tables."""

    def __init__(self, saw, goes_on=False):
        self.saw, self.turn, self.inside, self._goes_on, self._given, self._values = saw, None, [], goes_on, None, {}

    def run(self, graph, inputs):
        if self._given is None:
            self._given = {id(x) for x in inputs}
        outer, values = self._values, {t.ref(): x for t, x in zip(graph.inputs, inputs)}
        for op in _in_order(graph):
            if op.type == "Placeholder":
                continue
            self.inside.append(op)
            self._values = values
            outs = self.step(op, [values[t.ref()] for t in op.inputs])
            self.inside.pop()
            for t, x in zip(op.outputs, outs):
                values[t.ref()] = x
        self._values = outer
        return [values[t.ref()] for t in graph.outputs]

    def operands(self):
        """The operands of the op that has failed."""
        return [self._values[t.ref()] for t in self.inside[-1].inputs]

    def step(self, op, inputs):
        if op.type in _CALLS:
            return self.run(*[_functions(op)[0]], inputs)
        if op.type in _CHOICES:
            branches, which = _functions(op), np.asarray(inputs[0])
            if "Case" in op.type:  # the last one is also that of indices out of range
                which = int(which) if 0 <= int(which) < len(branches) else -1
            else:
                which = 0 if bool(which) else 1
            return self.run(branches[which], inputs[1:])
        if op.type in _LOOPS:
            cond, body = _functions(op)
            state = list(inputs)
            for self.turn in range(_MOST_TURNS):
                if not bool(np.asarray(self.run(cond, state)[0])):
                    break
                state = self.run(body, state)
            self.turn = None
            return state
        if op.type == _REDUCES:
            return self.reduce(op, inputs)
        if not op.outputs and not op.type.startswith(WRITES):
            return []
        if self._goes_on and op.type.startswith(_TAKES) and any(id(x) in self._given for x in inputs):
            raise TakesAway(op.type)
        if op.type == "Const":
            return [tf.constant(tf.make_ndarray(op.get_attr("value")))]
        outs = quick_execute(op.type.encode(), len(op.outputs), list(inputs), _attributes(op), context.context())
        self.saw(op, inputs, outs)
        return outs

    def reduce(self, op, inputs):
        """A loop over a dataset."""
        body, states = _functions(op)[0], len(op.get_attr("Tstate"))
        state, others = list(inputs[1:1 + states]), list(inputs[1 + states:])
        for element in self.elements(op.inputs[0], dict(self._values), body.inputs[states:len(body.inputs) - len(others)]):
            state = self.run(body, [*state, *element, *others])
        self.turn = None
        return state

    def elements(self, dataset, values, like):
        """The elements of a dataset of the graph, which is read anew. like: tensors of their form. What autograph makes of a loop's body is run here."""
        op = dataset.op
        if op.type in ("ScanDataset", "TakeWhileDataset"):
            body = _inner(op, "f" if op.type == "ScanDataset" else "predicate")
            states = len(op.get_attr("Tstate")) if op.type == "ScanDataset" else 0
            given = [values[t.ref()] for t in op.inputs[1:]]
            state, others = given[:states], given[states:]
            for element in self.elements(op.inputs[0], values, body.inputs[states:len(body.inputs) - len(others)]):
                self.inside.append(op)
                outs = self.run(body, [*state, *element, *others])
                self.inside.pop()
                if op.type == "TakeWhileDataset" and not bool(np.asarray(outs[0])):
                    return
                state = outs[:states]
                yield outs[states:] if states else element
            return
        form = {"output_types": [t.dtype for t in like], "output_shapes": [t.shape for t in like]}
        iterator = tf.raw_ops.AnonymousIteratorV3(**form)
        tf.raw_ops.MakeIterator(dataset=values[dataset.ref()], iterator=iterator)
        for self.turn in range(_MOST_TURNS):
            try:
                yield tf.raw_ops.IteratorGetNext(iterator=iterator, **form)
            except tf.errors.OutOfRangeError:
                return
