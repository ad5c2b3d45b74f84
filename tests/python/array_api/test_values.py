"""Values and special cases: NumPy's, which array-api-strict calls, except where the standard prefers otherwise."""
import itertools

import array_api_strict as strict
import numpy as np
import pytest

import wellposed as wp

strict.set_array_api_strict_flags(api_version="2024.12")
ELEMENTWISE = {n for n in strict.__all__ if getattr(getattr(strict, n), "__module__", "").endswith("_elementwise_functions")}
COMMON = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan]
SPECIAL = {"float32": [*COMMON, 1e-40, 1e38, -1e38], "float64": [*COMMON, 1e-310, 1e308, -1e308]}
# inf // 2 = inf and 3 // -inf = -1 are preferred by the standard as floor(x1 / x2) (docs/decisions.md, 9).
OWN = {"floor_divide"}


def equal(got, expected, signs=True, **close):
    got, expected = np.asarray(got), np.asarray(getattr(expected, "_array", expected))
    assert got.shape == expected.shape and got.dtype == expected.dtype
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, expected, **(close or {"rtol": 4e-16}))
        if signs and got.dtype.kind == "f":
            zeros = expected == 0
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(ELEMENTWISE - OWN))
def test_special_cases_of_elementwise_functions(name, dtype):
    f, g = getattr(strict, name), getattr(wp, name)
    special = np.array(SPECIAL[dtype], dtype=dtype)
    grid = np.array(list(itertools.product(special, special)), dtype=dtype)
    with np.errstate(all="ignore"):
        for columns in ([special], [grid[:, 0], grid[:, 1]]):
            try:
                expected = f(*map(strict.asarray, columns))
            except (TypeError, ValueError):
                continue
            if name == "round":
                columns = [np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.inf, np.nan, -0.0], dtype=dtype)]
                expected = f(strict.asarray(columns[0]))
            equal(g(*map(wp.asarray, columns)), expected, signs=name not in ("maximum", "minimum"), rtol=1e-15 if dtype == "float64" else 3e-7)
            return
    assert name.startswith(("bitwise", "logical", "real", "imag", "conj"))


def test_floor_divide_is_the_floor_of_the_quotient():
    for a, b in itertools.product([5.0, -5.0, 0.0, -0.0, np.inf, -np.inf], [2.0, -2.0, np.inf, -np.inf]):
        with np.errstate(all="ignore"):
            expected = np.floor(np.float64(a) / np.float64(b))
        equal(wp.floor_divide(wp.asarray(a), wp.asarray(b)), expected)


X = np.arange(24.0).reshape(2, 3, 4) % 7 - 2
I = np.array([[3, 1, 2], [0, 5, 1]])
CALLS = {
    "arange": [((5,), {}), ((1, 7, 2), {}), ((0, 1, 0.25), {}), ((5, 0, -2), {}), ((3, 3), {}), ((4,), {"dtype": "float32"})],
    "linspace": [((0.0, 1.0, 5), {}), ((0.0, 1.0, 5), {"endpoint": False}), ((1, 1, 1), {}), ((0, 1, 0), {})],
    "eye": [((3,), {}), ((2, 3), {"k": 1}), ((3, 2), {"k": -1, "dtype": "int32"}), ((0,), {})],
    "zeros": [((3,), {}), (((2, 0),), {"dtype": "bool"})], "ones": [(((2, 2),), {"dtype": "complex64"})],
    "full": [(((2,), 3), {}), (((2,), 3.5), {}), (((2,), True), {}), (((), 1j), {}), (((2,), 3), {"dtype": "float32"})],
    "zeros_like": [((X,), {}), ((X,), {"dtype": "int8"})], "ones_like": [((X,), {})], "full_like": [((X, 3), {})],
    "tril": [((X,), {}), ((X,), {"k": 1})], "triu": [((X,), {"k": -1})], "meshgrid": [((X[0, 0], X[0, :, 0]), {}), ((X[0, 0], X[0, :, 0]), {"indexing": "ij"})],
    "sum": [((X,), {}), ((X,), {"axis": 1}), ((X,), {"axis": (0, 2), "keepdims": True}), ((X,), {"axis": ()}), ((X,), {"dtype": "float32"}), ((X[:0],), {"axis": 0})],
    "prod": [((X,), {"axis": -1}), ((X[:0],), {})], "mean": [((X,), {"axis": 0})], "var": [((X,), {"correction": 1})], "std": [((X,), {"axis": 2, "keepdims": True})],
    "max": [((X,), {}), ((X,), {"axis": 1})], "min": [((X,), {"axis": (0, 1)})], "any": [((X,), {"axis": 2}), ((X[:0],), {})], "all": [((X,), {}), ((X[:0],), {})],
    "cumulative_sum": [((X,), {"axis": 1}), ((X[0, 0],), {}), ((X,), {"axis": -1, "include_initial": True})], "cumulative_prod": [((X,), {"axis": 0})],
    "argmax": [((X,), {}), ((X,), {"axis": 1}), ((X,), {"axis": 2, "keepdims": True})], "argmin": [((X,), {"axis": 0})], "nonzero": [((X,), {})],
    "count_nonzero": [((X,), {}), ((X,), {"axis": (0, 1), "keepdims": True})],
    "where": [((X > 0, X, -X), {}), ((X > 0, X, 0.0), {}), ((X[0] > 0, X, X[:, :1]), {})],
    "searchsorted": [((np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 9.0])), {}), ((np.array([1.0, 2.0]), np.array([2.0])), {"side": "right"}),
                     ((np.array([3.0, 1.0, 2.0]), np.array([2.5])), {"sorter": np.array([1, 2, 0])})],
    "sort": [((X,), {}), ((X,), {"axis": 0, "descending": True})], "argsort": [((X,), {}), ((X,), {"axis": 1, "descending": True})],
    "unique_all": [((I,), {})], "unique_counts": [((I,), {})], "unique_inverse": [((I,), {})], "unique_values": [((I,), {})],
    "take": [((X, np.array([1, 0])), {"axis": 1}), ((X[0, 0], np.array([3, -1])), {})],
    "take_along_axis": [((X, np.array([[[1, 0, 2, 1]]])), {"axis": 1}), ((I, np.array([[2], [0]])), {})],
    "concat": [(([X, X],), {}), (([X, X],), {"axis": -1}), (([X, X[0]],), {"axis": None})], "stack": [(([I, I],), {}), (([I, I],), {"axis": -1})],
    "unstack": [((X,), {}), ((X,), {"axis": 1})], "expand_dims": [((X,), {"axis": 0}), ((X,), {"axis": -1}), ((X,), {"axis": 3})], "squeeze": [((X[:1], 0), {}), ((X[:1, :, :1], (0, 2)), {})],
    "flip": [((X,), {}), ((X,), {"axis": (0, 1)})], "roll": [((X, 1), {}), ((X, (1, -2)), {"axis": (0, 2)})], "permute_dims": [((X, (2, 0, 1)), {})],
    "moveaxis": [((X, 0, -1), {}), ((X, (0, 1), (1, 0)), {})], "reshape": [((X, (6, -1)), {}), ((X, (24,)), {"copy": True})], "repeat": [((I, 2), {}), ((I, 2), {"axis": 1}), ((I, np.array([1, 2, 0])), {"axis": 1})],
    "tile": [((I, (2, 1)), {}), ((I, (2, 1, 2)), {}), ((I, (3,)), {})], "broadcast_to": [((I, (4, 2, 3)), {})], "broadcast_arrays": [((I[:1], X[0, :, :1]), {})],
    "diff": [((X,), {}), ((X,), {"axis": 1, "n": 2}), ((X,), {"axis": 0, "prepend": X[:1], "append": X[:1]})],
    "matmul": [((X, X[0].T), {}), ((X[0, 0], X[0].T), {}), ((X[0, 0], X[0, 0]), {})], "tensordot": [((X, X), {"axes": ((0, 1), (0, 1))}), ((I, I), {"axes": 0})],
    "vecdot": [((X, X[0]), {}), ((X, X), {"axis": -2})], "matrix_transpose": [((X,), {})],
    "clip": [((X, -1, 2), {}), ((X,), {"max": 0.5}), ((X,), {"min": X[0]}), ((I, 1), {"max": 3})], "astype": [((X, "float32"), {}), ((X, "int16"), {}), ((I, "complex128"), {})],
    "isdtype": [], "asarray": [],
}


def given(value, module):
    if isinstance(value, np.ndarray):
        return module.asarray(value)
    if isinstance(value, list):
        return [given(v, module) for v in value]
    return getattr(module, value) if value in ("float32", "int32", "int8", "int16", "bool", "complex64", "complex128") and isinstance(value, str) else value


@pytest.mark.parametrize("name", CALLS)
def test_functions_do_what_the_standard_says(name):
    for arguments, options in CALLS[name]:
        results = []
        for module in (strict, wp):
            a = [given(v, module) for v in arguments]
            results.append(getattr(module, name)(*a, **{k: given(v, module) for k, v in options.items()}))
        expected, got = results
        if isinstance(expected, (tuple, list)):
            assert len(got) == len(expected) and isinstance(got, tuple)
            assert getattr(got, "_fields", None) == getattr(expected, "_fields", None)
            for e, g in zip(expected, got):
                equal(g, e, rtol=1e-14)
        else:
            equal(got, expected, rtol=1e-14, atol=1e-14)


def test_every_function_of_the_standard_is_called_here():
    import inspect
    known = set(CALLS) | ELEMENTWISE | {"from_dlpack", "empty", "empty_like", "can_cast", "finfo", "iinfo",
                                                                      "result_type", "isdtype", "asarray", "__array_namespace_info__", "broadcast_shapes", "isin"}
    flags = {n for n in strict.__all__ if "flags" in n.lower()}
    assert {n for n in strict.__all__ if inspect.isfunction(getattr(strict, n))} - known - flags == set()


A = np.array([[[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]], [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 5.0]]])


@pytest.mark.parametrize("name, arguments, options", [
    ("cholesky", (A,), {}), ("cholesky", (A,), {"upper": True}), ("cross", (A[0], A[1]), {}), ("det", (A,), {}), ("diagonal", (A,), {"offset": 1}),
    ("eigvalsh", (A,), {}), ("inv", (A,), {}), ("matmul", (A, A), {}), ("matrix_norm", (A,), {}), ("matrix_norm", (A,), {"ord": 1, "keepdims": True}),
    ("matrix_norm", (A,), {"ord": np.inf}), ("matrix_norm", (A,), {"ord": "nuc"}), ("matrix_norm", (A,), {"ord": -2}), ("matrix_power", (A, 3), {}),
    ("matrix_power", (A, -2), {}), ("matrix_power", (A, 0), {}), ("matrix_rank", (A,), {}), ("outer", (A[0, 0], A[0, 1]), {}), ("pinv", (A,), {}),
    ("slogdet", (A,), {}), ("solve", (A, A[0]), {}), ("solve", (A[0], A[0, 0]), {}), ("svdvals", (A,), {}), ("trace", (A,), {}), ("trace", (A,), {"offset": -1}),
    ("vecdot", (A, A), {}), ("vector_norm", (A,), {}), ("vector_norm", (A,), {"axis": (0, 2), "ord": 1}), ("vector_norm", (A,), {"axis": 1, "ord": np.inf, "keepdims": True}),
    ("vector_norm", (A,), {"ord": 0}), ("vector_norm", (A,), {"ord": 3}), ("tensordot", (A, A[0]), {"axes": 1}), ("matrix_transpose", (A,), {})])
def test_linear_algebra_does_what_the_standard_says(name, arguments, options):
    results = [getattr(m.linalg, name)(*(given(v, m) for v in arguments), **options) for m in (strict, wp)]
    for e, g in zip(*(r if isinstance(r, tuple) else (r,) for r in results)):
        np.testing.assert_allclose(np.asarray(g), np.asarray(e._array), rtol=1e-12, atol=1e-13)
        assert g.shape == e.shape and g.dtype == e.dtype._np_dtype


def test_factorisations_multiply_to_the_matrix():
    a = wp.asarray(A)
    for full in (True, False):
        U, S, Vh = wp.linalg.svd(a[:, :, :2], full_matrices=full)
        assert U.shape == (2, 3, 3 if full else 2)
        np.testing.assert_allclose(np.asarray((U[..., :2] * S[:, None, :]) @ Vh), A[:, :, :2], atol=1e-14)
    Q, R = wp.linalg.qr(a, mode="complete")
    np.testing.assert_allclose(np.asarray(Q @ R), A, atol=1e-14)
    w, v = wp.linalg.eigh(a)
    np.testing.assert_allclose(np.asarray(a @ v), np.asarray(v * w[:, None, :]), atol=1e-13)
