"""Linear algebra as the standard says it, beside values: empty stacks, extreme numbers, every dtype, tolerances of a stack."""
import math

import numpy as np
import pytest

import wellposed as wp
from standard import COMPLEXES, INTEGERS, REALS, UNSIGNED, same

M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])


@pytest.mark.parametrize("dtype", REALS + COMPLEXES)
def test_empty_stacks_go_through_all_of_linear_algebra(dtype):
    x = wp.zeros((0, 3, 3), dtype=getattr(wp, dtype))
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    L = wp.linalg
    for name in ("cholesky", "inv", "pinv"):
        assert getattr(L, name)(x).shape == (0, 3, 3), name
    assert L.solve(x, x).shape == (0, 3, 3) and L.matrix_power(x, 3).shape == (0, 3, 3) and L.matrix_power(x, -1).shape == (0, 3, 3)
    assert L.det(x).shape == (0,) and L.slogdet(x).logabsdet.dtype == real and L.slogdet(x).sign.dtype == dtype and L.trace(x).shape == (0,)
    assert L.matrix_rank(x).shape == (0,) and L.matrix_norm(x).dtype == real and L.svdvals(x).shape == (0, 3) and L.svdvals(x).dtype == real
    U, S, Vh = L.svd(x, full_matrices=False)
    assert U.shape == Vh.shape == (0, 3, 3) and S.shape == (0, 3) and S.dtype == real and U.dtype == dtype
    Q, R = L.qr(x)
    assert Q.shape == R.shape == (0, 3, 3) and Q.dtype == dtype
    w, v = L.eigh(x)
    assert w.shape == (0, 3) and v.shape == (0, 3, 3) and w.dtype == real and v.dtype == dtype and L.eigvalsh(x).shape == (0, 3)
    assert L.vector_norm(x).item() == 0.0 and L.vector_norm(x, axis=1).shape == (0, 3)


@pytest.mark.parametrize("dtype", REALS + COMPLEXES)
def test_matrices_of_extreme_size_do_not_raise(dtype):
    info = np.finfo(dtype)
    big, d = float(info.max), getattr(wp, dtype)
    L = wp.linalg
    for diagonal in ([big, 0.6, 1.0], [big, -big, big], [0.51, 0.51, -0.51], [1e20, -3.0, 0.75]):
        a = wp.asarray(np.diag(diagonal).astype(dtype))
        inverse = np.asarray(L.inv(a))
        np.testing.assert_allclose(np.diag(inverse).real, 1 / np.asarray(diagonal, dtype=np.float64 if dtype.endswith("64") or dtype == "complex128" else np.float32).astype(np.float64), rtol=1e-5, atol=4 * float(info.smallest_subnormal))
        assert L.solve(a, wp.ones(3, dtype=d)).shape == (3,)
        for f in (L.det, L.slogdet, L.svdvals, L.svd, L.qr, L.eigh, L.eigvalsh, L.pinv, L.matrix_rank, L.matrix_norm, L.vector_norm):
            f(a)
        for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
            L.matrix_norm(a, ord=order)
        for n in (-3, 0, 1, 2, 50, -50):
            assert L.matrix_power(a, n).shape == (3, 3)
    full = wp.asarray(np.full((2, 3), big).astype(dtype))
    for f in (L.svdvals, L.svd, L.qr, L.pinv, L.matrix_rank, L.matrix_norm):
        f(full)
    symmetric = wp.asarray(np.full((3, 3), big / 4).astype(dtype))
    for f in (L.eigh, L.eigvalsh, L.det, L.slogdet):
        f(symmetric)
    for order in (0, 1, 2, -1, -2, 3, 0.5, 1e300, 1e-300, math.inf, -math.inf, -0.5):
        assert L.vector_norm(wp.asarray(np.array([3.0, 0.0, -4.0]).astype(dtype)), ord=order).shape == ()


def test_tolerances_may_be_arrays_over_the_stack():
    a = np.stack([np.diag([1.0, 0.1]), np.diag([1.0, 0.5])])
    rtol = wp.asarray([0.2, 0.2])
    assert wp.linalg.matrix_rank(wp.asarray(a), rtol=rtol).tolist() == [1, 2]
    assert wp.linalg.matrix_rank(wp.asarray(a), rtol=wp.asarray([0.05, 0.6])).tolist() == [2, 1]
    got = np.asarray(wp.linalg.pinv(wp.asarray(a), rtol=wp.asarray([0.2, 0.05])))
    np.testing.assert_allclose(got, [np.diag([1.0, 0.0]), np.diag([1.0, 2.0])])


@pytest.mark.parametrize("dtype", INTEGERS + REALS + COMPLEXES)
def test_products_of_vectors_and_matrices_of_every_dtype(dtype):
    a = (np.arange(9).reshape(3, 3) % 4).astype(dtype)
    x, L = wp.asarray(a), wp.linalg
    same(L.outer(x[0], x[1]), np.outer(a[0], a[1]).astype(dtype))
    same(L.cross(x[0], x[1]), np.cross(a[0], a[1]).astype(dtype))
    same(L.cross(x, x[0], axis=-1), np.cross(a, a[0]).astype(dtype))
    same(L.diagonal(x, offset=-1), np.diagonal(a, offset=-1))
    same(L.diagonal(x, offset=5), np.diagonal(a, offset=5))
    kind = dtype if dtype in REALS + COMPLEXES else "uint64" if dtype in UNSIGNED else "int64"
    same(L.trace(x, offset=1), np.trace(a, offset=1, dtype=kind))
    same(L.matrix_transpose(x), a.T)
    if dtype in REALS + COMPLEXES:
        same(L.matrix_power(x, 2), a @ a, rtol=1e-6)


def test_symmetric_functions_take_hermitian_matrices():
    h = M + 1j * np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0]]) * 0.1
    for dtype in COMPLEXES:
        a = wp.asarray(h.astype(dtype))
        w, v = wp.linalg.eigh(a)
        np.testing.assert_allclose(np.asarray(a @ v), np.asarray(v * w[None, :]), atol=2e-6)
        np.testing.assert_allclose(np.asarray(w), np.linalg.eigvalsh(h), rtol=1e-5)
        lower = wp.linalg.cholesky(a)
        np.testing.assert_allclose(np.asarray(lower @ wp.conj(lower.mT)), h, atol=2e-6)
        np.testing.assert_allclose(np.asarray(wp.linalg.cholesky(a, upper=True)), np.asarray(wp.conj(lower.mT)), atol=2e-6)
