"""Models: parameters with names, layers and losses made of ops, optimizers, and the loop around them."""
from . import _core
from ._spaces import Generator as _Generator

_nn = _core.nn
__all__ = [name for name in dir(_nn) if not name.startswith("_")]
for _name in __all__:
    globals()[_name] = getattr(_nn, _name)


class _Draws(_Generator):
    """The random numbers of a model: what is drawn here moves its counter."""

    def __init__(self, model):
        self._model = model

    key = property(lambda self: self._model._random[0], lambda self, key: setattr(self._model, "_random", (key, self.counter)))
    counter = property(lambda self: self._model._random[1], lambda self, counter: setattr(self._model, "_random", (self.key, counter)))


_nn.Model.random = property(_Draws, doc=_Draws.__doc__)
_nn.Pass.random = property(lambda self: _Draws(self.model), doc=_Draws.__doc__)
