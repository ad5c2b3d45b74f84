"""Truth of creation functions."""
import math

from core import INTEGERS, Array, build, truth
from mpmath import mpc, mpf


def scalar(text):
    """A number as the attribute shows it: exact values of C++ numbers."""
    if text in ("true", "false"):
        return text == "true"
    if text.endswith("j"):
        value = complex(text)
        return mpc(value.real, value.imag)
    try:
        return int(text)
    except ValueError:
        return mpf(float(text))


def as_dtype(value, dtype):
    if dtype == "bool":
        return bool(value)
    return int(value) if dtype in INTEGERS else mpf(value) if isinstance(value, (bool, int)) else value


def natural_dtype(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "i64" if value < 2**63 else "u64"
    return "c128" if isinstance(value, mpc) else "f64"


def constant(value, shape, dtype):
    return build(dtype, shape, lambda i: as_dtype(value, dtype))


@truth("zeros")
def zeros(shape, dtype):
    return constant(0, shape, dtype or "f64")


@truth("empty")
def empty(shape, dtype):
    return constant(0, shape, dtype or "f64")


@truth("ones")
def ones(shape, dtype):
    return constant(1, shape, dtype or "f64")


@truth("full")
def full(shape, fill_value, dtype):
    value = scalar(fill_value)
    return constant(value, shape, dtype or natural_dtype(value))


@truth("zeros_like")
def zeros_like(x, dtype):
    return constant(0, x.shape, dtype or x.dtype)


@truth("empty_like")
def empty_like(x, dtype):
    return constant(0, x.shape, dtype or x.dtype)


@truth("ones_like")
def ones_like(x, dtype):
    return constant(1, x.shape, dtype or x.dtype)


@truth("full_like")
def full_like(x, fill_value, dtype):
    return constant(scalar(fill_value), x.shape, dtype or x.dtype)


@truth("arange")
def arange(start, stop, step, dtype):
    start, step = scalar(start), scalar(step)
    start, stop = (0, start) if stop is None else (start, scalar(stop))
    whole = all(isinstance(v, int) for v in (start, stop, step))
    if whole:
        values = list(range(start, stop, step))
        dtype = dtype or ("i64" if max(start, stop) < 2**63 else "u64")
        return Array(dtype, [len(values)], [as_dtype(v, dtype) for v in values])
    n = max(0, math.ceil((mpf(stop) - start) / step))
    return Array(dtype or "f64", [n], [mpf(start) + k * mpf(step) for k in range(n)])


@truth("linspace")
def linspace(start, stop, num, dtype, endpoint):
    start, stop = scalar(start), scalar(stop)
    parts = max(1, num - 1 if endpoint else num)
    real = not any(isinstance(v, mpc) for v in (start, stop))
    number = mpf if real else mpc
    values = [(number(start) * (parts - k) + number(stop) * k) / parts for k in range(num)]
    return Array(dtype or ("f64" if real else "c128"), [num], values)


@truth("eye")
def eye(n_rows, n_cols, k, dtype):
    dtype = dtype or "f64"
    return build(dtype, [n_rows, n_rows if n_cols is None else n_cols], lambda i: as_dtype(i[1] - i[0] == k, dtype))


@truth("meshgrid")
def meshgrid(*arrays, indexing):
    axis = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        axis[0], axis[1] = 1, 0
    shape = [0] * len(arrays)
    for a, k in zip(arrays, axis):
        shape[k] = a.size
    return [build(a.dtype, shape, lambda i, a=a, k=k: a.values[i[k]]) for a, k in zip(arrays, axis)]
