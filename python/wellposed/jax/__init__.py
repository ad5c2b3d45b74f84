"""wellposed inside JAX: watch(f) finds the source of Inf and NaN, linalg says how good its answers are, under jit too."""
from . import linalg
from ._watch import Watched, watch

__all__ = ["Watched", "linalg", "watch"]
