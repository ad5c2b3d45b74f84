"""Truth of random draws: Philox and the samplers' definitions, in exact integers, fractions and 60-digit arithmetic.

Block b of a stream is philox(key, b, lane). Element i takes words of block counter + i / (elements per block); samplers that
reject take the same block in the next lanes. A result of an attempt that the vector code accepts and this code rejects would
be another number altogether, so the samples also test every acceptance.
"""
from fractions import Fraction
from functools import lru_cache

import mpmath
from core import DIGITS, SMALLEST, Array, truth
from mpmath import mpf

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


@lru_cache(maxsize=100000)
def philox(key, number, lane):
    """Philox4x32-10 as in Salmon et al. 2011, as two 64-bit integers."""
    c = [number & MASK32, number >> 32 & MASK32, lane & MASK32, lane >> 32 & MASK32]
    k = [key & MASK32, key >> 32 & MASK32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & MASK32, p0 >> 32 ^ c[3] ^ k[1], p0 & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c[0] | c[1] << 32, c[2] | c[3] << 32


assert philox(0, 0, 0) == (0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C)
assert philox(MASK64, MASK64, MASK64) == (0x41C83B0E408F276D, 0x6D5451FDA20BC7C6)
assert philox(0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E) == (0x94FDCCEBD16CFE09, 0x24126EA15001E420)


class Stream:
    def __init__(self, key, counter):
        self.key, self.counter = key & MASK64, counter & MASK64

    def block(self, element, lane=0):
        return philox(self.key, (self.counter + element) & MASK64, lane)

    def half(self, element, lane=0):
        """64 bits for each element."""
        return self.block(element // 2, lane)[element % 2]

    def word(self, element):
        """32 bits for each element."""
        return self.half(element // 2) >> 32 * (element % 2) & MASK32


def rounded(value, dtype):
    """A fraction, to nearest even in a dtype; no overflow."""
    value = Fraction(value)
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - DIGITS[dtype] + 1, SMALLEST[dtype])
    return round(value / unit) * unit


def count(shape):
    n = 1
    for k in shape:
        n *= k
    return n


def filled(shape, dtype, value):
    """The array of value(0), value(1), …; fractions become exact numbers."""
    values = [value(i) for i in range(count(shape))]
    return Array(dtype, list(shape), [mpf(v.numerator) / v.denominator if isinstance(v, Fraction) else v for v in values])


def loop_dtype(dtype):
    """f16 and bf16 are computed in f32."""
    return "f64" if dtype == "f64" else "f32"


# ---- uniform, bernoulli, integers, permutations: exact ---------------------------------------------------------------
@truth("random.uniform")
def uniform(shape, key, counter, low, high, dtype):
    stream, bits, computed = Stream(key, counter), DIGITS[dtype], loop_dtype(dtype)
    step = Fraction(2) ** SMALLEST[dtype]

    def towards(value, sign):  # the next number of the dtype above or below value, which is one
        size = max((abs(value.numerator).bit_length() - value.denominator.bit_length()), SMALLEST[dtype])
        for shrink in (2, 1, 0):
            unit = Fraction(2) ** (size - DIGITS[dtype] - shrink + 1)
            if unit >= step and rounded(value + sign * unit, dtype) == value + sign * unit:
                return value + sign * unit
        return value + sign * step

    low, high = Fraction(low), Fraction(high)
    least, most = rounded(low, dtype), rounded(high, dtype)
    least = towards(least, 1) if least < low else least
    most = towards(most, -1) if most >= high else most
    width = rounded(rounded(high - least, "f64"), computed)

    def value(i):
        word = stream.half(i) >> 64 - bits if dtype == "f64" else stream.word(i) >> 32 - bits
        return rounded(min(rounded(least + rounded(width * Fraction(word, 1 << bits), computed), computed), most), dtype)

    return filled(shape, dtype, value)


@truth("random.bernoulli")
def bernoulli(shape, p, key, counter):
    stream, threshold = Stream(key, counter), round(Fraction(p) * 2**64)
    return filled(shape, "bool", lambda i: stream.half(i) < threshold)


def below(stream, element, range_):
    lane = 0
    while True:
        product = stream.half(element, lane) * range_
        if product & MASK64 >= 2**64 % range_:
            return product >> 64
        lane += 1


@truth("random.integers")
def integers(shape, low, high, key, counter, dtype, endpoint):
    stream, low, high = Stream(key, counter), int(low), int(high)
    return filled(shape, dtype, lambda i: low + below(stream, i, high - low + endpoint))


def order(n, key, counter):
    stream, out = Stream(key, counter), list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(stream, i, i + 1)
        out[i], out[j] = out[j], out[i]
    return out


@truth("random.permutation")
def permutation(n, key, counter):
    return Array("i64", [n], order(n, key, counter))


@truth("random.permuted")
def permuted(x, key, counter, axis):
    axis %= x.ndim
    take = order(x.shape[axis], key, counter)
    return Array(x.dtype, x.shape, [x[i[:axis] + (take[i[axis]],) + i[axis + 1:]] for i in x.indices()])


# ---- draws through functions ----------------------------------------------------------------------------------------
def open_unit(word, bits=64):
    """In (0, 1], rounded to the type the draw is computed in."""
    v = rounded(Fraction(2 * word + 1, 1 << bits + 1), "f64" if bits == 64 else "f32")
    return mpf(v.numerator) / v.denominator


def normal_pair(radius, angle, bits=64):
    r = mpmath.sqrt(-2 * mpmath.log(open_unit(radius, bits)))
    turns = 2 * mpf(angle) / (1 << bits)
    return r * mpmath.cospi(turns), r * mpmath.sinpi(turns)


def pair(stream, i, dtype):
    if dtype == "f64":
        return normal_pair(*stream.block(i // 2))[i % 2]
    words = stream.half(i // 2)
    return normal_pair(words & MASK32, words >> 32, 32)[i % 2]


def wide(most):
    """Ulps of draws that f64 and f32 compute; f16 and bf16 only round them."""
    return lambda dtype: most if dtype in ("f32", "f64") else 0.51


@truth("random.normal", ulps=wide(3))
def normal(shape, key, counter, mean, std, dtype):
    stream = Stream(key, counter)
    return filled(shape, dtype, lambda i: mean + std * pair(stream, i, dtype))


@truth("random.exponential", ulps=wide(1.5))
def exponential(shape, key, counter, rate, dtype):
    stream = Stream(key, counter)
    draw = lambda i: open_unit(stream.half(i)) if dtype == "f64" else open_unit(stream.word(i), 32)
    return filled(shape, dtype, lambda i: -mpmath.log(draw(i)) / rate)


def gamma_draw(stream, i, alpha, lane=0):
    """The logarithm of a draw (Marsaglia & Tsang 2000, with their test as it stands in the paper)."""
    alpha = mpf(alpha)
    d = (alpha + 1 if alpha < 1 else alpha) - mpf(1) / 3
    c = 1 / mpmath.sqrt(9 * d)
    while True:
        z = normal_pair(*stream.block(i, lane))[0]
        second = stream.block(i, lane + 1)
        v = (1 + c * z) ** 3
        if v > 0 and mpmath.log(open_unit(second[0])) < z * z / 2 + d - d * v + d * mpmath.log(v):
            return mpmath.log(d * v) + (mpmath.log(open_unit(second[1])) / alpha if alpha < 1 else 0)
        lane += 2


def narrow(most):
    """Ulps of draws computed in f64: the other types only round them."""
    return lambda dtype: most if dtype == "f64" else 0.51


# log(u) / concentration is the exponent of a power: its rounding error counts as many ulps as it is large. Draws near 0
# come from 1 + c z near 0, where the rounding error of c z is magnified.
@truth("random.gamma", ulps=narrow(32))
def gamma(shape, concentration, key, counter, rate, dtype):
    stream = Stream(key, counter)
    return filled(shape, dtype, lambda i: mpmath.exp(gamma_draw(stream, i, concentration)) / rate)


# As for gamma; with a = b = 0.05 exponents reach hundreds.
@truth("random.beta", ulps=narrow(100))
def beta(shape, a, b, key, counter, dtype):
    stream = Stream(key, counter)

    def value(i):
        x, y = gamma_draw(stream, i, a), gamma_draw(stream, i, b, 1 << 32)
        return 1 / (1 + mpmath.exp(y - x))

    return filled(shape, dtype, value)


def truncated(stream, i, low, high):
    """Robert 1995: the proposal is part of the definition."""
    if high < 0:
        return -truncated(stream, i, -high, -low)
    rate = (low + mpmath.sqrt(low * low + 4)) / 2
    lane = 0
    while True:
        first, second = stream.block(i, lane)
        test = 2 * mpmath.log(open_unit(second))
        if high - low < 2.5 if low <= 0 else high - low <= 1 / rate:
            x = mpf(float(low + float((high - low) * (mpf(first >> 11) / 2**53))))  # as computed: it may be next to 0
            good = test <= max(low, 0) ** 2 - x * x
        elif low <= 0 or low < 0.25 and high > 2:
            x = normal_pair(first, second)[0]
            good = low <= x <= high
        else:
            x = low - mpmath.log(open_unit(first)) / rate
            good = x <= high and test <= -((x - rate) ** 2)
        if good:
            return x
        lane += 1


@truth("random.truncated_normal", ulps=narrow(3))
def truncated_normal(shape, key, counter, mean, std, low, high, dtype):
    stream = Stream(key, counter)
    low, high = mpf("-inf" if low is None else low), mpf("inf" if high is None else high)  # JSON has no infinities
    return filled(shape, dtype, lambda i: mean + std * truncated(stream, i, low, high))


def poisson_small(stream, i, rate):
    v, k, mass, rest = open_unit(stream.block(i)[0]), 0, mpmath.exp(-rate), 1 - mpmath.exp(-rate)
    while v <= rest:
        k += 1
        mass *= rate / k
        rest -= mass
    return k


def poisson_large(stream, i, rate):
    """Hörmann 1993, PTRS."""
    b = mpf("0.931") + mpf("2.53") * mpmath.sqrt(rate)
    a = mpf("-0.059") + mpf("0.02483") * b
    inverse, squeeze = mpf("1.1239") + mpf("1.1328") / (b - mpf("3.4")), mpf("0.9277") - mpf("3.6224") / (b - 2)
    lane = 0
    while True:
        first, second = stream.block(i, lane)
        u, v = mpf(first >> 11) / 2**53 - 0.5, open_unit(second)
        us = 0.5 - abs(u)
        lane += 1
        if us < 0.013 and v > us:
            continue
        k = int(mpmath.floor((2 * a / us + b) * u + rate + mpf("0.43")))
        if us >= 0.07 and v <= squeeze:
            return k
        if k >= 0 and mpmath.log(v * inverse / (a / us**2 + b)) <= k * mpmath.log(rate) - rate - mpmath.loggamma(k + 1):
            return k


@truth("random.poisson")
def poisson(shape, rate, key, counter, dtype):
    stream, rate = Stream(key, counter), mpf(rate)
    return filled(shape, dtype, lambda i: (poisson_small if rate < 10 else poisson_large)(stream, i, rate))


@truth("random.categorical")
def categorical(logits, key, counter, draws):
    stream, classes = Stream(key, counter), logits.shape[-1]
    shape = logits.shape[:-1] + ([] if draws is None else [draws])

    def value(e):
        row = e // (1 if draws is None else draws) * classes
        weights = [mpmath.exp(v) for v in logits.values[row:row + classes]]
        target, k, sum_ = mpf(stream.half(e) >> 11) / 2**53 * sum(weights), 0, weights[0]
        while sum_ <= target:
            k += 1
            sum_ += weights[k]
        return k

    return filled(shape, "i64", value)
