"""What a watch says, in the words and files of the rest of wellposed."""
import os
import sys

import wellposed as wp
from wellposed import _core

LEVELS = ("off", "escape", "warn", "raise")


def version_guard(framework, found, lowest, pieces):
    """Raises ImportError that names what has moved: `pieces` maps a private interface to whether it is there."""
    missing = [name for name, there in pieces.items() if not there]
    if missing:
        raise ImportError(f"wellposed.{framework}: {framework} {found} does not have {', '.join(missing)}, which the adapter stands on "
                          f"(it was written for {lowest} and later). wellposed itself works; please report this version.")


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


class Session:
    """A with-block that watches; subclasses see the ops of one framework."""
    raises_defects = False  # True: what would be passed over in a user's model is raised, for tests

    def __init__(self, level, record):
        if level not in LEVELS:
            raise wp.ArgumentError(f"watch: level must be one of {', '.join(LEVELS)}; got {level!r}.")
        self.level, self.findings, self.last = level, [], None
        self.ok, self.refused = True, 0  # of guards: whether the last step was good; steps that were not
        self._recorder = wp.record(os.fspath(record)) if record is not None else None
        self._told, self._notes_told = set(), set()
        self._step_before = None

    def _begin(self):
        self._step_before = _core.current_step()
        if self._step_before < 0:
            wp.set_step(0)
        if self._recorder is not None:
            self._recorder.start()

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
        error = wp.NonFiniteError(str(finding))
        error.finding, error._blame = finding, blame
        raise error

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


def folder_of(module):
    return os.path.dirname(os.path.abspath(sys.modules[module].__file__)) + os.sep
