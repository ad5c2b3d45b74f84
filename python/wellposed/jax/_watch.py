"""watch: a function of JAX whose results are looked at; what is wrong with them is searched op by op."""
import functools

import jax
import numpy as np
from jax._src import core as jax_core
from jax._src import source_info_util

import wellposed as wp
from wellposed import _core

from .._adapters.judge import Note
from .._adapters.rows import Rows
from .._adapters.session import Session, folder_of, version_guard
from ._interpret import EagerRun, Interpreter, array_of, is_bad

version_guard("jax", jax.__version__, "0.4.31", {
    "jax.make_jaxpr": hasattr(jax, "make_jaxpr"), "jax.ffi": hasattr(jax, "ffi"),
    "jax._src.source_info_util.user_frames": hasattr(source_info_util, "user_frames"),
    "jax._src.core.EvalTrace.process_primitive": hasattr(getattr(jax_core, "EvalTrace", None), "process_primitive")})
_core.pass_over(folder_of("jax"))


class Watched(Session):
    """f with its results looked at: w(x) gives what f(x) gives, or raises NonFiniteError that names the op.

    w.findings: what was found; w.last: the way back of the last one; w.rows(x, ids) says which rows of a data set a batch consists of.
    """

    def __init__(self, f, *, data=None, level="escape", record=None, every_op=False, trends=False, guard=False, static_argnums=()):
        super().__init__(level, record)
        functools.update_wrapper(self, f, updated=())
        self.f, self.every_op, self.guard, self.calls = f, every_op, guard, 0
        self._static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        self.rows_known, self._labelled = Rows(), []
        self.trends_seen = wp.Trends() if trends else None
        if data is not None:
            for name, x in (data.items() if isinstance(data, dict) else [("data", data)]):
                self.rows(x, range(len(x)), name, lasting=True)
        if self._recorder is not None:
            self._begin()

    def close(self):
        """Ends the recording, if there is one."""
        if self._recorder is not None:
            self._end()
            self._recorder = None

    def step_now(self):
        """The step that set_step said, else the number of the call."""
        step = _core.current_step()
        return step if step >= 0 else self.calls - 1

    # ---- rows of data ---------------------------------------------------------------------------------------------------
    def rows(self, batch, ids, name="data", *, lasting=False):
        """Says which rows of a data set a batch (an array, or a tree of them) consists of; returns the batch."""
        ids = list(ids)
        for x in jax.tree_util.tree_leaves(batch):
            a = np.asarray(x)
            if a.ndim and a.shape[0] == len(ids):
                self.rows_known.add(a.ctypes.data, a.strides, a.shape, ids, name, lasting=lasting, keep=(a, x))
                self._labelled = [e for e in self._labelled if e[3]][-16:] + [e for e in self._labelled if not e[3]][-16:] + [
                    ((a, x), np.asarray(ids), name, lasting)]
        return batch

    def entrance(self, x, element):
        a = array_of(x) if x is not None else None
        if a is None or not self.rows_known or not isinstance(np.asarray(x), np.ndarray):
            return {}
        a = np.asarray(x)
        at = self.rows_known.locate(a.ctypes.data + sum(i * s for i, s in zip(element, a.strides)))
        return {"source": "data", "name": at[0], "row": at[1], "entry": at[2]} if at else {"name": "an argument"}

    def rests_on(self, note, out):
        element = note.link["element"]
        batch = self.rows_known.of_batch(out.shape[0]) if element and "derivative" not in note.link["op"] else None
        return (batch[0], [batch[1][element[0]]]) if batch else None

    def explain_gather(self, eqn, values, note):
        """A gather that made NaN of finite operands met an index out of range."""
        numbers, indices = eqn.params["dimension_numbers"], np.asarray(values[1])
        for k, axis in enumerate(numbers.start_index_map):
            column, length = indices[..., k], np.asarray(values[0]).shape[axis]
            wrong = (column < 0) | (column > length - eqn.params["slice_sizes"][axis])
            if not wrong.any():
                continue
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            value = int(column[at])
            note.origin["operands"] = [f"indices{list(at)} = {value}, axis {axis} has length {length}"]
            note.origin["advice"] = f"The index must be from 0 to {length - 1}; jnp.take gives NaN beyond, other indexing clamps in silence."
            for (a, _), ids, name, _ in reversed(self._labelled):
                found = np.argwhere(a == value) if a.dtype.kind in "iu" else []
                if len(found):
                    row = tuple(int(i) for i in found[0])
                    note.origin["rows"] = (name, [ids[row[0]]])
                    note.origin["operands"].append(f"{name} row {int(ids[row[0]])}, column {', '.join(map(str, row[1:]))} = {value}")
                    break
            return

    # ---- the call -------------------------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        if any(isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves((args, kwargs))):
            return self.f(*args, **kwargs)  # inside of somebody's transformation: values are not there yet
        self.calls, self.ok = self.calls + 1, True
        recorded = self._record(args, kwargs) if self.recording else None
        out = self.f(*args, **kwargs)
        leaves = jax.tree_util.tree_leaves(out)
        bad = self.guarded(self._first_bad, leaves)
        if recorded is not None:
            recorded.done(_tensors(leaves), bad is not None)
        if (bad is not None or self.every_op) and self.level != "off":
            self._search(args, kwargs, leaves, bad)
        return out

    def _first_bad(self, leaves):
        for k, x in enumerate(leaves):
            if not hasattr(x, "dtype") or not jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
                continue
            if x.dtype == jax.numpy.bfloat16 or not isinstance(x, jax.Array):
                if is_bad(x):
                    return k
                continue
            if next(iter(x.devices())).platform != "cpu" or len(x.devices()) > 1:
                self.pass_by(f"a result is on {next(iter(x.devices()))}: it was copied to the CPU to be looked at.")
            if x.size and _core.first_nonfinite(np.asarray(x)) >= 0:
                return k
        return None

    def _record(self, args, kwargs):
        return self.guarded(_core.Recorded, getattr(self.f, "__name__", "f"), _tensors(jax.tree_util.tree_leaves((args, kwargs)))[:3])

    def _search(self, args, kwargs, leaves, bad):
        note = self.guarded(self._replay, args, kwargs, leaves, bad)
        if note is None and bad is not None:
            a = array_of(leaves[bad])
            at = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
            note = Note({"op": getattr(self.f, "__name__", "f"), "element": at, "value": str(a[at]), "dtype": str(a.dtype), "shape": str(list(a.shape))},
                        None, {"source": "unknown", "number": id(leaves[bad]), "value": str(a[at]), "spread": 0, "entry": at,
                               "missing": "Op by op it came out finite, or it could not be run so."})
        if note is None:
            return
        if not note.made and note.origin["source"] == "given" and note.origin["value"] != "nan":
            return  # an infinity that the program put in
        if self.guard:
            self.refuse(note, getattr(self.f, "__name__", "f"))
        else:
            self.escaped(note, getattr(self.f, "__name__", "f"))

    def _replay(self, args, kwargs, leaves, bad):
        try:
            closed = jax.make_jaxpr(lambda *a: self.f(*a, **kwargs), static_argnums=self._static)(*args)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
                jax.errors.NonConcreteBooleanIndexError) as error:
            self.pass_by(f"f cannot be traced ({type(error).__name__}): it is run again without jit.",
                         "Control flow that depends on values belongs into jax.lax.cond, scan or while_loop.")
            return self._chosen(EagerRun(self, self.entrance).of(self.f, args, kwargs), leaves, bad)
        flat = jax.tree_util.tree_leaves([a for i, a in enumerate(args) if i not in self._static])
        _, notes = Interpreter(self, self.entrance).run(closed.jaxpr, closed.consts, flat, [None] * len(flat))
        return self._chosen(notes, leaves, bad)

    @staticmethod
    def _chosen(notes, leaves, bad):
        """The note of the result that is wrong; of any, if none was asked for or it went through as it was."""
        if bad is None:
            return next((n for n in notes if n is not None), None)
        found = notes[bad] if bad < len(notes) else None
        if found is None and is_bad(leaves[bad]):  # an argument that went through as it was
            return next((n for n in notes if n is not None), None)
        return found

    # ---- what the user asks ---------------------------------------------------------------------------------------------
    def blame(self, error=None):
        """The way back of an error, or of the last finding."""
        return wp.blame(error) if error is not None else self.last

    def see(self, parameters, gradients):
        """Tells the trends of a step: trees of weights and gradients. Needs watch(f, trends=True)."""
        if self.trends_seen is None:
            raise wp.ArgumentError("see: trends are not watched: watch(f, trends=True).")
        before = len(self.trends_seen.findings)
        gradients, step = jax.tree_util.tree_leaves(gradients), _core.current_step()
        wp.set_step(self.step_now())
        for (path, p), g in zip(jax.tree_util.tree_leaves_with_path(parameters), gradients):
            self.trends_seen.see(jax.tree_util.keystr(path).strip("['].") or "parameter", wp.asarray(np.asarray(p)), wp.asarray(np.asarray(g)))
        wp.set_step(step)
        self.findings += self.trends_seen.findings[before:]


def _tensors(leaves):
    found = []
    for x in leaves:
        a = array_of(x) if hasattr(x, "dtype") else None
        if a is not None and len(found) < 3:
            found.append(wp.asarray(a))
    return found


def watch(f=None, **options):
    """w = watch(f), or @watch: w(x) calls f and looks at its results; if one is not finite, f is run again op by op to find who made it.

    f may be jitted, a gradient, vmapped, or contain scan, cond and while. data: an array, or a dict of arrays, whose rows are named in reports. level:
    "escape" and "raise" raise NonFiniteError, "warn" warns, "off" only records. record: a file that `wellposed postmortem` reads. every_op: run
    op by op each time, so that also what is masked later is seen. trends: w.see(parameters, gradients) tells gradients that grow. guard: nothing is
    raised; w.ok says whether the last call was good, so that the update can be left out.
    """
    return Watched(f, **options) if f is not None else lambda g: Watched(g, **options)


