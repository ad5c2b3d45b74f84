"""Truth of the Fourier transforms: sums of exact products with roots of unity in 60 digits."""
import itertools

import mpmath
from core import DIGITS, build, judge, truth
from mpmath import mpc, mpf


def roots(n, sign):
    return [mpmath.expjpi(sign * mpf(2 * k) / n) for k in range(n)]


def scale(norm, inverse, n):
    if norm == "ortho":
        return 1 / mpmath.sqrt(n)
    return mpf(1) / n if (norm == "backward") == inverse else mpf(1)


def along(values, shape, axis, function):
    """Lines of a dict from indices to values, each replaced by function(line): the new dict and shape."""
    others = [range(m) for k, m in enumerate(shape) if k != axis]
    out, length = {}, len(function([mpc(0)] * shape[axis]))
    for rest in itertools.product(*others):
        place = lambda j: rest[:axis] + (j,) + rest[axis:]
        line = function([values[place(j)] for j in range(shape[axis])])
        out.update({place(k): v for k, v in enumerate(line)})
    return out, [length if k == axis else m for k, m in enumerate(shape)]


def transform(line, n, inverse, norm, mode):
    if mode == "from_half":
        half = (line + [mpc(0)] * n)[: n // 2 + 1]
        line = [mpc(mpmath.re(half[0]))] + half[1:] + [mpmath.conj(half[n - k]) for k in range(n // 2 + 1, n)]
        if n % 2 == 0:
            line[n // 2] = mpc(mpmath.re(line[n // 2]))
    line = (line + [mpc(0)] * n)[:n]
    w, s = roots(n, 1 if inverse else -1), scale(norm, inverse, n)
    out = [s * sum(x * w[j * k % n] for j, x in enumerate(line)) for k in range(n)]
    return out[: n // 2 + 1] if mode == "to_half" else [mpmath.re(v) for v in out] if mode == "from_half" else out


def judged(name, inverse, mode, many):
    def reference(inputs, outputs, norm, n=None, axis=-1, s=None, axes=None):
        x, y = inputs[0], outputs[0]
        axes = [axis % x.ndim] if not many else list(range(x.ndim)) if axes is None else [a % x.ndim for a in axes]
        points = [n] if not many else s or [None] * len(axes)
        values, shape = dict(zip(x.indices(), map(mpc, x.values))), list(x.shape)
        kinds = ["whole"] * (len(axes) - 1) + [mode]
        steps = list(zip(axes, points, kinds))
        for a, count, kind in reversed(steps) if mode == "to_half" else steps:
            count = count or (2 * (x.shape[a] - 1) if kind == "from_half" else x.shape[a])
            values, shape = along(values, shape, a, lambda line: transform(line, count, inverse, norm, kind))
        real = "f32" if x.dtype in ("f16", "bf16", "f32", "c64") else "f64"
        dtype = real if mode == "from_half" else {"f32": "c64", "f64": "c128"}[real]
        if y.dtype != dtype or list(y.shape) != shape:
            return f"{y.dtype} {y.shape}, truth has {dtype} {shape}"
        if 0 in shape:
            return None
        most = max(abs(v) for v in values.values())
        worst = max(abs(y[i] - v) for i, v in values.items())
        bound = (1 if dtype in ("c64", "f32") else 8) * mpf(2) ** (1 - DIGITS[dtype]) * most
        return None if worst <= bound else f"off by {float(worst)}, bound {float(bound)}"

    judge(name)(reference)


for _name, _inverse, _mode in (("fft", False, "whole"), ("ifft", True, "whole"), ("rfft", False, "to_half"), ("ihfft", True, "to_half"),
                               ("irfft", True, "from_half"), ("hfft", False, "from_half")):
    judged("fft." + _name, _inverse, _mode, False)
for _name, _inverse, _mode in (("fftn", False, "whole"), ("ifftn", True, "whole"), ("rfftn", False, "to_half"), ("irfftn", True, "from_half")):
    judged("fft." + _name, _inverse, _mode, True)


def shifted(name, by):
    @truth(name)
    def shift(x, axes):
        axes = range(x.ndim) if axes is None else [a % x.ndim for a in axes]
        return build(x.dtype, x.shape, lambda i: x[tuple((k - by(n)) % n if a in axes else k for a, (k, n) in enumerate(zip(i, x.shape)))])


shifted("fft.fftshift", lambda n: n // 2)
shifted("fft.ifftshift", lambda n: -(n // 2))


@truth("fft.fftfreq", ulps=1)
def fftfreq(n, d, dtype):
    return build(dtype or "f64", [n], lambda i: mpf(i[0] if i[0] < (n + 1) // 2 else i[0] - n) / (n * mpf(d)))


@truth("fft.rfftfreq", ulps=1)
def rfftfreq(n, d, dtype):
    return build(dtype or "f64", [n // 2 + 1], lambda i: mpf(i[0]) / (n * mpf(d)))
