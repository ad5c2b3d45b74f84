"""Runs a jaxpr op by op, on real values, to see where an Inf or NaN is made. Loops and calls are run whole first, and entered only if they go wrong."""
import functools
import re
import threading
import types

import jax
import numpy as np

from .._adapters.judge import Note, Operand, judge
from .._adapters.ops import kind_of
from .._adapters.session import folder_of, linalg_op, version_guard
from ._arrays import array_of, is_bad
from ._derivatives import Derivatives, closed

Literal, EvalTrace, _line_now, _user_frames, *_ = version_guard("jax", jax.__version__, "0.8", [
    "jax.extend.core:Literal", "jax._src.core:EvalTrace", "jax._src.source_info_util:current", "jax._src.source_info_util:user_frames",
    "jax._src.core:EvalTrace.process_primitive"])
_TRANSFORMS = re.compile(r"\b(?:jvp|transpose|vmap|remat|checkpoint|rematted_computation|jit|pjit)\(|\)")
_MOST_TURNS = 100_000
_OWN = folder_of("wellposed")


def _matters(note):
    """Whether a note tells of more than an infinity that the program put in."""
    return note is not None and (note.made or note.origin["value"] == "nan")


def _stronger(a, b):
    return a if _matters(a) or b is None else b if _matters(b) or a is None else a


def _of_part(note, again):
    """The note of an array as that of one that is a slice of it, or that it is a slice of: elements have other indices there."""
    if note is None or note.again is None:
        return note
    other = Note(note.link, note.before, note.origin)
    other.again = again
    return other


def settled(outs, notes):
    """One note per result that is not finite: its own if that explains it, else the first of the others. An infinity that was given explains no NaN."""
    first = next((n for n in notes if _matters(n)), None) or next((n for n in notes if n is not None), None)

    def own(x, note):
        if not is_bad(x):
            return None
        return note if _matters(note) or note is not None and not np.isnan(array_of(x)).any() else first
    return [own(x, n) for x, n in zip(outs, notes)]


class Interpreter:
    """session tells findings and steps; entrance(value, element) tells where a value that no op made came in."""

    def __init__(self, session, entrance):
        self.session, self.entrance = session, entrance
        self.derivatives = None  # of the whole jaxpr, when it is asked for
        self.root = None
        self.outer = ("", 0)  # the line of the call that is entered

    def run(self, jaxpr, consts, args, notes, stack=""):
        """Results of a jaxpr and their notes; notes: one per argument."""
        outer, self.root = self.outer, self.root or jaxpr
        try:
            return self._run(jaxpr, consts, args, notes, stack)
        finally:
            self.outer = outer

    def _run(self, jaxpr, consts, args, notes, stack):
        env, known = {}, {}

        def read(atom):
            return (atom.val, None) if isinstance(atom, Literal) else (env[atom], known.get(atom))
        for v, c in zip(jaxpr.constvars, consts):
            env[v] = c
        for v, x, n in zip(jaxpr.invars, args, notes):
            env[v], known[v] = x, n
        for eqn in jaxpr.eqns:
            values, before = zip(*map(read, eqn.invars)) if eqn.invars else ((), ())
            inner = f"{stack}/{eqn.source_info.name_stack}".strip("/")
            outs, told = self.step(eqn, values, before, inner)
            for v, x, n in zip(eqn.outvars, outs, told):
                env[v] = x
                if n is not None:
                    known[v] = n
        found = [read(v) for v in jaxpr.outvars]
        return [x for x, _ in found], [n for _, n in found]

    def step(self, eqn, values, notes, stack):
        outs = self.bind(eqn, values)
        if not any(is_bad(x) for x in outs):
            return outs, [None] * len(outs)
        before, self.outer = self.outer, self.line(eqn)
        inside = self.session.guarded(self.descend, eqn, values, notes, stack)
        self.outer = before
        if inside is not None and any(n is not None for n in inside):
            return outs, settled(outs, inside)
        return outs, [self.judge(eqn, values, notes, x, stack) if is_bad(x) else None for x in outs]

    @staticmethod
    def bind(eqn, values):
        kept = {"donated_invars": (False,) * len(values)} if "donated_invars" in eqn.params else {}  # operands are needed afterwards
        params = eqn.primitive.get_bind_params({**eqn.params, **kept})
        functions, params = params if isinstance(params, tuple) else ((), params)  # before JAX 0.7: a pair
        out = eqn.primitive.bind(*functions, *values, **params)
        return list(out) if eqn.primitive.multiple_results else [out]

    # ---- calls and loops ------------------------------------------------------------------------------------------------
    def descend(self, eqn, values, notes, stack):
        """Notes of the results of an op that consists of others; None: it is one op."""
        name, p = eqn.primitive.name, eqn.params
        if getattr(p.get("mesh"), "size", 1) > 1:  # the inside is about a piece of each operand
            self.session.pass_by(f"{name} over several devices is judged as one op.")
            return None
        if name == "scan":
            return self.scan(p, values, notes, stack)
        if name == "while":
            return self.loop(p, values, notes, stack)
        if name == "cond":
            branch = p["branches"][int(np.clip(int(values[0]), 0, len(p["branches"]) - 1))]
            return self.run(*closed(branch), values[1:], notes[1:], stack)[1]
        for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if key in p and (hasattr(p[key], "eqns") or hasattr(p[key], "jaxpr")):
                jaxpr, consts = closed(p[key])
                if len(jaxpr.invars) == len(values):
                    return self.run(jaxpr, consts, values, notes, stack)[1]
        return None

    def scan(self, p, values, notes, stack):
        jaxpr, consts = closed(p["jaxpr"])
        nc, nk, length = p["num_consts"], p["num_carry"], p["length"]
        fixed, carry, xs = values[:nc], list(values[nc:nc + nk]), values[nc + nk:]
        fixed_notes, carry_notes, xs_notes = notes[:nc], list(notes[nc:nc + nk]), notes[nc + nk:]
        ys_notes = [None] * (len(jaxpr.outvars) - nk)
        turns = range(length - 1, -1, -1) if p["reverse"] else range(length)
        for i in turns:
            of_turn = [_of_part(n, lambda at, n=n, i=i: n.again((i, *at))) for n in xs_notes]
            outs, told = self.run(jaxpr, consts, [*fixed, *carry, *(x[i] for x in xs)], [*fixed_notes, *carry_notes, *of_turn], f"{stack}/turn {i}")
            carry, carry_notes = outs[:nk], told[:nk]
            ys_notes = [_stronger(a, _of_part(b, None)) for a, b in zip(ys_notes, told[nk:])]
            if nk and all(_matters(n) for n in carry_notes):
                break  # what follows inherits
        return [*carry_notes, *ys_notes]

    def loop(self, p, values, notes, stack):
        cond, cond_consts = closed(p["cond_jaxpr"])
        body, body_consts = closed(p["body_jaxpr"])
        nc, nb = p["cond_nconsts"], p["body_nconsts"]
        carry, told = list(values[nc + nb:]), list(notes[nc + nb:])
        for turn in range(_MOST_TURNS):
            (go,), _ = self.run(cond, cond_consts, [*values[:nc], *carry], [*notes[:nc], *told], stack)
            if not bool(go):
                break
            carry, told = self.run(body, body_consts, [*values[nc:nc + nb], *carry], [*notes[nc:nc + nb], *told], f"{stack}/turn {turn}")
            if any(_matters(n) for n in told):
                break
        return told

    # ---- one op ---------------------------------------------------------------------------------------------------------
    def line(self, eqn):
        frames = _user_frames(eqn.source_info.traceback)
        return next(((f.file_name, f.start_line) for f in frames if not f.file_name.startswith(_OWN)), self.outer)

    def where(self, eqn, stack):
        file, line = self.line(eqn)
        scope = "/".join(part for part in _TRANSFORMS.sub("", stack).split("/") if part)
        return {"file": file, "line": line, "scope": scope, "step": self.session.step_now()}

    @staticmethod
    def place(eqn):
        """The line and the columns of the expression that an op belongs to; None: they are not known."""
        frame = next((f for f in _user_frames(eqn.source_info.traceback) if not f.file_name.startswith(_OWN)), None)
        return (frame.file_name, frame.start_line, frame.start_column, frame.end_line, frame.end_column) if frame is not None else None

    def label(self, eqn, stack):
        program = eqn.params.get("program")
        if getattr(program, "chain", ()):
            return linalg_op(f"{program.chain[-1][0]} of {program.name}")
        name = eqn.primitive.name if program is None else linalg_op(program.name)
        if self.root is None:
            return f"{name} in a derivative" if "transpose" in stack else name
        self.derivatives = self.derivatives or Derivatives(self.root, self.place)
        near = self.derivatives.of(eqn)
        return name if near is None else f"{name} in the derivative of {near}" if near else f"{name} in a derivative"

    def judge(self, eqn, values, notes, out, stack):
        operands, whole = [], {}
        for k, (x, note) in enumerate(zip(values, notes)):
            o = Operand(f"x{k + 1}", array_of(x), note)
            if o.note is not None and o.value is not None and not o.bad:
                o.note = None
            operands.append(o)
            whole[id(o)] = x
        if "y" in eqn.params and eqn.primitive.name == "integer_pow":
            operands.append(Operand("x2", np.asarray(eqn.params["y"])))
        if eqn.primitive.name == "select_n":
            operands = operands[1:]
        kind = kind_of(eqn.primitive.name)
        judged = functools.partial(judge, source=lambda o, at: _source(eqn, values, whole[id(o)], at))
        told = self.session.guarded(judged, self.label(eqn, stack), kind, operands, array_of(out), self.where(eqn, stack),
                                    lambda o, at: self.entrance(whole.get(id(o)), at))
        return self.completed(eqn, values, told, out) if told is not None else None

    def completed(self, eqn, values, told, out):
        """What a note of an op that made something has besides; also when it is asked again for another element."""
        if told.made and told.before is None:
            if eqn.primitive.name == "gather":
                self.session.explain_gather(eqn, values, told)
            told.origin.setdefault("rows", self.session.rests_on(told, out))
        if told.again is not None:
            again = told.again
            told.again = lambda at: self.completed(eqn, values, again(at), out)
        return told


def _source(eqn, values, x, element):
    """Where an op that moves elements took one from: it is run on their numbers. None: it does not take integers, or adds elements of its own."""
    try:
        numbers = jax.numpy.arange(x.size).reshape(x.shape)
        moved = eqn.primitive.bind(*(numbers if v is x else v for v in values), **eqn.params)
        return tuple(int(i) for i in np.unravel_index(int(np.asarray(moved)[element]), x.shape))
    except (TypeError, ValueError, IndexError):
        return None


class EagerRun(Interpreter):
    """Runs a function that cannot be traced, without jit, and sees the ops where JAX evaluates them."""

    def of(self, f, args, kwargs):
        """Notes of the results, in the order of their leaves."""
        known, plain, thread = {}, EvalTrace.process_primitive, threading.get_ident()

        def process(trace, primitive, args, params):
            out = plain(trace, primitive, args, params)
            if threading.get_ident() != thread:
                return out
            outs = list(out) if primitive.multiple_results else [out]
            if any(hasattr(x, "dtype") and is_bad(x) for x in outs) and not hasattr(self, "inside"):
                self.inside = True
                try:
                    eqn = types.SimpleNamespace(primitive=primitive, params=params, source_info=_line_now())
                    notes = [known.get(id(x), (None, None))[1] for x in args]
                    for x in outs:
                        if is_bad(x):
                            known[id(x)] = x, self.judge(eqn, list(args), notes, x, str(eqn.source_info.name_stack))
                finally:
                    del self.inside
            return out
        EvalTrace.process_primitive = process
        try:
            with jax.disable_jit():
                out = f(*args, **kwargs)
        finally:
            EvalTrace.process_primitive = plain
        return [known.get(id(x), (None, None))[1] for x in jax.tree_util.tree_leaves(out)]
