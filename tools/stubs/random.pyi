"""Random numbers by key and counter: the same on every machine and for any number of threads."""
import builtins
from collections.abc import Sequence
from typing import Any

from .. import Tensor, _Array, _DType, _Int, _Ints, _Number, _Real

class Generator:
    key: int
    counter: int
    state: tuple[int, int]
    def __init__(self, seed: int) -> None: ...
    def split(self, n: int) -> list[Generator]: ...
    # @methods@

# @functions@
