#!/usr/bin/env python3
"""Holds the complex functions against mpmath and prints the worst distances.

    tests/complex_accuracy.py build/release/bin/wp_eval [points per function]

Two measures: `modulus`, |error| in units of the last place of |f(z)|, which is bounded; and `parts`, the worse of the
real and the imaginary part in units of their own last place, which grows without bound where a part passes through zero.
"""
import cmath
import math
import random
import subprocess
import sys

import mpmath as mp

mp.mp.dps = 50
DIGITS = {"c64": 24, "c128": 53}
LEAST = {"c64": -149, "c128": -1074}
LARGEST = {"c64": float.fromhex("0x1.fffffep127"), "c128": sys.float_info.max}
BOUND = {"c64": 1.0, "c128": 5.0}  # of the modulus measure


def log_to(base):
    return lambda z: mp.log(z) / mp.log(base)


# Truth, points near which it is hard, and the largest |z| that is visited.
FUNCTIONS = {
    "exp": (mp.exp, [0, 1j * math.pi / 2, 700], 700),
    "expm1": (lambda z: mp.exp(z) - 1, [0, 2j * math.pi, math.log(2) + 1j * math.pi / 3], 700),
    "log": (mp.log, [1, 1j, -1, 0.6 + 0.8j], 1e300),
    "log2": (log_to(2), [1, 1j, -1, 0.6 + 0.8j], 1e300),
    "log10": (log_to(10), [1, 1j, -1, 0.6 + 0.8j], 1e300),
    "log1p": (lambda z: mp.log(1 + z), [0, -1, -0.02 + 0.2j, -1 + 1j], 1e300),
    "sin": (mp.sin, [0, math.pi, 1j], 700),
    "cos": (mp.cos, [0, math.pi / 2, 1j], 700),
    "tan": (mp.tan, [0, math.pi / 2, 1j, 20j], 700),
    "asin": (mp.asin, [0, 1, -1, 1j, 1.5], 1e150),
    "acos": (mp.acos, [0, 1, -1, 1j, 1.5], 1e150),
    "atan": (mp.atan, [0, 1j, -1j, 1], 1e150),
    "sinh": (mp.sinh, [0, 1j * math.pi, 1], 700),
    "cosh": (mp.cosh, [0, 1j * math.pi / 2, 1], 700),
    "tanh": (mp.tanh, [0, 1j * math.pi / 2, 1, 20], 700),
    "asinh": (mp.asinh, [0, 1j, -1j, 1], 1e150),
    "acosh": (mp.acosh, [0, 1, -1, 1j], 1e150),
    "atanh": (mp.atanh, [0, 1, -1, 1j], 1e150),
}


def points(near, far, dtype, count):
    far = min(far, 80.0 if dtype == "c64" and far < 1e3 else 1e30 if dtype == "c64" else far)
    out = []
    for k in range(count):
        turn = cmath.rect(1, random.uniform(-math.pi, math.pi))
        if k % 3 == 0:
            z = turn * far ** random.uniform(-1, 1)
        elif k % 3 == 1:
            z = turn * random.uniform(0, 4)
        else:
            z = random.choice(near) + turn * 2.0 ** -random.uniform(0, 30)
        if dtype == "c64":
            z = complex(*(float(mp.mpf(v)) for v in map(to_f32, (z.real, z.imag))))
        if z.real and z.imag:  # the cuts have tests of their own
            out.append(z)
    return out


def to_f32(v):
    import struct
    return struct.unpack("f", struct.pack("f", v))[0]


def unit(v, dtype):
    v = abs(v)
    e = int(mp.floor(mp.log(v, 2))) if v else LEAST[dtype]
    return mp.mpf(2) ** max(e - DIGITS[dtype] + 1, LEAST[dtype])


def measure(program, name, dtype, count):
    truth, near, far = FUNCTIONS[name]
    zs = points(near, far, dtype, count)
    text = f"{name} {dtype} {len(zs)}\n" + "".join(f"{z.real.hex()} {z.imag.hex()}\n" for z in zs)
    lines = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.split("\n")
    modulus, parts, at = 0, 0, None
    for z, line in zip(zs, lines):
        got = [float.fromhex(v) for v in line.split()]
        with mp.workdps(400 if abs(z) > 1e10 or abs(z) < 1e-10 else 60):
            w = mp.mpc(truth(mp.mpc(z)))
            if max(abs(w.real), abs(w.imag)) > LARGEST[dtype]:
                continue
            errors = [abs(mp.mpf(g) - v) for g, v in zip(got, (w.real, w.imag))]
            far_off = mp.hypot(*errors) / unit(w, dtype)
            if not far_off <= modulus:
                modulus, at = far_off, z
            parts = max(parts, *(e / unit(v, dtype) for e, v in zip(errors, (w.real, w.imag))))
    return float(modulus), float(parts), at


def main():
    count, bad = int(sys.argv[2]) if len(sys.argv) > 2 else 600, 0
    print("| function | c64: modulus | c64: parts | c128: modulus | c128: parts | points up to |\n|---|---|---|---|---|---|")
    for name in FUNCTIONS:
        random.seed(name)
        cells = []
        for dtype in ("c64", "c128"):
            modulus, parts, at = measure(sys.argv[1], name, dtype, count)
            cells += [f"{modulus:.2f}", f"{parts:.2f}" if parts < 100 else f"{parts:.0e}"]
            if not modulus <= BOUND[dtype]:
                bad += 1
                print(f"{name} {dtype}: {modulus} ulp at {at}; the bound is {BOUND[dtype]}", file=sys.stderr)
        print(f"| {name} | " + " | ".join(cells) + f" | {FUNCTIONS[name][2]:g} |")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
