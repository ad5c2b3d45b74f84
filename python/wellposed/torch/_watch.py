"""watch: every op of a model, forward and backward, looked at where it runs."""
import contextlib
import re

import numpy as np
import torch

import wellposed as wp
from wellposed import _core

from .._adapters.judge import Note, Operand, judge
from .._adapters.ops import kind_of
from .._adapters.session import Session, blame_of, datasets, folder_of, given_note, linalg_op, version_guard
from ._arrays import as_numpy, reason_hidden, tensors_in
from ._batches import Batches
from ._mode import Mode, uncompiled
from ._notes import Notes
from ._stack import node_now, printing, runs_code_of_the_program
from ._training import Training

_modes_off, *_ = version_guard("torch", torch.__version__, "2.10", [
    "torch.utils._python_dispatch:_disable_current_modes",
    "torch:ops.aten.add.Tensor._op", "torch:ops.aten.add.Tensor._schema", "torch:Tensor.__dlpack_c_exchange_api__"])
_sequence = getattr(getattr(torch._C, "_autograd", None), "_get_sequence_nr", None)
_core.pass_over(folder_of("torch"))
_core.Inside.__getattr__ = lambda self, name: getattr(self.__wrapped__, name)  # __code__, __name__, … of the function it stands for

_PLAIN, _VIEWS, _UNSEEN = 0, 1, 2
_NO_VALUES = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "empty_permuted", "set_"}
_TAKES_ROWS = {"index", "index_select", "stack"}
_WORDLESS = re.compile(r"in the TorchScript interpreter\.[\s\S]*RuntimeError: \s*\Z")
_JUDGES_SCALED = "_amp_foreach_non_finite_check_and_unscale_"


def _short(function):
    return function._schema.name.rpartition("::")[2]


class Watch(Session):
    """with watch(model) as w: … names the op that made an Inf or NaN when it reaches the gradients, an update or item().

    w.findings: what was found; w.last: the way back of the last one (text(), json(), html(path)); w.blame(x): that of a tensor.
    """

    def __init__(self, model=None, *, data=None, level="escape", record=None, optimizer=None, trends=False, guard=False, device="name"):
        super().__init__(level, record, device=device, trends=trends)
        self.model, self._data = model, data
        self._training, self._batches = Training(self, optimizer, guard), Batches(self)
        self._watcher = _core.Watcher(*map(uncompiled, (self._classify, self._slow, self._failed)), _sequence, uncompiled(self._look))
        self.notes = Notes(self._watcher)
        self._mode = Mode(self._watcher.dispatch)
        self._parameters, self._wrapped, self._masks = {}, [], {}

    # ---- the block ----------------------------------------------------------------------------------------------------
    def __enter__(self):
        self._begin()
        try:
            self._watch_all()
        except BaseException:
            self._undo()
            self._end()
            raise
        self._mode.__enter__()
        self._comes()
        return self

    def _watch_all(self):
        self._watcher.recording = self.recording
        if self.model is not None:
            root = type(self.model).__name__
            self._parameters = {id(p): name for name, p in self.model.named_parameters()}
            for name, module in self.model.named_modules():
                if isinstance(module, torch.jit.ScriptModule) or "forward" in vars(module):
                    continue
                inside = module.__dict__["forward"] = _core.Inside(module.forward, f"{root}.{name}" if name else root, module)
                self._wrapped.append((vars(module), inside))
        self._label_data()
        self._training.begin()

    def _undo(self):
        self._unwrap()
        self._wrapped = []
        self._training.end()

    def _unwrap(self):
        """Takes out what was put in the place of forward functions; gives the members of those modules. What the program put there meanwhile stays."""
        ours = [(members, inside) for members, inside in self._wrapped if members.get("forward") is inside]
        for members, _ in ours:
            del members["forward"]
        return ours

    @contextlib.contextmanager
    def unwrapped(self):
        """The modules as they are without the watch."""
        ours = self._unwrap()
        try:
            yield
        finally:
            for members, inside in ours:
                members["forward"] = inside

    def __exit__(self, kind, error, trace):
        self._goes()
        self._leaves_with(error)
        self._mode.__exit__(kind, error, trace)
        self._undo()
        try:
            if kind is None:
                self.guarded(self._check_gradients_left)
        finally:
            self.notes.clear()
            self._end()

    def _has_lost_words(self, words):
        return _WORDLESS.search(words) is not None

    def _check_gradients_left(self):
        """Gradients that no optimizer took."""
        if not self.notes or self._told or self._training.guard:
            return
        for name, p in [*(self.model.named_parameters() if self.model is not None else ()), *self._training.inputs()]:
            if p.grad is not None and self.is_bad(p.grad):
                self._training.gradient_leaves(p.grad, name, self._training.scale)

    # ---- rows of data -------------------------------------------------------------------------------------------------
    def _label_data(self):
        data = self._data
        if data is None:
            return
        if isinstance(data, torch.utils.data.DataLoader):
            self._training.at_end.append(self._batches.follow(data))
            return
        for name, x in datasets(data):
            if not isinstance(x, torch.Tensor):
                raise wp.ArgumentError(f"watch: data must be a tensor, a dict of tensors or a DataLoader; got {type(x).__name__}.")
            self._label(x, np.arange(x.shape[0]), name, lasting=True)

    def _label(self, x, ids, name, lasting=False):
        if reason_hidden(x) is None and x.device.type == "cpu":
            note = self.notes.of(x)
            if note is not None and not note.made:
                self.notes.set(x, None)  # it was in the data: told with its row, where it is read
            size = x.element_size()
            self.rows_known.add(x.data_ptr(), [s * size for s in x.stride()], x.shape, ids, name, lasting=lasting, keep=x)

    def rows(self, batch, ids, name="data"):
        """Says which rows of a data set a batch consists of; returns the batch. A batch may be a tensor or a structure of them."""
        ids = ids.tolist() if isinstance(ids, torch.Tensor) else list(ids)
        for x in tensors_in(batch):
            if x.ndim and x.shape[0] == len(ids):
                self._label(x, ids, name)
        return batch

    def _took_rows(self, name, args, out):
        """Batches that are made of rows of a labelled tensor keep their numbers."""
        found = None
        if name == "stack":
            ids = []
            for x in args[0]:
                at = self.rows_known.locate(x.data_ptr()) if x.device.type == "cpu" else None
                if at is None:
                    return
                found = at[0]
                ids.append(at[1])
        else:
            at = self.rows_known.locate(args[0].data_ptr())
            if at is None:
                return
            found, index = at[0], args[1][0] if name == "index" else args[2]
            if index is None or name == "index_select" and args[1] != 0 or index.ndim != 1:
                return
            if index.dtype is torch.bool:
                index = index.nonzero()[:, 0]
            size = args[0].element_size() * args[0].stride(0)
            ids = [self.rows_known.locate(args[0].data_ptr() + (i if i >= 0 else i + args[0].shape[0]) * size)[1] for i in index.tolist()]
        if out.ndim and out.shape[0] == len(ids):
            self._label(out, ids, found)

    # ---- what the compiled part asks ----------------------------------------------------------------------------------
    def _classify(self, function):
        name = _short(function)
        call = getattr(function, "_op", function)
        if name == _JUDGES_SCALED:
            def before(gradients, found_inf, inv_scale):
                self.guarded(self._training.judge_scaled, gradients, inv_scale)
                return call(gradients, found_inf, inv_scale)
            return name, _PLAIN, before
        if name in _NO_VALUES or name.startswith("_record_function"):
            return name, _UNSEEN, call
        if name in _TAKES_ROWS and self._data is not None and not isinstance(self._data, torch.utils.data.DataLoader):
            def after(*args, **kwargs):
                out = call(*args, **kwargs)
                self.guarded(self._took_rows, name, args, out)
                return out
            return name, _PLAIN, after
        schema = function._schema
        shows = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        return name, _VIEWS if shows and not schema.is_mutable else _PLAIN, call

    def _look(self, x):
        """Results that the compiled part could not look at."""
        return bool(self.guarded(self._look_closer, x))

    def _look_closer(self, x):
        if not isinstance(x, torch.Tensor):
            return False
        reason = self._out_of_reach(x)
        if reason is not None:
            if x.dtype.is_floating_point or x.dtype.is_complex or x.is_quantized:
                self.not_looked_at(reason)
            return False
        bad = self.is_bad(x)
        if not bad:
            self.notes.set(x, None)
        return bad

    def _out_of_reach(self, x):
        """Why the elements of x are not looked at; None: they are."""
        return reason_hidden(x) or (f"on {x.device}" if x.device.type != "cpu" and not self.copies else None)

    def _array(self, x):
        """The elements as an array; None: out of reach."""
        if self._out_of_reach(x) is not None:
            return None
        if x.device.type == "cpu":
            return as_numpy(x)
        with _modes_off():
            return as_numpy(x)

    def is_bad(self, x):
        if x.device.type == "cpu":
            found = _core.first_nonfinite(x)
            return found is not None and found >= 0
        array = self._array(x)
        return array is not None and array.dtype.kind in "fc" and not np.isfinite(array).all()

    def _is_mask(self, function, out):
        """A place that has given infinities (a mask of −inf) again and again is not judged each time, as long as there is no NaN."""
        if not isinstance(out, torch.Tensor) or out.device.type != "cpu" or not out.is_floating_point():
            return False
        kept = self._masks.get((function, *_core.user_line()))
        if kept is None or kept[0] < 3 or node_now() is not None or out.amin().isnan():
            return False
        self.notes.set(out, kept[1])
        return True

    def _slow(self, function, args, kwargs, out):
        if self._masks and self.guarded(self._is_mask, function, out):
            return
        note = self.guarded(self._judge, function, args, kwargs or {}, out)  # the mode is off while it is asked
        if note is None or self.level == "off":
            return
        if _short(function) == "_local_scalar_dense":
            if note.made and not printing():
                self.escaped(note, "item")
        else:
            self._made(note, _short(function))

    def _made(self, note, name):
        if self.level in ("raise", "warn") and note.made and note.before is None:
            self.escaped(note, name)

    def saw(self, name, inputs, outs):
        """What wellposed.torch.linalg has computed."""
        if not any(map(self.is_bad, outs)):
            return
        with _modes_off():
            note = self.guarded(self._judge_linalg, name, inputs, outs)
        if note is not None and self.level != "off":
            self._made(note, linalg_op(name))

    def _judge_linalg(self, name, inputs, outs):
        where = self._where("")[1]
        operands = [(Operand(f"x{k + 1}", self._array(x), self.notes.of(x)), x) for k, x in enumerate(inputs)]
        return self._judged(name, linalg_op(name), kind_of("linalg"), where, operands, outs)

    def operand_refused(self, name, inputs):
        """A function of wellposed.torch.linalg does not take what is not finite: where that came from."""
        for x in inputs:
            if self.is_bad(x) and self.level not in ("off", "warn"):
                self.escaped(self.note_of(x, f"an argument of {name}"), linalg_op(name))

    def _where(self, name):
        """(name, line, scope and step) of an op: of a derivative those of the op it belongs to."""
        file, line = _core.user_line()
        where = {"file": file, "line": line, "scope": wp.current_scope(), "step": _core.current_step()}
        node = node_now()
        if node is None:
            return name, where
        function, programs = getattr(node, "_forward_cls", None), runs_code_of_the_program()
        if programs and (function is None or function.__module__.startswith("torch.")):  # a hook, or a forward pass that is computed again
            return f"{name} in the backward pass", where
        forward = node.name().removesuffix("0").removesuffix("Backward")
        mark = self._watcher.mark_of(node._sequence_nr()) if node._sequence_nr() < 2**63 else None
        if mark is not None:
            where.update({"scope": mark[2]} if programs else {"file": mark[0], "line": mark[1], "scope": mark[2]})
            forward = _short(mark[3]) if function is None else forward
        return f"{name} in the derivative of {forward}", where

    def _operands(self, function, args, kwargs):
        found = []
        for spec, value in _paired(function._schema.arguments, args, kwargs):
            written = spec.alias_info is not None and spec.alias_info.is_write
            if isinstance(value, (bool, int, float, complex)):
                if not isinstance(value, bool) and not np.isfinite(value):
                    found.append((Operand(spec.name, np.asarray(value)), None))
                elif isinstance(value, (int, float)) and spec.name in ("other", "exponent", "value"):
                    found.append((Operand(spec.name, np.asarray(value)), None))
                continue
            many = list(tensors_in(value))
            for k, x in enumerate(many):
                name = self._parameters.get(id(x)) or (spec.name if isinstance(value, torch.Tensor) else f"{spec.name}[{k}]")
                found.append((Operand(name, None if written else self._array(x), self.notes.of(x) or self._unseen(x, name)), x))
        return found

    def _unseen(self, x, name):
        """What is not finite came from a tensor on another device, for all that is known."""
        return None if x.device.type in ("cpu", "meta") or self.copies else Note(None, None, {
            "source": "given", "number": -id(x), "value": "nan", "spread": 0, "name": f"{name}, which is not looked at (on {x.device})"})

    def _judge(self, function, args, kwargs, out):
        name = _short(function)
        label, where = self._where(name)
        outs = list(tensors_in(out)) if not isinstance(out, (float, complex)) else [out]
        return self._judged(function, label, kind_of(name), where, self._operands(function, args, kwargs), outs)

    def _judged(self, key, label, kind, where, operands, outs):
        """The note of the newest of the results (tensors or numbers) that are not finite."""
        for o, _ in operands:  # a note belongs to memory that is not finite now
            if o.note is not None and o.value is not None and not o.bad:
                o.note = None

        def entrance(operand, element):
            tensor = next((t for o, t in operands if o is operand), None)
            return self.entrance(tensor, element)
        newest = None
        for x in outs:
            array = self._array(x) if isinstance(x, torch.Tensor) else np.asarray(x)
            if array is None or array.dtype.kind not in "fc" or np.isfinite(array).all():
                continue
            note = judge(label, kind, [o for o, _ in operands], array, where, entrance)
            if note.made and note.before is None and node_now() is None:
                note.origin["rows"] = self._rests_on(note, array, operands)
            if isinstance(x, torch.Tensor) and (note.made or x.device.type != "cpu" or self.located(x.data_ptr()) is None):
                self.notes.set(x, note)  # bad rows of a batch are told where they are read
            newest = note
        if newest is not None and newest.origin["source"] == "given" and newest.origin["value"] != "nan" and "derivative" not in label:
            key = key, where["file"], where["line"]
            self._masks[key] = self._masks.get(key, (0,))[0] + 1, newest
        return newest

    def _rests_on(self, note, out, operands):
        """(name, [row]) where the first axis is that of the batch."""
        along = out.ndim and any(t is not None and id(t) not in self._parameters and o.value is not None and o.value.ndim and o.value.shape[0] == out.shape[0]
                                 for o, t in operands)
        return self.row_of_batch(note.link["element"], out) if along else None

    def entrance(self, x, element):
        """Where a value that no op made came in: a row of the data, a parameter."""
        if x is None:
            return {"name": "a number of the program"}
        if x.device.type != "cpu":
            return {}
        return self.located(x.data_ptr() + x.element_size() * sum(i * s for i, s in zip(element, x.stride()))) or {}

    def _failed(self, function, args, kwargs, error):
        self.guarded(self._training.explain_failure, function, args, kwargs, error)

    # ---- what the user asks -------------------------------------------------------------------------------------------
    def note_of(self, x, name="the tensor"):
        """The note of a tensor that is not finite; without one it was given."""
        return self.notes.of(x) or given_note(x, self._array(x), self.entrance, name)

    def blame(self, x):
        """The way back of a tensor's first element that is not finite."""
        if isinstance(x, BaseException):
            return wp.blame(x)
        if not self.is_bad(x):
            raise wp.ArgumentError("blame: every element of the tensor is finite.")
        return blame_of(self.note_of(x))

    def batches(self, loader, name="data"):
        """The batches of a DataLoader, with the row numbers of its sampler."""
        return self._batches.of(loader, name)


def _paired(specs, args, kwargs):
    for i, spec in enumerate(specs):
        if i < len(args):
            yield spec, args[i]
        elif spec.name in kwargs:
            yield spec, kwargs[spec.name]


def watch(model=None, *, data=None, level="escape", record=None, optimizer=None, trends=False, guard=False, device="name"):
    """with watch(model) as w: … looks at the result of every op of this thread, forward and backward.

    data: a tensor, a dict of tensors or a DataLoader whose rows are named in reports. level: "escape" raises NonFiniteError where an Inf or
    NaN reaches backward(), an optimizer or item(); "warn" warns; "raise" raises where it is made; "off" only records. record: a file that
    `wellposed postmortem` reads, whatever ends the process. optimizer: with guard=True, updates that are not finite are refused;
    with trends=True, gradients and weights that grow are told early. device="copy": tensors on a GPU are looked at as copies.
    """
    return Watch(model, data=data, level=level, record=record, optimizer=optimizer, trends=trends, guard=guard, device=device)
