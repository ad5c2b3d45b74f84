"""Tensors and dtypes: what the array API standard asks for beside the op table."""
import sys
from math import e, inf, nan, pi

from . import _core

_wp = sys.modules[__package__]
Tensor, DType = _wp.Tensor, _wp.DType
newaxis = None
_names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128")
_kinds = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "integral": _names[1:9],
    "real floating": _names[9:13],
    "complex floating": _names[13:],
    "numeric": _names[1:],
}


def _only_cpu(function, device):
    if device not in (None, "cpu"):
        raise ValueError(f"{function}: the only device is 'cpu'; got {device!r}.")


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of what has elements: numbers, nested lists, arrays of NumPy, PyTorch, JAX, TensorFlow, pandas.

    copy None: arrays are shown in place; True: never; False: always, or ValueError.
    """
    _only_cpu("asarray", device)
    return _core.asarray(obj, dtype, copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor that shows the memory of any object with __dlpack__."""
    return _core.from_dlpack(x, device, copy)


# ---- dtypes ---------------------------------------------------------------------------------------------------------
def _dtype(x):
    return x.dtype if isinstance(x, Tensor) else asarray(x).dtype if hasattr(x, "__array__") else x


def _with_number(dtype, number):
    """The dtype of an array of `dtype` with a number of Python's, which is weakly typed."""
    complex_, float_ = isinstance(number, complex), isinstance(number, float)
    if isinstance(number, bool) or dtype in _kinds["complex floating"]:
        return dtype
    if complex_:
        return _wp.complex64 if dtype in ("float16", "bfloat16", "float32") else _wp.complex128
    if dtype in _kinds["real floating"]:
        return dtype
    if float_:
        return _wp.float64
    return _wp.int64 if dtype == "bool" else dtype


def result_type(*arrays_and_dtypes):
    """The dtype of what is computed from these arrays, dtypes and numbers."""
    if not arrays_and_dtypes:
        raise ValueError("result_type: needs at least one array or dtype.")
    out, numbers = None, []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, complex)):
            numbers.append(x)
        else:
            try:
                dtype = _dtype(x)
                out = _core.promote(dtype if out is None else out, dtype)
            except TypeError:
                raise TypeError(f"result_type: arguments must be arrays, numbers, dtypes or names of dtypes; got {x!r}.") from None
    if out is None:
        raise ValueError("result_type: needs at least one array or dtype; got numbers only.")
    for number in numbers:
        out = _with_number(out, number)
    return out


def can_cast(from_, to, /):
    """Whether the promotion rules allow arrays (or dtypes) of from_ to become `to`."""
    return _core.can_cast(_dtype(from_), to)


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
    "numeric", a dtype, or one of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return dtype == kind
    if kind not in _kinds:
        raise ValueError(f"isdtype: kind must be a dtype or one of {', '.join(map(repr, _kinds))}; got {kind!r}.")
    return str(dtype) in _kinds[kind]


def finfo(type, /):
    """bits, eps, max, min, smallest_normal and dtype of a floating-point dtype (or of an array's)."""
    return _core.finfo(_dtype(type))


def iinfo(type, /):
    """bits, min, max and dtype of an integer dtype (or of an array's)."""
    return _core.iinfo(_dtype(type))


class __array_namespace_info__:
    """What this array namespace offers (array API standard, inspection)."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        return "cpu"

    def devices(self):
        return ["cpu"]

    def default_dtypes(self, *, device=None):
        _only_cpu("default_dtypes", device)
        return {"real floating": _wp.float64, "complex floating": _wp.complex128, "integral": _wp.int64, "indexing": _wp.int64}

    def dtypes(self, *, device=None, kind=None):
        _only_cpu("dtypes", device)
        standard = [n for n in _names if n not in ("float16", "bfloat16")]
        return {n: getattr(_wp, n) for n in standard if kind is None or isdtype(getattr(_wp, n), kind)}


# ---- methods of Tensor ----------------------------------------------------------------------------------------------
def _array_namespace(self, /, *, api_version=None):
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"wellposed follows the array API standard up to 2024.12; asked for {api_version!r}.")
    return _wp


def _array(self, dtype=None, copy=None):
    """The elements for NumPy: shared and read-only, unless another dtype or a copy is asked for."""
    import numpy
    shared = numpy.asarray(memoryview(self))
    if dtype is not None and numpy.dtype(dtype) != shared.dtype:
        if copy is False:
            raise ValueError("a copy is needed to convert to another dtype.")
        return shared.astype(dtype)
    return shared.copy() if copy else shared


def _repr_html(self):
    from html import escape
    return f"<pre>{escape(repr(self))}</pre>"


def _format(self, spec):
    """f"{x:.3f}" of a tensor with one element; showing a number is not using it."""
    if not spec:
        return str(self)
    with _core.Checks("off"):
        return format(self.item(), spec)


def _copy(self):
    """A tensor of the same value. Assigning to one leaves the other alone; memory is shared until then."""
    return _core.from_tensor(self)


def _restore(dtype, shape, data):
    return _core.from_bytes(dtype, shape, data)


Tensor.__array_namespace__ = _array_namespace
Tensor.__array__ = _array
Tensor._repr_html_ = _repr_html
Tensor.__format__ = _format
Tensor.__copy__ = _copy
Tensor.copy = _copy
Tensor.__deepcopy__ = lambda self, memo: _copy(self)
Tensor.__reduce__ = lambda self: (_restore, _core.bytes_of(self))
