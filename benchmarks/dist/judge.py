#!/usr/bin/env python3
"""The distributed part: what the layer costs over bare ScaLAPACK calls, memory per rank, and a cost model.

  benchmarks/dist/run [--quick]

Ratios are medians of alternating runs (bare, ours, bare) by the same ranks; `same` is bare against bare: the noise. The model is
seconds = a·flops + b·bytes + c·messages + d·numbers per rank, with counts by the library (dist::traffic) and coefficients fitted at some sizes;
it is judged at others. Numbers of A per rank stand for what passes over the matrix cost."""
import argparse
import json
import pathlib
import shlex
import subprocess

import numpy as np
from scipy.optimize import nnls

parser = argparse.ArgumentParser()
parser.add_argument("--worker", required=True)
parser.add_argument("--mpirun", default="mpirun --allow-run-as-root --oversubscribe --bind-to none")
parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: to see that it works")
parser.add_argument("--json", type=pathlib.Path)
options = parser.parse_args()


def run(case, n, ranks, rounds):
    command = [*shlex.split(options.mpirun), "-n", str(ranks), options.worker, case, str(n), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def layer():
    n, rounds = (600, 3) if options.quick else (2000, 21)
    print(f"Over bare ScaLAPACK calls, n = {n}, 2 ranks (bare against bare in brackets); memory beyond A per rank, in shares of A")
    rows = []
    for case in ("matmul", "lu", "qr", "inv", "solve"):
        r = run(case, n, 2, rounds)
        rows.append(r)
        print(f"  {case:8} {r['ratio']:.2f} [{r['same']:.2f}]   ours {1e3 * r['ours']:.0f} ms, bare {1e3 * r['bare']:.0f} ms   memory {r['memory']:.2f}")
    return rows


def design(rows):
    return np.array([[r["flops"], r["bytes"], r["messages"], r["n"] ** 2 / r["ranks"]] for r in rows])


def fitted(rows):
    """Coefficients for relative errors, none negative."""
    x, y = design(rows), np.array([r["least"] for r in rows])
    scale = x.max(axis=0) + (x.max(axis=0) == 0)
    return nnls(x / scale / y[:, None], np.ones(len(y)))[0] / scale


def model():
    train, held, rounds = ((200, 300, 400, 600), (350, 500), 3) if options.quick else ((400, 600, 800, 1000, 1300, 1600, 2000), (500, 900, 1200, 1800), 15)
    print("\nCost model of solve: seconds = a·flops + b·bytes + c·messages + d·numbers of A, per rank")
    out = []
    for ranks in (1, 2, 4):
        rows = [run("solve", n, ranks, rounds) for n in train]
        a, b, c, d = fitted(rows)
        print(f"  {ranks} rank{'s' if ranks > 1 else ' '}: {1 / a / 1e9 if a else float('inf'):.1f} GFLOP/s, "
              f"{1 / b / 1e9 if b else float('inf'):.2f} GB/s, {1e6 * c:.2f} µs per message, {1e9 * d:.2f} ns per number of A; counts per rank at n = {train[-1]}: "
              f"{rows[-1]['flops'] / 1e9:.2f} GFLOP, {rows[-1]['bytes'] / 1e6:.1f} MB, {rows[-1]['messages']} messages")
        for n in held:
            r = run("solve", n, ranks, rounds)
            predicted = float(design([r])[0] @ np.array([a, b, c, d]))
            out.append({"ranks": ranks, "n": n, "predicted": predicted, "measured": r["least"], "off": predicted / r["least"] - 1})
            print(f"      n = {n:5}  predicted {1e3 * predicted:8.1f} ms, measured {1e3 * r['least']:8.1f} ms, off {100 * out[-1]['off']:+.0f} %")
    print(f"  worst: {100 * max(abs(o['off']) for o in out):.0f} %")
    return out


def projection(flops_rate=40e9, latency=2e-6, bandwidth=10e9, block=64):
    """LU and its solves on an assumed cluster; counts per rank as in ScaLAPACK's user guide, table 5.8."""
    print(f"\nProjection, not measured: solve on an assumed cluster ({flops_rate / 1e9:.0f} GFLOP/s per rank, {1e6 * latency:.0f} µs, {bandwidth / 1e9:.0f} GB/s)")
    print("| n | " + " | ".join(f"{p} ranks" for p in (100, 1000, 10000)) + " |\n|---|---|---|---|")
    for n in (10_000, 50_000, 200_000):
        cells = []
        for p in (100, 1000, 10000):
            root, log = p ** 0.5, np.log2(p)
            flops = 2 / 3 * n ** 3 / p + 16 * n ** 2 / p
            words = (3 + log / 4) * n ** 2 / root + 8 * 2 * n * log
            messages = (6 + log) * n + 8 * 4 * n / block * log
            t = flops / flops_rate + 8 * words / bandwidth + messages * latency
            cells.append(f"{t:.1f} s, {flops / flops_rate / t:.0%} of it arithmetic, {3 * 8 * n * n / p / 2**30:.2f} GiB" if 8 * n * n / p < 2**34 else "too large")
        print(f"| {n} | " + " | ".join(cells) + " |")


results = {"layer": layer(), "model": model()}
projection()
if options.json:
    options.json.write_text(json.dumps(results, indent=1))
