"""The mode through which PyTorch hands every op of a thread to the compiled watcher."""
import types

import torch

from .._adapters.session import version_guard

TorchDispatchMode, = version_guard("torch", torch.__version__, "2.10", ["torch.utils._python_dispatch:TorchDispatchMode"])
_eval_frame = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
_set_eval_frame, _skip_code = getattr(_eval_frame, "set_eval_frame", None), getattr(_eval_frame, "skip_code", None)


def uncompiled(f):
    """f outside of what torch.compile takes for the program: it is called in the middle of it."""
    if None in (_set_eval_frame, _skip_code):
        return f

    def call(*args):
        before = _set_eval_frame(None)
        try:
            return f(*args)
        finally:
            _set_eval_frame(before)
    _skip_code(call.__code__)
    return call


class Mode(TorchDispatchMode):
    """Hands every op to the compiled watcher."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __init__(self, dispatch):
        super().__init__()
        self.__torch_dispatch__ = types.MethodType(dispatch, self)  # PyTorch insists on a method of the mode

    def __torch_dispatch__(self, function, classes, args=(), kwargs=None):  # the instance's own goes before
        return function(*args, **(kwargs or {}))
