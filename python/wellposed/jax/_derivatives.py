"""Which ops of a jaxpr belong to derivatives, and to which op of the forward pass."""
import re

_TRIVIAL = {"jit", "pjit", "convert_element_type", "broadcast_in_dim", "custom_jvp_call", "custom_vjp_call"}
_AGAIN = re.compile(r"transpose\(.*rematted_computation")  # a forward pass that is computed again


def closed(jaxpr):
    """(jaxpr, constants) of a jaxpr, closed or not."""
    return (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "consts") else (jaxpr, ())


def _inside(eqn):
    """The jaxprs that an op consists of."""
    for p in eqn.params.values():
        for part in p if isinstance(p, (list, tuple)) else (p,):
            if hasattr(part, "eqns") or hasattr(part, "jaxpr"):
                yield closed(part)[0]


def _names(eqn):
    """The variables that an op reads or makes, without numbers."""
    return {v for v in (*eqn.invars, *eqn.outvars) if not hasattr(v, "val")}


class Derivatives:
    """place(eqn): where an op stands in the program; None where that is not known.

    An op of the way back has a stack with `transpose`. A factor of a derivative that is computed on the way there has none: its results serve derivatives only."""

    def __init__(self, jaxpr, place):
        self._place, self._forward, self._own = place, {}, set()
        self._walk(jaxpr, "", [False] * len(jaxpr.outvars), False)

    def _walk(self, jaxpr, stack, outs, within):
        """outs: of each result, whether only derivatives use it."""
        uses = {}
        for v, only in zip(jaxpr.outvars, outs):
            if not hasattr(v, "val"):
                uses.setdefault(v, []).append(only)
        for eqn in reversed(jaxpr.eqns):
            inner = f"{stack}/{eqn.source_info.name_stack}"
            serve = [uses.get(v, ()) for v in eqn.outvars]
            only = [bool(u) and all(u) for u in serve]
            parts = list(_inside(eqn))
            own = within or "transpose" in inner and not _AGAIN.search(inner) or "jvp" in inner and not parts and any(serve) and all(map(all, serve))
            if own:
                self._own.add(id(eqn))
            elif eqn.primitive.name not in _TRIVIAL:
                self._forward.setdefault(self._place(eqn), []).insert(0, eqn)
            turns = eqn.params.get("num_carry", len(only) if eqn.primitive.name == "while" else 0)  # what goes round serves the next turn
            for part in parts:
                of_part = [own or k >= turns and only[k] for k in range(len(only))] if len(part.outvars) == len(only) else [own] * len(part.outvars)
                self._walk(part, inner, of_part, own)
            for v in eqn.invars:
                if not hasattr(v, "val"):
                    uses.setdefault(v, []).append(own)

    def of(self, eqn):
        """The name of the op whose derivative an op is part of, "" if that is not known; None: it is no derivative."""
        if id(eqn) not in self._own:
            return None
        place, names = self._place(eqn), _names(eqn)
        near = self._forward.get(place, []) if place is not None else [f for same in self._forward.values() for f in same if names & _names(f)]
        if len(near) > 1:
            near = [f for f in near if names & _names(f)] or near
        return near[0].primitive.name if near else ""
