"""Discrete Fourier transforms."""
from .. import Tensor, _Array, _DType, _Int, _Ints, _Real

# @functions@
