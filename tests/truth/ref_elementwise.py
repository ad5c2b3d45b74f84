"""Truth of element-wise ops."""
from core import elementwise, truth


def wrap(value, dtype):
    """Two's complement of the dtype's width."""
    bits = int(dtype[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


@truth("add")
def add(a, b):
    return elementwise(lambda x, y: wrap(x + y, a.dtype) if isinstance(x, int) else x + y)(a, b)
