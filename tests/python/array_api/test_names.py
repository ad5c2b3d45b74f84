"""Every function, constant, dtype and attribute of the standard is there, with its signature."""
import inspect

import array_api_strict as strict
import numpy as np
import pytest

import wellposed as wp

strict.set_array_api_strict_flags(api_version="2024.12")
OWN_OF_STRICT = {"set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags", "ArrayAPIStrictFlags", "Device"}
LATER = {"broadcast_shapes", "isin"}  # of 2025.12


def listed(module):
    return sorted(n for n in module.__all__ if n not in OWN_OF_STRICT | LATER)


FUNCTIONS = [n for n in listed(strict) if inspect.isfunction(getattr(strict, n))]
LINALG = [n for n in strict.linalg.__all__ if inspect.isfunction(getattr(strict.linalg, n))]
FFT = [n for n in strict.fft.__all__ if inspect.isfunction(getattr(strict.fft, n))]


def test_all_names_of_the_standard_are_there():
    assert len(FUNCTIONS) > 130 and len(LINALG) > 20 and len(FFT) == 14
    assert [n for n in listed(strict) if not hasattr(wp, n)] == []
    assert [n for n in strict.linalg.__all__ if not hasattr(wp.linalg, n)] == []
    assert [n for n in strict.fft.__all__ if not hasattr(wp.fft, n)] == []


@pytest.mark.parametrize("name", FUNCTIONS + ["linalg." + n for n in LINALG] + ["fft." + n for n in FFT])
def test_signatures_are_those_of_the_standard(name):
    theirs, ours = strict, wp
    for part in name.split("."):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    have = inspect.signature(ours).parameters
    position = 0
    for p in inspect.signature(theirs).parameters.values():
        if p.kind is p.VAR_KEYWORD or p.name.startswith("_"):
            continue
        if p.kind is p.KEYWORD_ONLY:
            assert have[p.name].kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD), p.name
        else:
            own = list(have.values())[position]
            position += 1
            assert own.kind is not p.KEYWORD_ONLY or (name, p.name) == ("expand_dims", "axis"), p.name  # by name in the text
            if p.kind is p.POSITIONAL_OR_KEYWORD and own.kind is not p.KEYWORD_ONLY:
                assert own.name == p.name
        if p.default is not p.empty and p.name in have and "UNDEF" not in repr(p.default):
            assert have[p.name].default == p.default or (name, p.name) in DEFAULTS, p.name


DEFAULTS = {("linalg.matrix_norm", "ord"), ("linalg.vector_norm", "ord"), ("full", "dtype"), ("asarray", "dtype")}


def test_arrays_have_the_attributes_and_methods_of_the_standard():
    theirs = {n for n in dir(type(strict.asarray(1.0)))} - set(dir(object))
    private = {n for n in theirs if n.startswith("_") and not n.startswith("__")}
    extra = {"__array_ufunc__", "__slots__", "__hash__", "__init_subclass__", "__buffer__", "__module__", "__weakref__", "__dict__", "__annotations__"}
    assert theirs - private - extra - set(dir(wp.Tensor)) == set()


def test_constants():
    assert wp.e == np.e and wp.pi == np.pi and wp.inf == np.inf and np.isnan(wp.nan) and wp.newaxis is None


def test_inspection():
    info = wp.__array_namespace_info__()
    assert info.default_device() == "cpu" and info.devices() == ["cpu"]
    assert set(info.dtypes()) == {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                                  "complex64", "complex128"}
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}
    assert info.default_dtypes()["integral"] == wp.int64
    x = wp.asarray(1.0)
    assert x.__array_namespace__() is wp and x.__array_namespace__(api_version="2024.12") is wp
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="2099.12")
    assert x.device == "cpu" and x.to_device("cpu") is x
