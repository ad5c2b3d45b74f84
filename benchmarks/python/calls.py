#!/usr/bin/env python3
"""What a call costs from Python, beside NumPy and PyTorch: interleaved rounds in one process and thread,
medians of paired ratios of processor time (what other programs take does not count).

    PYTHONPATH=build/release/python .bench-venv/bin/python benchmarks/python/calls.py [--json FILE]

With build/release/bin/wp_bench beside the package, large arrays are compared with the same calls from C++ too.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

import wellposed as wp

torch.set_num_threads(1)
wp.set_threads(1)
ROUNDS = 40


def timed(f, number):
    start = time.thread_time_ns()
    for _ in range(number):
        f()
    return (time.thread_time_ns() - start) / number


def compare(name, ours, peers, number, rows):
    """Alternates ours, each peer, and ours again (A/A)."""
    times = {"ours": [], "again": [], **{p: [] for p in peers}}
    for _ in range(ROUNDS):
        times["ours"].append(timed(ours, number))
        for p, f in peers.items():
            times[p].append(timed(f, number))
        times["again"].append(timed(ours, number))
    row = {"case": name, "ns": round(statistics.median(times["ours"]))}
    for p in [*peers, "again"]:
        row[p] = round(statistics.median(a / b for a, b in zip(times["ours"], times[p])), 3)
    rows.append(row)
    print("  ".join(f"{k} {v}" for k, v in row.items()), flush=True)


class FromCpp:
    """The same ops called by a C++ program that stays warm: wp_bench answers with nanoseconds of processor time per call."""

    def __init__(self):
        program = pathlib.Path(wp.__file__).absolute().parents[2] / "bin" / "wp_bench"
        self.process = None
        if program.exists():
            self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env={**os.environ, "WELLPOSED_THREADS": "1", "BENCH_CPU_TIME": "1"})
            self.process.stdout.readline()

    def ask(self, op, shape):
        self.process.stdin.write(f"{op} f64 {shape} escape 30\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def compare(self, name, ours, op, shape, number, rows):
        ratios, times = [], []
        for _ in range(ROUNDS):
            # Each for 30 ms: after the other process, the first calls find nothing in the caches.
            cpp, python, again = self.ask(op, shape), timed(ours, number), self.ask(op, shape)
            ratios.append(2 * python / (cpp + again))
            times.append(python)
        rows.append({"case": name, "ns": round(statistics.median(times)), "cpp": round(statistics.median(ratios), 3)})
        print("  ".join(f"{k} {v}" for k, v in rows[-1].items()), flush=True)


def tape_chain():
    x = wp.asarray([0.5])
    with wp.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(100):
            y = wp.sin(y)
    tape.gradient(y, x)


def torch_chain():
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(100):
        y = torch.sin(y)
    y.backward()


def import_ms():
    code = "import time; t = time.process_time(); import wellposed; print((time.process_time() - t) * 1e3)"
    return statistics.median(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
                             for _ in range(11))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    a, x, t = np.array([0.5]), wp.asarray([0.5]), torch.tensor([0.5], dtype=torch.float64)
    compare("log, 1 element", lambda: wp.log(x), {"numpy": lambda: np.log(a), "torch": lambda: torch.log(t)}, 5000, rows)
    compare("x + x, 1 element", lambda: x + x, {"numpy": lambda: a + a, "torch": lambda: t + t}, 5000, rows)
    compare("x * 2.0, 1 element", lambda: x * 2.0, {"numpy": lambda: a * 2.0, "torch": lambda: t * 2.0}, 5000, rows)
    m = np.random.default_rng(0).normal(size=(8, 8)) + 8 * np.eye(8)
    b = np.ones(8)
    M, B, MT, BT = wp.asarray(m, copy=True), wp.asarray(b, copy=True), torch.tensor(m), torch.tensor(b)
    compare("solve 8 x 8", lambda: wp.linalg.solve(M, B), {"numpy": lambda: np.linalg.solve(m, b), "torch": lambda: torch.linalg.solve(MT, BT)}, 1000, rows)
    compare("sum over an axis, 8 x 8", lambda: wp.sum(M, axis=0), {"numpy": lambda: np.sum(m, axis=0), "torch": lambda: torch.sum(MT, 0)}, 2000, rows)
    compare("x[1:3], 8 x 8", lambda: M[1:3], {"numpy": lambda: m[1:3], "torch": lambda: MT[1:3]}, 2000, rows)
    compare("asarray of NumPy's", lambda: wp.asarray(m), {"torch": lambda: torch.from_numpy(m)}, 2000, rows)
    compare("tape of 100 sin and back", tape_chain, {"torch": torch_chain}, 20, rows)
    big = np.random.default_rng(0).normal(size=1_000_000)
    BIG, TBIG = wp.asarray(big, copy=True), torch.tensor(big)
    compare("exp, 10^6", lambda: wp.exp(BIG), {"numpy": lambda: np.exp(big), "torch": lambda: torch.exp(TBIG)}, 10, rows)
    cpp = FromCpp()
    if cpp.process:
        positive, square = (wp.asarray(np.random.default_rng(0).uniform(0.1, 1, shape), copy=True) for shape in (1_000_000, (512, 512)))
        cpp.compare("exp, 10^6, beside C++", lambda: wp.exp(positive), "exp", "1000000", 40, rows)
        cpp.compare("sum, 10^6, beside C++", lambda: wp.sum(positive), "sum", "1000000", 80, rows)
        cpp.compare("matmul, 512 x 512, beside C++", lambda: square @ square, "matmul", "512x512", 8, rows)
    rows.append({"case": "import wellposed", "ms": round(import_ms(), 1)})
    print(f"import wellposed {rows[-1]['ms']} ms")
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"schema_version": 1, "rounds": ROUNDS, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
