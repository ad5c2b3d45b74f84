"""Truth of norms and of functions of matrices, in 60 digits."""
import mpmath
from core import REAL, broadcast_shape, build, truth
from mpmath import mpf
from ref_linear import spread
from ref_statistical import reduced


def order(ord):
    return mpf(ord) if not isinstance(ord, str) else {"inf": mpmath.inf, "-inf": -mpmath.inf}[ord]


@truth("linalg.vector_norm", ulps=4)
def vector_norm(x, axis, keepdims, ord):
    p = order(ord)

    def norm(values):
        sizes = [abs(v) for v in values]
        if p == 0:
            return mpf(sum(v != 0 for v in sizes))
        if mpmath.isinf(p):
            return max(sizes, default=mpf(0)) if p > 0 else min(sizes)
        return mpmath.root(sum(v * v for v in sizes), 2) if p == 2 else mpmath.power(sum(mpmath.power(v, p) for v in sizes), 1 / p)

    return reduced(x, axis, keepdims, REAL.get(x.dtype, x.dtype), norm)


def matrix(x, member, m, n):
    return mpmath.matrix(m, n) if m * n == 0 else mpmath.matrix([[x[member + (i, j)] for j in range(n)] for i in range(m)])


def adjoint(a):
    return a.transpose_conj()


def pseudo_inverse(a):
    u, s, v = (mpmath.svd_c if any(isinstance(x, mpmath.mpc) for x in a) else mpmath.svd_r)(a)
    inverse = mpmath.diag([1 / x if x > mpf(10) ** -12 * s[0] else mpf(0) for x in s])
    return adjoint(v) * inverse * adjoint(u)


def effective_inverse(a, if_ill, ridge, shift, assume):
    """The matrix that takes b to the answer; None where the answer is NaN."""
    n = a.rows
    with mpmath.workdps(700):  # products of floats are exact, so a determinant of 0 is seen
        a = a + shift * mpmath.eye(n)
        if assume == "lower":
            a = mpmath.matrix([[a[i, j] if j <= i else mpf(0) for j in range(n)] for i in range(n)])
        if ridge is not None:
            return (adjoint(a) * a + mpf(ridge) * mpmath.eye(n)) ** -1 * adjoint(a)
        hadamard = mpmath.fprod(mpmath.norm(a[i, :]) for i in range(n))
        if n == 0 or abs(mpmath.det(a)) > mpf(10) ** -650 * hadamard:
            return a**-1
    return pseudo_inverse(a) if if_ill == "pinv" else None


def float_dtype(x):
    return x.dtype if x.is_float() else "f64"


@truth("linalg.inv", ulps=16)
def inv(x, if_ill, ridge, noise, shift, assume, refine, certify, min_digits, names):
    n = x.shape[-1]
    inverses = {}

    def value(index):
        member = index[:-2]
        if member not in inverses:
            inverses[member] = effective_inverse(matrix(x, member, n, n), if_ill, ridge, shift, assume)
        return mpmath.nan if inverses[member] is None else inverses[member][index[-2], index[-1]]

    return build(float_dtype(x), x.shape, value)


@truth("linalg.solve", ulps=16)
def solve(a, b, if_ill, ridge, noise, shift, assume, refine, certify, min_digits, names):
    n, vector = a.shape[-1], b.ndim == 1
    batch_a, batch_b = a.shape[:-2], [] if vector else b.shape[:-2]
    batch = broadcast_shape(batch_a, batch_b) if batch_a or batch_b else []
    k = 1 if vector else b.shape[-1]
    answers = {}

    def answer(member):
        inverse = effective_inverse(matrix(a, spread(member, batch_a), n, n), if_ill, ridge, shift, assume)
        at = spread(member, batch_b)
        right = mpmath.matrix([[b[(i,)] if vector else b[at + (i, j)] for j in range(k)] for i in range(n)])
        return None if inverse is None else inverse * right

    def value(index):
        member = tuple(index[:len(batch)])
        if member not in answers:
            answers[member] = answer(member)
        i, j = index[len(batch)], 0 if vector else index[-1]
        return mpmath.nan if answers[member] is None else answers[member][i, j]

    return build(float_dtype(a), batch + [n] + ([] if vector else [k]), value)
