"""Truth of searching, sorting, set and difference ops."""
import functools

from core import Array, broadcast, build, truth
from mpmath import mpc
from ref_statistical import along, wrapped


def is_nan(v):
    return bool(v != v)


def before(a, b):
    """-1, 0, 1: ascending order with NaN last; complex by real, then imaginary part."""
    if is_nan(a) or is_nan(b):
        return is_nan(a) - is_nan(b)
    a, b = ((v.real, v.imag) if isinstance(v, mpc) else (v, 0) for v in (a, b))
    return (a > b) - (a < b)


def order_of(values, descending=False):
    """Stable; NaN last in both directions."""

    def compare(i, j):
        a, b = values[i], values[j]
        sign = before(a, b)
        return -sign if descending and not (is_nan(a) or is_nan(b)) else sign

    return sorted(range(len(values)), key=functools.cmp_to_key(compare))


def first_extreme(values, largest):
    for i, v in enumerate(values):
        if is_nan(v):
            return i
    return values.index(max(values) if largest else min(values))


def arg_search(largest):
    def reference(x, axis, keepdims):
        if axis is None:
            return Array("i64", [1] * x.ndim if keepdims else [], [first_extreme(x.values, largest)])
        found = along(x, axis, "i64", lambda v: [first_extreme(v, largest)])
        if not keepdims:
            del found.shape[axis % x.ndim]
        return found

    return reference


truth("argmax")(arg_search(True))
truth("argmin")(arg_search(False))


@truth("sort")
def sort(x, axis, descending, stable):
    return along(x, axis, x.dtype, lambda v: [v[i] for i in order_of(v, descending)])


@truth("argsort")
def argsort(x, axis, descending, stable):
    return along(x, axis, "i64", lambda v: order_of(v, descending))


@truth("nonzero")
def nonzero(x):
    found = [i for i in x.indices() if x[i] != 0]
    return [Array("i64", [len(found)], [i[k] for i in found]) for k in range(x.ndim)]


@truth("searchsorted")
def searchsorted(x1, x2, sorter, side):
    line = [x1.values[i] for i in sorter.values] if sorter else x1.values
    limit = 0 if side == "left" else 1
    return Array("i64", x2.shape, [sum(before(a, v) < limit for a in line) for v in x2.values])


def groups(x):
    """Lists of places with equal values, in ascending order of value."""
    out = []
    for i in order_of(x.values):
        if out and x.values[i] == x.values[out[-1][0]]:
            out[-1].append(i)
        else:
            out.append([i])
    return out


def unique_parts(x):
    found = groups(x)
    place = {i: k for k, g in enumerate(found) for i in g}
    count = [len(found)]
    return {
        "values": Array(x.dtype, count, [x.values[g[0]] for g in found]),
        "indices": Array("i64", count, [g[0] for g in found]),
        "inverse_indices": Array("i64", x.shape, [place[i] for i in range(x.size)]),
        "counts": Array("i64", count, [len(g) for g in found]),
    }


def unique(*parts):
    return lambda x: [unique_parts(x)[p] for p in parts]


truth("unique_all")(unique("values", "indices", "inverse_indices", "counts"))
truth("unique_counts")(unique("values", "counts"))
truth("unique_inverse")(unique("values", "inverse_indices"))
truth("unique_values")(unique("values"))


@truth("diff")
def diff(x, prepend, append, axis, n):
    axis %= x.ndim
    parts = [p for p in (prepend, x, append) if p]
    parts = [p if p.ndim else broadcast(p, x.shape[:axis] + [1] + x.shape[axis + 1 :]) for p in parts]
    length = sum(p.shape[axis] for p in parts)
    owner = [(p, i) for p in parts for i in range(p.shape[axis])]

    def value(index):
        p, i = owner[index[axis]]
        return p[index[:axis] + (i,) + index[axis + 1 :]]

    joined = build(x.dtype, x.shape[:axis] + [length] + x.shape[axis + 1 :], value)

    def line(values):
        for _ in range(n):
            values = [b - a for a, b in zip(values, values[1:])]
        return [wrapped(v, x.dtype) for v in values]

    return along(joined, axis, x.dtype, line)
