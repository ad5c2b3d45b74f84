"""The special cases of complex functions, line by line as the standard lists them, in both precisions.

Parts are written as the standard names them: "positive", "finite", "nonzero" and "any" stand for several numbers; a sign "±" in a
result is unspecified. Where the standard's table for sqrt has exchanged the rows of a = -infinity and a = +infinity (it says that
sqrt(+infinity + 1j) is 0 + infinity j), C99 holds, which the standard follows elsewhere.
"""
import itertools
import math

import numpy as np
import pytest

import wellposed as wp

INF, NAN = math.inf, math.nan
KINDS = {
    "+0": [0.0], "-0": [-0.0], "±0": [0.0, -0.0], "1": [1.0], "-1": [-1.0], "inf": [INF], "-inf": [-INF], "±inf": [INF, -INF], "nan": [NAN],
    "positive": [1e-30, 0.5, 3.0, 1e30], "nonzero": [-1e30, -2.0, -1e-30, 1e-30, 0.5, 3.0], "finite": [-3.0, -0.0, 0.0, 0.5, 1e30],
    "nonzero or inf": [-2.0, 3.0, INF, -INF], "any": [NAN, -INF, -1.0, -0.0, 0.0, 2.0, INF],
}
ANGLES = {"π": math.pi, "π/2": math.pi / 2, "π/4": math.pi / 4, "3π/4": 3 * math.pi / 4}
CASES = {
    "acos": [("±0", "+0", "π/2", "-0"), ("±0", "nan", "π/2", "nan"), ("finite", "inf", "π/2", "-inf"), ("nonzero", "nan", "nan", "nan"),
             ("-inf", "positive", "π", "-inf"), ("inf", "positive", "+0", "-inf"), ("-inf", "inf", "3π/4", "-inf"), ("inf", "inf", "π/4", "-inf"),
             ("±inf", "nan", "nan", "±inf"), ("nan", "finite", "nan", "nan"), ("nan", "inf", "nan", "-inf"), ("nan", "nan", "nan", "nan")],
    "acosh": [("±0", "+0", "+0", "π/2"), ("finite", "inf", "inf", "π/2"), ("nonzero", "nan", "nan", "nan"), ("+0", "nan", "nan", "±π/2"),
              ("-inf", "positive", "inf", "π"), ("inf", "positive", "inf", "+0"), ("-inf", "inf", "inf", "3π/4"), ("inf", "inf", "inf", "π/4"),
              ("±inf", "nan", "inf", "nan"), ("nan", "finite", "nan", "nan"), ("nan", "inf", "inf", "nan"), ("nan", "nan", "nan", "nan")],
    "asinh": [("+0", "+0", "+0", "+0"), ("positive", "inf", "inf", "π/2"), ("finite", "nan", "nan", "nan"), ("inf", "positive", "inf", "+0"),
              ("inf", "inf", "inf", "π/4"), ("nan", "+0", "nan", "+0"), ("nan", "nonzero", "nan", "nan"), ("nan", "inf", "±inf", "nan"), ("nan", "nan", "nan", "nan")],
    "atanh": [("+0", "+0", "+0", "+0"), ("+0", "nan", "+0", "nan"), ("1", "+0", "inf", "+0"), ("positive", "inf", "+0", "π/2"), ("nonzero", "nan", "nan", "nan"),
              ("inf", "positive", "+0", "π/2"), ("inf", "inf", "+0", "π/2"), ("inf", "nan", "+0", "nan"), ("nan", "finite", "nan", "nan"),
              ("nan", "inf", "±0", "π/2"), ("nan", "nan", "nan", "nan")],
    "cosh": [("+0", "+0", "1", "+0"), ("+0", "inf", "nan", "±0"), ("+0", "nan", "nan", "±0"), ("nonzero", "inf", "nan", "nan"), ("nonzero", "nan", "nan", "nan"),
             ("inf", "+0", "inf", "+0"), ("inf", "nonzero", "inf cos", "inf sin"), ("inf", "inf", "±inf", "nan"), ("inf", "nan", "inf", "nan"),
             ("nan", "±0", "nan", "±0"), ("nan", "nonzero", "nan", "nan"), ("nan", "nan", "nan", "nan")],
    "exp": [("±0", "+0", "1", "+0"), ("finite", "inf", "nan", "nan"), ("finite", "nan", "nan", "nan"), ("inf", "+0", "inf", "+0"),
            ("-inf", "finite", "0 cos", "0 sin"), ("inf", "nonzero", "inf cos", "inf sin"), ("-inf", "inf", "±0", "±0"), ("inf", "inf", "±inf", "nan"),
            ("-inf", "nan", "±0", "±0"), ("inf", "nan", "±inf", "nan"), ("nan", "+0", "nan", "+0"), ("nan", "nonzero or inf", "nan", "nan"), ("nan", "nan", "nan", "nan")],
    "expm1": [("±0", "+0", "±0", "+0"), ("finite", "inf", "nan", "nan"), ("finite", "nan", "nan", "nan"), ("inf", "+0", "inf", "+0"),
              ("-inf", "finite", "-1", "0 sin"), ("inf", "nonzero", "inf cos", "inf sin"), ("-inf", "inf", "-1", "±0"), ("inf", "inf", "±inf", "nan"),
              ("-inf", "nan", "-1", "±0"), ("inf", "nan", "±inf", "nan"), ("nan", "+0", "nan", "+0"), ("nan", "nonzero or inf", "nan", "nan"), ("nan", "nan", "nan", "nan")],
    "log": [("-0", "+0", "-inf", "π"), ("+0", "+0", "-inf", "+0"), ("finite", "inf", "inf", "π/2"), ("finite", "nan", "nan", "nan"), ("-inf", "positive", "inf", "π"),
            ("inf", "positive", "inf", "+0"), ("-inf", "inf", "inf", "3π/4"), ("inf", "inf", "inf", "π/4"), ("±inf", "nan", "inf", "nan"),
            ("nan", "finite", "nan", "nan"), ("nan", "inf", "inf", "nan"), ("nan", "nan", "nan", "nan")],
    "log1p": [("-1", "+0", "-inf", "+0"), ("finite", "inf", "inf", "π/2"), ("finite", "nan", "nan", "nan"), ("-inf", "positive", "inf", "π"),
              ("inf", "positive", "inf", "+0"), ("-inf", "inf", "inf", "3π/4"), ("inf", "inf", "inf", "π/4"), ("±inf", "nan", "inf", "nan"),
              ("nan", "finite", "nan", "nan"), ("nan", "inf", "inf", "nan"), ("nan", "nan", "nan", "nan")],
    "sign": [("±0", "±0", "±0", "±0"), ("nan", "any", "nan", "nan"), ("any", "nan", "nan", "nan")],
    "sinh": [("+0", "+0", "+0", "+0"), ("+0", "inf", "±0", "nan"), ("+0", "nan", "±0", "nan"), ("positive", "inf", "nan", "nan"), ("positive", "nan", "nan", "nan"),
             ("inf", "+0", "inf", "+0"), ("inf", "positive", "inf cos", "inf sin"), ("inf", "inf", "±inf", "nan"), ("inf", "nan", "±inf", "nan"),
             ("nan", "+0", "nan", "+0"), ("nan", "nonzero", "nan", "nan"), ("nan", "nan", "nan", "nan")],
    "sqrt": [("±0", "+0", "+0", "+0"), ("any", "inf", "inf", "inf"), ("finite", "nan", "nan", "nan"), ("-inf", "positive", "+0", "inf"), ("inf", "positive", "inf", "+0"),
             ("-inf", "nan", "nan", "±inf"), ("inf", "nan", "inf", "nan"), ("nan", "finite", "nan", "nan"), ("nan", "nan", "nan", "nan")],
    "tanh": [("+0", "+0", "+0", "+0"), ("nonzero", "inf", "nan", "nan"), ("+0", "inf", "+0", "nan"), ("nonzero", "nan", "nan", "nan"), ("+0", "nan", "+0", "nan"),
             ("inf", "positive", "1", "±0"), ("inf", "inf", "1", "±0"), ("inf", "nan", "1", "±0"), ("nan", "+0", "nan", "+0"), ("nan", "nonzero", "nan", "nan"),
             ("nan", "nan", "nan", "nan")],
}
DTYPES = ["complex64", "complex128"]


def apply(name, z, dtype="complex128"):
    """The function of one number, as its two parts."""
    x = wp.asarray(np.array([z], dtype=dtype))
    y = np.asarray(getattr(wp, name)(x))[0]
    return float(y.real), float(y.imag)


def is_part(got, wanted, b, eps):
    any_sign = wanted.startswith("±")
    word = wanted.lstrip("±")
    if word == "nan":
        return math.isnan(got)
    if word in ("inf cos", "inf sin", "0 cos", "0 sin"):
        turn = math.copysign(1.0, math.cos(b) if word.endswith("cos") else math.sin(b))
        value = math.copysign(INF if word.startswith("inf") else 0.0, turn)
    else:
        value = ANGLES[word] if word in ANGLES else float(word)
    if any_sign:
        got, value = abs(got), abs(value)
    return math.copysign(1.0, got) == math.copysign(1.0, value) and (got == value or abs(got - value) <= 2 * eps * abs(value))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_complex_functions_have_the_values_of_the_table(name, dtype):
    eps = float(np.finfo(dtype).eps)
    real_of = {"complex64": "float32", "complex128": "float64"}
    wrong = []
    for kind_a, kind_b, real, imag in CASES[name]:
        for a, b in itertools.product(KINDS[kind_a], KINDS[kind_b]):
            got = apply(name, complex(a, b), dtype)
            b = float(np.asarray(b, dtype=real_of[dtype]))  # the angle that was meant
            if not (is_part(got[0], real, b, eps) and is_part(got[1], imag, b, eps)):
                wrong.append(f"{name}({a} + {b}j) = {got}, the table says {real}, {imag}")
    assert not wrong, "\n".join(wrong)


NUMBERS = [complex(a, b) for a in KINDS["any"] for b in KINDS["any"]] + [0.5 + 0.25j, -1.5 + 1e-3j, 2 - 3j, -1e-5j]


def alike(p, q, signs=True):
    return all(math.isnan(x) and math.isnan(y) or x == y and (not signs or math.copysign(1, x) == math.copysign(1, y)) for x, y in zip(p, q))


@pytest.mark.parametrize("name, hyperbolic, back", [("asin", "asinh", True), ("atan", "atanh", True), ("sin", "sinh", True), ("tan", "tanh", True), ("cos", "cosh", False)])
def test_circular_functions_are_the_hyperbolic_ones_turned(name, hyperbolic, back):
    for z in NUMBERS:
        c, d = apply(hyperbolic, complex(-z.imag, z.real))
        wanted = (d, -c) if back else (c, d)
        got = apply(name, z)
        if any(map(math.isnan, wanted)):  # the sign of the other part is unspecified
            got, wanted = tuple(map(abs, got)), tuple(map(abs, wanted))
        close = all(math.isclose(x, y, rel_tol=1e-14, abs_tol=1e-300) or math.isnan(x) and math.isnan(y) for x, y in zip(got, wanted))
        assert close, f"{name}({z}) = {got}, {hyperbolic} says {wanted}"


@pytest.mark.parametrize("name", [n for n in CASES if n != "sign"] + ["asin", "atan", "cos", "sin", "tan", "log2", "log10"])
def test_the_function_of_the_conjugate_is_the_conjugate(name):
    unspecified = {n: {(r[0], r[1]) for r in rows if "±" in r[2] + r[3]} for n, rows in CASES.items()}
    for z in NUMBERS:
        x, y = apply(name, z), apply(name, z.conjugate())
        signs = name in unspecified and not unspecified[name]
        assert alike((x[0], -x[1]), y, signs) or alike(tuple(map(abs, x)), tuple(map(abs, y))) and not all(map(math.isfinite, x)), f"{name}({z})"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_modulus_is_hypot(dtype):
    for z in NUMBERS:
        got = float(np.asarray(wp.abs(wp.asarray(np.array([z], dtype=dtype))))[0])
        want = math.hypot(z.real, z.imag)
        assert math.isnan(got) and math.isnan(want) or math.isclose(got, want, rel_tol=1e-6), z
    for z in (3e200 + 4e200j, 3e-200 + 4e-200j):
        assert math.isclose(wp.abs(wp.asarray(z)).item(), math.hypot(z.real, z.imag), rel_tol=4e-16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_asking_about_complex_numbers(dtype):
    x = np.array(NUMBERS, dtype=dtype)
    for name, ask in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        np.testing.assert_array_equal(np.asarray(getattr(wp, name)(wp.asarray(x))), ask(x), err_msg=name)
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert wp.equal(wp.asarray(a), wp.asarray(b)).item() == (a == b) and wp.not_equal(wp.asarray(a), wp.asarray(b)).item() == (a != b)


def test_sums_and_rounding_act_on_each_part():
    parts = [0.0, -0.0, 1.5, 2.5, -0.5, INF, -INF, NAN]
    pairs = np.array([complex(a, b) for a in parts for b in parts])
    got = np.asarray(wp.round(wp.asarray(pairs)))
    for z, r in zip(pairs, got):
        for part, rounded in ((z.real, r.real), (z.imag, r.imag)):
            want = float(np.round(part))
            assert alike((rounded,), (want,)), z
    with np.errstate(all="ignore"):
        for name, f in (("add", np.add), ("subtract", np.subtract), ("negative", lambda p, q: -p), ("conj", lambda p, q: np.conj(p))):
            p, q = pairs[:, None], pairs[None, :]
            got = np.asarray(getattr(wp, name)(wp.asarray(pairs)[:, None], *([wp.asarray(pairs)[None, :]] if name in ("add", "subtract") else [])))
            want = f(p, q)
            for part in (np.real, np.imag):
                np.testing.assert_array_equal(part(got), part(want))
                np.testing.assert_array_equal(np.signbit(part(got))[~np.isnan(part(want))], np.signbit(part(want))[~np.isnan(part(want))])


def test_a_factor_or_divisor_that_is_real_acts_on_each_part():
    for z, c in itertools.product(NUMBERS, [2.0, -0.5]):
        if not (math.isfinite(z.real) and math.isfinite(z.imag)):
            continue
        x = wp.asarray(np.array([z]))
        assert np.asarray(x * c)[0] == z * c and np.asarray(x / c)[0] == z / c
    assert np.isnan(np.asarray(wp.multiply(wp.asarray(complex(NAN, NAN)), wp.asarray(complex(NAN, NAN))))).all()
    assert np.isnan(np.asarray(wp.divide(wp.asarray(complex(NAN, NAN)), wp.asarray(complex(NAN, NAN))))).all()
