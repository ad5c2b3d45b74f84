#!/usr/bin/env python3
"""The distributed part: what the layer costs over bare ScaLAPACK calls, memory per rank, and a cost model.

  benchmarks/dist/run [--quick] [--json FILE] [--only layer,memory,model]

Ratios are medians of alternating runs (bare, ours, bare) by the same ranks; `same` is bare against bare: the noise.

The model: seconds = s·(a·flops + d·numbers) + b·bytes + c·messages per rank, s = the ranks that share a core. Flops, bytes and messages are
functions of n and of the grid whose coefficients are fitted to what the recorder counted at some sizes; a, b, c, d to the times at these sizes, on
1, 2 and 4 ranks together, for matrices of which none is refined more than others. It is judged at sizes that neither fit has seen, of which nothing is counted. All sizes are taken in turns, twice, and the
least time of each counts, so that a machine whose speed drifts favours none. Prints tables, then one line of JSON; ends with 1 if a bound is not
kept: 1.10 (calls that judge nothing), 1.25 (those that do), 3.0 shares of A, 25 % (the model)."""
import argparse
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np
from scipy.optimize import nnls

PLAIN, JUDGED, SHARES, NARROW, OFF = 1.10, 1.25, 3.0, 4.5, 0.25
parser = argparse.ArgumentParser()
parser.add_argument("--worker", required=True)
parser.add_argument("--mpirun", default="mpirun --allow-run-as-root --oversubscribe --bind-to none")
parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: to see that it works")
parser.add_argument("--only", default="layer,memory,model")
parser.add_argument("--json", type=pathlib.Path)
options = parser.parse_args()
sys.stdout.reconfigure(line_buffering=True)  # tables stay if it is ended early
broken = []


def run(case, n, ranks, rounds, dtype="f64", *kind):
    command = [*shlex.split(options.mpirun), "-n", str(ranks), options.worker, case, dtype, str(n), str(rounds), *kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def keep(value, bound, what):
    if value > bound:
        broken.append(f"{what}: {value:.3f} > {bound}")
    return value <= bound


def layer():
    n = 600 if options.quick else 2000
    print(f"Over bare ScaLAPACK calls, n = {n}, 2 ranks (bare against bare in brackets)")
    rows = []
    for case, bound, rounds in (("matmul", PLAIN, 21), ("lu", PLAIN, 21), ("qr", PLAIN, 21), ("cholesky", JUDGED, 21), ("inv", JUDGED, 21),
                                ("solve", JUDGED, 21), ("solve64", JUDGED, 21), ("lstsq", JUDGED, 11),
                                ("diagnosed_inv", JUDGED, 21), ("diagnosed_solve", JUDGED, 21), ("diagnosed_lstsq", JUDGED, 11), ("eigh", JUDGED, 3), ("svd", JUDGED, 3),
                                ("pinv", JUDGED, 3)):
        r = run(case, n, 2, 3 if options.quick else rounds)
        r["bound"], r["kept"] = bound, keep(r["ratio"], bound, f"{case} over bare calls")
        rows.append(r)
        print(f"  {case:15} {r['ratio']:.2f} [{r['same']:.2f}] of at most {bound:.2f}   ours {1e3 * r['ours']:.0f} ms, bare {1e3 * r['bare']:.0f} ms")
    return rows


def memory():
    n = 600 if options.quick else 2000
    print(f"\nPeak memory of a rank in shares of A, A included, n = {n}, 2 ranks")
    rows = []
    # A and the two factors of lu and qr are three matrices before any panel; svd, eigh and pinv hold A, what ScaLAPACK overwrites, vectors and workspace.
    # Inverses of f32 and c64 are computed in the wider dtype: one matrix of two shares of the narrow A beside that, and it goes as the narrow answer comes.
    for case, dtype, bound in (("solve", "f64", SHARES), ("inv", "f64", SHARES), ("inv", "f32", NARROW), ("inv", "c64", NARROW),
                               ("cholesky", "f64", SHARES), ("lstsq", "f64", SHARES), ("lu", "f64", None), ("qr", "f64", None), ("svd", "f64", None),
                               ("eigh", "f64", None), ("pinv", "f64", None)):
        r = run(case, n, 2, 0, dtype)
        r["bound"], r["kept"] = bound, bound is None or keep(round(r["memory"], 1), bound, f"memory of {case} in {dtype}")
        rows.append(r)
        print(f"  {case:8} {dtype} {r['memory']:.2f}" + (f" of at most {bound:.1f}" if bound else "   (no bound)"))
    return rows


def columns(n, ranks, grid, block):
    """What flops, bytes and messages per rank are made of. Panels go along rows and columns of the grid, pivots are sought in columns of it, vectors
    and meetings go to all (ScaLAPACK Users' Guide, chapter 5)."""
    r, c = grid
    log = math.log2(ranks)
    return {"flops": [n ** 3 / ranks, n ** 2 / ranks],
            "bytes": [n * n / r if c > 1 else 0, n * n / c if r > 1 else 0, n * log],
            "messages": [n * math.log2(r), n / block * log, log]}


def least_squares(x, y):
    """Coefficients for relative errors, none negative."""
    x, y = np.array(x, float), np.array(y, float)
    x, y = x[y > 0], y[y > 0]
    if not len(y):
        return np.zeros(x.shape[1])
    scale = np.where(x.max(axis=0) > 0, x.max(axis=0), 1)
    return nnls(x / scale / y[:, None], np.ones(len(y)))[0] / scale


class Model:
    def __init__(self, rows, cores):
        self.cores, self.block = cores, rows[-1]["block"]
        parts = [columns(r["n"], r["ranks"], r["grid"], r["block"]) for r in rows]
        self.counts = {k: least_squares([p[k] for p in parts], [r[k] for r in rows]) for k in parts[0]}
        self.rates = least_squares([self.design(r["n"], r["ranks"], r["grid"], r["block"]) for r in rows], [r["least"] for r in rows])

    def count(self, what, n, ranks, grid, block):
        return float(np.dot(columns(n, ranks, grid, block)[what], self.counts[what]))

    def design(self, n, ranks, grid, block):
        share = max(1, ranks / self.cores)
        count = [self.count(k, n, ranks, grid, block) for k in ("flops", "bytes", "messages")]
        return [share * count[0], count[1], count[2], share * n * n / ranks]

    def seconds(self, n, ranks, grid, block):
        return float(np.dot(self.design(n, ranks, grid, block), self.rates))


def grid_of(ranks):
    rows = max(r for r in range(1, int(ranks ** 0.5) + 1) if ranks % r == 0)
    return [rows, ranks // rows]


def measured(case, dtype, sizes, rounds):
    """By ranks and n, in two sweeps, the second one backwards."""
    places, found = [(ranks, n) for ranks in (1, 2, 4) for n in sizes], {}
    for place in places + places[::-1]:
        r = run(case, place[1], place[0], rounds, dtype, "steady")
        if place not in found or r["least"] < found[place]["least"]:
            found[place] = r
    return found


def model():
    train, held, rounds = ((200, 300, 400, 600), (350, 500), 5) if options.quick else ((400, 600, 800, 1000, 1300, 1600, 2000), (500, 900, 1200, 1800), 8)
    cores, out = os.cpu_count() or 1, []
    solver = None
    for case, dtype in (("solve", "f64"), ("solve", "c128"), ("inv", "f64"), ("matmul", "f64")):
        print(f"\nCost model of {case}, {dtype}, {cores} cores")
        found = measured(case, dtype, sorted(train + held), rounds)
        m = Model([found[ranks, n] for ranks in (1, 2, 4) for n in train], cores)
        solver = solver or m
        a, b, c, d = m.rates
        print(f"  {1 / a / 1e9 if a else float('inf'):.1f} GFLOP/s, {1 / b / 1e9 if b else float('inf'):.2f} GB/s, {1e6 * c:.2f} µs per message, {1e9 * d:.2f} ns per number of A")
        for ranks in (1, 2, 4):
            for n in held:
                grid = grid_of(ranks)
                predicted = m.seconds(n, ranks, grid, 64)
                r = found[ranks, n]
                row = {"case": case, "dtype": dtype, "ranks": ranks, "n": n, "predicted": predicted, "measured": r["least"], "off": predicted / r["least"] - 1}
                for k in ("flops", "bytes", "messages"):
                    row[k] = [m.count(k, n, ranks, grid, 64), r[k]]
                keep(abs(row["off"]), OFF, f"model of {case} {dtype}, n = {n}, {ranks} ranks")
                out.append(row)
                print(f"  {ranks} ranks, n = {n:5}  predicted {1e3 * predicted:8.1f} ms, measured {1e3 * r['least']:8.1f} ms, off {100 * row['off']:+.0f} %; "
                      f"counts predicted/counted: " + ", ".join(f"{k} {row[k][0]:.3g}/{row[k][1]:.3g}" for k in ("flops", "bytes", "messages")))
    print(f"  worst: {100 * max(abs(o['off']) for o in out):.0f} %")
    return out, solver


def projection(m):
    """From the fit: cores and links as those of this machine, one core per rank, grids as square as can be."""
    print("\nProjection, not measured: solve in f64, with the counts and rates fitted above, one core per rank")
    print("| n | " + " | ".join(f"{p} ranks" for p in (100, 1000, 10000)) + " |\n|---|---|---|---|")
    table = []
    for n in (10_000, 50_000, 200_000):
        cells = []
        for p in (100, 1000, 10000):
            saved, m.cores = m.cores, p
            grid = grid_of(p)
            t, flops = m.seconds(n, p, grid, 64), m.count("flops", n, p, grid, 64) * m.rates[0]
            m.cores = saved
            table.append({"n": n, "ranks": p, "seconds": t, "arithmetic": flops / t})
            cells.append(f"{t:,.1f} s ({100 * flops / t:.0f} %, {3 * 8 * n * n / p / 2**30:.2f} GiB)")
        print(f"| {n:,} | " + " | ".join(cells) + " |")
    return table


results, only = {}, options.only.split(",")
if "layer" in only:
    results["layer"] = layer()
if "memory" in only:
    results["memory"] = memory()
if "model" in only:
    results["model"], fitted = model()
    results["projection"] = projection(fitted)
results["bounds"] = {"plain": PLAIN, "judged": JUDGED, "memory": SHARES, "model": OFF}
results["broken"] = broken
for words in broken:
    print("NOT KEPT", words, file=sys.stderr)
text = json.dumps(results)
print(text)
if options.json:
    options.json.write_text(text)
sys.exit(1 if broken and not options.quick else 0)
