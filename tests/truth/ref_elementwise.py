"""Truth of element-wise ops."""
import mpmath
from core import elementwise, float_of, truth
from mpmath import mpf


def wrap(value, dtype):
    """Two's complement of the dtype's width."""
    bits = int(dtype[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


@truth("add")
def add(a, b):
    return elementwise(lambda x, y: wrap(x + y, a.dtype) if isinstance(x, int) else x + y)(a, b)


def real_log(x):
    if isinstance(x, (int, mpf)):
        return mpf("-inf") if x == 0 else mpf("nan") if x < 0 else mpmath.log(x)
    return mpmath.log(x)


truth("log", ulps=1)(elementwise(real_log, float_of))
