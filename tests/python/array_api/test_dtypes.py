"""Promotion, casting and the dtypes of results."""
import itertools

import array_api_strict as strict
import numpy as np
import pytest

import wellposed as wp

strict.set_array_api_strict_flags(api_version="2024.12")
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]
ELEMENTWISE = sorted(n for n in strict.__all__ if getattr(getattr(strict, n), "__module__", "").endswith("_elementwise_functions"))


def pair(name):
    return getattr(strict, name), getattr(wp, name)


def both(values, dtype):
    a = np.asarray(values).astype(dtype)
    return strict.asarray(a), wp.asarray(a)


@pytest.mark.parametrize("a, b", itertools.product(NAMES, NAMES))
def test_promotion(a, b):
    theirs, ours = pair(a), pair(b)
    try:
        expected = strict.result_type(theirs[0], ours[0])
    except TypeError:
        return  # the standard leaves it open
    assert wp.result_type(theirs[1], ours[1]) == expected._np_dtype
    assert wp.result_type(wp.ones(1, dtype=theirs[1]), ours[1]) == expected._np_dtype
    assert (wp.ones(2, dtype=theirs[1]) == wp.ones(2, dtype=ours[1])).dtype == wp.bool


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("number", [True, 2, 0.5, 1j])
def test_numbers_are_weak(dtype, number):
    theirs, ours = pair(dtype)
    x, t = both([1, 1], dtype)
    try:
        expected = (x + number).dtype if dtype != "bool" else None
    except TypeError:
        return
    if expected is None:
        return
    assert (t + number).dtype == expected._np_dtype and (number + t).dtype == expected._np_dtype
    assert wp.result_type(t, number) == expected._np_dtype and wp.add(t, number).dtype == expected._np_dtype


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_results_have_the_dtypes_of_the_standard(name):
    f, g = pair(name)
    compared = 0
    unary = [[1, 1, 0]], [[1, 1, 1], [1, 0, 1]], [[1, 1, 0], [0, 0, 0], [0, 1, 1]]
    for dtype in NAMES:
        for values in unary:
            arguments = [both(v, dtype) for v in values]
            try:
                expected = f(*(a for a, _ in arguments))
            except TypeError:
                continue
            if name in ("floor_divide", "remainder", "pow") and "int" in dtype:
                arguments = [both([v or 1 for v in vs], dtype) for vs in values]
                expected = f(*(a for a, _ in arguments))
            if name == "divide" and "int" in dtype:
                continue
            got = g(*(t for _, t in arguments))
            assert got.dtype == expected.dtype._np_dtype, dtype
            np.testing.assert_allclose(np.asarray(got), np.asarray(expected._array), rtol=3e-7, err_msg=f"{name} {dtype}")
            compared += 1
    assert compared


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "mean", "std", "var", "max", "min", "any", "all",
                                  "argmax", "argmin", "count_nonzero"])
def test_reductions_have_the_dtypes_of_the_standard(name):
    f, g = pair(name)
    options = {"axis": 0} if name.startswith("cumulative") else {}
    for dtype in NAMES:
        x, t = both([1, 0, 1], dtype)
        try:
            expected = f(x, **options)
        except TypeError:
            continue
        got = g(t, **options)
        assert got.dtype == expected.dtype._np_dtype, dtype
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected._array), rtol=1e-6)


@pytest.mark.parametrize("a, b", itertools.product(NAMES, NAMES))
def test_can_cast(a, b):
    theirs, ours = pair(a), pair(b)
    if strict.can_cast(theirs[0], ours[0]) or not np.can_cast(a, b):  # between kinds the standard leaves it open
        assert wp.can_cast(theirs[1], ours[1]) == strict.can_cast(theirs[0], ours[0])


def test_kinds_and_limits():
    for name, kind in itertools.product(NAMES, ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]):
        assert wp.isdtype(getattr(wp, name), kind) == strict.isdtype(getattr(strict, name), kind), (name, kind)
    assert wp.isdtype(wp.int8, ("bool", wp.int8)) and not wp.isdtype(wp.int8, ("bool", "real floating"))
    with pytest.raises(ValueError):
        wp.isdtype(wp.int8, "integer")
    for name in ("float32", "float64", "complex64", "complex128"):
        a, b = wp.finfo(getattr(wp, name)), strict.finfo(getattr(strict, name))
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(a, field) == getattr(b, field), (name, field)
        assert a.dtype == b.dtype._np_dtype
    for name in NAMES[1:9]:
        a, b = wp.iinfo(getattr(wp, name)), strict.iinfo(getattr(strict, name))
        assert (a.bits, a.min, a.max) == (b.bits, b.min, b.max)
