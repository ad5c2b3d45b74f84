"""A primitive of JAX that runs functions of wellposed: op by op through NumPy's memory, under jit through XLA's foreign function interface."""
import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as extend
from jax.interpreters import ad, batching, mlir

import wellposed as wp
from wellposed import _core

from .._adapters.functions import linalg_function
from .._adapters.session import version_guard

version_guard("jax", jax.__version__, "0.4.31", {
    "jax.extend.core.Primitive": hasattr(extend, "Primitive"), "jax.interpreters.mlir.register_lowering": hasattr(mlir, "register_lowering"),
    "jax.interpreters.ad.primitive_jvps": hasattr(ad, "primitive_jvps"), "jax.ffi.ffi_lowering": hasattr(jax.ffi, "ffi_lowering")})


@dataclasses.dataclass(frozen=True)
class Program:
    """A call of wellposed.linalg, or a derivative of one: plain data, so that it can be hashed and written into compiled programs."""
    name: str
    slots: tuple  # positional arguments, None where a tensor stands
    tensors_at: tuple
    options: tuple  # (name, value)
    chain: tuple = ()  # ("vjp" | "jvp", number of inputs), innermost first
    verdict: bool = False  # status, rcond and digits instead of the value

    def derived(self, kind, n):
        return dataclasses.replace(self, chain=self.chain + ((kind, n),))

    def base(self):
        return dataclasses.replace(self, chain=self.chain[:-1])

    def text(self, dtypes):
        return json.dumps([self.name, self.slots, self.tensors_at, self.options, self.chain, self.verdict, dtypes])


STATUS = ("ok", "ill_conditioned", "singular", "nonfinite_input", "not_spd", "not_converged")


def _verdict(program):
    def call(xs):
        full = list(program.slots)
        for at, x in zip(program.tensors_at, xs):
            full[at] = x
        _, d = getattr(wp.linalg.diagnosed, program.name)(*full, **dict(program.options))
        status = d.status if d.batch else [d.status]
        return [wp.reshape(wp.asarray([STATUS.index(s) for s in status], dtype="i32"), d.batch), wp.reshape(d.rcond, d.batch),
                wp.reshape(d.digits, d.batch)]
    return call


@functools.lru_cache(4096)
def _function(program):
    """The program as a function of lists of wellposed's tensors."""
    if program.verdict:
        return _verdict(program)
    fn = linalg_function(program.name, False, program.slots, program.tensors_at, dict(program.options), {})
    for kind, n in program.chain:
        fn = getattr(fn, kind)(n)
    return fn


def _tuples(x):
    return tuple(_tuples(i) for i in x) if isinstance(x, list) else x


@functools.lru_cache(4096)
def _parsed(text):
    *fields, dtypes = json.loads(text)
    return Program(*map(_tuples, fields)), tuple(dtypes)


def _run(text, tensors):
    """What XLA's handler calls."""
    program, dtypes = _parsed(text)
    return [y if str(y.dtype).endswith(d) else wp.astype(y, d) for y, d in zip(_function(program)(list(tensors)), dtypes)]


_NAMES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int32": "i32", "int64": "i64", "bool": "boolean",
          "float16": "f16", "bfloat16": "bf16"}


# ---- shapes -------------------------------------------------------------------------------------------------------------------
def _probe(shape, dtype):
    m, n = shape[-2:]
    x = np.eye(m, n) * (2 + np.arange(max(m, n))[:n] / max(m, n, 1)) + 0.25 / max(m, n, 1)
    return wp.asarray(np.broadcast_to(x, (1,) * (len(shape) - 2) + (m, n)).astype(dtype))


@functools.lru_cache(4096)
def _shapes(program, avals):
    """(shape, dtype) of the results for arguments of (shape, dtype); batches are leading axes."""
    if program.chain:
        kind, n = program.chain[-1]
        return avals[:n] if kind == "vjp" else _shapes(program.base(), avals[:n])
    batch = jnp.broadcast_shapes(*(shape[:-2] for shape, _ in avals))
    quiet = dataclasses.replace(program, options=tuple((k, v) for k, v in program.options if k != "if_ill") + ((("if_ill", "ignore"),)
                                if "if_ill" in (getattr(getattr(wp.linalg, program.name), "__text_signature__", None) or "if_ill") and not program.verdict else ()))
    outs = _function(quiet)([_probe(shape, dtype) for shape, dtype in avals])
    core = [y.shape[len(batch):] for y in outs]
    return tuple((batch + tuple(s), str(jax.dtypes.canonicalize_dtype(np.asarray(y).dtype))) for s, y in zip(core, outs))


call_p = extend.Primitive("wellposed")
call_p.multiple_results = True


def _key(x):
    return tuple(x.shape), str(x.dtype)


@call_p.def_impl
def _eager(*xs, program):
    avals = tuple(_key(x) for x in xs)
    for x in xs:
        if isinstance(x, jax.Array) and next(iter(x.devices())).platform != "cpu":
            raise wp.ArgumentError(f"{program.name}: an array is on {next(iter(x.devices()))}; wellposed computes on the CPU. Move it there first: "
                                   "jax.device_put(x, jax.devices('cpu')[0]).")
    outs = _function(program)([wp.asarray(np.asarray(x)) for x in xs])
    dtypes = [d for _, d in _shapes(program, avals)] if program.chain else [str(jax.dtypes.canonicalize_dtype(np.asarray(y).dtype)) for y in outs]
    return [jnp.asarray(np.asarray(y), dtype=d) for y, d in zip(outs, dtypes)]


@call_p.def_abstract_eval
def _abstract(*avals, program):
    return [jax.core.ShapedArray(shape, np.dtype(dtype)) for shape, dtype in _shapes(program, tuple(_key(a) for a in avals))]


def _lower(ctx, *args, program):
    avals = tuple(_key(a) for a in ctx.avals_in)
    dtypes = [_NAMES[d] for _, d in _shapes(program, avals)]
    return jax.ffi.ffi_lowering("wellposed")(ctx, *args, program=program.text(dtypes))


jax.ffi.register_ffi_target("wellposed", _core.xla_handler(_run), platform="cpu")
mlir.register_lowering(call_p, _lower, platform="cpu")


# ---- derivatives --------------------------------------------------------------------------------------------------------------
def _inexact(x):
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _jvp(primals, tangents, *, program):
    outs = call_p.bind(*primals, program=program)
    if program.verdict or not any(_inexact(y) for y in outs):
        return outs, [ad.Zero.from_primal_value(y) if hasattr(ad.Zero, "from_primal_value") else jnp.zeros_like(y) for y in outs]
    tangents = [ad.instantiate_zeros(t) for t in tangents]
    return outs, call_p.bind(*primals, *tangents, program=program.derived("jvp", len(primals)))


def _transpose(cotangents, *args, program):
    kind, n = program.chain[-1]
    if kind != "jvp" or any(ad.is_undefined_primal(x) for x in args[:n]):
        raise wp.GradientError(f"{program.name}: only derivatives are linear.")
    primals = args[:n]
    like = _shapes(program, tuple(_key(x) for x in primals) + tuple(_key(x) for x in primals))
    whole = [jnp.zeros(shape, dtype) if type(ct) is ad.Zero else ct for ct, (shape, dtype) in zip(cotangents, like)]
    # JAX transposes without conjugating; wellposed's cotangents are ∂/∂Re + i ∂/∂Im.
    found = call_p.bind(*primals, *(jnp.conj(g) for g in whole), program=program.base().derived("vjp", n))
    return [None] * n + [jnp.conj(g) if ad.is_undefined_primal(x) else None for g, x in zip(found, args[n:])]


def _batch(args, dims, *, program):
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)
    most = max(x.ndim - (d is not None) for x, d in zip(args, dims))
    moved = []
    for x, d in zip(args, dims):
        x = jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
        if not program.chain:  # batches are aligned at the right: the mapped axis must come before all of them
            x = x.reshape(size, *(1,) * (most - (x.ndim - 1)), *x.shape[1:])
        moved.append(x)
    outs = call_p.bind(*moved, program=program)
    return outs, [0] * len(outs)


ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batch
