"""Truth of ops that move elements."""
import math

from core import DIGITS, INTEGERS, Array, broadcast, broadcast_shape, build, truth
from mpmath import mpc, mpf


@truth("permute_dims")
def permute_dims(x, axes):
    axes = [a % x.ndim for a in axes]
    inverse = [axes.index(k) for k in range(x.ndim)]
    return build(x.dtype, [x.shape[a] for a in axes], lambda i: x[tuple(i[inverse[k]] for k in range(x.ndim))])


@truth("matrix_transpose")
def matrix_transpose(x):
    axes = list(range(x.ndim))
    return permute_dims(x, axes[:-2] + [axes[-1], axes[-2]])


@truth("moveaxis")
def moveaxis(x, source, destination):
    source, destination = [a % x.ndim for a in source], [a % x.ndim for a in destination]
    order = [a for a in range(x.ndim) if a not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return permute_dims(x, order)


@truth("reshape")
def reshape(x, shape, copy):
    known = math.prod(n for n in shape if n != -1)
    return Array(x.dtype, [x.size // known if n == -1 else n for n in shape], x.values)


@truth("expand_dims")
def expand_dims(x, axis):
    rank = x.ndim + len(axis)
    fresh, rest = {a % rank for a in axis}, iter(x.shape)
    return Array(x.dtype, [1 if k in fresh else next(rest) for k in range(rank)], x.values)


@truth("squeeze")
def squeeze(x, axis):
    gone = {a % x.ndim for a in axis}
    return Array(x.dtype, [n for k, n in enumerate(x.shape) if k not in gone], x.values)


@truth("flip")
def flip(x, axis):
    axes = set(range(x.ndim)) if axis is None else {a % x.ndim for a in axis}
    return build(x.dtype, x.shape, lambda i: x[tuple(n - 1 - k if a in axes else k for a, (k, n) in enumerate(zip(i, x.shape)))])


@truth("roll")
def roll(x, shift, axis):
    if axis is None:
        return Array(x.dtype, x.shape, [x.values[(i - shift[0]) % x.size] for i in range(x.size)])
    by = [0] * x.ndim
    for k, a in enumerate(axis):
        by[a % x.ndim] += shift[0] if len(shift) == 1 else shift[k]
    return build(x.dtype, x.shape, lambda i: x[tuple((k - s) % n for k, s, n in zip(i, by, x.shape))])


@truth("broadcast_to")
def broadcast_to(x, shape):
    return broadcast(x, shape)


@truth("broadcast_arrays")
def broadcast_arrays(*arrays):
    shape = broadcast_shape(*(a.shape for a in arrays))
    return [broadcast(a, shape) for a in arrays]


def common_dtype(arrays):
    """Of the samples: one dtype, or an integer with f32 (f64 when f32 does not hold all of its values)."""
    dtypes = {a.dtype for a in arrays}
    if len(dtypes) == 1:
        return dtypes.pop()
    assert "f32" in dtypes and len(dtypes) == 2, dtypes
    bits = int((dtypes - {"f32"}).pop()[1:])
    return "f32" if bits <= DIGITS["f32"] else "f64"


def concat_along(arrays, axis, dtype):
    starts = [0]
    for a in arrays:
        starts.append(starts[-1] + a.shape[axis])

    def value(i):
        part = max(k for k in range(len(arrays)) if starts[k] <= i[axis] and arrays[k].shape[axis])
        return arrays[part][i[:axis] + (i[axis] - starts[part],) + i[axis + 1:]]

    shape = list(arrays[0].shape)
    shape[axis] = starts[-1]
    return build(dtype, shape, value)


@truth("concat")
def concat(*arrays, axis):
    dtype = common_dtype(arrays)
    if axis is None:
        values = [v for a in arrays for v in a.values]
        return Array(dtype, [len(values)], values)
    return concat_along(arrays, axis % arrays[0].ndim, dtype)


@truth("stack")
def stack(*arrays, axis):
    axis %= arrays[0].ndim + 1
    return concat_along([expand_dims(a, [axis]) for a in arrays], axis, common_dtype(arrays))


@truth("unstack")
def unstack(x, axis):
    axis %= x.ndim
    shape = x.shape[:axis] + x.shape[axis + 1:]
    return [build(x.dtype, shape, lambda i: x[i[:axis] + (k,) + i[axis:]]) for k in range(x.shape[axis])]


@truth("tile")
def tile(x, repetitions):
    rank = max(x.ndim, len(repetitions))
    times = [1] * (rank - len(repetitions)) + repetitions
    x = Array(x.dtype, [1] * (rank - x.ndim) + x.shape, x.values)
    return build(x.dtype, [n * r for n, r in zip(x.shape, times)], lambda i: x[tuple(k % n for k, n in zip(i, x.shape))])


@truth("repeat")
def repeat(x, repeats, axis):
    if axis is None:
        x, axis = Array(x.dtype, [x.size], x.values), 0
    axis %= x.ndim
    times = repeats.values if repeats.size == x.shape[axis] else repeats.values * x.shape[axis]
    sources = [k for k, r in enumerate(times) for _ in range(r)]
    shape = x.shape[:axis] + [len(sources)] + x.shape[axis + 1:]
    return build(x.dtype, shape, lambda i: x[i[:axis] + (sources[i[axis]],) + i[axis + 1:]])


def kept(x, test):
    zero = False if x.dtype == "bool" else 0 if x.dtype in INTEGERS else mpc(0) if x.is_complex() else mpf(0)
    return build(x.dtype, x.shape, lambda i: x[i] if test(i[-1] - i[-2]) else zero)


@truth("tril")
def tril(x, k):
    return kept(x, lambda diagonal: diagonal <= k)


@truth("triu")
def triu(x, k):
    return kept(x, lambda diagonal: diagonal >= k)
