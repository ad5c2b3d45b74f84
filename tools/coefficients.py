#!/usr/bin/env python3
"""Writes src/simd/coefficients.hpp: polynomials that interpolate smooth functions at Chebyshev nodes, found at 60 digits.

    .venv/bin/python tools/coefficients.py > src/simd/coefficients.hpp

Beside each polynomial stands its distance from the function, relative to the result that it is a part of.
"""
import mpmath as mp

mp.mp.dps = 60


def chebyshev(f, a, b, degree):
    """Monomial coefficients of the interpolant of f at the Chebyshev nodes of [a, b]."""
    a, b, n = mp.mpf(a), mp.mpf(b), degree + 1
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    values = [f((a + b) / 2 + (b - a) / 2 * t) for t in nodes]
    series = [2 * mp.fsum(v * mp.cos(j * mp.acos(t)) for v, t in zip(values, nodes)) / n for j in range(n)]
    series[0] /= 2
    before, now, sums = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)] * n
    for j in range(n):  # sum of Chebyshev polynomials as one polynomial in t
        for i, v in enumerate(before):
            sums[i] += series[j] * v
        after = [mp.mpf(0)] + [2 * v for v in now]
        for i, v in enumerate(before):
            after[i] -= v
        before, now = now, after
    middle, half, out = (a + b) / 2, (b - a) / 2, [mp.mpf(0)]
    for c in reversed(sums):  # t = (x − middle) / half
        grown = [mp.mpf(0)] * (len(out) + 1)
        for i, v in enumerate(out):
            grown[i + 1] += v / half
            grown[i] -= v * middle / half
        grown[0] += c
        out = grown
    return out[:n]


def table(name, doc, f, a, b, degree, digits, weight):
    c = chebyshev(f, a, b, degree)
    grid = [mp.mpf(a) + (mp.mpf(b) - mp.mpf(a)) * i / 500 for i in range(501)]
    far = max(abs((mp.polyval(c[::-1], x) - f(x)) * weight(x)) for x in grid)
    kind, suffix, places = ("float", "f", 10) if digits == 24 else ("double", "", 19)
    print(f"// {doc} Distance 2^{float(mp.log(far, 2)):.1f}.")
    print(f"inline constexpr {kind} {name}[] = {{")
    for v in c:
        text = mp.nstr(v, places, strip_zeros=False)
        print(f"    {text}{suffix},")
    print("};\n")


def part(name, value, bits, kind):
    """The leading bits of a constant, and returns the rest."""
    exponent = int(mp.floor(mp.log(abs(value), 2)))
    unit = mp.mpf(2) ** (exponent - bits + 1)
    head = mp.nint(value / unit) * unit
    text = float(head).hex()
    assert mp.mpf(float(head)) == head
    print(f"inline constexpr {kind} {name} = {text}{'f' if kind == 'float' else ''};")
    return value - head


def near_zero(f, series, width):
    """f, and its Taylor series where f cancels."""
    return lambda x: mp.polyval(series[::-1], x) if abs(x) < width else f(x)


small = mp.mpf(10) ** -7
exp_tail = near_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, [mp.mpf(1) / mp.factorial(k + 2) for k in range(7)], small)
log_tail = near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, [mp.mpf(-1) ** k / (k + 3) for k in range(7)], small)
atanh_tail = near_zero(lambda q: (2 * mp.atanh(mp.sqrt(q)) - 2 * mp.sqrt(q)) / mp.sqrt(q) ** 3,
                       [mp.mpf(2) / (2 * k + 3) for k in range(7)], small)
tanh_tail = near_zero(lambda q: (mp.tanh(mp.sqrt(q)) - mp.sqrt(q)) / mp.sqrt(q) ** 3,
                      [c for c in mp.taylor(lambda x: mp.tanh(x), 0, 9)[3::2]], mp.mpf(10) ** -14)
erf_head = near_zero(lambda q: mp.erf(mp.sqrt(q)) / mp.sqrt(q) - 1,
                     [2 / mp.sqrt(mp.pi) - 1] + mp.taylor(mp.erf, 0, 13)[3::2], mp.mpf(10) ** -7)


def mills(k):
    """(1 + a) Φ(−a) e^{a²/2} over u = (a − k)/(a + k)."""
    def f(u):
        a = k * (1 + u) / (1 - u)
        return (1 + a) * mp.exp(a * a / 2) * mp.erfc(a / mp.sqrt(2)) / 2
    return f


root = mp.findroot(mp.digamma, mp.mpf("1.46163214496836234126"))


def psi_over_root(t):
    y = t + mp.mpf("1.5")
    return mp.digamma(y) / (y - root) if abs(y - root) > 1e-20 else mp.psi(1, root)


def psi_tail(z):
    return mp.mpf(1) / 12 if z < 1e-9 else (-mp.log(z) - z / 2 - mp.digamma(1 / z)) / z**2


print('// Made by tools/coefficients.py. Lowest power first.\n#pragma once\n\nnamespace wp::simd::coefficients {\n')
half = mp.log(2) / 2 * mp.mpf("1.001")
for digits, degree in ((24, 5), (53, 10)):
    table(f"exp{digits}", "(eʳ − 1 − r)/r², |r| ≤ ln 2/2.", exp_tail, -half, half, degree, digits, lambda r: r * r / mp.exp(r))
table("log24", "(log(1 + f) − f + f²/2)/f³, 1 + f in [√½, √2].", log_tail, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8, 24, lambda f: f * f)
table("log53", "(log((1 + s)/(1 − s)) − 2s)/s³ over s², (1 + s)/(1 − s) in [√½, √2].", atanh_tail, 0, mp.mpf("0.1716") ** 2, 7, 53, lambda q: q)
for digits, degree in ((24, 4), (53, 10)):
    table(f"tanh{digits}", "(tanh x − x)/x³ over x², |x| ≤ 0.55.", tanh_tail, 0, mp.mpf("0.55") ** 2, degree, digits, lambda q: q)
for digits, degree in ((24, 7), (53, 13)):
    table(f"erf{digits}", "erf(x)/x − 1 over x², |x| ≤ 1.", erf_head, 0, 1, degree, digits, lambda q: 1)
for digits, degree, k, far in ((24, 10, 4, 15), (53, 24, 5, 39)):
    table(f"mills{digits}", f"(1 + a) Φ(−a) exp(a²/2) over u = (a − {k})/(a + {k}), 0 ≤ a ≤ {far}.",
          mills(mp.mpf(k)), -1, mp.mpf(far - k) / (far + k), degree, digits, lambda u: 2)
table("psi_low", "ψ(y)/(y − y0) over y − 1.5, 1 ≤ y ≤ 2, y0 the positive root of ψ.", psi_over_root, -0.5, 0.5, 22, 53, lambda t: 1)
table("psi_high", "x²(log x − 1/(2x) − ψ(x)) over z = 1/x, x ≥ 2.", psi_tail, 0, 0.5, 18, 53,
      lambda z: 0 if z == 0 else z * z / mp.digamma(1 / z))
print("// Constants in parts: a sum of the parts has the precision of two numbers.")
rest = part("psi_root_high", root - 1, 53, "double")  # y0 − 1
part("psi_root_low", rest, 53, "double")
for name, value, bits in (("ln2", mp.log(2), (24, 12, 53, 40)), ("gelu_scale", mp.sqrt(8 / mp.pi), (24, 24, 53, 53)),
                          ("gelu_cubic", mp.sqrt(8 / mp.pi) * mp.mpf("0.044715"), (24, 24, 53, 53))):
    for digits, lead, kind in ((24, bits[1], "float"), (53, bits[3], "double")):
        rest = part(f"{name}_high{digits}", value, lead, kind)
        part(f"{name}_low{digits}", rest, digits, kind)
print("\n}  // namespace wp::simd::coefficients")
