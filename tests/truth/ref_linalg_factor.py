"""Truth of factorisations: what their factors must satisfy, in 60 digits."""
import mpmath
from core import REAL, broadcast_shape, build, judge, truth
from mpmath import mpf
from ref_linalg import adjoint, far_from_identity, float_dtype, hermitian, is_finite, matrix, members, unit
from ref_linear import spread


def norm(a):
    return mpmath.mnorm(a, "f") if a.rows * a.cols else mpf(0)


def differs(a, b, dtype, n, scale):
    """Beyond rounding: 20 n u scale."""
    return a.rows * a.cols and norm(a - b) > 20 * max(n, 1) * unit(dtype) * scale


def all_nan(*arrays):
    return None if all(mpmath.isnan(v) for a in arrays for v in a) else "not NaN although there is no answer"


def not_triangular(a, upper, unit_diagonal=False):
    for i in range(a.rows):
        for j in range(a.cols):
            if (i > j if upper else i < j) and a[i, j] != 0:
                return True
            if unit_diagonal and i == j and a[i, j] != 1:
                return True
    return False


def picked(x, member, n):
    return [x[member + (i,)] for i in range(n)]


def with_columns(a, order):
    return mpmath.matrix([[a[i, j] for j in order] for i in range(a.rows)]) if a.rows * a.cols else a


def with_rows(a, order):
    return mpmath.matrix([[a[i, j] for j in range(a.cols)] for i in order]) if a.rows * a.cols else a


def qr_trouble(x, q, r, member, mode, order=None):
    m, n = x.shape[-2:]
    a, k = matrix(x, member, m, n), m if mode == "complete" else min(m, n)
    left, right = matrix(q, member, m, k), matrix(r, member, k, n)
    if q.shape[-2:] != [m, k] or r.shape[-2:] != [k, n]:
        return f"shapes {q.shape}, {r.shape}"
    if not is_finite(a):
        return all_nan(left, right) or (None if order is None or set(order) == {-1} else "an order")
    if order is not None:
        if sorted(order) != list(range(n)):
            return f"{order} is no order of columns"
        a = with_columns(a, order)
        sizes = [abs(right[i, i]) for i in range(min(k, n))]
        if any(later > earlier * (1 + 8 * unit(q.dtype)) for earlier, later in zip(sizes, sizes[1:])):
            return "the diagonal of R does not fall"
    if left.rows and left.cols and far_from_identity(left, q.dtype):
        return "Q is not orthonormal"
    if not_triangular(right, True):
        return "R is not triangular"
    if n and m and differs(left * right, a, q.dtype, max(m, n), norm(a)):
        return "Q R is not x"
    return None


def first(troubles):
    return next((t for t in troubles if t), None)


@judge("linalg.qr")
def qr(inputs, outputs, mode, if_ill):
    (x,), (q, r) = inputs, outputs
    return first(qr_trouble(x, q, r, m, mode) for m in members(x))


@judge("linalg.qr_pivoted")
def qr_pivoted(inputs, outputs, mode, if_ill):
    (x,), (q, r, p) = inputs, outputs
    return first(qr_trouble(x, q, r, m, mode, picked(p, m, x.shape[-1])) for m in members(x))


@judge("linalg.lu")
def lu(inputs, outputs, if_ill):
    (x,), (p, l, u) = inputs, outputs
    m, n = x.shape[-2:]

    def trouble(member):
        a, order = matrix(x, member, m, n), picked(p, member, m)
        lower, upper = matrix(l, member, m, min(m, n)), matrix(u, member, min(m, n), n)
        if not is_finite(a):
            return all_nan(lower, upper) or (None if set(order) == {-1} else "an order")
        if sorted(order) != list(range(m)):
            return f"{order} is no order of rows"
        if not_triangular(lower, False, True) or not_triangular(upper, True):
            return "the factors are not triangular"
        if any(abs(v) > mpf(1.42) for v in lower):
            return "an element of L is large"
        if m and n and differs(lower * upper, with_rows(a, order), l.dtype, max(m, n), norm(a)):
            return "L U is not x[P]"
        return None

    return first(trouble(member) for member in members(x))


@judge("linalg.ldl")
def ldl(inputs, outputs, uplo, if_ill):
    (x,), (l, d, p) = inputs, outputs
    n = x.shape[-1]

    def trouble(member):
        a, order = matrix(x, member, n, n), picked(p, member, n)
        lower, middle = matrix(l, member, n, n), matrix(d, member, n, n)
        if not is_finite(a):
            return all_nan(lower, middle) or (None if set(order) == {-1} else "an order")
        if n == 0:
            return None
        if sorted(order) != list(range(n)):
            return f"{order} is no order of rows"
        if not_triangular(lower, False, True):
            return "L is not unit triangular"
        if any(middle[i, j] != mpmath.conj(middle[j, i]) or (abs(i - j) > 1 and middle[i, j]) for i in range(n) for j in range(n)):
            return "D is not block diagonal and Hermitian"
        if any(middle[i + 1, i] and middle[i + 2, i + 1] for i in range(n - 2)):
            return "D has a block of 3"
        a = with_columns(with_rows(hermitian(a, uplo), order), order)
        if differs(lower * middle * adjoint(lower), a, l.dtype, n, norm(a)):
            return "L D Lᴴ is not x[P][:, P]"
        return None

    return first(trouble(member) for member in members(x))


@truth("linalg.householder_product", ulps=16)
def householder_product(x, tau, if_ill):
    m, n = x.shape[-2:]
    k, products = tau.shape[-1], {}

    def product(member):
        q = mpmath.eye(m)
        for i in range(k):
            v = mpmath.matrix([mpf(0)] * i + [mpf(1)] + [x[member + (r, i)] for r in range(i + 1, m)])
            if not is_finite(v) or not mpmath.isfinite(tau[member + (i,)]):
                return None
            q = q * (mpmath.eye(m) - tau[member + (i,)] * v * adjoint(v))
        return q

    def value(index):
        member = tuple(index[:-2])
        if member not in products:
            products[member] = product(member)
        return mpmath.nan if products[member] is None else products[member][index[-2], index[-1]]

    return build(float_dtype(x), x.shape, value)


def solved(a, b, batch_a, n, dtype, matrix_of):
    """A⁻¹b with A = matrix_of(member); NaN where that is None. b is a vector if it is 1-d."""
    vector = b.ndim == 1
    batch_b = [] if vector else b.shape[:-2]
    batch = broadcast_shape(batch_a, batch_b) if batch_a or batch_b else []
    k, answers = 1 if vector else b.shape[-1], {}

    def answer(member):
        left, at = matrix_of(member), spread(member, batch_b)
        if left is None:
            return None
        right = mpmath.matrix([[b[(i,)] if vector else b[at + (i, j)] for j in range(k)] for i in range(n)])
        with mpmath.workdps(700):
            return left**-1 * right

    def value(index):
        member = tuple(index[:len(batch)])
        if member not in answers:
            answers[member] = answer(member)
        i, j = index[len(batch)], 0 if vector else index[-1]
        return mpmath.nan if answers[member] is None else answers[member][i, j]

    return build(dtype, batch + [n] + ([] if vector else [k]), value)


def triangle(a, upper):
    return mpmath.matrix([[a[i, j] if (j >= i if upper else j <= i) else mpf(0) for j in range(a.cols)] for i in range(a.rows)])


def usable(product, factors):
    """Finite, and of a condition that leaves digits."""
    if not all(is_finite(f) for f in factors) or any(f[i, i] == 0 for f in factors for i in range(f.rows)):
        return None
    with mpmath.workdps(700):
        scaled = [mpmath.diag([1 / norm(product[i, :]) for i in range(product.rows)]) * product]
        scaled = scaled[0] * mpmath.diag([1 / norm(scaled[0][:, j]) for j in range(product.cols)])
        return product if norm(scaled**-1) < mpf(10) ** 14 else None


@truth("linalg.lu_solve", ulps=16)
def lu_solve(P, L, U, b, if_ill):
    n, batch = L.shape[-1], L.shape[:-2]

    def product(member):
        at = spread(member, batch)
        lower, upper = triangle(matrix(L, at, n, n), False), triangle(matrix(U, at, n, n), True)
        order = [P[spread(member, P.shape[:-1]) + (i,)] for i in range(n)]
        if usable(lower * upper, [lower, upper]) is None:
            return None
        return with_rows(lower * upper, [order.index(i) for i in range(n)])

    return solved(L, b, batch, n, float_dtype(L), product)


@truth("linalg.cho_solve", ulps=16)
def cho_solve(x1, x2, upper, if_ill):
    n, batch = x1.shape[-1], x1.shape[:-2]

    def product(member):
        factor = triangle(matrix(x1, spread(member, batch), n, n), upper)
        return usable(adjoint(factor) * factor if upper else factor * adjoint(factor), [factor])

    return solved(x1, x2, batch, n, float_dtype(x1), product)


@truth("linalg.chol_update", ulps=8)
def chol_update(x1, x2, downdate, columns, if_ill):
    own = x2.shape[:-2] if columns else x2.shape[:-1]
    n, batch, factors = x1.shape[-1], broadcast_shape(x1.shape[:-2], own) if x1.ndim > 2 or own else [], {}

    def factor(member):
        l = triangle(matrix(x1, spread(member, x1.shape[:-2]), n, n), False)
        at, k = spread(member, own), x2.shape[-1] if columns else 1
        x = mpmath.matrix(n, k)
        for i in range(n):
            for j in range(k):
                x[i, j] = x2[at + ((i, j) if columns else (i,))]
        if not is_finite(l) or not is_finite(x):
            return None
        a, new = l * adjoint(l) + (-1 if downdate else 1) * x * adjoint(x), mpmath.matrix(n, n)
        for j in range(n):
            d = mpmath.re(a[j, j]) - sum(abs(new[j, k]) ** 2 for k in range(j))
            if d <= 0:
                return None
            new[j, j] = mpmath.sqrt(d)
            for i in range(j + 1, n):
                new[i, j] = (a[i, j] - sum(new[i, k] * mpmath.conj(new[j, k]) for k in range(j))) / new[j, j]
        return new

    def value(index):
        member = tuple(index[:-2])
        if member not in factors:
            factors[member] = factor(member)
        return mpmath.nan if factors[member] is None else factors[member][index[-2], index[-1]]

    return build(float_dtype(x1), batch + [n, n], value)


def nearest_values_wrong(exact, got, dtype, scale):
    left = list(exact)
    for v in got:
        if not left:
            return "too many eigenvalues"
        best = min(left, key=lambda w: abs(w - v))
        if abs(best - v) > 100 * unit(dtype) * scale:
            return f"eigenvalue {v}, truth {best}"
        left.remove(best)
    return None


def eig_trouble(x, member, values, vectors, dtype):
    n = x.shape[-1]
    a = matrix(x, member, n, n)
    if not is_finite(a):
        return all_nan(values)
    if n == 0:
        return None
    # Similar to a, and balanced: rows and columns of equal norm. Eigenvalues are judged relative to it.
    d = [mpf(1)] * n
    for _ in range(50):
        for i in range(n):
            row = sum(abs(a[i, j]) * d[j] / d[i] for j in range(n) if j != i)
            column = sum(abs(a[j, i]) * d[i] / d[j] for j in range(n) if j != i)
            if row and column:
                d[i] *= mpmath.sqrt(row / column)
    balanced = mpmath.matrix([[a[i, j] * d[j] / d[i] for j in range(n)] for i in range(n)])
    exact = [a[i, i] for i in range(n)] if not not_triangular(a, True) else mpmath.eig(balanced, left=False, right=False)
    trouble = nearest_values_wrong(exact, values, dtype, norm(balanced))
    if trouble or vectors is None:
        return trouble
    v = matrix(vectors, member, n, n)
    for j in range(n):
        if abs(mpmath.norm(v[:, j]) - 1) > 20 * unit(dtype):
            return "a vector has not length 1"
        if mpmath.norm(a * v[:, j] - values[j] * v[:, j]) > 20 * n * unit(dtype) * norm(a):
            return "x v is not w v"
    return None


@judge("linalg.eig")
def eig(inputs, outputs, if_ill):
    (x,), (w, v) = inputs, outputs
    return first(eig_trouble(x, m, picked(w, m, x.shape[-1]), v, w.dtype) for m in members(x))


@judge("linalg.eigvals")
def eigvals(inputs, outputs, if_ill):
    (x,), (w,) = inputs, outputs
    return first(eig_trouble(x, m, picked(w, m, x.shape[-1]), None, w.dtype) for m in members(x))



@judge("linalg.schur")
def schur(inputs, outputs, output, if_ill):
    (x,), (t, z) = inputs, outputs
    n = x.shape[-1]

    def trouble(member):
        a, form, vectors = (matrix(y, member, n, n) for y in (x, t, z))
        if not is_finite(a):
            return all_nan(form, vectors)
        if n == 0:
            return None
        if far_from_identity(vectors, t.dtype):
            return "Z is not orthonormal"
        for i in range(n):
            for j in range(i):
                block = i == j + 1 and t.dtype not in REAL
                if form[i, j] != 0 and not (block and form[i, i] == form[j, j] and form[i, j] * form[j, i] < 0):
                    return "T is not triangular"
        if any(form[i + 1, i] and form[i + 2, i + 1] for i in range(n - 2)):
            return "T has a block of 3"
        if differs(vectors * form * adjoint(vectors), a, t.dtype, n, norm(a)):
            return "Z T Zᴴ is not x"
        return None

    return first(trouble(member) for member in members(x))


@judge("linalg.eigh_generalized")
def eigh_generalized(inputs, outputs, uplo, if_ill):
    (x1, x2), (w, v) = inputs, outputs
    n = x1.shape[-1]
    dtype = REAL.get(v.dtype, v.dtype)

    def trouble(member):
        a, b = (matrix(x, spread(member, x.shape[:-2]), n, n) for x in (x1, x2))
        values, vectors = picked(w, member, n), matrix(v, member, n, n)
        if n == 0:
            return None
        if not is_finite(a) or not is_finite(b):
            return all_nan(values, vectors)
        a, b = hermitian(a, uplo), hermitian(b, uplo)
        with mpmath.workdps(700):
            if min(mpmath.eighe(b, eigvals_only=True)) <= 0:
                return all_nan(values, vectors)
            d = mpmath.diag([1 / mpmath.sqrt(mpmath.re(b[i, i])) for i in range(n)])
            a, b, scaled = d * a * d, d * b * d, d**-1 * vectors
            exact = sorted(mpmath.re(e) for e in mpmath.eig(b**-1 * a, left=False, right=False))
            scale = norm(b) * norm(b**-1) ** 2 * norm(a)
            for want, got in zip(exact, values):
                if abs(want - got) > 8 * unit(dtype) * scale:
                    return f"eigenvalue {got}, truth {want}"
            if norm(adjoint(scaled) * b * scaled - mpmath.eye(n)) > 20 * n * unit(dtype) * norm(b) * norm(b**-1):
                return "vectors are not orthonormal with x2"
            if norm(a * scaled - b * scaled * mpmath.diag(values)) > 20 * n * unit(dtype) * scale * norm(scaled):
                return "x1 v is not w x2 v"
        return None

    batch = broadcast_shape(x1.shape[:-2], x2.shape[:-2]) if x1.ndim > 2 or x2.ndim > 2 else []
    return first(trouble(member) for member in members(v) if len(member) == len(batch))
