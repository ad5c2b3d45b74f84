"""What wellposed.linalg and wellposed.random have beside the functions of the op table."""
import sys
from operator import index

from . import _core

_wp = sys.modules[__package__]
linalg, random = _wp.linalg, _wp.random

# The standard lists these under both names.
for _name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
    setattr(linalg, _name, getattr(_wp, _name))
for _name in ("Cluster", "Diagnosis", "Factored", "IterativeResult", "LinearOperator", "Member", "cg", "eigh_apply", "factored",
              "gmres", "lsmr", "svd_apply", "through_eigh", "through_svd"):
    setattr(linalg, _name, getattr(_core, _name))

Diagnosis = _core.Diagnosis
_facts = ("code", "severity", "op", "message", "advice", "measured", "threshold", "count", "members", "worst_member", "element", "operands",
          "dtype", "shape", "scope", "step", "file", "line")


def _with_tolerances(name):
    """The function with an rtol that may be an array: one tolerance per matrix of the stack, as the standard has it."""
    plain = getattr(linalg, name)

    def function(x, /, *, rtol=None, **options):
        if rtol is None or not getattr(rtol, "shape", ()):
            return plain(x, rtol=rtol, **options)
        x, rtol = _wp.asarray(x), _wp.asarray(rtol)
        matrix, stack = x.shape[-2:], _wp.broadcast_arrays(_wp.empty(x.shape[:-2]), rtol)[0].shape
        members = _wp.reshape(_wp.broadcast_to(x, (*stack, *matrix)), (-1, *matrix)) if 0 not in stack else ()
        each = [plain(m, rtol=t, **options) for m, t in zip(members, _wp.reshape(_wp.broadcast_to(rtol, stack), (-1,)).tolist())]
        if not each:
            return plain(_wp.broadcast_to(x, (*stack, *matrix)), **options)
        return _wp.reshape(_wp.stack(each), (*stack, *each[0].shape))
    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__, function.__wrapped__ = plain.__doc__, linalg.__name__, plain
    setattr(linalg, name, function)


for _name in ("matrix_rank", "pinv"):
    _with_tolerances(_name)


def _of_members(name):
    def get(self):
        if not self.batch:
            return getattr(self[0], name)
        return [getattr(m, name) for m in self]
    get.__doc__ = f"`{name}` of the matrix; of a batch a list with one entry per member."
    return property(get)


def _word(name):
    def get(self):
        words = getattr(self, f"_{name}")
        return words if self.batch else words[0]
    get.__doc__ = f"`{name}` of the matrix; of a batch a list with one entry per member."
    return property(get)


def _to_dict(self):
    """All of it as plain data."""
    import json
    return json.loads(self.to_json())


def _finding(facts):
    return _core.make_finding(facts)


def _spectrum(values):
    """Bars for singular values or eigenvalues, by their logarithms."""
    from math import isfinite, log10
    sizes = [abs(v) for v in values if isfinite(v) and v]
    if not sizes:
        return ""
    high = log10(max(sizes))
    low = min(log10(min(sizes)), high - 1)
    bars = "".join(
        f'<rect x="{10 * i + 2}" y="{62 - h:.1f}" width="8" height="{h:.1f}" fill="#4878a8"><title>{v:.3g}</title></rect>'
        for i, v in enumerate(values[:200])
        for h in [2 + 58 * max(0.0, (log10(abs(v)) - low) / (high - low)) if v and isfinite(v) else 1])
    return f'<svg width="{10 * min(len(values), 200) + 4}" height="64" role="img" aria-label="spectrum, logarithmic">{bars}</svg>'


def _repr_html(self):
    from html import escape
    picture = ""
    if len(self) and self.matrix_of_worst is not None:
        picture = _spectrum(linalg.svdvals(self.matrix_of_worst, if_ill="ignore").tolist())
    return f"<div><pre>{escape(repr(self))}</pre>{picture}</div>"


for _name in ("rank_threshold", "rank_gap", "rank_doubt", "null_vector", "dependent", "dependent_columns", "clusters", "value_error", "vector_error",
              "eigenvalue_condition", "freedom", "message"):
    setattr(Diagnosis, _name, _of_members(_name))
for _name in ("status", "structure", "method"):
    setattr(Diagnosis, _name, _word(_name))
Diagnosis.to_dict = _to_dict
Diagnosis._repr_html_ = _repr_html
Diagnosis.__reduce__ = lambda self: (dict, (self.to_dict(),))
_core.Finding.__reduce__ = lambda self: (_finding, ({n: getattr(self, n) for n in _facts},))


class Generator:
    """Random numbers by key and counter; the functions of wellposed.random are its methods, without these two arguments.

    The same seed gives the same numbers on every machine and for any number of threads, in C++ too.
    """

    def __init__(self, seed):
        try:
            key = index(seed)
        except TypeError:
            raise TypeError(f"Generator: seed must be an integer; got {type(seed).__name__} {seed!r}.") from None
        if not 0 <= key < 2**64:
            raise _wp.IntegerOverflow(f"Generator: seed must be from 0 to 2**64 - 1; got {key}.")
        self.key, self.counter = key, 0

    @property
    def state(self):
        return self.key, self.counter

    @state.setter
    def state(self, state):
        self.key, self.counter = state

    def split(self, n):
        """n generators with keys of their own; this one goes on after them."""
        keys = self.integers((n,), 0, 2**64 - 1, dtype="u64", endpoint=True)
        return [Generator(k) for k in keys.tolist()]

    def __repr__(self):
        return f"Generator(key={self.key}, counter={self.counter})"


def _signed(word):
    return word - 2**64 if word >= 2**63 else word


# Elements that share a block of 128 bits (wellposed/random.hpp); functions that are not named here take a block each.
_by_size = {"uniform", "normal", "exponential"}
_two = {"bernoulli", "integers", "permutation", "permuted", "categorical"}


def _method(name, function):
    def method(self, *args, **kwargs):
        y = function(*args, key=_signed(self.key), counter=_signed(self.counter), **kwargs)
        n = y.shape[kwargs.get("axis", 0)] if name == "permuted" else y.size
        per_block = (2 if y.dtype == _wp.float64 else 4) if name in _by_size else 2 if name in _two else 1
        self.counter = (self.counter + -(-n // per_block)) & 0xFFFFFFFFFFFFFFFF
        return y
    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


for _name, _function in list(vars(random).items()):
    if " key" in (getattr(_function, "__text_signature__", None) or ""):
        setattr(Generator, _name, _method(_name, _function))
random.Generator = Generator
Generator.__module__ = random.__name__
