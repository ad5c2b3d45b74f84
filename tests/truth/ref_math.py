"""Truth of transcendental and special functions."""
import mpmath as mp
from core import elementwise, float_of, truth
from mpmath import mpc, mpf

NAN, INF = mpf("nan"), mpf("inf")


def register(name, f, ulps=2, complex_ulps=8, edges=None, inside=lambda x: True):
    """f over finite arguments in the domain; edges: values at special real arguments; NaN outside of the domain."""

    def value(x):
        if isinstance(x, mpc):
            return f(x)
        x = mpf(x)
        if edges and x in edges:
            return edges[x]
        return f(x) if mp.isfinite(x) and inside(x) else NAN

    bound = lambda dtype: complex_ulps if dtype[0] == "c" else ulps
    truth(name, ulps=bound)(elementwise(value, float_of))


def both(low, high):
    return {INF: mpf(high), -INF: mpf(low)}


def positive(x):
    return x > 0


LOG = {mpf(0): -INF, INF: INF}
register("exp", mp.exp, edges=both(0, INF))
register("exp2", lambda x: mpf(2) ** x, edges=both(0, INF))
register("expm1", lambda x: mp.exp(x) - 1 if abs(x) > 1e-20 else x + x * x / 2, edges=both(-1, INF))
register("log", mp.log, edges=LOG, inside=positive)
register("log2", lambda x: mp.log(x) / mp.log(2), edges=LOG, inside=positive)
register("log10", lambda x: mp.log(x) / mp.log(10), edges=LOG, inside=positive)
register("log1p", lambda x: mp.log(1 + x) if abs(x) > 1e-20 else x - x * x / 2, edges={mpf(-1): -INF, INF: INF},
         inside=lambda x: x > -1)


def at_working_digits(f):
    """Arguments up to 1e308, and results that cancel: 400 digits are enough for both."""

    def g(x):
        with mp.workdps(400):
            return f(x)

    return g


register("sin", at_working_digits(mp.sin))
register("cos", at_working_digits(mp.cos))
register("tan", at_working_digits(mp.tan))
unit = dict(inside=lambda x: abs(x) <= 1)
register("asin", at_working_digits(mp.asin), **unit)
register("acos", at_working_digits(mp.acos), **unit)
register("atan", at_working_digits(mp.atan), edges=both(-mp.pi / 2, mp.pi / 2))
register("sinh", at_working_digits(mp.sinh), edges=both(-INF, INF))
register("cosh", at_working_digits(mp.cosh), edges=both(INF, INF))
register("tanh", at_working_digits(mp.tanh), edges=both(-1, 1))
# asinh z = log(z + √(z² + 1)) and acosh z = log(z + √(z + 1) √(z − 1)) (Kahan): the cuts of Annex G.
register("asinh", at_working_digits(mp.asinh), edges=both(-INF, INF))
register("acosh", at_working_digits(mp.acosh), edges={INF: INF}, inside=lambda x: x >= 1)
register("atanh", at_working_digits(mp.atanh), edges={mpf(1): INF, mpf(-1): -INF}, inside=lambda x: abs(x) < 1)


@truth("atan2", ulps=2)
def atan2(y, x):
    def angle(b, a):
        b, a = mpf(b), mpf(a)
        if mp.isinf(a) and mp.isinf(b):
            a, b = mp.sign(a), mp.sign(b)
        elif mp.isinf(a) or mp.isinf(b):
            a, b = (mp.sign(v) if mp.isinf(v) else mpf(0) for v in (a, b))
        return mpf(0) if a == b == 0 else mp.atan2(b, a)

    return elementwise(angle, float_of)(y, x)


@truth("logaddexp", ulps=2)
def logaddexp(x, y):
    def value(a, b):
        a, b = mpf(a), mpf(b)
        if mp.isinf(a) or mp.isinf(b):
            return max(a, b)
        return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))

    return elementwise(value, float_of)(x, y)


register("erf", mp.erf, edges=both(-1, 1))
register("erfc", mp.erfc, edges=both(2, 0))


def at_pole(x):
    return x <= 0 and x == mp.floor(x)


def lgamma(x):
    return INF if at_pole(x) else mp.re(mp.loggamma(x))


register("lgamma", lgamma, edges=both(INF, INF))
register("digamma", mp.digamma, edges={INF: INF, mpf(0): -INF}, inside=lambda x: not at_pole(x))


@truth("polygamma", ulps=2)
def polygamma(n, x):
    def value(a, b):
        a, b = mpf(a), mpf(b)
        if not (1 <= a <= 1000 and a == mp.floor(a)) or b != b or b == -INF:
            return NAN
        if b == INF:
            return mpf(0)
        if at_pole(b):
            return INF if a % 2 else -INF if b == 0 else NAN
        return mp.polygamma(int(a), b)

    return elementwise(value, float_of)(n, x)


register("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), edges=both(-INF, INF))

register("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), ulps=4, edges=both(0, 1))
register("softplus", lambda x: x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x)), ulps=4, edges=both(0, INF))
register("silu", lambda x: x / (1 + mp.exp(-x)), ulps=4, edges=both(0, INF))


@truth("relu")
def relu(x):
    return elementwise(lambda v: v * 0 if v <= 0 else v)(x)


@truth("gelu", ulps=4)
def gelu(x, approximate):
    def value(v):
        v = mpf(v)
        if mp.isinf(v):
            return max(v, mpf(0))
        if approximate == "none":
            return v * mp.erfc(-v / mp.sqrt(2)) / 2
        with mp.workdps(1000):  # 1 + tanh cancels in the lower tail
            return v / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (v + mpf("0.044715") * v**3)))

    return elementwise(value, float_of)(x)
