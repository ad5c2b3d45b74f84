"""What a watch says, in the words and files of the rest of wellposed."""
import functools
import importlib
import os
import re
import sys
import threading

import numpy as np

import wellposed as wp
from wellposed import _core

from .judge import Note
from .rows import Rows

LEVELS = ("off", "escape", "warn", "raise")
DEVICES = ("name", "copy")


def _numbers(version):
    """2.10.1+cpu → (2, 10, 1)."""
    return tuple(int(n) for n in re.match(r"[\d.]*", version)[0].split(".") if n)


def _piece(name):
    """The object behind "module:attribute.attribute", or behind "module"."""
    module, _, path = name.partition(":")
    return functools.reduce(getattr, path.split("."), importlib.import_module(module)) if path else importlib.import_module(module)


def version_guard(framework, found, lowest, pieces):
    """The private interfaces that an adapter stands on, in order. Raises ImportError that names those that have moved, or the version that is too old."""
    objects, missing = [], []
    for name in pieces:
        try:
            objects.append(_piece(name))
        except (ImportError, AttributeError):
            missing.append(name.replace(":", "."))
    if _numbers(found) < _numbers(lowest):
        missing.insert(0, "what came with " + lowest)
    if missing:
        raise ImportError(f"wellposed.{framework}: {framework} {found} does not have {', '.join(missing)}, which the adapter stands on "
                          f"(it was written for {lowest} and later). wellposed itself works; please report this version.")
    return objects


def blame_of(note, *, rows=None, asked=None):
    """The way back as a Blame: text(), json(), html(path)."""
    origin, chain = note.origin, note.chain()
    fields = {k: origin[k] for k in ("source", "operands", "advice", "name", "row", "entry", "value", "spread", "missing") if k in origin}
    fields["chain"] = chain
    first = asked or (chain[0] if chain else None)
    if first:
        fields["asked"] = first
    near = origin.get("rows") or rows
    if near and fields["source"] == "op":
        fields["rows_name"], fields["rows"] = near[0], [int(r) for r in near[1]]
    return _core.make_blame(fields)


_blocks = []  # (session, thread) of the blocks that run now


def watching(kind):
    """The sessions of a kind whose blocks run now in this thread: linear algebra of wellposed, which the framework does not see as ops, is told to them."""
    return [s for s, thread in _blocks if thread == threading.get_ident() and isinstance(s, kind)] if _blocks else []


def linalg_op(name):
    """The op that a function of wellposed.linalg, or a derivative of one ("vjp of inv"), is in reports."""
    derivative, _, function = name.rpartition(" of ")
    return f"{derivative.partition(' ')[0]} in the derivative of linalg.{function}" if derivative else f"linalg.{name}"


def told(kind, to_wp, from_wp):
    """call(name, xs, function, results=()): (values, the rest) of function(xs), on tensors of a framework. Watches of this kind around it see the values, and are
    asked where an argument that it refuses came from. results: of the function whose derivative it is."""
    def call(name, xs, function, results=()):
        try:
            values, rest = function([to_wp(x) for x in xs])
        except wp.NonFiniteError:
            for w in watching(kind):
                w.operand_refused(name, [*xs, *results])
            raise
        outs = [None if y is None else from_wp(y) for y in values]
        for w in watching(kind):
            w.saw(name, xs, [y for y in outs if y is not None])
        return outs, rest
    return call


class Session:
    """A with-block that watches; subclasses see the ops of one framework."""
    raises_defects = False  # True: what would be passed over in a user's model is raised, for tests

    def __init__(self, level, record, *, device="name", trends=False):
        if level not in LEVELS:
            raise wp.ArgumentError(f"watch: level must be one of {', '.join(LEVELS)}; got {level!r}.")
        if device not in DEVICES:
            raise wp.ArgumentError(f'watch: device must be "name" (say where tensors are) or "copy" (look at copies on the CPU); got {device!r}.')
        self.level, self.findings, self.last = level, [], None
        self.copies = device == "copy"  # tensors on a GPU may be copied
        self.rows_known, self.trends = Rows(), wp.Trends() if trends else None
        self.ok, self.refused = True, 0  # of guards: whether the last step was good; steps that were not
        self._recorder = wp.record(os.fspath(record)) if record is not None else None
        self._told, self._notes_told = set(), set()
        self._step_before = None
        self._raised = None  # (finding, blame) of the newest error of this watch

    def _comes(self):
        """The block begins, for watching()."""
        _blocks.append((self, threading.get_ident()))

    def _goes(self):
        _blocks.remove(next(b for b in reversed(_blocks) if b[0] is self))

    def _begin(self):
        if self._recorder is not None:
            self._recorder.start()  # refused where the file cannot be written: nothing has changed then
        self._step_before = _core.current_step()
        if self._step_before < 0:
            wp.set_step(0)

    def _end(self):
        if self._recorder is not None:
            self._recorder.stop()
        wp.set_step(self._step_before)

    @property
    def recording(self):
        return self._recorder is not None or bool(wp.recording())

    def set_step(self, step):
        """The number of the training step, for findings and recordings."""
        wp.set_step(step)

    def next_step(self):
        wp.set_step(_core.current_step() + 1)

    def pass_by(self, what, advice=""):
        """Something that cannot be looked at: said once, nothing else."""
        if what in self._notes_told:
            return
        self._notes_told.add(what)
        self._keep(_core.make_finding({"code": "WP-ADP-001", "severity": "note", "op": "watch", "message": what, "advice": advice,
                                       "scope": wp.current_scope(), "step": _core.current_step()}))

    def not_looked_at(self, reason):
        """A result whose elements are out of reach."""
        self.pass_by(f"a result is not looked at: {reason}.", 'watch(…, device="copy") looks at copies on the CPU.' if reason.startswith("on ") else "")

    def _keep(self, finding):
        self.findings.append(finding)
        _core.report(finding)

    def finding_of(self, note, sink, code="WP-ESC-001", words="leaves the computation"):
        """(Finding, Blame) of a value that reached a sink."""
        blame = blame_of(note)
        first = note.chain(4)[0] if note.link is not None else {}
        file, line = _core.user_line()
        fields = {"code": code, "op": sink, "message": f"{first.get('value', 'a value')} {words}. {blame.text()}",
                  "element": first.get("element", ()), "dtype": first.get("dtype", ""), "shape": first.get("shape", ""),
                  "scope": wp.current_scope(), "step": _core.current_step(), "file": file, "line": line}
        return _core.make_finding(fields), blame

    def escaped(self, note, sink, level=None):
        """A value that is not finite left the computation: raises or warns, by the level; of one source once."""
        level = level or self.level
        if level == "off":
            return
        finding, blame = self.finding_of(note, sink)
        again = note.origin["number"] in self._told
        self._told.add(note.origin["number"])
        self.last = blame
        if level == "warn":
            if not again:
                self._keep(finding)
            return
        self.findings.append(finding)
        error, self._raised = wp.NonFiniteError(str(finding)), (finding, blame)
        error.finding, error._blame = finding, blame
        raise error

    def _leaves_with(self, error):
        """An exception ends the block. One that others made of ours (a wrapper's type(e)(str(e)), an interpreter's error) gets what ours carries."""
        raised, self._raised = self._raised, None
        if raised is None or error is None or hasattr(error, "_blame"):
            return
        if str(raised[0]) not in str(error):
            if not self._has_lost_words(str(error)):
                return
            error.add_note(f"wellposed: {raised[0]}")
        if isinstance(error, wp.Error):
            error.finding = raised[0]
        error._blame = raised[1]

    def _has_lost_words(self, words):
        """Whether these are the words of an exception of the framework's that was made of one whose own are lost."""
        return False

    def refuse(self, note, op, otherwise=""):
        """A guard keeps a step that is not finite from the weights; the run goes on. note: None where only `otherwise` is known."""
        self.ok = False
        self.refused += 1
        if note is not None:
            self.last = blame_of(note)
        words = self.last.text() if self.last is not None else otherwise
        self._keep(_core.make_finding({
            "code": "WP-TRD-005", "op": op, "message": f"an update was refused, the weights are as they were. {words}",
            "advice": "Look at the source; the run goes on without this step.", "scope": wp.current_scope(), "step": _core.current_step()}))

    def see_trends(self, triples):
        """One step of the trends: (name, weights, gradient), tensors of wellposed."""
        if self.trends is None:
            raise wp.ArgumentError("see: trends are not watched: watch(…, trends=True).")
        before = len(self.trends.findings)
        for name, weights, gradient in triples:
            self.trends.see(name, weights, gradient)
        self.findings += self.trends.findings[before:]

    # ---- rows of data -------------------------------------------------------------------------------------------------
    def located(self, address):
        """What is said of an element at an address: its row of the data; None: it is in no data that is known."""
        at = self.rows_known.locate(address) if self.rows_known else None
        return {"source": "data", "name": at[0], "row": at[1], "entry": at[2]} if at is not None else None

    def row_of_batch(self, element, out):
        """(name, [row]) of an element of a result that has one entry per row of the newest batch."""
        batch = self.rows_known.of_batch(out.shape[0]) if out.ndim and element else None
        return (batch[0], [batch[1][element[0]]]) if batch else None

    def report(self):
        """What was found, as text; the empty text: nothing."""
        return "\n".join(str(f) for f in self.findings if f.severity != "note")

    def guarded(self, function, *arguments):
        """Calls a function of the adapter; only what the level raises reaches the user's model."""
        try:
            return function(*arguments)
        except wp.NonFiniteError:
            raise
        except Exception as error:  # a defect of the adapter, or an op of a kind nobody has seen
            if self.raises_defects:
                raise
            self.pass_by(f"an op could not be judged ({type(error).__name__}: {error}); it was passed through untouched.")
            return None


def given_note(x, array, entrance, name=None):
    """The note of a tensor that is not finite and that no op made; array: its elements, None where they are out of reach."""
    at = first_bad(array) if array is not None else ()
    origin = {"source": "given", "number": -id(x), "value": "nan" if array is None else str(array[at]), "spread": 0, "entry": at}
    return Note(None, None, {**origin, **({"name": name} if name else {}), **entrance(x, at)})


def first_bad(array):
    """The index of the first element that is Inf or NaN."""
    return tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])


def datasets(data):
    """(name, array) of what `data=` names."""
    return [] if data is None else list(data.items()) if isinstance(data, dict) else [("data", data)]


def folder_of(module):
    return os.path.dirname(os.path.abspath(sys.modules[module].__file__)) + os.sep
