"""Tensors of PyTorch as arrays of NumPy and wellposed, without a copy where that is possible."""
from collections.abc import Mapping

import numpy as np
import torch

import wellposed as wp
from wellposed import _core


def tensors_in(tree):
    """Tensors in lists, tuples and mappings, in order."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, Mapping)):
        for item in tree.values() if isinstance(tree, Mapping) else tree:
            yield from tensors_in(item)


def reason_hidden(x):
    """Why the elements of x cannot be looked at; None: they can."""
    if x.device.type == "meta":
        return "a meta tensor has no elements"
    if x.layout is not torch.strided:
        return f"{x.layout} has no plain memory".replace("torch.", "")
    if x.is_quantized:
        return "a quantised tensor"
    if x.dtype is torch.complex32:
        return "complex-half"
    if x.dtype.is_floating_point and x.dtype not in _FLOATS:
        return str(x.dtype).replace("torch.", "")
    if x.device.type == "cpu" and type(x) not in (torch.Tensor, torch.nn.Parameter) and hasattr(type(x), "__torch_dispatch__") and type(
            x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return f"a tensor of the class {type(x).__name__}"
    return None


_FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def _resolved(x):
    """What PyTorch only means to do to the elements is done: conjugate them, turn their signs, make zeros of a forward mode that have no memory."""
    x = x.detach()
    if x.is_conj() or x.is_neg():
        x = x.resolve_conj().resolve_neg()
    return x.clone() if x._is_zerotensor() else x


def as_numpy(x):
    """The elements; None: they cannot be looked at. Tensors on other devices are copied."""
    if reason_hidden(x) is not None:
        return None
    x = _resolved(x.cpu())
    return x.float().numpy() if x.dtype is torch.bfloat16 else x.numpy()


def to_wp(x):
    """The same memory as a tensor of wellposed."""
    x = _resolved(x)
    shown = _core.shown(x)
    return wp.asarray(x) if shown is None else shown


def to_torch(x, like=None):
    """A tensor of wellposed as one of PyTorch that may be written to."""
    if x.size == 0 or x.ndim == 0:
        return torch.from_numpy(np.array(x))
    return torch.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=None))
