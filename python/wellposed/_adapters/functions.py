"""Functions of wellposed as functions of another framework's tensors: values, derivatives of any order, and the way back into the framework."""
import itertools
import types
from typing import Any, NamedTuple

import numpy as np

import wellposed as wp
from wellposed import _core

NOT_DIFFERENTIABLE = {"matrix_rank"}
# Functions of matrices [..., m, n] whose batches are leading axes and whose results have shapes that the shapes of the arguments tell.
OF_MATRICES = """inv solve lstsq pinv svd svdvals qr cholesky cho_solve eigh eigvalsh eig eigvals det slogdet logdet cond rcond matrix_rank matrix_norm
expm logm sqrtm polar projector low_rank matrix_power solve_triangular ldl lu lu_solve schur nearest_spd nearest_correlation covariance
eigh_generalized qr_pivoted randomized_svd solve_banded solve_sylvester""".split()
VECTOR_LAST = {"solve", "lstsq", "cho_solve", "solve_triangular", "lu_solve", "solve_banded"}  # the last argument may be one vector
# Of each argument, how many axes are those of a matrix or vector, where leading axes are batches and it is not 2 for every argument.
_CORES = {"householder_product": (2, 1), "solve_toeplitz": (1, 2, 1), "lu_solve": (1, 2, 2, 2), "outer": (1, 1)}
_OF_ANY = set(OF_MATRICES) | {"matmul", "kron", "multi_dot", "trace", "diagonal", "matrix_transpose"}
OF_VALUES = ("null_space", "orth")  # the shapes of their results depend on values
_names = itertools.count(1)


def of_numpy(a):
    """An array of NumPy as a tensor, also one of bfloat16, which NumPy does not know by itself."""
    return wp.astype(wp.asarray(a.astype(np.float32)), wp.bfloat16) if a.dtype.name == "bfloat16" else wp.asarray(a)


def to_numpy(y, bfloat16=np.float32):
    """A tensor as an array of NumPy. bfloat16: the type for elements of that name."""
    return np.asarray(wp.astype(y, wp.float32)).astype(bfloat16) if y.dtype == wp.bfloat16 else np.asarray(y)


def arguments(name, args, kwargs):
    """The positional arguments: multi_dot may have a list, and what is a tensor must not stand among the options."""
    if name == "multi_dot" and len(args) == 1 and isinstance(args[0], (list, tuple)):
        return list(args[0])
    return [*args, kwargs.pop("r")] if name == "solve_toeplitz" and "r" in kwargs else list(args)


def cores_of(name, options, count):
    """Of each of so many arguments, how many axes are not its batch; (): the leading axes are no batch."""
    if name == "chol_update":
        return 2, 2 if options.get("columns") else 1
    if name in ("vector_norm", "vecdot", "cross"):
        return (1,) * count if options.get("axis", None if name == "vector_norm" else -1) == -1 else ()
    if name in _CORES:
        return _CORES[name][:count]
    return (2,) * count if name in _OF_ANY and "axis" not in options else ()


class Fn:
    """A function from a list of tensors to a list of tensors, written in ops of wellposed, so that it differentiates to any order.

    guard(outputs, cotangents) raises where cotangents do not contain the answer. cores: so many last axes of the leading arguments are those of a matrix or
    vector, and one more axis before all of those, of every argument, is one more of every result; (): that is not known."""

    def __init__(self, call, name, guard=None, cores=()):
        self.call, self.name, self.guard, self.cores = call, name, guard, cores

    def takes_batch(self, shapes):
        """Whether arguments of these shapes may be stacked, for one call instead of many."""
        batches = [len(shape) - core for shape, core in zip(shapes, self.cores)]
        return len(set(batches)) == 1 and batches[0] >= 0

    def __call__(self, xs):
        return self.call(xs)

    def with_pullback(self, xs):
        """Values, and the map from cotangents to those of xs. Neither must be written to before it is called: the values are those that it keeps."""
        values, pull = _core.vjp(self.call, [_core.unchanging(x) for x in xs])

        def back(gs):
            if self.guard is not None:
                self.guard(values, [to_numpy(g) for g in gs])
            return pull(gs)
        return [_core.alias(y) for y in values], back

    def vjp(self, n):
        """(x₁ … x_n, cotangents) ↦ cotangents of the x."""
        def call(a):
            values, pull = _core.vjp(self.call, a[:n])
            if self.guard is not None:
                self.guard(values, [to_numpy(g) for g in a[n:]])
            return filled(pull(a[n:]), a[:n])
        return Fn(call, f"vjp of {self.name}", cores=self.cores)

    def jvp(self, n):
        """(x₁ … x_n, tangents) ↦ tangents of the results."""
        def call(a):
            values, tangents = _core.jvp(self.call, a[:n], a[n:])
            return filled(tangents, values)
        return Fn(call, f"jvp of {self.name}", cores=self.cores)


def filled(found, like):
    """Zeros where there is no derivative because nothing depends."""
    return [wp.zeros_like(x) if g is None else g for g, x in zip(found, like)]


def flat(result):
    return list(result) if isinstance(result, tuple) else [result]


def _placed(function, slots, tensors_at, kwargs):
    """function of the tensors alone: slots are the positional arguments of the call."""
    def call(xs):
        full = list(slots)
        for at, x in zip(tensors_at, xs):
            full[at] = x
        return function(*full, **kwargs)
    return call


def linalg_function(name, diagnosed, slots, tensors_at, kwargs, box):
    """The function `name` of wellposed.linalg with the tensors of its call left open: slots are the positional arguments."""
    function = _placed(getattr(wp.linalg.diagnosed if diagnosed else wp.linalg, name), slots, tensors_at, kwargs)

    def call(xs):
        result = function(xs)
        if diagnosed:
            result, box["diagnosis"] = result
        box["type"] = type(result) if isinstance(result, tuple) else None
        return flat(result)
    return Fn(call, name, GUARDS.get(name), cores_of(name, kwargs, len(tensors_at)))


# ---- inside of graphs and compiled programs -----------------------------------------------------------------------------------
STATUS = ("ok", "ill_conditioned", "singular", "nonfinite_input", "not_spd", "not_converged")


class Verdict(NamedTuple):
    """What is known of each matrix inside of a graph or a compiled program: the index of its status in STATUS, its reciprocal condition, its digits."""
    status: Any
    rcond: Any
    digits: Any


def verdict_function(name, slots, tensors_at, kwargs):
    """Status, rcond and digits of the function `name`, as tensors."""
    function = _placed(getattr(wp.linalg.diagnosed, name), slots, tensors_at, kwargs)

    def call(xs):
        _, d = function(xs)
        status = wp.asarray([STATUS.index(s) for s in (d.status if d.batch else [d.status])], dtype="i32")
        return [wp.reshape(part, d.batch) for part in (status, d.rcond, d.digits)]
    return Fn(call, f"diagnosed.{name}", cores=cores_of(name, kwargs, len(tensors_at)))


def quiet_options(name, options, policy="nan"):
    """Options with which a function gives NaN (or another policy) for members that have no answer, as diagnosed functions do."""
    known = getattr(getattr(wp.linalg, name), "__text_signature__", None) or "if_ill"
    return {"if_ill": policy, **options} if "if_ill" in known else dict(options)


def form_options(name, options):
    """Options with which a function gives results of the same form, whatever the values are."""
    return quiet_options(name, {k: v for k, v in options.items() if k != "if_ill"}, "ignore")


def probe(shape, dtype, core=2):
    """A small well-conditioned tensor of the form [..., m, n] or (core = 1) [..., n], integers being a permutation, to learn the form of results from; its
    batch has one member."""
    core = min(core, len(shape))
    m, n = shape[-2:] if core == 2 else (shape[-1], 1)
    x = np.eye(m, n) * (2 + np.arange(n) / max(m, n, 1)) + 0.25 / max(m, n, 1)
    x = x if core == 2 else x[:, 0] if np.dtype(dtype).kind not in "iu" else np.arange(m)
    return of_numpy(np.broadcast_to(x, (1,) * (len(shape) - core) + x.shape).astype(dtype))


# ---- what cotangents alone cannot tell ----------------------------------------------------------------------------------------
def _switch(dtype):
    return np.finfo(dtype).eps ** (1 / 3)


def _used(g):
    return g is not None and np.any(np.asarray(g))


def _refuse(name, words, instead):
    error = wp.GaugeError(
        f"{name}: {words} A gradient that is given only cotangents of the vectors cannot be computed there: the answer depends on what is computed "
        f"from them. {instead}")
    error.finding = _core.make_finding({"code": "WP-GRD-007", "severity": "error", "op": name, "message": words, "advice": instead})
    raise error


def _near(values, floor):
    """The first two neighbours of a sorted spectrum that are nearer than the switch, over all members: (member, i, a, b)."""
    values = np.asarray(values)
    if values.shape[-1] < 2:
        return None
    top = np.abs(values).max(-1, keepdims=True)
    close = np.abs(np.diff(values, axis=-1)) <= _switch(values.dtype) * np.maximum(top, floor)
    if not close.any():
        return None
    at = tuple(int(i) for i in np.argwhere(close)[0])
    return at[:-1], at[-1], values[at], values[at[:-1] + (at[-1] + 1,)]


def _guard_svd(outputs, cotangents):
    s = to_numpy(outputs[1])
    if not (_used(cotangents[0]) or _used(cotangents[2])):
        return
    tiny = np.finfo(s.dtype).tiny
    found, instead = _near(s, tiny), "Use through_svd(A, f) with the function f(U, S, Vh) that follows, or polar, projector, low_rank, svd_apply, pinv."
    if found:
        _refuse("svd", f"singular values {found[1]} and {found[1] + 1}" + (f" of matrix {list(found[0])}" if found[0] else "") +
                f" are {found[2]:.6g} and {found[3]:.6g}, too near to each other.", instead)
    if s.size and (s[..., -1] <= _switch(s.dtype) * np.maximum(s[..., 0], tiny)).any():
        _refuse("svd", f"the smallest singular value is {s[..., -1].min():.3g}, too near to 0.", instead)


def _guard_eigh(outputs, cotangents):
    if not _used(cotangents[1]):
        return
    values = to_numpy(outputs[0])
    found = _near(values, np.finfo(values.dtype).tiny)
    if found:
        _refuse("eigh", f"eigenvalues {found[1]} and {found[1] + 1}" + (f" of matrix {list(found[0])}" if found[0] else "") +
                f" are {found[2]:.6g} and {found[3]:.6g}, too near to each other.",
                "Use through_eigh(A, f) with the function f(eigenvalues, eigenvectors) that follows, or eigh_apply, sqrtm, logm, expm, projector.")


def _guard_qr(outputs, cotangents):
    r = to_numpy(outputs[1])
    if not r.size or not (_used(cotangents[0]) or _used(cotangents[1])):
        return
    d = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    if (d.min(-1) <= _switch(d.dtype) * np.maximum(np.abs(r).max((-2, -1)), np.finfo(d.dtype).tiny)).any():
        _refuse("qr", f"a column depends on those before it (the smallest |R[i, i]| is {d.min():.3g}).", "Use lstsq, pinv or projector.")


GUARDS = {"svd": _guard_svd, "eigh": _guard_eigh, "qr": _guard_qr}


# ---- functions of the framework inside wellposed ------------------------------------------------------------------------------
class Framework:
    """How functions of a framework are differentiated in it: vjp(f, xs, gs), jvp(f, xs, vs) on lists; to_wp, from_wp on tensors."""

    def to_wp(self, x):
        raise NotImplementedError

    def from_wp(self, x):
        raise NotImplementedError

    def vjp(self, f, xs, gs):
        raise NotImplementedError

    def jvp(self, f, xs, vs):
        raise NotImplementedError


def lifted(f, framework):
    """f (framework tensors to a list of framework tensors) as a function of wellposed's tensors, differentiable to any order by the framework."""
    def forward(*xs):
        return tuple(framework.to_wp(y) for y in f([framework.from_wp(x) for x in xs]))

    def vjp(inputs, outputs, cotangents):
        n = len(inputs)
        whole = filled(cotangents, outputs)
        return lifted(lambda a: framework.vjp(f, a[:n], a[n:]), framework)(*inputs, *whole)

    def jvp(inputs, outputs, tangents):
        n = len(inputs)
        return lifted(lambda a: framework.jvp(f, a[:n], a[n:]), framework)(*inputs, *filled(tangents, inputs))
    op = wp.custom_op(f"user function {next(_names)}", forward, vjp=vjp, jvp=jvp)

    def call(*xs):
        out = op(*xs)
        return list(out) if isinstance(out, tuple) else [out]
    return call


def through(name, f, framework):
    """through_svd, through_eigh, svd_apply or eigh_apply of xs[0] with a function of the framework; f's further arguments xs[1:] are constants of it."""
    function = getattr(wp.linalg, name)

    def call(xs):
        fixed = [framework.from_wp(x) for x in xs[1:]]
        inside = lifted(lambda parts: [f(*parts, *fixed)], framework)
        return [function(xs[0], lambda *parts: inside(*parts)[0])]
    return Fn(call, name)


def asks_for_copies(name, device):
    """device=: None computes only on the CPU, "copy" copies tensors of other devices there and back."""
    if device not in (None, "copy"):
        raise wp.ArgumentError(f'{name}: device must be "copy"; got {device!r}.')
    return device == "copy"


def fill(module, into, make):
    """into[name] = make(name) for the functions of a module of wellposed; their names."""
    names = []
    for name in dir(module):
        function = getattr(module, name)
        of_table = getattr(function, "__text_signature__", None) or isinstance(function, types.FunctionType)
        if not name.startswith("_") and callable(function) and of_table and not isinstance(function, type):
            into[name] = make(name)
            names.append(name)
    return names


def absent(module, name, instead=""):
    """What a module says of a name that it does not have."""
    if name in ("cg", "gmres", "lsmr", "factored"):  # they take functions and objects of wellposed, which no framework differentiates through
        instead = f"; use wellposed.linalg.{name} on wellposed's tensors (wellposed.asarray(x)), or solve, lstsq"
    raise AttributeError(f"module {module!r} has no attribute {name!r}{instead}")


def named(call, name, like):
    """call, with the name and documentation of a function of wellposed."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = like.__doc__
    return call
