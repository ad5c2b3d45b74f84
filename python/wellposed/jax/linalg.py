"""Linear algebra of wellposed on arrays of JAX: the same functions, policies and diagnoses; under jit, vmap (to batches), jvp and grad of any order.

Under jit a policy that raises ends the compiled program with the report as its text. diagnosed.inv(A) gives (value, Diagnosis); under a transformation
(value, Verdict) with arrays of status (see STATUS), rcond and digits. through_svd and through_eigh take the function that follows.
"""
import dataclasses
import functools
import math
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np

import wellposed as wp

from .._adapters.functions import OF_MATRICES, OF_VALUES, STATUS, VECTOR_LAST, Verdict, absent, arguments, asks_for_copies, linalg_function, named, quiet_options
from . import _structure
from ._call import Program, call_p, on_cpu
from ._structure import *  # noqa: F403
from ._through import eigh_apply, svd_apply, through_eigh, through_svd

def _is_array(x):
    return isinstance(x, (jax.Array, np.ndarray, jax.core.Tracer))


def _plain(v):
    return v.item() if isinstance(v, np.generic) else tuple(v) if isinstance(v, list) else v


def _prepared(name, args, kwargs, device):
    args = arguments(name, args, kwargs)
    at = tuple(i for i, a in enumerate(args) if _is_array(a))
    if not at:
        raise wp.DtypeError(f"{name}: needs arrays of JAX; got {', '.join(type(a).__name__ for a in args) or 'nothing'}.")
    xs = [args[i] if isinstance(args[i], jax.Array) else jnp.asarray(args[i]) for i in at]
    floating = jnp.result_type(*(x if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.float32 for x in xs))
    xs = [x if x.dtype == floating or name == "lu_solve" and k == 0 else x.astype(floating) for k, x in enumerate(xs)]  # P is a permutation
    if name == "matrix_norm" and "axis" in kwargs:  # the last two axes, whatever comes before them
        if kwargs.pop("keepdims", False):
            raise wp.ArgumentError(f"{name}: axis and keepdims are not taken together; use jnp.expand_dims.")
        xs[0] = jnp.moveaxis(xs[0], kwargs.pop("axis"), (-2, -1))
    right = 1 if name == "solve_toeplitz" else len(xs) - 1
    vector = (name in VECTOR_LAST or name == "solve_toeplitz") and xs[right].ndim == 1
    if vector:
        xs[right] = xs[right][:, None]
    slots = tuple(None if i in at else _plain(a) for i, a in enumerate(args))
    program = Program(name, slots, at, tuple(sorted((k, _plain(v)) for k, v in kwargs.items())), copies=asks_for_copies(name, device))
    for x, core in zip(xs, program.cores()):
        if x.ndim < core:
            raise wp.ShapeError(f"{name}: needs {'matrices [..., m, n]' if core == 2 else 'vectors [..., n]'}; got {list(x.shape)}.")
    if name in OF_VALUES and any(isinstance(x, jax.core.Tracer) for x in xs):
        raise wp.ArgumentError(f"{name}: how many columns there are depends on values, which jit, vmap and grad do not have. Call it outside of them, or use "
                               "projector(A), whose shape is known.")
    return program, xs, vector


def _results(name, outs, vector):
    if vector:
        outs = [y[..., 0] for y in outs]
    kind = _TYPES.get(name)
    return kind(*outs) if kind else outs[0]


@functools.lru_cache(1024)
def _without_options(name, count):
    return Program(name, (None,) * count, tuple(range(count)), ())


def _as_they_are(args):
    """Whether the arguments are stacks of matrices of one floating dtype, of which nothing has to be prepared."""
    return bool(args) and all(isinstance(x, jax.Array) and x.ndim > 1 and x.dtype == args[0].dtype for x in args) and args[0].dtype.kind in "fc"


def _function(name):
    simple = name not in OF_VALUES and name not in ("lu_solve", "solve_toeplitz")

    def call(*args, device=None, **kwargs):
        if simple and not kwargs and device is None and _as_they_are(args):
            return _results(name, call_p.bind(*args, program=_without_options(name, len(args))), False)
        program, xs, vector = _prepared(name, args, kwargs, device)
        return _results(name, call_p.bind(*xs, program=program), vector)
    return named(call, name, getattr(wp.linalg, name))


def _diagnosed(name):
    def call(*args, device=None, **kwargs):
        program, xs, vector = _prepared(name, args, quiet_options(name, kwargs), device)
        if any(isinstance(x, jax.core.Tracer) for x in xs):
            value = call_p.bind(*xs, program=program)
            quiet = dataclasses.replace(program, options=tuple(sorted(kwargs.items())), verdict=True)
            return _results(name, value, vector), Verdict(*call_p.bind(*map(jax.lax.stop_gradient, xs), program=quiet))
        box = {}
        outs = on_cpu(xs, program, linalg_function(name, True, program.slots, program.tensors_at, kwargs, box))
        return _results(name, outs, vector), box["diagnosis"]
    return named(call, name, getattr(wp.linalg.diagnosed, name))


def _result_types():
    """The named tuples of functions with several results, by asking each once."""
    a = wp.asarray([[2.0, 1.0], [1.0, 3.0]])
    found = {}
    for name, *more in (("svd",), ("qr",), ("qr_pivoted",), ("eigh",), ("eigh_generalized", a), ("eig",), ("slogdet",), ("polar",), ("ldl",), ("lu",), ("schur",),
                        ("randomized_svd", 1, 0, 0)):
        found[name] = type(getattr(wp.linalg, name)(a, *more))
    return found


_TYPES = _result_types()
diagnosed = types.ModuleType(f"{__name__}.diagnosed", "The functions of wellposed.jax.linalg with what can be said of the answer.")
sys.modules[diagnosed.__name__] = diagnosed
_OURS = (*OF_MATRICES, *OF_VALUES, "chol_update", "householder_product", "solve_toeplitz")
for _name in _OURS:
    globals()[_name] = _function(_name)
    if hasattr(wp.linalg.diagnosed, _name):
        setattr(diagnosed, _name, _diagnosed(_name))


_norm = _function("vector_norm")


def vector_norm(x, *, axis=None, keepdims=False, ord=2.0, device=None):
    """The norm of vectors along axes (none: all of them), scaled so that nothing overflows; its gradient at 0 is the subgradient 0."""
    x = jnp.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    rest = [n for a, n in enumerate(x.shape) if a not in axes]
    flat = jnp.moveaxis(x, axes, range(-len(axes), 0)).reshape(*rest, math.prod(x.shape[a] for a in axes))
    y = _norm(flat, axis=-1, ord=ord, device=device)
    return jnp.expand_dims(y, axes) if keepdims else y


__all__ = [*_OURS, *_structure.__all__, "STATUS", "Verdict", "diagnosed", "eigh_apply", "svd_apply", "through_eigh", "through_svd", "vector_norm"]


def __getattr__(name):
    absent(__name__, name)


def __dir__():
    return __all__
