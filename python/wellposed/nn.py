"""Models: parameters with names, layers and losses made of ops, optimizers, and the loop around them."""
from . import _core

_nn = _core.nn
__all__ = [name for name in dir(_nn) if not name.startswith("_")]
for _name in __all__:
    globals()[_name] = getattr(_nn, _name)
