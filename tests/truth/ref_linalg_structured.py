"""Truth of products and views of matrices, and of systems with structure."""
import itertools

import mpmath
from core import broadcast, broadcast_shape, build, truth
from mpmath import mpc, mpf
from ref_linalg import float_dtype, matrix
from ref_linear import spread, total
from ref_statistical import total_dtype


def diagonal_line(x, offset):
    m, n = x.shape[-2:]
    return [(i, i + offset) for i in range(m) if 0 <= i + offset < n]


@truth("linalg.diagonal")
def diagonal(x, offset):
    line = diagonal_line(x, offset)
    return build(x.dtype, x.shape[:-2] + [len(line)], lambda i: x[i[:-1] + line[i[-1]]])


@truth("linalg.trace")
def trace(x, offset, dtype):
    line = diagonal_line(x, offset)
    kind = total_dtype(x, dtype)
    return build(kind, x.shape[:-2], lambda i: total((x[i + at] for at in line), kind))


@truth("linalg.outer", ulps=2)
def outer(a, b):
    batch = broadcast_shape(a.shape[:-1], b.shape[:-1]) if a.ndim > 1 or b.ndim > 1 else []
    return build(a.dtype, batch + [a.shape[-1], b.shape[-1]],
                 lambda i: total([a[spread(i[:-2], a.shape[:-1]) + i[-2:-1]] * b[spread(i[:-2], b.shape[:-1]) + i[-1:]]], a.dtype))


@truth("linalg.kron", ulps=2)
def kron(a, b):
    sa, sb = ([1] * (2 - x.ndim) + x.shape for x in (a, b))
    batch = broadcast_shape(sa[:-2], sb[:-2]) if len(sa) > 2 or len(sb) > 2 else []
    flat = a.ndim == 1 and b.ndim == 1

    def at(x, shape, member, i, j):
        return x[spread(member, shape[:-2]) + ((i, j) if x.ndim > 1 else (j,))]

    def value(index):
        i, j = (0, index[-1]) if flat else index[-2:]
        member = () if flat else index[:-2]
        return total([at(a, sa, member, i // sb[-2], j // sb[-1]) * at(b, sb, member, i % sb[-2], j % sb[-1])], a.dtype)

    return build(a.dtype, batch + ([] if flat else [sa[-2] * sb[-2]]) + [sa[-1] * sb[-1]], value)


@truth("linalg.cross", ulps=1)
def cross(a, b, axis):
    shape = broadcast_shape(a.shape, b.shape)
    axis %= len(shape)
    a, b = broadcast(a, shape), broadcast(b, shape)

    def value(index):
        k = index[axis]
        p, q = (index[:axis] + ((k + s) % 3,) + index[axis + 1:] for s in (1, 2))
        return total([a[p] * b[q], -(a[q] * b[p])], a.dtype)

    return build(a.dtype, shape, value)


@truth("linalg.multi_dot", ulps=4)
def multi_dot(*arrays):
    shapes = [list(x.shape) for x in arrays]
    row, column = len(shapes[0]) == 1, len(shapes[-1]) == 1
    if row:
        shapes[0] = [1] + shapes[0]
    if column:
        shapes[-1] = shapes[-1] + [1]
    batch = broadcast_shape(*(s[:-2] for s in shapes)) if any(len(s) > 2 for s in shapes) else []
    inner = [s[-1] for s in shapes[:-1]]

    def element(x, shape, member, i, j):
        return x[spread(member, shape[:-2]) + ((j,) if x.ndim == 1 and x is arrays[0] else (i,) if x.ndim == 1 else (i, j))]

    def value(index):
        member, rest = index[:len(batch)], list(index[len(batch):])
        i = 0 if row else rest.pop(0)
        j = 0 if column else rest.pop(0)
        terms = []
        for middle in itertools.product(*map(range, inner)):
            path, product = (i,) + middle + (j,), 1
            for k, x in enumerate(arrays):
                product = product * element(x, shapes[k], member, path[k], path[k + 1])
            terms.append(product)
        return total(terms, arrays[0].dtype)

    return build(arrays[0].dtype, batch + ([] if row else [shapes[0][-2]]) + ([] if column else [shapes[-1][-1]]), value)
