"""A primitive of JAX that runs functions of wellposed: op by op through NumPy's memory, under jit through XLA's foreign function interface."""
import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np

import wellposed as wp
from wellposed import _core

from .._adapters.functions import cores_of, form_options, linalg_function, of_numpy, probe, to_numpy, verdict_function
from .._adapters.session import version_guard
from ._arrays import elsewhere

Primitive, ad, batching, mlir, ffi, *_ = version_guard("jax", jax.__version__, "0.8", [
    "jax.extend.core:Primitive", "jax.interpreters.ad", "jax.interpreters.batching", "jax.interpreters.mlir", "jax.ffi",
    "jax.interpreters.ad:primitive_jvps", "jax.interpreters.ad:primitive_transposes", "jax.interpreters.batching:primitive_batchers",
    "jax.interpreters.mlir:register_lowering", "jax.interpreters.mlir:lower_fun", "jax.ffi:ffi_lowering", "jax.ffi:register_ffi_target"])


class Derivatives:
    """What programs share: chain tells which derivative of the function it is."""

    def derived(self, kind, n):
        return dataclasses.replace(self, chain=self.chain + ((kind, n),))

    def base(self):
        return dataclasses.replace(self, chain=self.chain[:-1])

    def cores(self):
        """Of each tensor of the call, how many axes are not its batch."""
        return cores_of(self.name, dict(self.options), len(self.tensors_at))


@dataclasses.dataclass(frozen=True, eq=False)
class Following(Derivatives):
    """A function of wellposed that calls a function of JAX: it lives in this process and outside of compiled programs. fn: an Fn of one matrix."""
    name: str
    fn: object
    like: tuple  # (shape, dtype) of its result
    chain: tuple = ()
    verdict: bool = False
    copies: bool = False


@dataclasses.dataclass(frozen=True)
class Program(Derivatives):
    """A call of wellposed.linalg, or a derivative of one: plain data, so that it can be hashed and written into compiled programs."""
    name: str
    slots: tuple  # positional arguments, None where a tensor stands
    tensors_at: tuple
    options: tuple  # (name, value)
    chain: tuple = ()  # ("vjp" | "jvp", number of inputs), innermost first
    verdict: bool = False  # status, rcond and digits instead of the value
    copies: bool = False  # on another device: computed on the CPU, copied there and back

    def text(self, dtypes, exact):
        """exact: the results have these dtypes by themselves."""
        return json.dumps([self.name, self.slots, self.tensors_at, self.options, self.chain, self.verdict, self.copies, dtypes, exact])


def _function(program):
    """The program as a function of lists of wellposed's tensors."""
    return _derived(program.fn, program) if isinstance(program, Following) else _known_function(program)


@functools.lru_cache(4096)
def _known_function(program):
    if program.verdict:
        return verdict_function(program.name, program.slots, program.tensors_at, dict(program.options))
    return _derived(linalg_function(program.name, False, program.slots, program.tensors_at, dict(program.options), {}), program)


def _derived(fn, program):
    for kind, n in program.chain:
        fn = getattr(fn, kind)(n)
    return fn


def _tuples(x):
    return tuple(_tuples(i) for i in x) if isinstance(x, list) else x


@functools.lru_cache(4096)
def _parsed(text):
    *fields, dtypes, exact = json.loads(text)
    return Program(*map(_tuples, fields)), tuple(dtypes), exact


def _run(text, tensors):
    """What XLA's handler calls for derivatives, verdicts and results that JAX wants in another dtype."""
    program, dtypes, _ = _parsed(text)
    return [y if str(y.dtype).endswith(d) else wp.astype(y, d) for y, d in zip(_function(program)(list(tensors)), dtypes)]


def _plan(text):
    """A program that is one call of the op table: (function, options). None: it is more than that."""
    program, _, exact = _parsed(text)
    if program.chain or program.verdict or not exact or program.tensors_at != tuple(range(len(program.slots))):
        return None
    return getattr(wp.linalg, program.name), dict(program.options)


_NAMES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int32": "i32", "int64": "i64", "bool": "boolean",
          "float16": "f16", "bfloat16": "bf16"}


# ---- shapes -------------------------------------------------------------------------------------------------------------------
def _own_shapes(program, avals):
    """(shape, dtype) of the results for arguments of (shape, dtype); batches are leading axes."""
    if program.chain:
        kind, n = program.chain[-1]
        return avals[:n] if kind == "vjp" else _own_shapes(program.base(), avals[:n])
    return (program.like,) if isinstance(program, Following) else _known_shapes(program, avals)


@functools.lru_cache(4096)
def _known_shapes(program, avals):
    batch = jnp.broadcast_shapes(*(shape[:-core] for (shape, _), core in zip(avals, program.cores())))
    quiet = program if program.verdict else dataclasses.replace(program, options=tuple(form_options(program.name, dict(program.options)).items()))
    outs = _function(quiet)([probe(shape, np.dtype(dtype), core) for (shape, dtype), core in zip(avals, program.cores())])
    return tuple((batch + tuple(y.shape[len(batch):]), str(y.dtype)) for y in outs)


def _shapes(program, avals):
    """The same as JAX has it: without 64 bits unless they are enabled."""
    return tuple((shape, str(jax.dtypes.canonicalize_dtype(dtype))) for shape, dtype in _own_shapes(program, avals))


call_p = Primitive("wellposed")
call_p.multiple_results = True


def _key(x):
    return tuple(x.shape), str(x.dtype)


@call_p.def_impl
def _eager(*xs, program):
    dtypes = [d for _, d in _shapes(program, tuple(_key(x) for x in xs))] if program.chain else None
    return on_cpu(xs, program, _function(program), dtypes)


def on_cpu(xs, program, fn, dtypes=None):
    """fn(xs) as arrays where xs are; those of another device are copied if the program may."""
    home = None
    for x in xs:
        where = elsewhere(x)
        if where is not None:
            home = next(iter(x.devices()))
            if not program.copies:
                raise _refused(program, where)
    arrays = [np.asarray(x) for x in xs]
    outs = [to_numpy(y, jnp.bfloat16) for y in fn([of_numpy(a) for a in arrays])]
    outs = [y.copy() if any(np.may_share_memory(y, a) for a in arrays) else y for y in outs]
    dtypes = dtypes or [jax.dtypes.canonicalize_dtype(y.dtype) for y in outs]
    outs = [jax.device_put(y.astype(d, copy=False)) for y, d in zip(outs, dtypes)]  # jnp.asarray costs four times that
    return outs if home is None else [jax.device_put(y, home) for y in outs]


def _refused(program, where):
    return wp.ArgumentError(f"{program.name}: an array is {where}; wellposed computes on the CPU. Move it there, jax.device_put(x, jax.devices('cpu')[0]), or use "
                            f'{program.name}(x, device="copy"), which copies there and back.')


@call_p.def_abstract_eval
def _abstract(*avals, program):
    return [jax.core.ShapedArray(shape, np.dtype(dtype)) for shape, dtype in _shapes(program, tuple(_key(a) for a in avals))]


def _lower(ctx, *args, program):
    if isinstance(program, Following):
        raise wp.GradientError(f"{program.name}: its function of JAX cannot be called back from a compiled program. Call {program.name} inside of the function "
                               "that is compiled.")
    avals = tuple(_key(a) for a in ctx.avals_in)
    shapes = _shapes(program, avals)
    text = program.text([_NAMES[d] for _, d in shapes], shapes == _own_shapes(program, avals))
    return ffi.ffi_lowering("wellposed")(ctx, *args, program=text)


def _lower_elsewhere(ctx, *args, program):
    """Compiled for another device: refused by name, or a call back of the host."""
    if not program.copies:
        raise _refused(program, f"on {', '.join(ctx.module_context.platforms)}")
    like = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in _shapes(program, tuple(_key(a) for a in ctx.avals_in))]

    def host(*xs):
        outs = _core.standard_floats(lambda: _function(program)([of_numpy(np.asarray(x)) for x in xs]))
        return [to_numpy(y, jnp.bfloat16).astype(t.dtype, copy=False) for y, t in zip(outs, like)]
    return mlir.lower_fun(lambda *xs: jax.pure_callback(host, like, *xs), multiple_results=True)(ctx, *args)


ffi.register_ffi_target("wellposed", _core.xla_handler(_run, _plan), platform="cpu")
mlir.register_lowering(call_p, _lower, platform="cpu")
mlir.register_lowering(call_p, _lower_elsewhere)


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
    deep = [x.ndim - core - (d is not None) for x, d, core in zip(args, dims, program.cores())] if isinstance(program, Program) else []
    alike = len(set(deep)) == 1
    if isinstance(program, Following) or program.chain and not alike:  # one each
        each = [call_p.bind(*(x if d is None else jnp.take(x, i, axis=d) for x, d in zip(args, dims)), program=program) for i in range(size)]
        return [jnp.stack(y) for y in zip(*each)], [0] * len(each[0])
    moved = []
    for k, (x, d) in enumerate(zip(args, dims)):
        x = jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
        if not program.chain:  # batches are aligned at the right: the mapped axis must come before all of them
            x = x.reshape(size, *(1,) * (max(deep) - deep[k]), *x.shape[1:])
        moved.append(x)
    outs = call_p.bind(*moved, program=program)
    return outs, [0] * len(outs)


ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batch
