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


def systems(left, right, batch_left, n, matrix_at):
    """x with matrix_at(member) x = right; NaN where the matrix is exactly singular."""
    vector = right.ndim == 1
    batch_right = [] if vector else right.shape[:-2]
    batch = broadcast_shape(batch_left, batch_right) if batch_left or batch_right else []
    k = 1 if vector else right.shape[-1]
    answers = {}

    def answer(member):
        a, at = matrix_at(member), spread(member, batch_right)
        b = mpmath.matrix([[right[(i,)] if vector else right[at + (i, j)] for j in range(k)] for i in range(n)])
        with mpmath.workdps(700):  # products of floats are exact, so a determinant of 0 is seen
            return None if mpmath.det(a) == 0 else a**-1 * b

    def value(index):
        member = tuple(index[:len(batch)])
        if member not in answers:
            answers[member] = answer(member)
        i, j = index[len(batch)], 0 if vector else index[-1]
        return mpmath.nan if answers[member] is None else answers[member][i, j]

    return build(float_dtype(left), batch + [n] + ([] if vector else [k]), value)


@truth("linalg.solve_triangular", ulps=1)
def solve_triangular(a, b, lower, adjoint, unit_diagonal, if_ill, refine, min_digits):
    n = a.shape[-1]

    def triangle(member):
        m = matrix(a, spread(member, a.shape[:-2]), n, n)
        for i, j in itertools.product(range(n), repeat=2):
            if i != j and (i > j) != lower:
                m[i, j] = mpf(0)
            if i == j and unit_diagonal:
                m[i, j] = mpf(1)
        return m.transpose_conj() if adjoint else m

    return systems(a, b, a.shape[:-2], n, triangle)


@truth("linalg.solve_banded", ulps=1)
def solve_banded(ab, b, l, u, if_ill, refine, min_digits):
    n = ab.shape[-1]

    def full(member):
        at = spread(member, ab.shape[:-2])
        m = mpmath.matrix(n, n)
        for i, j in itertools.product(range(n), repeat=2):
            if -l <= j - i <= u:
                m[i, j] = ab[at + (u + i - j, j)]
        return m

    return systems(ab, b, ab.shape[:-2], n, full)


@truth("linalg.solve_toeplitz", ulps=1)
def solve_toeplitz(c, b, r, if_ill, refine, min_digits):
    n = c.shape[-1]
    batch_r = r.shape[:-1] if r else []

    def full(member):
        at_c, at_r = spread(member, c.shape[:-1]), spread(member, batch_r)
        above = (lambda k: r[at_r + (k,)]) if r else (lambda k: mpmath.conj(c[at_c + (k,)]))
        m = mpmath.matrix(n, n)
        for i, j in itertools.product(range(n), repeat=2):
            m[i, j] = c[at_c + (i - j,)] if i >= j else above(j - i)
        return m

    batch = broadcast_shape(c.shape[:-1], batch_r) if c.ndim > 1 or batch_r else []
    return systems(c, b, batch, n, full)


@truth("linalg.solve_sylvester", ulps=1)
def solve_sylvester(a, b, q, if_ill, refine, min_digits):
    m, n = a.shape[-1], b.shape[-1]
    batches = [x.shape[:-2] for x in (a, b, q)]
    batch = broadcast_shape(*batches) if any(batches) else []
    answers = {}

    def answer(member):
        """As a system of m n equations."""
        left, right, c = (matrix(x, spread(member, s), *x.shape[-2:]) for x, s in zip((a, b, q), batches))
        big, flat = mpmath.matrix(m * n, m * n), mpmath.matrix(m * n, 1)
        for i, j in itertools.product(range(m), range(n)):
            flat[i * n + j] = c[i, j]
            for k in range(m):
                big[i * n + j, k * n + j] += left[i, k]
            for k in range(n):
                big[i * n + j, i * n + k] += right[k, j]
        with mpmath.workdps(700):
            return None if mpmath.det(big) == 0 else big**-1 * flat

    def value(index):
        member = tuple(index[:-2])
        if member not in answers:
            answers[member] = answer(member)
        return mpmath.nan if answers[member] is None else answers[member][index[-2] * n + index[-1]]

    return build(float_dtype(a), batch + [m, n], value)
