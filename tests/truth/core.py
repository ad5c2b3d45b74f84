"""Arrays of exact values, and how results are compared with them."""
import itertools
import math
from dataclasses import dataclass, field

import mpmath
from mpmath import mpc, mpf

mpmath.mp.dps = 60
INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "c64": 24, "c128": 53}          # bits of the significand
SMALLEST = {"f16": -24, "bf16": -133, "f32": -149, "f64": -1074, "c64": -149, "c128": -1074}  # exponent of the least number
LARGEST = {"f16": 65504, "bf16": float.fromhex("0x1.fep127"), "f32": float.fromhex("0x1.fffffep127"), "f64": float.fromhex("0x1.fffffffffffffp1023")}
LARGEST |= {"c64": LARGEST["f32"], "c128": LARGEST["f64"]}
REAL = {"c64": "f32", "c128": "f64"}
COMPLEX = {"f32": "c64", "f64": "c128"}


@dataclass
class Reference:
    function: object
    ulps: object
    may_fail: object
    judges: bool = False


class Zero(mpf):
    """A zero whose sign is known. Arithmetic forgets the sign; a reference that knows it returns one of these two."""


NEGATIVE_ZERO, POSITIVE_ZERO = Zero(0), Zero(0)


class Complex(mpc):
    """An operand with its parts as they came: mpc forgets the sign of zeros."""

    def __new__(cls, real, imag):
        self = mpc.__new__(cls, real, imag)
        self.parts = real, imag
        return self


REFERENCES = {}


def truth(name, ulps=0, may_fail=lambda sample: False):
    """Registers a reference. ulps: allowed distance in units of the last place; 0: exactly rounded, or exact."""

    def mark(function):
        assert name not in REFERENCES, name
        REFERENCES[name] = Reference(function, ulps, may_fail)
        return function

    return mark


def judge(name):
    """Registers a function of inputs, outputs and attributes that says what is wrong, or None: for results that are not unique."""

    def mark(function):
        assert name not in REFERENCES, name
        REFERENCES[name] = Reference(function, 0, lambda sample: False, True)
        return function

    return mark


def number(text, dtype):
    if dtype == "bool":
        return bool(text)
    if dtype in INTEGERS:
        return int(text)
    if dtype in REAL:
        return Complex(number(text[0], "f64"), number(text[1], "f64"))
    value = float.fromhex(text)
    return NEGATIVE_ZERO if value == 0 and math.copysign(1, value) < 0 else mpf(value)


@dataclass
class Array:
    dtype: str
    shape: list
    values: list = field(repr=False)

    @staticmethod
    def load(data):
        if data is None:
            return None
        return Array(data["dtype"], data["shape"], [number(v, data["dtype"]) for v in data["values"]])

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    def strides(self):
        out, step = [], 1
        for n in reversed(self.shape):
            out.append(step)
            step *= n
        return out[::-1]

    def __getitem__(self, index):
        """The value at a full index."""
        return self.values[sum(i * s for i, s in zip(index, self.strides()))]

    def indices(self):
        return itertools.product(*map(range, self.shape))

    def is_complex(self):
        return self.dtype in REAL

    def is_float(self):
        return self.dtype in DIGITS


def build(dtype, shape, function):
    """The array whose value at each index is function(index)."""
    shape = list(shape)
    return Array(dtype, shape, [function(i) for i in itertools.product(*map(range, shape))])


def broadcast_shape(*shapes):
    rank = max(map(len, shapes))
    out = []
    for k in range(-rank, 0):
        lengths = {s[k] for s in shapes if len(s) >= -k}
        lengths.discard(1)
        out.append(lengths.pop() if lengths else 1)
        assert not lengths
    return out


def broadcast(a, shape):
    shift = len(shape) - a.ndim
    return build(a.dtype, shape, lambda i: a[tuple(0 if n == 1 else k for k, n in zip(i[shift:], a.shape))])


def elementwise(function, dtype=None):
    """A reference that applies function to broadcast values. dtype: of the result; default the (promoted) input's."""

    def reference(*arrays, **attrs):
        shape = broadcast_shape(*(a.shape for a in arrays))
        full = [broadcast(a, shape) for a in arrays]
        kind = dtype(arrays) if callable(dtype) else dtype or arrays[-1].dtype
        return Array(kind, shape, [function(*v, **attrs) for v in zip(*(a.values for a in full))])

    return reference


def float_of(arrays):
    """Integers are computed as f64."""
    d = arrays[-1].dtype
    return "f64" if d in INTEGERS or d == "bool" else d


def ulp(value, dtype):
    """Distance of neighbouring numbers at |value|."""
    value = abs(value)
    if value == 0:
        return mpf(2) ** SMALLEST[dtype]
    exponent = int(mpmath.floor(mpmath.log(value, 2)))
    return mpf(2) ** max(exponent - DIGITS[dtype] + 1, SMALLEST[dtype])


def same_real(want, got, dtype, ulps):
    if mpmath.isnan(want) or mpmath.isnan(got):
        return bool(mpmath.isnan(want)) and bool(mpmath.isnan(got))
    if mpmath.isinf(got) or mpmath.isinf(want):
        if want == got:
            return True
        limit = mpf(LARGEST[dtype])  # beyond the largest number by half its ulp: Inf is the rounded value
        return bool(mpmath.isinf(got)) and abs(want) >= limit - (ulps + 1) * ulp(limit, dtype) and (want > 0) == (got > 0)
    # Rounding to nearest is within half an ulp; ulps counts from the exact value.
    return abs(want - got) <= max(mpf(ulps), mpf("0.5000001")) * ulp(want, dtype)


def same_sign(want, got):
    """Of zeros whose sign the reference knows."""
    return not isinstance(want, Zero) or (want is NEGATIVE_ZERO) == (got is NEGATIVE_ZERO)


def compare(want, got, ulps):
    if want.dtype != got.dtype:
        return f"dtype {got.dtype}, truth {want.dtype}"
    if list(want.shape) != list(got.shape):
        return f"shape {got.shape}, truth {want.shape}"
    allowed = ulps(got.dtype) if callable(ulps) else ulps
    for index, w, g in zip(got.indices(), want.values, got.values):
        if not got.is_float():
            good = w == g and type(w) is type(g)
        elif got.is_complex():
            w = mpc(w)
            # Componentwise where parts are alike in size; a part that is tiny beside the other is judged with the modulus.
            size = abs(w)
            good = same_real(w.real, g.real, got.dtype, allowed) and same_real(w.imag, g.imag, got.dtype, allowed)
            if not good and mpmath.isfinite(w) and mpmath.isfinite(g):
                good = abs(w - g) <= max(mpf(allowed), 1) * ulp(size, got.dtype)
        else:
            good = same_real(mpf(w), g, got.dtype, allowed) and same_sign(w, g)
        if not good:
            return f"at {list(index)}: {g}, truth {mpmath.nstr(w, 25) if got.is_float() else w}"
    return None
