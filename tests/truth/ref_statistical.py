"""Truth of reductions: exact sums of exact values."""
import itertools

from core import INTEGERS, build, truth


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


def total_dtype(x, dtype):
    if dtype:
        return dtype
    return x.dtype if x.is_float() else "u64" if x.dtype[0] == "u" else "i64"


# Rounding errors of a sum count in ulps of Σ|x|; the samples are small and of one size.
@truth("sum", ulps=lambda dtype: 0 if dtype in INTEGERS else 4)
def sum_(x, axis, keepdims, dtype):
    return reduced(x, axis, keepdims, total_dtype(x, dtype), lambda v: sum(v) if x.is_float() else sum(int(k) for k in v))
