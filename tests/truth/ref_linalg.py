"""Truth of norms and of functions of matrices, in 60 digits."""
import itertools

import mpmath
from core import DIGITS, REAL, broadcast_shape, build, judge, truth
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
def inv(x, if_ill, ridge, noise, shift, assume, refine, certify, min_digits, names, accuracy, method):
    n = x.shape[-1]
    inverses = {}

    def value(index):
        member = index[:-2]
        if member not in inverses:
            inverses[member] = effective_inverse(matrix(x, member, n, n), if_ill, ridge, shift, assume)
        return mpmath.nan if inverses[member] is None else inverses[member][index[-2], index[-1]]

    return build(float_dtype(x), x.shape, value)


@truth("linalg.solve", ulps=16)
def solve(a, b, if_ill, ridge, noise, shift, assume, refine, certify, min_digits, names, accuracy, method):
    n, vector = a.shape[-1], b.ndim == 1
    batch_a, batch_b = a.shape[:-2], [] if vector else b.shape[:-2]
    batch = broadcast_shape(batch_a, batch_b) if batch_a or batch_b else []
    k = 1 if vector else b.shape[-1]
    answers = {}

    def answer(member):
        m = matrix(a, spread(member, batch_a), n, n)
        if method == "cholesky" and min(mpmath.eigh(m, eigvals_only=True)) <= 0:
            return None
        inverse = effective_inverse(m, if_ill, ridge, shift, assume)
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


def members(x):
    return list(itertools.product(*map(range, x.shape[:-2])))


def is_finite(a):
    return all(mpmath.isfinite(v) for v in a)


def singular_values(a):
    """In 60 digits, falling."""
    if a.rows * a.cols == 0:
        return []
    with mpmath.workdps(120):
        gram = adjoint(a) * a if a.cols <= a.rows else a * adjoint(a)
        values = mpmath.eigh(gram, eigvals_only=True)
        return sorted((mpmath.sqrt(abs(v)) for v in values), reverse=True)


def unit(dtype):
    return mpf(2) ** -DIGITS[dtype]


def values_wrong(exact, got, dtype, relative):
    largest = max(exact, default=mpf(0))
    for want, have in zip(exact, got):
        if abs(want - have) > 8 * unit(dtype) * (want if relative else largest):
            return f"singular value {have}, truth {want}"
    return None


@judge("linalg.svdvals")
def svdvals(inputs, outputs, if_ill, accuracy, names=None):
    x, (s,) = inputs[0], outputs
    m, n = x.shape[-2:]
    for member in members(x):
        a, got = matrix(x, member, m, n), [s[member + (i,)] for i in range(min(m, n))]
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        trouble = values_wrong(singular_values(a), got, s.dtype, accuracy == "high")
        if trouble:
            return trouble
    return None


def far_from_identity(q, dtype):
    return mpmath.mnorm(adjoint(q) * q - mpmath.eye(q.cols), "f") > 20 * q.cols * unit(dtype) if q.cols else False


@judge("linalg.svd")
def svd(inputs, outputs, full_matrices, if_ill, accuracy, names=None):
    x, (u, s, vh) = inputs[0], outputs
    m, n = x.shape[-2:]
    k = min(m, n)
    trouble = svdvals(inputs, [s], if_ill, accuracy)
    if trouble:
        return trouble
    if u.shape[-2:] != [m, m if full_matrices else k] or vh.shape[-2:] != [n if full_matrices else k, n]:
        return f"shapes {u.shape}, {vh.shape}"
    for member in members(x):
        a = matrix(x, member, m, n)
        if not is_finite(a) or k == 0:
            continue
        left, right = matrix(u, member, *u.shape[-2:]), matrix(vh, member, *vh.shape[-2:])
        if far_from_identity(left, u.dtype) or far_from_identity(adjoint(right), u.dtype):
            return "vectors are not orthonormal"
        middle = mpmath.diag([s[member + (i,)] for i in range(k)])
        if mpmath.mnorm(left[:, :k] * middle * right[:k, :] - a, "f") > 20 * max(m, n) * unit(u.dtype) * mpmath.mnorm(a, "f"):
            return "U diag(S) Vh is not x"
    return None


@judge("linalg.cond")
def cond(inputs, outputs, if_ill, names=None):
    x, (y,) = inputs[0], outputs
    m, n = x.shape[-2:]
    for member in members(x):
        a, got = matrix(x, member, m, n), y[member]
        if not is_finite(a):
            if not mpmath.isnan(got):
                return "not NaN although the matrix is not finite"
            continue
        s = singular_values(a)
        want = mpf(0) if not s else mpmath.inf if s[-1] < mpf(10) ** -40 * s[0] else s[0] / s[-1]
        if want != got and not abs(want - got) <= 8 * unit(y.dtype) * want * (want + 1):
            return f"{got}, truth {want}"
    return None


def cutoff(rtol, atol, dtype, m, n):
    """What singular values must exceed, as a function of the largest."""
    relative = mpf(rtol) if rtol is not None else max(m, n) * 2 * unit(dtype) if atol == 0 else mpf(0)
    return lambda largest: max(relative * largest, mpf(atol))


@truth("linalg.matrix_rank")
def matrix_rank(x, rtol, atol, if_ill, names=None):
    m, n = x.shape[-2:]

    def value(member):
        a = matrix(x, member, m, n)
        if not is_finite(a):
            return -1
        s = singular_values(a)
        return sum(v > cutoff(rtol, atol, float_dtype(x), m, n)(s[0]) for v in s)

    return build("i64", x.shape[:-2], value)


def truncated_inverse(a, least):
    """By the spectrum of the smaller Gram matrix, in 120 digits."""
    if a.rows * a.cols == 0:
        return mpmath.matrix(a.cols, a.rows)
    with mpmath.workdps(120):
        values, vectors = mpmath.eighe(adjoint(a) * a)
        largest = mpmath.sqrt(max(values))
        kept = [1 / v if v > 0 and mpmath.sqrt(v) > max(least(largest), mpf(10) ** -50 * largest) else mpf(0) for v in values]
        return vectors * mpmath.diag(kept) * adjoint(vectors) * adjoint(a)


def close(got, want, dtype, what):
    scale = mpmath.mnorm(want, "f") if want.rows * want.cols else mpf(0)
    return None if mpmath.mnorm(got - want, "f") <= 200 * unit(dtype) * scale else f"{what}: {got}, truth {want}"


@judge("linalg.pinv")
def pinv(inputs, outputs, rtol, atol, if_ill, names=None):
    x, (y,) = inputs[0], outputs
    m, n = x.shape[-2:]
    for member in members(x):
        a, got = matrix(x, member, m, n), matrix(y, member, n, m)
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
        elif m * n:
            trouble = close(got, truncated_inverse(a, cutoff(rtol, atol, y.dtype, m, n)), y.dtype, "pinv")
            if trouble:
                return trouble
    return None


@judge("linalg.lstsq")
def lstsq(inputs, outputs, rtol, atol, ridge, noise, if_ill, certify=False, names=None):
    (a, b), (y,) = inputs, outputs
    m, n = a.shape[-2:]
    vector = b.ndim == 1
    batch_a, batch_b = a.shape[:-2], [] if vector else b.shape[:-2]
    batch = broadcast_shape(batch_a, batch_b) if batch_a or batch_b else []
    k = 1 if vector else b.shape[-1]
    for member in itertools.product(*map(range, batch)):
        left = matrix(a, spread(member, batch_a), m, n)
        at = spread(member, batch_b)
        got = mpmath.matrix([[y[member + ((i,) if vector else (i, j))] for j in range(k)] for i in range(n)])
        if not is_finite(left):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        if m == 0:
            if any(got):
                return "not zero although there are no equations"
            continue
        right = mpmath.matrix([[b[(i,)] if vector else b[at + (i, j)] for j in range(k)] for i in range(m)])
        if ridge is None:
            want = truncated_inverse(left, cutoff(rtol, atol, y.dtype, m, n)) * right
        else:
            want = (adjoint(left) * left + mpf(ridge) * mpmath.eye(n)) ** -1 * adjoint(left) * right
        trouble = close(got, want, y.dtype, "lstsq")
        if trouble:
            return trouble
    return None


def exact_det(a):
    with mpmath.workdps(700):
        return mpmath.det(a) if a.rows else mpf(1)


@judge("linalg.det")
def det(inputs, outputs, if_ill):
    x, (y,) = inputs[0], outputs
    for member in members(x):
        a, got = matrix(x, member, *x.shape[-2:]), y[member]
        if not is_finite(a):
            if not mpmath.isnan(got):
                return "not NaN although the matrix is not finite"
            continue
        want = exact_det(a)
        hadamard = mpmath.fprod(mpmath.norm(a[i, :]) for i in range(a.rows))
        if abs(want) <= mpf(10) ** -650 * hadamard:
            want = mpf(0)
        if mpmath.isinf(got):
            if abs(want) < mpf(2) ** (15 if y.dtype == "f16" else 127):
                return f"{got}, truth {want}"
        elif abs(want - got) > 16 * unit(y.dtype) * abs(want) + mpf(2) ** -1074:
            return f"{got}, truth {want}"
    return None


@judge("linalg.slogdet")
def slogdet(inputs, outputs, if_ill):
    x, (sign, log) = inputs[0], outputs
    for member in members(x):
        a = matrix(x, member, *x.shape[-2:])
        if not is_finite(a):
            if not mpmath.isnan(log[member]):
                return "not NaN although the matrix is not finite"
            continue
        want = exact_det(a)
        hadamard = mpmath.fprod(mpmath.norm(a[i, :]) for i in range(a.rows))
        if abs(want) <= mpf(10) ** -650 * hadamard:
            if sign[member] != 0 or log[member] != -mpmath.inf:
                return f"({sign[member]}, {log[member]}) of a singular matrix"
            continue
        size = mpmath.log(abs(want))
        if abs(sign[member] - want / abs(want)) > 16 * unit(sign.dtype) or abs(log[member] - size) > 16 * unit(log.dtype) * (1 + abs(size)):
            return f"({sign[member]}, {log[member]}), truth {want / abs(want)}, {size}"
    return None


def hermitian(a, uplo):
    n = a.rows
    def element(i, j):
        if uplo is None:
            return (a[i, j] + mpmath.conj(a[j, i])) / 2
        inside = j <= i if uplo == "lower" else j >= i
        v = a[i, j] if inside else mpmath.conj(a[j, i])
        return mpmath.re(v) if i == j else v

    return mpmath.matrix([[element(i, j) for j in range(n)] for i in range(n)]) if n else a


def eigen_trouble(x, member, values, vectors, uplo, accuracy):
    n = x.shape[-1]
    a = matrix(x, member, n, n)
    if not is_finite(a):
        return None if all(mpmath.isnan(v) for v in values) else "not NaN although the matrix is not finite"
    if n == 0:
        return None
    a = hermitian(a, uplo)
    with mpmath.workdps(200):
        exact = sorted(mpmath.eighe(a, eigvals_only=True))
    scale = max(map(abs, exact))
    dtype = x.dtype if x.is_float() else "f64"
    graded = accuracy == "high" or 0 < min(map(abs, exact)) < unit(dtype) * scale
    for want, got in zip(exact, values):
        if abs(want - got) > 8 * unit(dtype) * (abs(want) if graded else scale):
            return f"eigenvalue {got}, truth {want}"
    if vectors is None:
        return None
    v = matrix(vectors, member, n, n)
    if far_from_identity(v, dtype):
        return "vectors are not orthonormal"
    if mpmath.mnorm(a * v - v * mpmath.diag(values), "f") > 20 * n * unit(dtype) * scale:
        return "x v is not w v"
    return None


@judge("linalg.eigh")
def eigh(inputs, outputs, uplo, if_ill, accuracy, names=None):
    x, (w, v) = inputs[0], outputs
    troubles = (eigen_trouble(x, m, [w[m + (i,)] for i in range(x.shape[-1])], v, uplo, accuracy) for m in members(x))
    return next((t for t in troubles if t), None)


@judge("linalg.eigvalsh")
def eigvalsh(inputs, outputs, uplo, if_ill, accuracy, names=None):
    x, (w,) = inputs[0], outputs
    troubles = (eigen_trouble(x, m, [w[m + (i,)] for i in range(x.shape[-1])], None, uplo, accuracy) for m in members(x))
    return next((t for t in troubles if t), None)


@truth("linalg.cholesky", ulps=8)
def cholesky(x, upper, uplo, if_ill, names=None):
    n = x.shape[-1]
    factors = {}

    def factor(member):
        a = matrix(x, member, n, n)
        if not is_finite(a):
            return None
        a, l = hermitian(a, uplo), mpmath.matrix(n, n)
        for j in range(n):
            d = mpmath.re(a[j, j]) - sum(abs(l[j, k]) ** 2 for k in range(j))
            if d <= 0:
                return None
            l[j, j] = mpmath.sqrt(d)
            for i in range(j + 1, n):
                l[i, j] = (a[i, j] - sum(l[i, k] * mpmath.conj(l[j, k]) for k in range(j))) / l[j, j]
        return adjoint(l) if upper else l

    def value(index):
        member = index[:-2]
        if member not in factors:
            factors[member] = factor(member)
        return mpmath.nan if factors[member] is None else factors[member][index[-2], index[-1]]

    return build(float_dtype(x), x.shape, value)
