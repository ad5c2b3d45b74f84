"""Linear algebra of wellposed on tensors of PyTorch: the same functions, policies and diagnoses, with derivatives of any order.

inv(A, if_ill="pinv"), solve(A, b, ridge=1e-6), svd(A), diagnosed.inv(A) …: see wellposed.linalg for each. through_svd and through_eigh take the
function that follows, so that gradients are right also where singular values repeat. Batches are leading axes; torch.func.vmap makes one.
"""
import sys
import types

import torch

import wellposed as wp

from .._adapters.functions import NOT_DIFFERENTIABLE, VECTOR_LAST, Framework, absent, arguments, asks_for_copies, fill, linalg_function, named, through
from .._adapters.session import told, version_guard
from ._arrays import reason_hidden, to_torch, to_wp
from ._watch import Watch


_functorch, _transforms, _forward_mode, *_ = version_guard("torch", torch.__version__, "2.10", [
    "torch:_C._functorch", "torch:_C._functorch.peek_interpreter_stack", "torch.autograd.forward_ad", "torch:_C._functorch.is_functorch_wrapped_tensor",
    "torch:_C._functorch.is_gradtrackingtensor", "torch:_C._functorch.is_legacy_batchedtensor", "torch:_C._functorch.maybe_get_level",
    "torch:_C._functorch.get_unwrapped", "torch:_C._vmapmode_increment_nesting", "torch:_C._vmapmode_decrement_nesting",
    "torch:_remove_batch_dim", "torch:_add_batch_dim", "torch:_C._functorch.TransformType.Vmap", "torch:_C._functorch.is_batchedtensor",
    "torch:_C._functorch.maybe_get_bdim", "torch:_C._functorch._add_batch_dim", "torch:_C._functorch.pop_dynamic_layer_stack",
    "torch:_C._functorch.push_dynamic_layer_stack"])
_wrapped = _functorch.is_functorch_wrapped_tensor
_SECOND = "through_svd, through_eigh: second derivatives are known only without other arguments: through_svd(A, f)."


def _refuse_device(name, x):
    reason = reason_hidden(x)
    if reason is not None:
        raise wp.ArgumentError(f"{name}: a tensor with plain elements is needed; got {reason}.")
    if x.device.type != "cpu":
        raise wp.ArgumentError(f'{name}: a tensor is on {x.device}; wellposed computes on the CPU. Use {name}(x.cpu()), or {name}(x, device="copy"), '
                               "which copies there and back.")


class _Apply(torch.autograd.Function):
    """fn(xs) for an Fn. Its backward is an _Apply again where a graph of it is asked for."""

    @staticmethod
    def forward(fn, kept, *xs):
        if not kept["record"]:
            return tuple(_plainly(fn, xs))
        values, kept["pullback"] = _told(fn.name, xs, fn.with_pullback)
        return tuple(values)

    @staticmethod
    def setup_context(ctx, inputs, output):
        fn, kept, *xs = inputs
        ctx.fn, ctx.kept, ctx.n = fn, kept, len(xs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in output if not (y.dtype.is_floating_point or y.dtype.is_complex)))
        ctx.save_for_backward(*xs)
        ctx.save_for_forward(*xs)
        ctx.like = [(y.shape, y.dtype) for y in output]
        if "pullback" in kept:  # it knows the memory of the results: their versions tell whether somebody wrote to it
            kept["results"] = [(y.detach(), y._version) for y in output]

    @staticmethod
    def backward(ctx, *gs):
        if all(g is None for g in gs):
            return (None, None) + (None,) * ctx.n
        if any(g is not None and _functorch.is_legacy_batchedtensor(g) for g in gs):
            return (None, None, *_mapped_as_before(lambda *gs: _Apply.backward(ctx, *gs)[2:], gs))
        whole = [torch.zeros(shape, dtype=dtype) if g is None else g for g, (shape, dtype) in zip(gs, ctx.like)]
        xs = ctx.saved_tensors  # PyTorch refuses here what was written to meanwhile
        if torch.is_grad_enabled() or "pullback" not in ctx.kept or any(map(_wrapped, whole)) or any(y._version != v for y, v in ctx.kept["results"]):
            found = _run(ctx.fn.vjp(ctx.n), [*xs, *whole])
        else:
            found, _ = _told(f"vjp of {ctx.fn.name}", whole, lambda gs: (ctx.kept["pullback"](gs), None), [y for y, _ in ctx.kept["results"]])
        return (None, None, *found)

    @staticmethod
    def jvp(ctx, _, __, *tangents):
        xs = ctx.saved_tensors
        whole = [torch.zeros_like(x) if t is None else t for x, t in zip(xs, tangents)]
        return tuple(_run(ctx.fn.jvp(ctx.n), [*xs, *whole]))

    @staticmethod
    def vmap(info, in_dims, fn, kept, *xs):
        out = tuple(_stacked(fn, info.batch_size, in_dims[2:], xs))
        return out, (0,) * len(out)


def _mapped_as_before(f, gs):
    """f of tensors that `is_grads_batched` has stacked; its way of mapping was there before vmap, and has no rules for functions of others."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    used = [k for k, g in enumerate(gs) if g is not None]
    size = next(torch._remove_batch_dim(gs[k], level, 1, 0).shape[0] for k in used if _functorch.is_legacy_batchedtensor(gs[k]))

    def call(*stacked):
        full = [None] * len(gs)
        for k, g in zip(used, stacked):
            full[k] = g
        return tuple(f(*full))
    found = torch.func.vmap(call)(*(torch._remove_batch_dim(gs[k], level, size, 0) for k in used))
    return [torch._add_batch_dim(y, 0, level) for y in found]


def _in_front(size, dims, xs):
    """The tensors with the mapped axis first."""
    return [x if d == 0 else x.unsqueeze(0).expand(size, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip(xs, dims)]


def _stacked(fn, size, dims, xs):
    """The mapped axis becomes the first axis of a batch; of functions that have none, there is one call for each."""
    moved = _in_front(size, dims, xs)
    if fn.takes_batch([x.shape[1:] for x in moved]):
        return _run(fn, moved)
    return list(map(torch.stack, zip(*(_run(fn, [x[i] for x in moved]) for i in range(size)))))


def _mapped(fn, xs, level):
    """fn where torch.func.vmap is the innermost transformation: what PyTorch does for an autograd.Function, without what it costs on the way."""
    inside = [_functorch.is_batchedtensor(x) and _functorch.maybe_get_level(x) == level for x in xs]
    dims = [_functorch.maybe_get_bdim(x) if i else None for x, i in zip(xs, inside)]
    xs = [_functorch.get_unwrapped(x) if i else x for x, i in zip(xs, inside)]
    above = _functorch.pop_dynamic_layer_stack()
    try:
        if not any(inside):
            return _run(fn, xs)
        out = _stacked(fn, next(x.shape[d] for x, d in zip(xs, dims) if d is not None), dims, xs)
    finally:
        _functorch.push_dynamic_layer_stack(above)
    return [_functorch._add_batch_dim(y, 0, level) for y in out]


_told = told(Watch, to_wp, to_torch)


def _plainly(fn, xs):
    return _told(fn.name, xs, lambda xs: (fn(xs), None))[0]


def _transformed():
    """Whether torch.func or forward mode may follow a tensor."""
    return _transforms() is not None or _forward_mode._current_level >= 0


def _run(fn, xs):
    innermost = _transforms()
    if innermost is not None and innermost.key() == _functorch.TransformType.Vmap:
        return _mapped(fn, xs, innermost.level())
    kept = {"record": torch.is_grad_enabled() and any(x.requires_grad for x in xs)}
    if not kept["record"] and not _transformed():
        return _plainly(fn, xs)  # nobody asks for a derivative
    return list(_Apply.apply(fn, kept, *xs))


def _aligned(xs):
    """Tensors of one call have one dtype, as PyTorch's promotion says."""
    floating = [x for x in xs if x.dtype.is_floating_point or x.dtype.is_complex]
    if len({x.dtype for x in floating}) > 1:
        dtype = floating[0].dtype
        for x in floating[1:]:
            dtype = torch.promote_types(dtype, x.dtype)
        xs = [x.to(dtype) if x.dtype.is_floating_point or x.dtype.is_complex else x for x in xs]
    return xs


def _function(name, diagnosed):
    def call(*args, device=None, **kwargs):
        args = arguments(name, args, kwargs)
        tensors_at = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        xs, home = [args[i] for i in tensors_at], None
        if not xs:
            raise wp.DtypeError(f"{name}: needs tensors of PyTorch; got {', '.join(type(a).__name__ for a in args) or 'nothing'}.")
        if asks_for_copies(name, device):
            home, xs = xs[0].device, [x.cpu() for x in xs]
        for x in xs:
            _refuse_device(name, x)
        box = {}
        fn = linalg_function(name, diagnosed, args, tensors_at, kwargs, box)
        xs = _aligned(xs)
        vector = name in VECTOR_LAST and xs[-1].ndim == 1 and _transforms() is not None
        if vector:  # one column, so that vmap may stack it
            xs[-1] = xs[-1].unsqueeze(-1)
        out = _run(fn, [x.detach() for x in xs] if name in NOT_DIFFERENTIABLE else xs)
        if vector:
            out = [y.squeeze(-1) for y in out]
        if home is not None:
            out = [y.to(home) for y in out]
        value = box["type"](*out) if box["type"] is not None else out[0]
        return (value, box["diagnosis"]) if diagnosed else value
    return named(call, name, getattr(wp.linalg, name))


class _Torch(Framework):
    def to_wp(self, x):
        return to_wp(x.contiguous())

    def from_wp(self, x):
        return to_torch(x).clone()

    def vjp(self, f, xs, gs):
        _, pull = torch.func.vjp(lambda *a: tuple(f(list(a))), *xs)
        return list(pull(tuple(gs)))

    def jvp(self, f, xs, vs):
        return list(torch.func.jvp(lambda *a: tuple(f(list(a))), tuple(xs), tuple(vs))[1])


class _Same(torch.autograd.Function):
    """What passes tensors through."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


class _Once(_Same):
    """A gradient g that has none, to whatever it may depend on."""

    @staticmethod
    def forward(g, *_):
        return g.clone()

    @staticmethod
    def backward(ctx, g):
        raise wp.GradientError(_SECOND)

    @staticmethod
    def jvp(ctx, *_):
        raise wp.GradientError(_SECOND)

    @staticmethod
    def vmap(info, in_dims, *gs):
        return _Once.apply(*gs), in_dims[0]


class _Gate(_Same):
    """Tensors with first derivatives."""

    @staticmethod
    def forward(*xs):
        return tuple(x.clone() for x in xs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, *gs):
        return tuple(_Once.apply(g, *ctx.saved_tensors) for g in gs)

    @staticmethod
    def jvp(ctx, *ts):
        return tuple(map(_Once.apply, ts))

    @staticmethod
    def vmap(info, in_dims, *xs):
        return _Gate.apply(*xs), in_dims


class _Joined(_Same):
    """The value of y; gradients to y's matrix and to the other arguments through z. Only once: mixed derivatives are in neither."""

    @staticmethod
    def forward(y, z):
        return y.clone()

    @staticmethod
    def backward(ctx, g):
        return g, g

    @staticmethod
    def jvp(ctx, t, u):
        return t + u

    @staticmethod
    def vmap(info, in_dims, y, z):
        return _Joined.apply(*_in_front(info.batch_size, in_dims, (y, z))), 0


def _levels(xs):
    """The transformations of torch.func that differentiate for one of the tensors."""
    found = set()
    for x in xs:
        while _wrapped(x):
            if _functorch.is_gradtrackingtensor(x):
                found.add(_functorch.maybe_get_level(x))
            x = _functorch.get_unwrapped(x)
    return found


def _parts(name, A):
    with torch.no_grad():
        if name == "through_svd":
            return _function("svd", False)(A, full_matrices=False)
        return _function("eigh", False)(A)


def _captures(f, parts, others):
    with torch.enable_grad():
        y = f(*(p.detach() for p in parts), *(o.detach() for o in others))
    return y.requires_grad


def _through(name, function):
    def call(A, f, *others):
        _refuse_device(name, A)
        parts = _parts(name, A)
        if _captures(f, parts, others):
            raise wp.ArgumentError(f"{name}: f uses a tensor that records gradients and is not among its arguments; they would be lost. Hand it over: "
                                   f"{name}(A, f, w), with f(…, w).")
        fn, fixed = through(name, f, _Torch()), [o.detach() for o in others]
        if not any(o.requires_grad for o in others) and not (others and _transformed()):
            return _run(fn, [A, *fixed])[0]
        if len(_levels([A, *others])) > 1:
            raise wp.GradientError(_SECOND)
        A, *others = _Gate.apply(A, *others)
        return _Joined.apply(_run(fn, [A, *fixed])[0], f(*(p.detach() for p in parts), *others))
    return named(call, name, function)


def _apply(name, function):
    def call(A, f):
        _refuse_device(name, A)
        return _run(through(name, f, _Torch()), [A])[0]
    return named(call, name, function)


diagnosed = types.ModuleType(f"{__name__}.diagnosed", "The functions of wellposed.torch.linalg with what can be said of the answer: (value, Diagnosis).")
sys.modules[diagnosed.__name__] = diagnosed
__all__ = ["diagnosed", "eigh_apply", "svd_apply", "through_eigh", "through_svd", *fill(wp.linalg, globals(), lambda name: _function(name, False))]
fill(wp.linalg.diagnosed, vars(diagnosed), lambda name: _function(name, True))
through_svd = _through("through_svd", wp.linalg.through_svd)
through_eigh = _through("through_eigh", wp.linalg.through_eigh)
svd_apply, eigh_apply = _apply("svd_apply", wp.linalg.svd_apply), _apply("eigh_apply", wp.linalg.eigh_apply)


def __getattr__(name):
    absent(__name__, name)


def __dir__():
    return __all__
