"""What runs now, by the stack: an op of a derivative, the program's own code on the way back, printing."""
import contextlib
import sys

import torch

from .._adapters.session import folder_of, version_guard

node_now, _engine = version_guard("torch", torch.__version__, "2.10", [
    "torch:_C._current_autograd_node", "torch.autograd.graph:_engine_run_backward"])
_FOLDERS = folder_of("torch"), folder_of("wellposed"), contextlib.__file__


def runs_code_of_the_program():
    """Whether the newest thing that the backward pass has called is written in Python outside of PyTorch: a Function, a hook, a module that runs again."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _engine.__code__:
        if not frame.f_code.co_filename.startswith(_FOLDERS):
            return True
        frame = frame.f_back
    return False


def printing():
    """Whether the program prints a tensor: formatting is no use of a value."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("_tensor_str.py"):
            return True
        frame = frame.f_back
    return False
