"""Truth of reductions, cumulative ops and the softmax family: exact sums and products of exact values, 60 digits else."""
import itertools

import mpmath
from core import DIGITS, INTEGERS, REAL, build, truth
from mpmath import mpf


def reduced(x, axis, keepdims, dtype, fold):
    """fold(list of values) over the axes."""
    axes = set(range(x.ndim)) if axis is None else {a % x.ndim for a in axis}
    kept = [k for k in range(x.ndim) if k not in axes]
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)] if keepdims else [x.shape[k] for k in kept]

    def value(index):
        fixed = {k: index[k] for k in kept} if keepdims else dict(zip(kept, index))
        runs = itertools.product(*(range(n) if k in axes else [fixed[k]] for k, n in enumerate(x.shape)))
        return fold([x[i] for i in runs])

    return build(dtype, shape, value)


def along(x, axis, dtype, function):
    """function(list of values) -> list of values, on every line along one axis."""
    axis %= x.ndim
    other = [n for k, n in enumerate(x.shape) if k != axis]
    lines = {}
    for index in itertools.product(*map(range, other)):
        lines[index] = function([x[index[:axis] + (i,) + index[axis:]] for i in range(x.shape[axis])])
    length = len(next(iter(lines.values()))) if lines else len(function([]))
    shape = other[:axis] + [length] + other[axis:]
    return build(dtype, shape, lambda i: lines[i[:axis] + i[axis + 1 :]][i[axis]])


def total_dtype(x, dtype):
    if dtype:
        return dtype
    return x.dtype if x.is_float() else "u64" if x.dtype[0] == "u" else "i64"


def wrapped(value, dtype):
    """Two's complement for integers; floats as they are."""
    if dtype not in INTEGERS:
        return value
    bits = int(dtype[1:])
    value = int(value) & ((1 << bits) - 1)
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


EXACT = 5000  # bits that hold every sum of f64 values exactly


def plain(v):
    return int(v) if isinstance(v, bool) else v


def exact_sum(values):
    with mpmath.workprec(EXACT):
        return sum((plain(v) for v in values), 0)


def exact_product(values):
    out = 1
    for v in values:
        out *= plain(v)
    return out


# Rounding errors of a sum count in ulps of the sum of |x|; the samples are small and of one size.
@truth("sum", ulps=lambda dtype: 0 if dtype in INTEGERS else 0.5001)
def sum_(x, axis, keepdims, dtype):
    dtype = total_dtype(x, dtype)
    return reduced(x, axis, keepdims, dtype, lambda v: wrapped(exact_sum(v), dtype))


# One rounding per factor; the samples have at most 40.
@truth("prod", ulps=lambda dtype: 0 if dtype in INTEGERS else 2 if dtype in ("f32", "f16", "bf16") else 20)
def prod(x, axis, keepdims, dtype):
    dtype = total_dtype(x, dtype)
    return reduced(x, axis, keepdims, dtype, lambda v: wrapped(exact_product(v), dtype))


def extreme(pick):
    def reference(x, axis, keepdims):
        return reduced(x, axis, keepdims, x.dtype, lambda v: next((k for k in v if k != k), None) if any(k != k for k in v) else pick(v))

    return reference


truth("max")(extreme(max))
truth("min")(extreme(min))


def float_dtype(x):
    return x.dtype if x.is_float() else "f64"


def mean_of(values):
    return exact_sum(values) / mpf(len(values)) if values else mpf("nan")


@truth("mean", ulps=1)
def mean(x, axis, keepdims):
    return reduced(x, axis, keepdims, float_dtype(x), mean_of)


def variance_of(values, correction):
    freedom = len(values) - mpf(correction)
    if freedom <= 0:
        return mpf("nan")
    m = mean_of(values)
    return sum(abs(plain(v) - m) ** 2 for v in values) / freedom


def spread_dtype(x):
    d = float_dtype(x)
    return REAL.get(d, d)


@truth("var", ulps=4)
def var(x, axis, keepdims, correction):
    return reduced(x, axis, keepdims, spread_dtype(x), lambda v: variance_of(v, correction))


@truth("std", ulps=3)
def std(x, axis, keepdims, correction):
    return reduced(x, axis, keepdims, spread_dtype(x), lambda v: mpmath.sqrt(variance_of(v, correction)))


def is_true(v):
    return bool(v != 0)


@truth("all")
def all_(x, axis, keepdims):
    return reduced(x, axis, keepdims, "bool", lambda v: all(map(is_true, v)))


@truth("any")
def any_(x, axis, keepdims):
    return reduced(x, axis, keepdims, "bool", lambda v: any(map(is_true, v)))


@truth("count_nonzero")
def count_nonzero(x, axis, keepdims):
    return reduced(x, axis, keepdims, "i64", lambda v: sum(map(is_true, v)))


def cumulated(step, start):
    def reference(x, axis, dtype, include_initial):
        dtype = total_dtype(x, dtype)

        def line(values):
            out, total = [start] if include_initial else [], start
            with mpmath.workprec(EXACT):
                for v in values:
                    total = step(total, plain(v))
                    out.append(wrapped(total, dtype))
            return out

        return along(x, 0 if axis is None else axis, dtype, line)

    return reference


truth("cumulative_sum", ulps=lambda dtype: 0 if dtype in INTEGERS else 1)(cumulated(lambda a, b: a + b, 0))
truth("cumulative_prod", ulps=lambda dtype: 0 if dtype in INTEGERS else 3)(cumulated(lambda a, b: a * b, 1))

NAN, INF = mpf("nan"), mpf("inf")


def excess(values, m):
    """Sum of exp(x - m) over all but one largest."""
    rest = list(values)
    rest.remove(m)
    return mpmath.fsum(mpmath.exp(v - m) for v in rest)


def log_sum(values):
    if any(v != v for v in values):
        return NAN
    m = max(values, default=-INF)
    return m if mpmath.isinf(m) else m + mpmath.log1p(excess(values, m))


@truth("logsumexp", ulps=2)
def logsumexp(x, axis, keepdims):
    return reduced(x, axis, keepdims, x.dtype, log_sum)


def has_softmax(values):
    return not any(v != v for v in values) and mpmath.isfinite(max(values))


# The differences x - max x of the samples are exact, so that errors are those of exp, the sum and the division.
@truth("softmax", ulps=3)
def softmax(x, axis):
    def line(values):
        if not has_softmax(values):
            return [NAN] * len(values)
        m = max(values)
        parts = [mpmath.exp(v - m) for v in values]
        total = mpmath.fsum(parts)
        return [p / total for p in parts]

    return along(x, axis, x.dtype, line)


@truth("log_softmax", ulps=3)
def log_softmax(x, axis):
    def line(values):
        if not has_softmax(values):
            return [NAN] * len(values)
        m = max(values)
        rest = mpmath.log1p(excess(values, m))
        return [(v - m) - rest for v in values]

    return along(x, axis, x.dtype, line)
