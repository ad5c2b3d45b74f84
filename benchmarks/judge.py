#!/usr/bin/env python3
"""Times ours and the peers in turns, and judges the ratios of neighbouring turns.

    benchmarks/run [--only TEXT] [--threads 1] [--rounds 24] [--cpu-time] [--json FILE]

Every case: warm worker processes on the same cores take turns; a ratio is peer time / our time of one round. Printed are
the median of the ratios and a 95 % bootstrap interval; A/A is a second copy of our own worker, and shows the noise.
Beside the JSON file stands an SVG with the ratios of stacks of matrices over their size.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

import chart

HERE = pathlib.Path(__file__).parent
REFERENCES = {"copy": 2, "read": 1}  # streams per element
OWN = {"plain_solve", "chain", "tape.svd_loss"}  # what an op costs on top of it
# Our own worker, otherwise: its environment.
VARIANTS = {"avx2": {"WELLPOSED_ISA": "avx2"}, "one thread": {"WELLPOSED_THREADS": "1"}, "f64": {}, "bare": {}, "tenth": {}, "alone": {}, "doubtful": {}, "singular": {}, "peak": {}}
PEAK = "matmul", "f64", "512x512"  # small matrices are computed in f64
# Nominal operations of n × n matrices over n³ (Golub & Van Loan 2013; one right-hand side counts as none), whatever the
# algorithm takes.
FLOPS = {"inv": 2, "pinv": 2, "solve": 2 / 3, "det": 2 / 3, "lu": 2 / 3, "cholesky": 1 / 3, "qr": 8 / 3, "lstsq": 4 / 3, "svd": 22, "svdvals": 8 / 3,
         "eigh": 9, "eigvalsh": 4 / 3}
ITEM = {"f32": 4, "f64": 8}
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")  # "best" is the fastest of them
NATIVE = ("eigen", "lapack")  # C++ (native_peers.cpp): matrices one by one


def known_workers():
    return {*REFERENCES, *OWN, *VARIANTS, *FRAMEWORKS, *NATIVE}


def listed(x):
    return x if isinstance(x, list) else [x]


def share_of_peak(case):
    """Operations of a case over those of PEAK; 0: they are not counted."""
    count, *matrix = (int(n) for n in case["shape"].split("x"))
    counted = len(matrix) == 2 and matrix[0] == matrix[1] >= 8
    return count * FLOPS.get(case["op"].removeprefix("linalg."), 0) * matrix[0] ** 3 / (2 * 512 ** 3) if counted else 0


def question(name, case):
    """What the worker of this name is asked: op, dtype, shape, checks; None: it says nothing about this case."""
    op, dtype, shape = case["op"], case["dtype"], case["shape"]
    count, _, matrix = shape.partition("x")
    if name in REFERENCES or name in OWN:
        op = name
    elif name == "f64":
        if dtype == "f64":
            return None
        dtype = "f64"
    elif name in ("bare", "doubtful", "singular"):
        op = f"{name}.{op}"
    elif name == "peak":  # of fewer rows memory is the limit, not arithmetic
        return (*PEAK, case["checks"]) if share_of_peak(case) else None
    elif name == "tenth":
        shape = f"{int(count) // 10}x{matrix}"
    elif name == "alone":
        shape = matrix
    return op, dtype, shape, case["checks"]


# ---- the judge ---------------------------------------------------------------------------------------------------------
class Worker:
    def __init__(self, command, threads, cores, **variables):
        env = {**os.environ, "WELLPOSED_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
               "OPENBLAS_NUM_THREADS": str(threads), **variables}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.about = self.process.stdout.readline().strip()

    def ask(self, op, dtype, shape, checks, milliseconds):
        """Nanoseconds per call; None: there is no such op."""
        self.process.stdin.write(f"{op} {dtype} {shape} {checks} {milliseconds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"error: a worker died on: {op} {dtype} {shape}")
        return None if answer == "missing" else float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def judged(ratios):
    """Median and 95 % bootstrap interval."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return {"ratio": statistics.median(ratios), "low": medians[50], "high": medians[-51]}


def show(r):
    return f"{r['ratio']:.2f} [{r['low']:.2f}, {r['high']:.2f}]"


def measure(workers, case, rounds, threads):
    """Times of every worker, one list each, round by round in changing order. None: ours has no such op."""
    asked = {n: question(n, case) for n in ["ours", "again", *case["against"]] if n in workers}
    asked = {n: q for n, q in asked.items() if q}
    times = {n: [] for n in asked}
    for r in range(-1, rounds):  # the first round warms up
        names = list(times)
        for name in names[r % len(names):] + names[:r % len(names)]:
            if threads > 1:  # let the threads of the worker before stop spinning, then wake our cores: clocks and caches are cold
                time.sleep(0.06)
                workers[name].ask(*asked[name], 30)
            t = workers[name].ask(*asked[name], case["milliseconds"])
            if t is None and name == "ours":
                return None
            if t is None:
                del times[name]
            elif r >= 0:
                times[name].append(t)
    return times


def compare(case, times):
    """Ratios of every peer, of the best one, and of ourselves."""
    result = {}
    for name, theirs in times.items():
        if name == "ours":
            continue
        scale = case["streams"] / REFERENCES[name] if name in REFERENCES else share_of_peak(case) if name == "peak" else 10 if name == "tenth" else 1
        result["A/A" if name == "again" else name] = judged([scale * t / o for t, o in zip(theirs, times["ours"])])
    peers = [n for n in FRAMEWORKS if n in times]
    if peers:  # by its median: the least of each round would be below both of two equal, noisy peers
        result["best"] = result[min(peers, key=lambda n: statistics.median(times[n]))]
    return result


def instructions(worker, case, threads):
    """Per call, from two runs under callgrind."""
    if not shutil.which("valgrind"):
        return None

    def total(calls):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", worker, case["op"], case["dtype"],
                   case["shape"], case["checks"], str(calls)]
        text = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, WELLPOSED_THREADS=str(threads))).stderr
        found = re.search(r"Collected : (\d+)", text)
        return int(found[1]) if found else None

    few, many = total(1000), total(3000)
    return (many - few) / 2000 if few and many else None


def cases_of(group):
    for threads in group.get("threads", [1, 2]):
        for op in group["ops"]:
            for dtype in group["dtypes"]:
                for shape in group["shapes"]:
                    for checks in group.get("checks", ["escape"]):
                        yield threads, {"op": op["name"], "streams": op.get("streams", 0), "dtype": dtype, "shape": shape,
                                        "checks": checks, "against": group["against"], "milliseconds": 10}


def rate(case, ns):
    """What one call achieves, in words."""
    sizes = [int(n) for n in case["shape"].split("x")]
    elements = math.prod(sizes)
    text = f"{ns:.1f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} µs" if ns < 1e7 else f"{ns / 1e6:.1f} ms"
    if len(sizes) == 3:
        text += f", {ns / sizes[0]:.1f} ns per matrix"
    if case["op"] == "matmul":
        return f"{text}, {2 * elements * sizes[-1] / ns:.1f} GFLOP/s"
    return text + (f", {case['streams'] * elements * ITEM[case['dtype']] / ns:.1f} GB/s" if case["streams"] else "")


def goals_of(group, case, threads):
    name, size = case["op"].removeprefix("linalg."), case["shape"].split("x", 1)[-1]
    here = {"ops": name, "size": size, "dtype": case["dtype"], "threads": threads}
    return [g for g in listed(group.get("goal", [])) if all(value in listed(g.get(key, value)) for key, value in here.items())]


def verdict(group, case, ours, result, threads):
    limit, cost, extra = group.get("limit_ns"), group.get("cost"), group.get("extra")
    if cost:  # on top of the first of `against`
        by_shape = cost.get(case["op"], cost.get("*"))
        share, most = 1 / result[case["against"][0]]["ratio"] - 1, by_shape.get(case["shape"], by_shape.get("*"))
        return f"{share:+.0%}: {'met' if share <= most else 'missed'} (≤ {most:.0%})"
    if extra:  # what it takes beyond the first of `against`, shared by its calls
        more = ours * (1 - result[case["against"][0]]["ratio"]) / extra["calls"]
        return f"{more:+.0f} ns per call: {'met' if more <= extra['ns'] else 'missed'} (≤ {extra['ns']} ns)"
    if limit:
        return f"{'met' if ours <= limit[case['checks']] else 'missed'} (≤ {limit[case['checks']]} ns)"
    words = []
    for g in goals_of(group, case, threads):
        if g["of"] not in result:
            continue
        ratio, least = result[g["of"]]["ratio"], g["ratio"]
        words.append(f"{'met' if ratio >= least else 'missed'} (≥ {least} of {g['of']})")
        if g["of"] == "best" and "avx2" in group and "avx2" in result:
            ratio, least = ratio / result["avx2"]["ratio"], group["avx2"] * least
            words.append(f"{'met' if ratio >= least else 'missed'} with avx2 ({ratio:.1f} ≥ {least:.1f} of best)")
    return ", ".join(words)


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    return {"cpu": model[1] if model else platform.processor(), "cores": os.cpu_count(),
            "load": os.getloadavg()[0], "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M")}


def run_case(group, case, threads, workers, options):
    times = measure(workers, case, options.rounds, threads)
    row = {"group": group["title"], "threads": threads, **{k: case[k] for k in ("op", "dtype", "shape", "checks")}}
    label = f"  {case['op']:<10} {case['dtype']} {case['shape']:<10} {case['checks']:<6} {threads}T  "
    if times is None:
        print(label + "missing: not in the op table", flush=True)
        return {**row, "missing": True}
    ours, result = statistics.median(times["ours"]), compare(case, times)
    row |= {"ns": ours, "times": {n: statistics.median(t) for n, t in times.items()}, "ratios": result, "goal": verdict(group, case, ours, result, threads)}
    if group.get("instructions"):
        row["instructions"] = instructions(options.worker, case, threads)
    shown = "  ".join(f"{n} {show(result[n])}" for n in [*case["against"], "A/A"] if n in result)
    count = f", {row['instructions']:.0f} instructions" if row.get("instructions") else ""
    print(f"{label}{rate(case, ours)}{count}  {shown}  {row['goal']}".rstrip(), flush=True)
    return row


def start(options, threads, cores, wanted):
    """A worker process per name: each keeps its operands warm."""
    workers = {n: Worker([options.worker], threads, cores) for n in ("ours", "again", *sorted(wanted & {*REFERENCES, *OWN}))}
    variants = [n for n in VARIANTS if n in wanted and not (n == "one thread" and threads == 1)]
    workers |= {n: Worker([options.worker], threads, cores, **VARIANTS[n]) for n in variants}
    for name in (n for n in options.peers.split(",") if n in wanted):
        command = [options.native, name] if name in NATIVE else [sys.executable, str(HERE / "peers.py"), name]
        workers[name] = Worker(command, threads, cores)
    return workers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True, help="the executable wp_bench")
    parser.add_argument("--native", help="the executable wp_bench_native")
    parser.add_argument("--peers", default="numpy,torch", help="those that are installed, of numpy, torch, tensorflow, jax, eigen and lapack")
    parser.add_argument("--only", default="", help="groups whose title, or ops whose name contains this")
    parser.add_argument("--threads", type=int, nargs="*", help="only these numbers of threads")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--cpu-time", action="store_true", help="processor time, for one thread on a busy machine")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/benchmarks.json"))
    options = parser.parse_args()
    if options.cpu_time:
        os.environ["BENCH_CPU_TIME"] = "1"
        options.threads = [1]
    cores = sorted(os.sched_getaffinity(0))
    about = machine()
    report = {"schema_version": 2, "machine": about, "rounds": options.rounds, "cpu_time": options.cpu_time, "workers": {}, "rows": []}
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}, {about['date']}; {options.rounds} rounds"
          + (", processor time" if options.cpu_time else ""))
    groups = tomllib.loads((HERE / "cases.toml").read_text())["group"]
    todo = [(g, t, c) for g in groups for t, c in cases_of(g)
            if options.only.lower() in g["title"].lower() or options.only == c["op"]]
    for threads in sorted({t for _, t, _ in todo}):
        if (options.threads and threads not in options.threads) or threads > len(cores):
            continue
        use = set(cores[-threads:])
        workers = start(options, threads, use, {n for _, t, c in todo if t == threads for n in c["against"]})
        print(f"\n{threads} thread{'s' if threads > 1 else ''}: " + "; ".join(f"{n} {w.about}" for n, w in workers.items() if n not in OWN | {"again"}))
        report["workers"][str(threads)] = {n: w.about for n, w in workers.items()}
        title = None
        for group, t, case in todo:
            if t != threads:
                continue
            if group["title"] != title:
                title = group["title"]
                print(f"\n {title}")
            report["rows"].append(run_case(group, case, threads, workers, options))
        for worker in workers.values():
            worker.close()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1))
    picture = options.json.with_suffix(".svg")
    picture.write_text(chart.svg(report))
    print(f"\nwrote {options.json} and {picture}")


if __name__ == "__main__":
    main()
