"""watch: a function of JAX whose results are looked at; what is wrong with them is searched op by op."""
import functools
import itertools
import types

import jax
import numpy as np

import wellposed as wp
from wellposed import _core

from .. import cuda
from .._adapters.judge import Note
from .._adapters.session import Session, datasets, first_bad, folder_of
from ._arrays import array_of, elsewhere, is_bad, is_inexact, is_native, pieces
from ._interpret import EagerRun, Interpreter, settled

_core.pass_over(folder_of("jax"))


class Watched(Session):
    """f with its results looked at: w(x) gives what f(x) gives, or raises NonFiniteError that names the op.

    w.findings: what was found; w.last: the way back of the last one; w.rows(x, ids) says which rows of a data set a batch consists of.
    """

    def __init__(self, f, *, data=None, level="escape", record=None, every_op=False, trends=False, guard=False, static_argnums=(), device="name"):
        super().__init__(level, record, device=device, trends=trends)
        functools.update_wrapper(self, f, updated=())
        self.f, self.every_op, self.guard, self.calls = f, every_op, guard, 0
        self._donated = set()  # leaves of the arguments whose memory f takes
        self._static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        self.name, self._labelled = getattr(f, "__name__", "f"), []
        for name, x in datasets(data):
            self.rows(x, range(len(x)), name, lasting=True)
        if self._recorder is not None:
            self._recorder.start()

    def close(self):
        """Ends the recording, if there is one."""
        if self._recorder is not None:
            self._recorder.stop()
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
            if elsewhere(x) is not None:
                continue  # rows are found by address
            a = np.asarray(x)
            if a.ndim and a.shape[0] == len(ids):
                self.rows_known.add(a.ctypes.data, a.strides, a.shape, ids, name, lasting=lasting, keep=(a, x))
                self._labelled = [e for e in self._labelled if e[3]][-16:] + [e for e in self._labelled if not e[3]][-16:] + [
                    ((a, x), np.asarray(ids), name, lasting)]
        return batch

    def entrance(self, x, element):
        a = np.asarray(x) if x is not None and self.rows_known and array_of(x) is not None else None
        if a is None:
            return {}
        return self.located(a.ctypes.data + sum(i * s for i, s in zip(element, a.strides))) or {"name": "an argument"}

    def rests_on(self, note, out):
        return self.row_of_batch(note.link["element"], out) if "derivative" not in note.link["op"] else None

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
    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args, **kwargs):
        given = jax.tree_util.tree_leaves((args, kwargs))
        if any(isinstance(x, jax.core.Tracer) for x in given):
            return self.f(*args, **kwargs)  # inside of somebody's transformation: values are not there yet
        kept = self.guarded(self._kept, args, kwargs) if self._donated else None
        self.calls, self.ok = self.calls + 1, True
        step = _core.current_step()
        numbered = self.recording and step < 0
        if numbered:  # the recording tells calls apart; others have their own steps
            wp.set_step(self.calls - 1)
        recorded = self.guarded(self._record, args, kwargs) if self.recording else None
        try:
            out = self.f(*args, **kwargs)
        except Exception as error:
            self.guarded(self._explain, error)
            raise
        finally:
            if numbered:
                wp.set_step(step)
        if not self._donated:
            self.guarded(self._see_donated, given)
        leaves = jax.tree_util.tree_leaves(out)
        bad = self.guarded(self._any_bad, leaves)
        if recorded is not None:
            self.guarded(lambda: recorded.done(self._tensors(leaves), bool(bad)))
        if (bad or self.every_op) and self.level != "off":
            self._search(*(kept or (args, kwargs)), leaves, bad)
        return out

    def _see_donated(self, given):
        """A call that has taken the memory of arguments cannot be run again, but the next one can, from copies of these."""
        self._donated = {k for k, x in enumerate(given) if isinstance(x, jax.Array) and x.is_deleted()}
        if self._donated:
            self.pass_by("f is given the memory of arguments (donate_argnums): from now on they are copied before each call, so that it can be run again.",
                         "While you look for a cause, leave donate_argnums out.")

    def _kept(self, args, kwargs):
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        return jax.tree_util.tree_unflatten(tree, [jax.numpy.copy(x) if k in self._donated else x for k, x in enumerate(leaves)])

    def _explain(self, error):
        """Adds to an error of a GPU's libraries what it means."""
        told = cuda.explain(str(error)) if not isinstance(error, wp.Error) else None
        if told is not None:
            file, line = _core.user_line()
            error.add_note(f"wellposed: {self.name} at {file.rpartition('/')[2]}:{line}, step {self.step_now()}\n  {told.text()}")

    def _seen(self, x):
        """Whether the elements may be looked at: those on another device only as copies that were asked for."""
        where = elsewhere(x)
        if where is None or self.copies:
            return True
        self.not_looked_at(where)
        return False

    def _any_bad(self, leaves):
        return any(is_inexact(x) and self._seen(x) and self._is_bad(x) for x in leaves)

    @staticmethod
    def _is_bad(x):
        if not is_native(x):
            return is_bad(x)
        return any(part.size and _core.first_nonfinite(np.asarray(part)) >= 0 for part in pieces(x))

    def _tensors(self, leaves):
        arrays = (array_of(x) for x in leaves if hasattr(x, "dtype") and self._seen(x))
        return [wp.asarray(a) for a in itertools.islice((a for a in arrays if a is not None), 3)]

    def _record(self, args, kwargs):
        return _core.Recorded(self.name, self._tensors(jax.tree_util.tree_leaves((args, kwargs))))

    def _search(self, args, kwargs, leaves, bad):
        notes = self.guarded(self._replay, args, kwargs) if self.guarded(self._can_replay, args, kwargs) else None
        note = self.guarded(self._chosen, notes, leaves, bad)
        if note is None or not note.made and note.origin["source"] == "given" and note.origin["value"] != "nan":
            return  # nothing, or an infinity that the program put in
        if self.guard:
            self.refuse(note, self.name)
        else:
            self.escaped(note, self.name)

    def _can_replay(self, args, kwargs):
        given = jax.tree_util.tree_leaves((args, kwargs))
        return not any(isinstance(x, jax.Array) and x.is_deleted() for x in given) and all(self._seen(x) for x in given)

    def _replay(self, args, kwargs):
        """Notes of the results, in the order of their leaves."""
        traced, call = self._split(args, kwargs)
        try:
            closed = jax.make_jaxpr(call)(*traced)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
                jax.errors.NonConcreteBooleanIndexError) as error:
            self.pass_by(f"f cannot be traced ({type(error).__name__}): it is run again without jit.",
                         "Control flow that depends on values belongs into jax.lax.cond, scan or while_loop.")
            return EagerRun(self, self.entrance).of(self.f, args, kwargs)
        return Interpreter(self, self.entrance).run(closed.jaxpr, closed.consts, traced, [None] * len(traced))[1]

    def _split(self, args, kwargs):
        """The arrays and floats of the arguments, and f as a function of these alone: what else there is (flags, names, functions, objects) stays as it is."""
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        fixed = [k in self._static for k, a in enumerate(args) for _ in jax.tree_util.tree_leaves(a)]
        at = [k for k, x in enumerate(leaves) if _is_traced(x) and not (k < len(fixed) and fixed[k])]

        def call(*traced):
            full = list(leaves)
            for k, x in zip(at, traced):
                full[k] = x
            args, kwargs = jax.tree_util.tree_unflatten(tree, full)
            return self.f(*args, **kwargs)
        return [leaves[k] for k in at], call

    def _chosen(self, notes, leaves, bad):
        """The note to tell of: of the results that are wrong, or of any if none is; what was made or is NaN goes before infinities that were put in."""
        if not bad:
            return next((n for n in notes or () if n is not None), None)
        wrong = [k for k, x in enumerate(leaves) if is_inexact(x) and self._seen(x) and self._is_bad(x)]
        told = settled([leaves[k] for k in wrong], [notes[k] for k in wrong]) if notes is not None and len(notes) == len(leaves) else []
        if any(told):
            return next((n for n in told if n is not None and (n.made or n.origin["value"] == "nan")), None) or next(n for n in told if n is not None)
        if notes is not None and any(notes):  # an argument that went through as it was
            return next(n for n in notes if n is not None)
        a = next(array_of(part) for part in pieces(leaves[wrong[0]]) if is_bad(part))
        at = first_bad(a)
        link = {"op": self.name, "element": at, "value": str(a[at]), "dtype": str(a.dtype), "shape": str(list(a.shape))}
        return Note(link, None, {"source": "unknown", "number": id(leaves[wrong[0]]), "value": str(a[at]), "spread": 0, "entry": at,
                                 "missing": "It could not be run again op by op." if notes is None else "Op by op it came out finite."})

    # ---- what the user asks ---------------------------------------------------------------------------------------------
    def blame(self, error=None):
        """The way back of an error, or of the last finding."""
        return wp.blame(error) if error is not None else self.last

    def see(self, parameters, gradients):
        """Tells the trends of a step: trees of weights and gradients. Needs watch(f, trends=True)."""
        gradients, step = jax.tree_util.tree_leaves(gradients), _core.current_step()
        wp.set_step(self.step_now())
        try:
            self._see(parameters, gradients)
        finally:
            wp.set_step(step)

    def _see(self, parameters, gradients):
        self.see_trends((jax.tree_util.keystr(path).strip("['].") or "parameter", *(wp.asarray(array_of(x)) for x in (p, g)))
                        for (path, p), g in zip(jax.tree_util.tree_leaves_with_path(parameters), gradients) if self._seen(p) and self._seen(g))


def _is_traced(x):
    return isinstance(x, (jax.Array, float, complex)) or isinstance(x, (np.ndarray, np.generic)) and (x.dtype.kind in "biufc" or x.dtype.isbuiltin == 2)


def watch(f=None, **options):
    """w = watch(f), or @watch: w(x) calls f and looks at its results; if one is not finite, f is run again op by op to find who made it.

    f may be jitted, a gradient, vmapped, or contain scan, cond and while. data: an array, or a dict of arrays, whose rows are named in reports. level:
    "escape" and "raise" raise NonFiniteError, "warn" warns, "off" only records. record: a file that `wellposed postmortem` reads. every_op: run
    op by op each time, so that also what is masked later is seen. trends: w.see(parameters, gradients) tells gradients that grow. guard: nothing is
    raised; w.ok says whether the last call was good, so that the update can be left out. device="copy": arrays on a GPU are looked at as copies.
    """
    return Watched(f, **options) if f is not None else lambda g: Watched(g, **options)
