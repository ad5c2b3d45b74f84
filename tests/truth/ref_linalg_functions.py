"""Truth of functions of matrices, in 60 digits."""
import mpmath
from core import LARGEST, REAL, SMALLEST, build, judge, truth
from mpmath import mpf
from ref_linalg import adjoint, close, far_from_identity, float_dtype, hermitian, is_finite, matrix, members, singular_values, unit


def eigenvalues(a):
    with mpmath.workdps(120):
        return mpmath.eig(a, left=False, right=False) if a.rows else []


def on_negative_axis(a):
    return any(mpmath.re(v) < 0 and abs(mpmath.im(v)) < mpf(10) ** -30 * abs(v) for v in eigenvalues(a))


def judged(function, tolerance=1):
    """A judge that compares each member with function(matrix, **attributes); None stands for NaN."""

    def trouble(inputs, outputs, **attrs):
        x, y = inputs[0], outputs[0]
        m, n = x.shape[-2:]
        if y.dtype != float_dtype(x):
            return f"dtype {y.dtype}"
        for member in members(x):
            a, got = matrix(x, member, m, n), matrix(y, member, *y.shape[-2:])
            want = function(a, x.is_complex(), **attrs) if is_finite(a) else None
            if want is None:
                if not all(mpmath.isnan(v) for v in got):
                    return f"{got} where there is no answer"
                continue
            if m * n == 0:
                continue
            scale = mpmath.mnorm(want, "f")
            if scale > LARGEST[y.dtype]:
                if is_finite(got):
                    return "finite although the answer is not"
            elif not mpmath.mnorm(got - want, "f") <= 200 * tolerance * unit(y.dtype) * scale + mpf(2) ** SMALLEST[y.dtype]:
                return f"{got}, truth {want}"
        return None

    return trouble


def principal_root(a, complex_input):
    if a.rows == 0 or not any(a):
        return a
    if not complex_input and on_negative_axis(a):
        return None
    if a.rows == 2 and a[1, 0] == a[0, 0] == a[1, 1] == 0:
        return None  # a Jordan block of 0
    with mpmath.workdps(100):
        if hermitian(a, None) == a:
            values, vectors = mpmath.eighe(a)
            roots = [mpmath.sqrt(v) if abs(v) > mpf(10) ** -50 else mpf(0) for v in values]
            return vectors * mpmath.diag(roots) * adjoint(vectors)
        values, vectors = mpmath.eig(a)
        return vectors * mpmath.diag([mpmath.sqrt(v) for v in values]) * vectors**-1


judge("linalg.sqrtm")(judged(lambda a, complex_input, if_ill: principal_root(a, complex_input), tolerance=4))


def exponential(a, complex_input, if_ill):
    with mpmath.workdps(80):
        return mpmath.expm(a, method="taylor") if a.rows else a


judge("linalg.expm")(judged(exponential, tolerance=4))


def logarithm(a, complex_input, if_ill):
    if a.rows == 0:
        return a
    if abs(mpmath.det(a)) <= mpf(10) ** -50 * mpmath.mnorm(a, "f") ** a.rows or (not complex_input and on_negative_axis(a)):
        return None
    with mpmath.workdps(100):
        values, vectors = mpmath.eig(a)
        if len({mpmath.nstr(v, 20) for v in values}) == len(values):
            return vectors * mpmath.diag([mpmath.log(v) for v in values]) * vectors**-1
        return mpmath.logm(a)


judge("linalg.logm")(judged(logarithm, tolerance=4))


def power(a, complex_input, exponent, if_ill):
    p = mpf(exponent)
    if a.rows == 0:
        return a
    with mpmath.workdps(100):
        if p == int(p):
            if p < 0 and mpmath.det(a) == 0:
                return None
            return a ** int(p)
        if not complex_input and on_negative_axis(a):
            return None
        if p < 0 and mpmath.det(a) == 0:
            return None
        values, vectors = mpmath.eig(a)
        return vectors * mpmath.diag([mpmath.power(v, p) for v in values]) * vectors**-1


judge("linalg.matrix_power")(judged(power, tolerance=4))


@judge("linalg.polar")
def polar(inputs, outputs, side, if_ill):
    x, (u, p) = inputs[0], outputs
    m, n = x.shape[-2:]
    for member in members(x):
        a, left, right = matrix(x, member, m, n), matrix(u, member, m, n), matrix(p, member, *p.shape[-2:])
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in left):
                return "not NaN although the matrix is not finite"
            continue
        if m * n == 0:
            continue
        product = left * right if side == "right" else right * left
        trouble = close(product, a, u.dtype, "product")
        if trouble:
            return trouble
        if far_from_identity(left if m >= n else adjoint(left), u.dtype):
            return "U is not orthonormal"
        if hermitian(right, None) != right:
            return "P is not Hermitian"
        if min(mpmath.eighe(right, eigvals_only=True)) < -20 * n * unit(u.dtype) * mpmath.mnorm(a, "f"):
            return "P is not semidefinite"
        gram = adjoint(a) * a if side == "right" else a * adjoint(a)
        if mpmath.mnorm(right * right - gram, "f") > 200 * unit(u.dtype) * mpmath.mnorm(gram, "f"):
            return "P is not the root of the Gram matrix"
    return None


@truth("linalg.matrix_norm", ulps=64)  # the least singular value is exact relative to the largest
def matrix_norm(x, axis, keepdims, ord):
    rows, columns = (a % x.ndim for a in axis)
    m, n = x.shape[rows], x.shape[columns]
    shape = [1 if k in (rows, columns) else d for k, d in enumerate(x.shape) if keepdims or k not in (rows, columns)]

    def norm(a):
        sizes = [[abs(a[i, j]) for j in range(n)] for i in range(m)]
        if not all(mpmath.isfinite(v) for line in sizes for v in line):
            return mpmath.nan if any(mpmath.isnan(v) for line in sizes for v in line) else mpmath.inf
        if m * n == 0:
            return mpf(0)
        if ord == "fro":
            return mpmath.sqrt(sum(v * v for line in sizes for v in line))
        if ord in ("nuc", 2, -2):
            s = singular_values(a)
            return sum(s) if ord == "nuc" else s[0] if ord == 2 else s[-1]
        sums = [sum(line) for line in (zip(*sizes) if abs(mpf(ord)) == 1 else sizes)]
        return max(sums) if mpf(ord) > 0 else min(sums)

    def value(index):
        rest = iter([i for k, i in enumerate(index) if not (keepdims and k in (rows, columns))])
        others = {k: next(rest) for k in range(x.ndim) if k not in (rows, columns)}
        at = lambda i, j: x[tuple(i if k == rows else j if k == columns else others[k] for k in range(x.ndim))]
        return norm(mpmath.matrix([[at(i, j) for j in range(n)] for i in range(m)]) if m * n else mpmath.matrix(m, n))

    return build(REAL.get(float_dtype(x), float_dtype(x)), shape, value)


def exactly_singular(a):
    with mpmath.workdps(700):
        return abs(mpmath.det(a)) <= mpf(10) ** -650 * mpmath.fprod(mpmath.norm(a[i, :]) for i in range(a.rows))


@judge("linalg.rcond")
def rcond(inputs, outputs, if_ill):
    x, (y,) = inputs[0], outputs
    for member in members(x):
        a, got = matrix(x, member, *x.shape[-2:]), y[member]
        if not is_finite(a):
            if not mpmath.isnan(got):
                return "not NaN although the matrix is not finite"
            continue
        with mpmath.workdps(700):
            want = mpmath.inf if a.rows == 0 else mpf(0) if exactly_singular(a) else 1 / (mpmath.mnorm(a, 1) * mpmath.mnorm(a**-1, 1))
        slack = 1 + mpf(10) ** 3 * unit(y.dtype) + (mpf(2) ** -45 / want if want and mpmath.isfinite(want) else 0)
        if want != got and not want / slack <= got <= 3 * want * slack:
            return f"{got}, truth {want}"
    return None


@judge("linalg.logdet")
def logdet(inputs, outputs, uplo, if_ill, names=None):
    x, (y,) = inputs[0], outputs
    for member in members(x):
        a, got = matrix(x, member, *x.shape[-2:]), y[member]
        values = sorted(mpmath.eighe(hermitian(a, uplo), eigvals_only=True)) if a.rows and is_finite(a) else []
        if not is_finite(a) or (values and values[0] < -(mpf(10) ** -40)):
            if not mpmath.isnan(got):
                return f"{got} where there is no answer"
            continue
        singular = values and abs(values[0]) < mpf(10) ** -40 * values[-1]
        want = -mpmath.inf if singular else sum(map(mpmath.log, values), mpf(0))
        if want != got and not abs(want - got) <= 16 * unit(y.dtype) * (1 + abs(want)):
            return f"{got}, truth {want}"
    return None


def gram_spectrum(a):
    """Squares of the singular values, falling, and right vectors (columns), in 120 digits."""
    with mpmath.workdps(120):
        values, vectors = mpmath.eighe(adjoint(a) * a)
        order = sorted(range(a.cols), key=lambda i: -values[i])
        return [abs(values[i]) for i in order], [vectors[:, i] for i in order]


def rank(a, rtol, atol, dtype):
    if a.rows * a.cols == 0:
        return 0
    s = singular_values(a)
    default = 0 if atol else 2 * max(a.rows, a.cols) * unit(dtype)  # an absolute threshold alone means just that
    tolerance = default if rtol is None else mpf(rtol)
    return sum(v > max(max(tolerance, mpf(10) ** -30) * s[0], mpf(atol)) for v in s)


def basis_trouble(inputs, outputs, rtol, atol, null):
    x, y = inputs[0], outputs[0]
    m, n = x.shape[-2:]
    for member in members(x):
        a, q = matrix(x, member, m, n), matrix(y, member, *y.shape[-2:])
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in q):
                return "not NaN although the matrix is not finite"
            continue
        r = rank(a, rtol, atol, y.dtype)
        if [q.rows, q.cols] != ([n, n - r] if null else [m, r]):
            return f"shape {y.shape}, rank {r}"
        if far_from_identity(q, y.dtype):
            return "not orthonormal"
        if q.cols == 0 or m * n == 0:
            continue
        s = singular_values(a)
        left = a * q if null else a - q * (adjoint(q) * a)
        if mpmath.mnorm(left, "f") > mpmath.sqrt(sum(v * v for v in s[r:])) + 200 * unit(y.dtype) * s[0]:
            return "not the null space" if null else "not the range"
    return None


judge("linalg.null_space")(lambda inputs, outputs, rtol, atol, if_ill, names: basis_trouble(inputs, outputs, rtol, atol, True))
judge("linalg.orth")(lambda inputs, outputs, rtol, atol, if_ill, names: basis_trouble(inputs, outputs, rtol, atol, False))


def leading(a, k):
    """U_k U_kᴴ of the first k left singular vectors."""
    p = mpmath.matrix(a.rows, a.rows)
    if k == 0:
        return p
    with mpmath.workdps(120):
        values, vectors = mpmath.eighe(a * adjoint(a))
        order = sorted(range(a.rows), key=lambda i: -values[i])
        for i in order[:k]:
            p = p + vectors[:, i] * adjoint(vectors[:, i])
    return p


@judge("linalg.projector")
def projector(inputs, outputs, rtol, atol, if_ill):
    x, y = inputs[0], outputs[0]
    m, n = x.shape[-2:]
    for member in members(x):
        a, got = matrix(x, member, m, n), matrix(y, member, m, m)
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        if mpmath.mnorm(got - leading(a, rank(a, rtol, atol, y.dtype)), "f") > 200 * unit(y.dtype):
            return f"{got}"
    return None


@judge("linalg.low_rank")
def low_rank(inputs, outputs, rank, if_ill):
    x, y = inputs[0], outputs[0]
    m, n = x.shape[-2:]
    for member in members(x):
        a, got = matrix(x, member, m, n), matrix(y, member, m, n)
        if not is_finite(a):
            if rank < min(m, n) and not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        if m * n == 0:
            continue
        s = singular_values(a)
        scale = unit(y.dtype) * s[0]
        if rank < len(s) and (singular_values(got) + [mpf(0)])[rank] > 200 * scale:
            return "of a higher rank"
        if mpmath.mnorm(a - got, "f") > mpmath.sqrt(sum(v * v for v in s[rank:])) + 200 * scale:
            return "not the best approximation"
    return None


@judge("linalg.randomized_svd")
def randomized_svd(inputs, outputs, rank, key, counter, oversampling, power_iterations, if_ill):
    x, (u, s, vh) = inputs[0], outputs
    m, n = x.shape[-2:]
    for member in members(x):
        a = matrix(x, member, m, n)
        got = [s[member + (i,)] for i in range(rank)]
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        left, right = matrix(u, member, m, rank), matrix(vh, member, rank, n)
        if far_from_identity(left, u.dtype) or far_from_identity(adjoint(right), u.dtype):
            return "vectors are not orthonormal"
        exact = singular_values(a)
        if rank == 0 or not exact or exact[0] == 0:
            continue
        # What the vectors do not see of the range takes from the values, by powers of the gap (Halko, Martinsson & Tropp 2011).
        vectors = rank + oversampling
        unseen = [100 * v * (exact[vectors] / v) ** (4 * power_iterations + 2) if vectors < len(exact) else 0 for v in exact[:rank]]
        for want, have, less in zip(exact, got, unseen):
            if have - want > 20 * unit(u.dtype) * exact[0] or want - have > less + 20 * unit(u.dtype) * exact[0]:
                return f"singular value {have}, truth {want}"
        rest = a - left * mpmath.diag(got) * right
        beyond = mpmath.sqrt(sum(v * v for v in exact[rank:])) + sum(unseen)
        if mpmath.mnorm(rest, "f") > beyond + 200 * unit(u.dtype) * exact[0]:
            return "U diag(S) Vh is not the leading part"
    return None


def shrunk(x, shrinkage, ddof):
    n, p = x.rows, x.cols
    means = [sum((x[i, j] for i in range(n)), mpf(0)) / n for j in range(p)]
    c = mpmath.matrix([[x[i, j] - means[j] for j in range(p)] for i in range(n)])
    s = c.T * c.T.transpose_conj()
    rho = mpf(0) if shrinkage == "none" else None if shrinkage == "ledoit_wolf" else mpf(shrinkage)
    if rho is None:
        biased = s / n
        mu = mpmath.re(sum(biased[i, i] for i in range(p))) / p
        d2 = mpmath.mnorm(biased - mu * mpmath.eye(p), "f") ** 2
        b2 = mpf(0)
        for k in range(n):
            row = c[k, :]
            b2 += mpmath.mnorm(row.T * row.T.transpose_conj() - biased, "f") ** 2 / mpf(n) ** 2
        rho = min(b2 / d2, mpf(1)) if d2 > 0 else mpf(1)
    s = s / (n - mpf(ddof))
    trace = mpmath.re(sum((s[i, i] for i in range(p)), mpf(0)))
    return (1 - rho) * s + rho * trace / p * mpmath.eye(p) if p else s


@judge("linalg.covariance")
def covariance(inputs, outputs, shrinkage, ddof, if_ill):
    x, y = inputs[0], outputs[0]
    n, p = x.shape[-2:]
    for member in members(x):
        a = matrix(x, member, n, p)
        got = matrix(y, member, p, p)
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the data are not finite"
            continue
        if p == 0:
            continue
        want = shrunk(a, shrinkage, ddof)
        scale = max(abs(v) for v in want)
        if scale > LARGEST[y.dtype]:
            continue
        if any(abs(w - g) > 16 * unit(y.dtype) * scale for w, g in zip(want, got)):
            return f"{got}, truth {want}"
    return None


def decomposes(a):
    """Whether Cholesky's decomposition exists, in 120 digits."""
    with mpmath.workdps(120):
        return min(mpmath.eighe(a, eigvals_only=True)) > 0


@judge("linalg.nearest_spd")
def nearest_spd(inputs, outputs, uplo, if_ill):
    x, y = inputs[0], outputs[0]
    n = x.shape[-1]
    for member in members(x):
        a, got = matrix(x, member, n, n), matrix(y, member, n, n)
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        if n == 0:
            continue
        a = hermitian(a, uplo)
        if not decomposes(got) or hermitian(got, None) != got:
            return "not positive definite"
        values, vectors = mpmath.eighe(a)
        want = vectors * mpmath.diag([max(v, mpf(0)) for v in values]) * adjoint(vectors)
        if mpmath.mnorm(got - want, "f") > 20 * n * unit(y.dtype) * mpmath.mnorm(a, "f"):
            return f"{got}, truth {want}"
    return None


@judge("linalg.nearest_correlation")
def nearest_correlation(inputs, outputs, tol, max_iterations, uplo, if_ill):
    """By the conditions of optimality: Z = X − A − diag(y) is semidefinite and Z X = 0."""
    x, out = inputs[0], outputs[0]
    n = x.shape[-1]
    for member in members(x):
        a, got = matrix(x, member, n, n), matrix(out, member, n, n)
        if not is_finite(a):
            if not all(mpmath.isnan(v) for v in got):
                return "not NaN although the matrix is not finite"
            continue
        if n == 0:
            continue
        a = hermitian(a, uplo)
        allowed = (200 * unit(out.dtype) if tol is None and max_iterations > 1 else mpf("1e-1")) * max(1, mpmath.mnorm(a, "f"))
        if any(got[i, i] != 1 for i in range(n)) or hermitian(got, None) != got:
            return "not a correlation matrix"
        if min(mpmath.eighe(got, eigvals_only=True)) < -allowed:
            return "not semidefinite"
        product = (got - a) * got
        z = got - a - mpmath.diag([mpmath.re(product[i, i]) for i in range(n)])
        if mpmath.mnorm(z * got, "f") > allowed or min(mpmath.eighe(z, eigvals_only=True)) < -allowed:
            return f"{got} is not the nearest"
    return None
