#!/usr/bin/env python3
"""LAPACK of Debian's OpenBLAS against that of the package scipy-openblas32 (pip install scipy-openblas32), one thread, in turns: what
decision 50 rests on.   python benchmarks/blas.py [--rounds 7] [--sizes 64,256,1000]"""
import argparse
import ctypes
import ctypes.util
import os
import pathlib
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
import scipy_openblas32  # noqa: E402

if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"  # as wellposed starts it: Debian's takes a young processor for one of 2004


def libraries():
    debian = ctypes.CDLL(ctypes.util.find_library("openblas"))
    theirs = ctypes.CDLL(str(next(pathlib.Path(scipy_openblas32.get_lib_dir()).glob("libscipy_openblas*.so"))))
    return {"debian": lambda name: getattr(debian, name), "scipy": lambda name: getattr(theirs, "scipy_" + name)}


def number(v):
    return ctypes.byref(ctypes.c_int(v))


def pointer(a):
    return ctypes.c_void_p(a.ctypes.data)


def problems(n):
    """Per routine: arguments from a fresh copy of the matrix."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    symmetric = a + a.T
    work, whole = np.empty(64 * n + 8 * n * n), np.empty(10 * n + 8 * n, np.int32)
    w, v, u, t = np.empty(n), np.empty((n, n)), np.empty((n, n)), np.empty(n)
    info, size, d = ctypes.c_int(), number(work.size), number(n)
    one, zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
    c = lambda s: ctypes.c_char_p(s.encode())  # noqa: E731
    end = ctypes.byref(info)
    return {
        "dgemm_": (a, lambda x: (c("N"), c("N"), d, d, d, one, pointer(x), d, pointer(a), d, zero, pointer(v), d)),
        "dgetrf_": (a, lambda x: (d, d, pointer(x), d, pointer(whole), end)),
        "dpotrf_": (a @ a.T + n * np.eye(n), lambda x: (c("L"), d, pointer(x), d, end)),
        "dgeqrf_": (a, lambda x: (d, d, pointer(x), d, pointer(t), pointer(work), size, end)),
        "dsyevd_": (symmetric, lambda x: (c("V"), c("L"), d, pointer(x), d, pointer(w), pointer(work), size, pointer(whole), number(whole.size), end)),
        "dgesdd_": (a, lambda x: (c("S"), d, d, pointer(x), d, pointer(w), pointer(u), d, pointer(v), d, pointer(work), size, pointer(whole), end)),
        "dgeev_": (a, lambda x: (c("N"), c("V"), d, pointer(x), d, pointer(w), pointer(t), pointer(u), d, pointer(v), d, pointer(work), size, end)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="64,256,1000")
    options = parser.parse_args()
    found = libraries()
    print("processor time of scipy-openblas32 / Debian's OpenBLAS, median of the rounds")
    for n in map(int, options.sizes.split(",")):
        line = []
        for name, (matrix, arguments) in problems(n).items():
            times = {library: [] for library in found}
            for _ in range(options.rounds):
                for library, symbol in found.items():
                    count = max(1, 20000 // n**2) if n < 200 else 1
                    copies = [matrix.copy() for _ in range(count)]
                    start = time.process_time()
                    for x in copies:
                        symbol(name)(*arguments(x))
                    times[library].append(time.process_time() - start)
            line.append(f"{name.strip('_')} {np.median(times['scipy']) / np.median(times['debian']):.2f}")
        print(f"n = {n}: " + ", ".join(line))


if __name__ == "__main__":
    main()
