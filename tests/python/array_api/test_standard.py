"""What the text of the standard says beside values: dtypes and shapes of every function, numbers of Python as arguments, operators in all
forms, indexing with arrays of integers, limits of dtypes (test_matrices.py: linear algebra). NumPy says what the values are."""
import itertools
import math
import operator

import array_api_strict as strict
import numpy as np
import pytest

import wellposed as wp
from standard import ALL, COMPLEXES, INTEGERS, NUMERIC, REALS, SIGNED, UNSIGNED, same

strict.set_array_api_strict_flags(api_version="2024.12")


# ---- creation ----
@pytest.mark.parametrize("dtype", ALL)
def test_creation_with_every_dtype(dtype):
    d = getattr(wp, dtype)
    for shape in [(), 3, (2,), (0, 3), (2, 1, 3)]:
        same(wp.zeros(shape, dtype=d), np.zeros(shape, dtype=dtype))
        same(wp.ones(shape, dtype=d), np.ones(shape, dtype=dtype))
        assert wp.empty(shape, dtype=d).shape == np.empty(shape).shape and wp.empty(shape, dtype=d).dtype == d
        x = wp.ones(shape, dtype=d)
        for like, value in ((wp.zeros_like, 0), (wp.ones_like, 1)):
            same(like(x), np.full(shape, value, dtype=dtype))
            same(like(x, dtype=wp.float32, device="cpu"), np.full(shape, value, dtype="float32"))
        assert wp.empty_like(x).dtype == d
        fill = {"b": True, "i": -3, "u": 3, "f": 2.5, "c": 1 - 2j}[np.dtype(dtype).kind]
        same(wp.full(shape, fill, dtype=d), np.full(shape, fill, dtype=dtype))
        same(wp.full_like(x, fill), np.full(shape, fill, dtype=dtype))
    if dtype != "bool":
        same(wp.eye(3, dtype=d), np.eye(3, dtype=dtype))
        same(wp.eye(2, 4, k=-1, dtype=d), np.eye(2, 4, k=-1, dtype=dtype))
        same(wp.tril(wp.ones((2, 3, 3), dtype=d), k=-1), np.tril(np.ones((2, 3, 3), dtype=dtype), k=-1))
        same(wp.triu(wp.ones((3, 2), dtype=d), k=1), np.triu(np.ones((3, 2), dtype=dtype), k=1))
    if dtype in INTEGERS + REALS:
        same(wp.arange(1, 10, 3, dtype=d), np.arange(1, 10, 3, dtype=dtype))
    if dtype in REALS + COMPLEXES:
        same(wp.linspace(-1, 2, 7, dtype=d), np.linspace(-1, 2, 7, dtype=dtype), rtol=2e-7)
        assert wp.linspace(0.0, 1.0, 3, dtype=d, endpoint=False).shape == (3,)


def test_limits_of_dtypes_can_be_written():
    for name in INTEGERS:
        i = np.iinfo(name)
        for value in (int(i.min), int(i.max)):
            assert wp.full((), value, dtype=getattr(wp, name)).item() == value and wp.asarray(value, dtype=getattr(wp, name)).item() == value
            x = wp.zeros(2, dtype=getattr(wp, name))
            x[0] = value
            assert x.tolist() == [value, 0]
    same(wp.arange(-(2**63), -(2**63) + 3), np.arange(-(2**63), -(2**63) + 3))
    same(wp.arange(2**63 - 4, 2**63 - 1), np.arange(2**63 - 4, 2**63 - 1))


def test_defaults_are_those_that_the_namespace_tells():
    default = wp.__array_namespace_info__().default_dtypes()
    assert default == {"real floating": wp.float64, "complex floating": wp.complex128, "integral": wp.int64, "indexing": wp.int64}
    assert wp.zeros(1).dtype == wp.ones(1).dtype == wp.eye(1).dtype == wp.linspace(0, 1, 2).dtype == wp.float64
    assert wp.arange(3).dtype == wp.full((), 3).dtype == wp.asarray([1]).dtype == wp.int64
    assert wp.arange(3.0).dtype == wp.full((), 3.0).dtype == wp.float64 and wp.full((), 1j).dtype == wp.complex128 and wp.full((), True).dtype == wp.bool
    for x in (wp.argmax(wp.ones(3)), wp.argsort(wp.ones(3)), wp.nonzero(wp.ones(3))[0], wp.searchsorted(wp.ones(3), wp.ones(2)), wp.count_nonzero(wp.ones(3)),
              wp.unique_all(wp.ones(3)).indices, wp.unique_all(wp.ones(3)).inverse_indices, wp.unique_counts(wp.ones(3)).counts):
        assert x.dtype == wp.int64


def test_diagonals_may_lie_beyond_every_matrix():
    x = wp.ones((2, 3))
    for k in (5, 2**63 - 1, 2**63, 10**40):
        same(wp.eye(2, 3, k=k), np.zeros((2, 3)))
        same(wp.eye(2, 3, k=-k), np.zeros((2, 3)))
        same(wp.tril(x, k=k), np.ones((2, 3)))
        same(wp.tril(x, k=-k), np.zeros((2, 3)))
        same(wp.triu(x, k=k), np.zeros((2, 3)))
        same(wp.triu(x, k=-k), np.ones((2, 3)))
        assert wp.linalg.diagonal(x, offset=k).shape == wp.linalg.diagonal(x, offset=-k).shape == (0,)
        assert wp.linalg.trace(x, offset=k).item() == wp.linalg.trace(x, offset=-k).item() == 0.0


def test_signs_of_nan_are_kept():
    nan, minus = math.nan, math.copysign(math.nan, -1.0)
    for dtype in REALS:
        x = wp.asarray(np.array([1.0, -1.0, nan, minus, 0.0, -0.0]).astype(dtype))
        assert wp.signbit(x).tolist() == [False, True, False, True, False, True]
        for sign in (2.0, 0.0, nan):
            assert wp.signbit(wp.copysign(x, sign)).tolist() == [False] * 6
        for sign in (-2.0, -0.0, minus):
            assert wp.signbit(wp.copysign(x, sign)).tolist() == [True] * 6
        assert wp.all(wp.isnan(wp.clip(wp.asarray(np.array([1.0, nan]).astype(dtype)), nan, 2.0))).item()
        got = np.asarray(wp.clip(wp.asarray(np.array([1.0, nan, 5.0]).astype(dtype)), wp.asarray(np.array([nan, 0.0, 0.0]).astype(dtype)), 4.0))
        assert np.isnan(got[:2]).all() and got[2] == 4.0


def test_limits_are_plain_numbers():
    for name in REALS + COMPLEXES:
        for given in (getattr(wp, name), wp.ones(1, dtype=getattr(wp, name))):
            f = wp.finfo(given)
            assert type(f.bits) is int and {type(getattr(f, k)) for k in ("eps", "max", "min", "smallest_normal")} == {float}
            assert f.dtype == getattr(wp, {"complex64": "float32", "complex128": "float64"}.get(name, name))
    for name in INTEGERS:
        for given in (getattr(wp, name), wp.ones(1, dtype=getattr(wp, name))):
            i = wp.iinfo(given)
            assert {type(v) for v in (i.bits, i.min, i.max)} == {int} and i.dtype == getattr(wp, name)


def test_many_axes():
    x = wp.ones((1,) * 70 + (2,))
    assert x.ndim == 71 and wp.sum(x).item() == 2.0 and (x + x).shape == x.shape and wp.squeeze(x, tuple(range(70))).shape == (2,)


# ---- numbers of Python as arguments ----
TWO = sorted(n for n in strict.__all__ if getattr(getattr(strict, n), "__module__", "").endswith("_elementwise_functions") and n not in ("clip",)
             and len([p for p in __import__("inspect").signature(getattr(strict, n)).parameters.values() if p.name in ("x1", "x2")]) == 2)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arrays_take_a_number_on_either_side(name):
    f, g = getattr(strict, name), getattr(wp, name)
    tried = 0
    ordered = name in ("less", "less_equal", "greater", "greater_equal", "maximum", "minimum")
    for dtype, number in itertools.product(ALL, [True, 2, 2.0] if ordered else [True, 2, 2.0, 1.5 + 1j]):
        if ordered and dtype in COMPLEXES:
            continue  # complex numbers have no order; array-api-strict takes NumPy's
        a = np.array([1, 1, 3]).astype(dtype)
        with np.errstate(all="ignore"):
            for order in (False, True):
                pair = (number, strict.asarray(a)) if order else (strict.asarray(a), number)
                try:
                    expected = f(*pair)
                except (TypeError, OverflowError):
                    continue  # the standard leaves it open
                if name == "divide" and dtype in INTEGERS:
                    continue
                same(g(number, wp.asarray(a)) if order else g(wp.asarray(a), number), expected._array, rtol=3e-7)
                tried += 1
    assert tried >= 2, name


OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
             "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
             "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
IN_PLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow,
            "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_have_the_dtypes_and_values_of_the_standard(sign):
    f = OPERATORS[sign]
    tried = 0
    for a, b in itertools.product(ALL, ALL):
        left, right = np.array([[3, 1], [1, 2]]).astype(a), np.array([1, 2]).astype(b)
        try:
            expected = f(strict.asarray(left), strict.asarray(right))
        except TypeError:
            continue
        same(f(wp.asarray(left), wp.asarray(right)), expected._array, rtol=3e-7)
        tried += 1
        if sign in IN_PLACE and expected.dtype._np_dtype == left.dtype:
            x = own = wp.asarray(left)
            x = IN_PLACE[sign](x, wp.asarray(right))
            assert x is own
            same(x, expected._array, rtol=3e-7)
    for a, number in itertools.product(ALL, [True, 2, 2.0, 1j]):
        if sign in ("<", "<=", ">", ">=") and (number == 1j or a in COMPLEXES):
            continue  # complex numbers have no order; array-api-strict takes NumPy's
        left = np.array([3, 1, 2]).astype(a)
        for reflected in (False, True):
            try:
                expected = f(number, strict.asarray(left)) if reflected else f(strict.asarray(left), number)
            except TypeError:
                continue
            same(f(number, wp.asarray(left)) if reflected else f(wp.asarray(left), number), expected._array, rtol=3e-7)
            tried += 1
        if sign in IN_PLACE:
            try:
                expected = IN_PLACE[sign](strict.asarray(left.copy()), number)
            except TypeError:
                continue
            x = own = wp.asarray(left)
            x = IN_PLACE[sign](x, number)
            assert x is own
            same(x, expected._array, rtol=3e-7)
    assert tried > 10


def test_matrix_products_in_all_forms():
    a = np.arange(9.0).reshape(3, 3)
    x = own = wp.asarray(a)
    x @= wp.asarray(a)
    assert x is own
    same(x, a @ a)
    for dtype in NUMERIC:
        m = (np.arange(12).reshape(2, 2, 3) % 5).astype(dtype)
        same(wp.asarray(m) @ wp.asarray(m.swapaxes(1, 2)), m @ m.swapaxes(1, 2))
        same(wp.vecdot(wp.asarray(m), wp.asarray(m)), np.vecdot(m, m))
        same(wp.tensordot(wp.asarray(m), wp.asarray(m), axes=((-1, 0), (-1, 0))), np.tensordot(m, m, axes=((-1, 0), (-1, 0))))
    for bad in ((wp.ones(()), wp.ones(3)), (wp.ones((2, 3)), wp.ones((2, 3)))):
        with pytest.raises(Exception, match="matmul"):
            wp.matmul(*bad)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_number_of_bits(dtype):
    bits, i = np.iinfo(dtype).bits, np.iinfo(dtype)
    for value, by in itertools.product([0, 1, 5, int(i.max), int(i.min)], [0, 1, bits - 1, bits, bits + 1, 100]):
        x, s = wp.asarray([value], dtype=getattr(wp, dtype)), wp.asarray([by], dtype=getattr(wp, dtype))
        assert wp.bitwise_right_shift(x, s).item() == value >> by
        left = (value << by) & (2**bits - 1)
        assert wp.bitwise_left_shift(x, s).item() == (left - 2**bits if dtype in SIGNED and left >> (bits - 1) else left)


# ---- reductions ----
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "count_nonzero", "argmax", "argmin"])
def test_axes_and_keepdims(name):
    f = getattr(np, name)
    for dtype in {"any": ALL, "all": ALL, "count_nonzero": ALL, "sum": NUMERIC, "prod": NUMERIC, "mean": REALS + COMPLEXES}.get(
            name, REALS if name in ("std", "var") else INTEGERS + REALS):
        a = (np.arange(24).reshape(2, 3, 4) % 3).astype(dtype)
        axes = [None, 0, -1, 1] + ([] if name.startswith("arg") else [(0, 2), (-1, 0), (0, 1, 2), ()])
        for axis, keep in itertools.product(axes, [False, True]):
            if axis == () and name in ("count_nonzero",):
                continue
            expected = f(a, axis=axis, keepdims=keep)
            expected = np.asarray(expected)
            if name in ("sum", "prod") and dtype in INTEGERS:
                expected = expected.astype("uint64" if dtype in UNSIGNED else "int64")
            same(getattr(wp, name)(wp.asarray(a), axis=axis, keepdims=keep), expected, rtol=1e-6)
    if not name.startswith("arg") and name not in ("max", "min"):
        empty = getattr(wp, name)(wp.zeros((0, 3)), axis=0)
        assert empty.shape == (3,)


def test_reductions_take_a_dtype():
    a = np.array([1, 2, 3], dtype="int8")
    for name, (wide, dtype) in itertools.product(["sum", "prod", "cumulative_sum", "cumulative_prod"], [("int16", "int16"), ("int64", "int64"), ("float32", "float32"), ("complex128", "complex128")]):
        got = getattr(wp, name)(wp.asarray(a), dtype=getattr(wp, wide), **({"axis": 0} if name.startswith("cum") else {}))
        assert got.dtype == dtype
    x = wp.asarray(np.array([[2**31 - 1, 2**31 - 1]], dtype="int32"))
    assert wp.sum(x).item() == 2**32 - 2 and wp.linalg.trace(wp.asarray(np.diag([120, 120]).astype("int8"))).item() == 240
    assert wp.linalg.trace(wp.asarray(np.eye(2, dtype="float32")), dtype=wp.float64).dtype == wp.float64


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_totals(name):
    f = np.cumulative_sum if name == "cumulative_sum" else np.cumulative_prod
    for dtype in NUMERIC:
        a = (np.arange(24).reshape(2, 3, 4) % 3 + 1).astype(dtype)
        for axis, initial in itertools.product([0, 1, -1], [False, True]):
            kind = {"dtype": "uint64" if dtype in UNSIGNED else "int64"} if dtype in INTEGERS else {}
            same(getattr(wp, name)(wp.asarray(a), axis=axis, include_initial=initial), f(a, axis=axis, include_initial=initial, **kind), rtol=1e-6)
    same(getattr(wp, name)(wp.zeros((0,)), include_initial=True), f(np.zeros(0), include_initial=True))
    with pytest.raises(ValueError):
        getattr(wp, name)(wp.ones((2, 2)))


# ---- indexing ----
def test_arrays_of_integers_and_integers_index_together():
    a = np.arange(60).reshape(3, 4, 5)
    i, j, k = np.array([2, 0]), np.array([[1], [2]]), np.array([[4, -5]])
    for index in [(i,), (i, 1), (1, i), (i, i, i), (j, i, 0), (i, j, k), (0, j, 2), (-1, i), (j,), (np.array(1), i), (i, 2, np.array([0, 1])), (np.array([], dtype="int64"),)]:
        for dtype in ("int64", "int32", "uint8"):
            if dtype == "uint8" and any(np.any(np.asarray(v) < 0) for v in index):
                continue
            own = tuple(wp.asarray(v.astype(dtype)) if isinstance(v, np.ndarray) else v for v in index)
            same(wp.asarray(a)[own], a[index])
            x, b = wp.asarray(a.copy()), a.copy()
            b[index] = -7
            x[own] = -7
            same(x, b)


@pytest.mark.parametrize("dtype", ALL)
def test_assigned_arrays_and_numbers_of_every_dtype(dtype):
    a = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    value = np.array([1, 0, 1, 1]).astype(dtype)
    for key, v in [(0, value), ((slice(None), 1), value[:3]), (..., value), ((slice(None, None, 2), slice(1, 3)), value[0]), ((0, 0), value[0]), (slice(0, 0), value)]:
        x, b = wp.asarray(a.copy()), a.copy()
        x[key] = wp.asarray(v)
        b[key] = v
        same(x, b)
    x = wp.asarray(a.copy())
    mask = a.astype(bool)
    x[wp.asarray(mask)] = {"b": False, "i": 5, "u": 5, "f": 0.5, "c": 1j}[np.dtype(dtype).kind]
    assert (np.asarray(x)[~mask] == 0).all()
    same(wp.asarray(a)[wp.asarray(mask)], a[mask])
    same(wp.asarray(a)[wp.asarray(mask[:, 0])], a[mask[:, 0]])


def test_zero_dimensional_masks_and_newaxis():
    for flag in (True, False):
        same(wp.asarray(3.5)[wp.asarray(flag)], np.asarray(3.5)[np.asarray(flag)])
        same(wp.ones((2, 3))[wp.asarray(flag)], np.ones((2, 3))[np.asarray(flag)])
    same(wp.ones((2, 3))[None, ..., None], np.ones((2, 3))[None, ..., None])


# ---- sets, sorting, searching ----
def test_sets_keep_each_nan_and_take_complex_numbers():
    for dtype in ALL:
        a = np.array([3, 1, 1, 0, 3]).astype(dtype)
        r = wp.unique_all(wp.asarray(a))
        assert sorted(r.values.tolist(), key=abs) == sorted(np.unique(a).tolist(), key=abs) and r.values.dtype == dtype
        same(r.values[r.inverse_indices], a)
        same(wp.asarray(a)[r.indices], np.asarray(r.values))
        assert wp.sum(r.counts).item() == 5 and r.inverse_indices.shape == (5,)
    a = np.array([[np.nan, 1.0], [np.nan, -0.0], [0.0, np.nan]])
    r = wp.unique_all(wp.asarray(a))
    assert r.values.shape == (5,) and np.isnan(np.asarray(r.values)).sum() == 3 and r.inverse_indices.shape == (3, 2)
    assert sorted(r.counts.tolist()) == [1, 1, 1, 1, 2]
    z = wp.unique_values(wp.asarray(np.array([complex(np.nan, 1), complex(np.nan, 1), 1j, 1j])))
    assert z.shape == (3,)
    assert wp.unique_counts(wp.zeros((0,))).counts.shape == (0,)


@pytest.mark.parametrize("dtype", INTEGERS + REALS)
def test_sorting_and_searching(dtype):
    a = np.array([[3, 1, 2, 3], [0, 5, 5, 1]]).astype(dtype)
    for axis, descending, stable in itertools.product([0, 1, -1], [False, True], [False, True]):
        order = wp.argsort(wp.asarray(a), axis=axis, descending=descending, stable=stable)
        expected = np.sort(a, axis=axis)
        expected = np.flip(expected, axis=axis) if descending else expected
        same(wp.sort(wp.asarray(a), axis=axis, descending=descending, stable=stable), expected)
        same(wp.take_along_axis(wp.asarray(a), order, axis=axis), expected)
    ties = wp.argsort(wp.asarray(np.array([1, 0, 1, 0]).astype(dtype)), descending=True, stable=True)
    assert ties.tolist() == [0, 2, 1, 3]
    ordered, wanted = np.array([1, 2, 2, 5]).astype(dtype), np.array([[0, 1], [2, 9]]).astype(dtype)
    for side in ("left", "right"):
        same(wp.searchsorted(wp.asarray(ordered), wp.asarray(wanted), side=side), np.searchsorted(ordered, wanted, side=side))
        same(wp.searchsorted(wp.asarray(ordered[::-1].copy()), wp.asarray(wanted), side=side, sorter=wp.asarray([3, 2, 1, 0])), np.searchsorted(ordered, wanted, side=side))
    same(wp.where(wp.asarray([True, False, True, False]), wp.asarray(ordered), wp.asarray(ordered)[0]), np.where([True, False, True, False], ordered, ordered[0]))
    same(wp.where(wp.asarray([True, False, True, False]), 1, wp.asarray(ordered)), np.where([True, False, True, False], np.asarray(1, dtype), ordered))


# ---- manipulation ----
@pytest.mark.parametrize("dtype", ALL)
def test_moves_keep_every_dtype(dtype):
    a = (np.arange(12).reshape(3, 1, 4) % 3).astype(dtype)
    x = wp.asarray(a)
    same(wp.concat([x, x], axis=None), np.concatenate([a, a], axis=None))
    same(wp.stack([x, x], axis=-1), np.stack([a, a], axis=-1))
    for i, part in enumerate(wp.unstack(x, axis=2)):
        same(part, a[:, :, i])
    same(wp.squeeze(x, 1), a[:, 0])
    same(wp.expand_dims(x, axis=-4), a[None])
    same(wp.repeat(x, wp.asarray([1, 0, 2]), axis=0), np.repeat(a, [1, 0, 2], axis=0))
    same(wp.tile(x, (2, 1, 1, 3)), np.tile(a, (2, 1, 1, 3)))
    same(wp.roll(x, (1, -9), axis=(0, 2)), np.roll(a, (1, -9), axis=(0, 2)))
    same(wp.moveaxis(x, (0, -1), (-1, 0)), np.moveaxis(a, (0, -1), (-1, 0)))
    same(wp.broadcast_to(x, (2, 3, 5, 4)), np.broadcast_to(a, (2, 3, 5, 4)))
    same(wp.reshape(x, (-1, 2)), a.reshape(-1, 2))
    same(wp.flip(x, axis=(0, 2)), np.flip(a, (0, 2)))
    if dtype not in COMPLEXES + ["bool"]:
        same(wp.clip(x, 1, 2), np.clip(a, np.asarray(1, dtype), np.asarray(2, dtype)))
    if dtype != "bool":
        same(wp.diff(x, axis=2), np.diff(a, axis=2))
    for bad in (lambda: wp.squeeze(x, 0), lambda: wp.reshape(x, (5, -1)), lambda: wp.concat([x, x[0]], axis=0), lambda: wp.broadcast_to(x, (2, 4))):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: wp.expand_dims(x, axis=9), lambda: wp.squeeze(x, 7), lambda: wp.sum(x, axis=5) if dtype != "bool" else wp.any(x, axis=5)):
        with pytest.raises(IndexError):
            bad()


def test_joining_promotes():
    for a, b in itertools.product(ALL, ALL):
        try:
            kind = strict.result_type(getattr(strict, a), getattr(strict, b))._np_dtype
        except TypeError:
            continue
        x, y = wp.ones(2, dtype=getattr(wp, a)), wp.ones(2, dtype=getattr(wp, b))
        assert wp.concat([x, y]).dtype == wp.stack([x, y]).dtype == wp.where(wp.asarray([True, False]), x, y).dtype == kind


def test_casts_between_all_kinds():
    for a, b in itertools.product(ALL, ALL):
        x = np.array([0, 1, 1]).astype(a)
        if a in COMPLEXES and b not in COMPLEXES:
            continue  # the standard forbids it
        y = wp.astype(wp.asarray(x), getattr(wp, b))
        same(y, x.astype(b))
        assert wp.astype(wp.asarray(x), getattr(wp, b), copy=False, device="cpu").dtype == b
    same(wp.astype(wp.asarray([0.5, np.nan, -np.inf, 0.0, -0.0]), wp.bool), [True, True, True, False, False])
    same(wp.astype(wp.asarray([-1.9, 1.9]), wp.int32), np.array([-1, 1], dtype="int32"))


# ---- exchange ----
def test_exchange_by_dlpack():
    x = wp.arange(6.0)
    device = x.__dlpack_device__()
    assert tuple(map(int, device)) == (1, 0) and len(device) == 2
    for copy in (None, True, False):
        y = wp.from_dlpack(x, copy=copy)
        same(y, np.arange(6.0))
        same(wp.from_dlpack(x, device="cpu", copy=copy), np.arange(6.0))
    assert x.to_device("cpu").device == x.device and x.to_device(x.device, stream=None) is x
    with pytest.raises(ValueError):
        x.to_device("tpu")


def test_zero_dimensional_results_are_arrays():
    x = wp.arange(4.0)
    for y in (x[0], wp.sum(x), wp.max(x), x[0] + 1, wp.linalg.det(wp.eye(2)), wp.all(x == x), -x[1], wp.vecdot(x, x)):
        assert isinstance(y, wp.Tensor) and y.shape == () and y.ndim == 0 and y.size == 1
    assert type(float(x[1])) is float and type(int(wp.asarray(3))) is int and type(bool(x[1])) is bool and type(complex(wp.asarray(1j))) is complex
    assert operator.index(wp.asarray(3, dtype=wp.uint8)) == 3
    for bad in (lambda: float(wp.asarray(1j)), lambda: int(wp.asarray(1j)), lambda: operator.index(wp.asarray(1.0)), lambda: float(wp.ones(2))):
        with pytest.raises((TypeError, ValueError)):
            bad()
