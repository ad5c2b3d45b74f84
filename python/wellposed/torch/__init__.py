"""wellposed inside PyTorch: watch(model) finds the source of Inf and NaN, linalg says how good its answers are."""
from . import linalg
from ._watch import Watch, watch

__all__ = ["Watch", "linalg", "watch"]
