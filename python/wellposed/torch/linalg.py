"""Linear algebra of wellposed on tensors of PyTorch: the same functions, policies and diagnoses, with derivatives of any order.

inv(A, if_ill="pinv"), solve(A, b, ridge=1e-6), svd(A), diagnosed.inv(A) …: see wellposed.linalg for each. through_svd and through_eigh take the
function that follows, so that gradients are right also where singular values repeat. Batches are leading axes; torch.func.vmap makes one.
"""
import sys
import types

import torch

import wellposed as wp

from .._adapters.functions import NOT_DIFFERENTIABLE, Framework, asks_for_copies, fill, linalg_function, named, through
from .._adapters.session import version_guard
from ._arrays import reason_hidden, to_torch, to_wp


_wrapped, _transforms, _forward_mode = version_guard("torch", torch.__version__, "2.10", [
    "torch:_C._functorch.is_functorch_wrapped_tensor", "torch:_C._functorch.peek_interpreter_stack", "torch.autograd.forward_ad"])


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
        values, kept["pullback"] = fn.with_pullback([to_wp(x) for x in xs])
        return tuple(to_torch(y) for y in values)

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
        whole = [torch.zeros(shape, dtype=dtype) if g is None else g for g, (shape, dtype) in zip(gs, ctx.like)]
        xs = ctx.saved_tensors  # PyTorch refuses here what was written to meanwhile
        if torch.is_grad_enabled() or "pullback" not in ctx.kept or any(map(_wrapped, whole)) or any(y._version != v for y, v in ctx.kept["results"]):
            found = _run(ctx.fn.vjp(ctx.n), [*xs, *whole])
        else:
            found = [None if g is None else to_torch(g) for g in ctx.kept["pullback"]([to_wp(g) for g in whole])]
        return (None, None, *found)

    @staticmethod
    def jvp(ctx, _, __, *tangents):
        xs = ctx.saved_tensors
        whole = [torch.zeros_like(x) if t is None else t for x, t in zip(xs, tangents)]
        return tuple(_run(ctx.fn.jvp(ctx.n), [*xs, *whole]))

    @staticmethod
    def vmap(info, in_dims, fn, kept, *xs):
        """The mapped axis becomes the first axis of a batch."""
        moved = [x.unsqueeze(0).expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip(xs, in_dims[2:])]
        out = tuple(_run(fn, moved))
        return out, (0,) * len(out)


def _plainly(fn, xs):
    return [to_torch(y) for y in fn([to_wp(x) for x in xs])]


def _run(fn, xs):
    kept = {"record": torch.is_grad_enabled() and any(x.requires_grad for x in xs)}
    if not kept["record"] and _transforms() is None and _forward_mode._current_level < 0:
        return _plainly(fn, xs)  # nobody asks for a derivative
    return list(_Apply.apply(fn, kept, *xs))


def _aligned(xs, slots):
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
        xs = _aligned(xs, args)
        out = _run(fn, [x.detach() for x in xs] if name in NOT_DIFFERENTIABLE else xs)
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


class _Others(torch.autograd.Function):
    """The value of y; gradients to y's matrix and to the other arguments through z. Only once: mixed derivatives are in neither."""

    @staticmethod
    def forward(ctx, y, z):
        return y.clone()

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise wp.GradientError("through_svd, through_eigh: second derivatives are known only without other arguments: through_svd(A, f).")
        return g, g


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
        fixed = [o.detach() for o in others]
        y, = _run(through(name, lambda *p: f(*p, *fixed), _Torch()), [A])
        if not any(o.requires_grad for o in others):
            return y
        return _Others.apply(y, f(*(p.detach() for p in parts), *others))
    return named(call, name, function)


def _apply(name, function):
    def call(A, f):
        _refuse_device(name, A)
        return _run(through(name, f, _Torch()), [A])[0]
    return named(call, name, function)


diagnosed = types.ModuleType(f"{__name__}.diagnosed", "The functions of wellposed.torch.linalg with what can be said of the answer: (value, Diagnosis).")
sys.modules[diagnosed.__name__] = diagnosed
fill(wp.linalg, globals(), lambda name: _function(name, False))
fill(wp.linalg.diagnosed, vars(diagnosed), lambda name: _function(name, True))
through_svd = _through("through_svd", wp.linalg.through_svd)
through_eigh = _through("through_eigh", wp.linalg.through_eigh)
svd_apply, eigh_apply = _apply("svd_apply", wp.linalg.svd_apply), _apply("eigh_apply", wp.linalg.eigh_apply)
