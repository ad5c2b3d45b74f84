"""Truth of element-wise ops: arithmetic, rounding, comparison, logic, casting."""
import operator

import mpmath
from core import (DIGITS, INTEGERS, LARGEST, NEGATIVE_ZERO, POSITIVE_ZERO, REAL, SMALLEST, broadcast, broadcast_shape,
                  elementwise, float_of, truth)
from mpmath import isinf, isnan, mpc, mpf

INF, NAN = mpf("inf"), mpf("nan")


def is_complex(v):
    return isinstance(v, mpc)


def parts(v):
    """Real and imaginary part, with the sign of zeros where it is known."""
    return v.parts if hasattr(v, "parts") else (v.real, v.imag) if is_complex(v) else (v, mpf(0))


def negative(v):
    """The sign bit of a real number."""
    return v is NEGATIVE_ZERO or v < 0


def signed(size, minus):
    """±size, also for zeros."""
    if size == 0:
        return NEGATIVE_ZERO if minus else POSITIVE_ZERO
    return -size if minus else size


def wrap(value, dtype):
    """Two's complement of the dtype's width."""
    bits = int(dtype[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


def arithmetic(function):
    """A reference whose integers wrap around."""

    def reference(*arrays):
        dtype = arrays[0].dtype
        return elementwise(lambda *v: wrap(function(*v), dtype) if dtype in INTEGERS else function(*v))(*arrays)

    return reference


def of_parts(function):
    """Applies a function of reals to both parts."""
    return lambda v: mpc(*map(function, parts(v))) if is_complex(v) else function(v)


def complex_ulps(allowed):
    """Rounding errors of a formula on complex numbers; real results are rounded exactly."""
    return lambda dtype: allowed if dtype in REAL else 0


# ---- arithmetic ----------------------------------------------------------------------------------------------------
def real_product(x, y):
    if isinstance(x, int):
        return x * y
    if isnan(x) or isnan(y) or (isinf(x) and y == 0) or (x == 0 and isinf(y)):
        return NAN
    return signed(abs(x) * abs(y), negative(x) != negative(y))


def product(x, y):
    if not is_complex(x):
        return real_product(x, y)
    (a, b), (c, d) = parts(x), parts(y)
    return mpc(a * c - b * d, a * d + b * c)


def real_quotient(x, y):
    x, y = mpf(x) if isinstance(x, int) else x, mpf(y) if isinstance(y, int) else y
    if isnan(x) or isnan(y) or (isinf(x) and isinf(y)) or (x == 0 and y == 0):
        return NAN
    return signed(INF if y == 0 or isinf(x) else mpf(0) if isinf(y) else abs(x) / abs(y), negative(x) != negative(y))


def quotient(x, y):
    return x / y if is_complex(x) else real_quotient(x, y)


truth("add")(arithmetic(operator.add))
truth("subtract")(arithmetic(operator.sub))
truth("multiply", ulps=complex_ulps(3))(arithmetic(product))
truth("square", ulps=complex_ulps(3))(arithmetic(lambda x: product(x, x)))
truth("divide", ulps=complex_ulps(3))(elementwise(quotient, float_of))
truth("reciprocal", ulps=complex_ulps(3))(elementwise(lambda x: quotient(mpc(1) if is_complex(x) else mpf(1), x), float_of))


def round_down(q, dtype):
    """The largest number of the dtype not above the whole number q (an exact quotient's floor)."""
    if q == 0 or abs(q) < mpf(2) ** DIGITS[dtype]:
        return q
    last = mpf(2) ** (int(mpmath.floor(mpmath.log(abs(q), 2))) - DIGITS[dtype] + 1)
    q = mpmath.floor(q / last) * last
    return INF if q > LARGEST[dtype] else q


@truth("floor_divide")
def floor_divide(a, b):
    def one(x, y):
        if isinstance(x, int):
            return wrap(x // y, a.dtype)
        if isnan(x) or isnan(y) or isinf(x) or isinf(y) or x == 0 or y == 0:
            return real_quotient(x, y)  # floor(x / y), and zeros keep their sign
        with mpmath.workdps(800):
            return round_down(mpmath.floor(x / y), a.dtype)

    return elementwise(one)(a, b)


@truth("remainder")
def remainder(a, b):
    def one(x, y):
        if isinstance(x, int):
            return x % y
        if isnan(x) or isnan(y) or isinf(x) or y == 0:
            return NAN
        if x == 0:
            return signed(mpf(0), negative(y))
        if isinf(y):
            return x if (x < 0) == (y < 0) else y
        with mpmath.workdps(800):
            r = x - y * mpmath.floor(x / y)
        return signed(abs(r), y < 0)

    return elementwise(one)(a, b)


def real_power(x, y):
    """C's pow, case by case."""
    odd = not isinf(y) and not isnan(y) and y == mpmath.floor(y) and int(y) % 2 == 1
    if y == 0 or x == 1:
        return mpf(1)
    if isnan(x) or isnan(y):
        return NAN
    if isinf(y):
        return mpf(1) if abs(x) == 1 else INF if (abs(x) > 1) == (y > 0) else POSITIVE_ZERO
    if x == 0 or isinf(x):
        return signed(INF if (x == 0) == (y < 0) else mpf(0), negative(x) and odd)
    if x < 0 and y != mpmath.floor(y):
        return NAN
    return signed(mpmath.power(abs(x), y), x < 0 and odd)


def power(x, y):
    if isinstance(x, int):
        return x**y
    if not is_complex(x):
        return real_power(x, y)
    if y == 0:
        return mpc(1)
    if x == 0:
        return mpc(0) if y.real > 0 else mpc(INF, NAN)
    return mpmath.exp(y * mpmath.log(x))


truth("pow", ulps=lambda dtype: 1)(arithmetic(power))
truth("hypot", ulps=mpf("0.501"))(elementwise(
    lambda x, y: INF if isinf(x) or isinf(y) else mpmath.sqrt(mpf(x) ** 2 + mpf(y) ** 2), float_of))


# ---- signs ---------------------------------------------------------------------------------------------------------
def opposite(x):
    return -x if isinstance(x, int) or isnan(x) else signed(abs(x), not negative(x))


truth("negative")(arithmetic(of_parts(opposite)))
truth("positive")(elementwise(lambda x: x))
truth("stop_gradient")(elementwise(lambda x: x))
truth("conj")(elementwise(lambda x: mpc(parts(x)[0], opposite(parts(x)[1])) if is_complex(x) else x))


def real_of(arrays):
    return REAL.get(arrays[0].dtype, arrays[0].dtype)


truth("real")(elementwise(lambda x: parts(x)[0] if is_complex(x) else x, real_of))
truth("imag")(elementwise(lambda x: parts(x)[1] if is_complex(x) else type(x)(0) if isinstance(x, int) else POSITIVE_ZERO, real_of))


@truth("abs", ulps=lambda dtype: mpf("0.501"))
def absolute(x):
    def one(v):
        if is_complex(v):
            re, im = parts(v)
            return INF if isinf(re) or isinf(im) else mpmath.sqrt(re**2 + im**2)
        return wrap(abs(v), x.dtype) if isinstance(v, int) else signed(abs(v), False)

    return elementwise(one, real_of)(x)


def sign(v):
    if is_complex(v):
        if isnan(v.real) or isnan(v.imag):
            return mpc(NAN, NAN)
        return mpc(0) if v == 0 else v / mpmath.sqrt(v.real**2 + v.imag**2)
    if isinstance(v, int):
        return (v > 0) - (v < 0)
    return NAN if isnan(v) else POSITIVE_ZERO if v == 0 else mpf(1 if v > 0 else -1)


truth("sign")(elementwise(sign))
truth("signbit")(elementwise(lambda x: bool(negative(x)), "bool"))
truth("copysign")(elementwise(
    lambda x, y: NAN if isnan(x) else signed(abs(mpf(x)), not isnan(y) and negative(y)), float_of))


@truth("nextafter")
def nextafter(a, b):
    dtype = float_of([a])

    def step(size, up):
        """The neighbour of a number that is not negative."""
        least = mpf(2) ** SMALLEST[dtype]
        if size == 0:
            return least
        if isinf(size):
            return mpf(LARGEST[dtype])
        exponent = int(mpmath.floor(mpmath.log(size, 2)))
        if not up and size == mpf(2) ** exponent:
            exponent -= 1
        last = max(mpf(2) ** (exponent - DIGITS[dtype] + 1), least)
        moved = size + last if up else size - last
        return INF if moved > LARGEST[dtype] else moved

    def one(x, y):
        if isnan(x) or isnan(y):
            return NAN
        if x == y:
            return signed(abs(mpf(y)), negative(y))
        minus = y < 0 if x == 0 else x < 0
        return signed(step(abs(mpf(x)), x == 0 or (y > x) == (x > 0)), minus)

    return elementwise(one, dtype)(a, b)


# ---- rounding ------------------------------------------------------------------------------------------------------
def rounding(function):
    def one(x):
        return x if isinstance(x, int) or isnan(x) or isinf(x) else signed(abs(function(x)), negative(x))

    return elementwise(of_parts(one))


def nearest_even(x):
    low = mpmath.floor(x)
    return low + (x - low > 0.5 or (x - low == 0.5 and int(low) % 2))


truth("ceil")(rounding(mpmath.ceil))
truth("floor")(rounding(mpmath.floor))
truth("trunc")(rounding(lambda x: mpmath.floor(abs(x))))
truth("round")(rounding(nearest_even))


# ---- roots and choice ----------------------------------------------------------------------------------------------
def square_root(x):
    if is_complex(x):
        re, im = parts(x)
        if isinf(im):
            return mpc(INF, im)
        root = mpmath.sqrt(mpc(re, abs(im)))
        return mpc(root.real, -root.imag if negative(im) else root.imag)
    x = mpf(x) if isinstance(x, int) else x
    return x if x == 0 else NAN if isnan(x) or x < 0 else mpmath.sqrt(x)


truth("sqrt", ulps=complex_ulps(2))(elementwise(square_root, float_of))


def larger(x, y):
    if isinstance(x, int):
        return max(x, y)
    if isnan(x) or isnan(y):
        return NAN
    if x == 0 and y == 0:
        return signed(mpf(0), negative(x) and negative(y))
    return max(x, y)


def smaller(x, y):
    return min(x, y) if isinstance(x, int) else opposite(larger(opposite(x), opposite(y)))


truth("maximum")(elementwise(larger))
truth("minimum")(elementwise(smaller))


@truth("clip")
def clip(x, low, high):
    shape = broadcast_shape(*(a.shape for a in (x, low, high) if a))
    y = broadcast(x, shape)
    if low:
        y = elementwise(larger, x.dtype)(y, low)
    return elementwise(smaller, x.dtype)(y, high) if high else y


@truth("where")
def where(condition, x1, x2):
    return elementwise(lambda c, x, y: x if c else y, x1.dtype)(condition, x1, x2)


# ---- comparison, logic, bits ---------------------------------------------------------------------------------------
def same(x, y):
    return all(map(operator.eq, parts(x), parts(y))) if is_complex(x) else bool(x == y)


truth("equal")(elementwise(same, "bool"))
truth("not_equal")(elementwise(lambda x, y: not same(x, y), "bool"))
for name, test in {"less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge}.items():
    truth(name)(elementwise(lambda x, y, test=test: bool(test(x, y)), "bool"))
for name, test in {"isnan": isnan, "isinf": isinf, "isfinite": lambda v: not (isnan(v) or isinf(v))}.items():
    any_or_all = all if name == "isfinite" else any
    truth(name)(elementwise(lambda x, test=test, fold=any_or_all: bool(fold(map(test, map(mpf, parts(x))))), "bool"))
for name, test in {"and": operator.and_, "or": operator.or_, "xor": operator.xor}.items():
    truth("logical_" + name)(elementwise(test))
    truth("bitwise_" + name)(elementwise(test))
truth("logical_not")(elementwise(operator.not_))
truth("bitwise_invert")(lambda x: elementwise(lambda v: not v if x.dtype == "bool" else wrap(~v, x.dtype))(x))
truth("bitwise_left_shift")(arithmetic(operator.lshift))
truth("bitwise_right_shift")(arithmetic(operator.rshift))


# ---- casting -------------------------------------------------------------------------------------------------------
@truth("astype")
def astype(x, dtype, copy):
    def one(v):
        if dtype == "bool":
            return any(p != 0 for p in parts(v)) if is_complex(v) else bool(v != 0)
        if dtype in INTEGERS:
            return int(v)
        if dtype in REAL:
            return v if is_complex(v) else mpc(v)
        return v if isinstance(v, mpf) else mpf(int(v))

    return elementwise(one, dtype)(x)
