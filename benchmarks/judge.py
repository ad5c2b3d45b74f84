#!/usr/bin/env python3
"""Times ours and the peers in turns, and judges the ratios of neighbouring turns.

    benchmarks/run [--only TEXT] [--threads 1] [--rounds 24] [--cpu-time] [--json FILE]

Every case: warm worker processes on the same cores take turns; a ratio is peer time / our time of one round. Printed are
the median of the ratios and a 95 % bootstrap interval; A/A is a second copy of our own worker, and shows the noise.
"""
import argparse
import datetime
import json
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

HERE = pathlib.Path(__file__).parent
REFERENCES = {"copy": 2, "read": 1}  # measured by our worker; streams per element
OWN = {"plain_solve", "chain", "tape.svd_loss"}  # of ours too: what an op costs on top of it
ITEM = {"f32": 4, "f64": 8}
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")  # "best" is the fastest of them
NATIVE = ("eigen", "lapack")  # C++ (native_peers.cpp): matrices one by one


# ---- a peer: the same protocol as worker.cpp ---------------------------------------------------------------------------
def peer_call(name, op, dtype, shape):
    if op == "chain" or op.startswith("tape."):
        import tape_peers
        return tape_peers.CALLS[name](op, dtype, shape)
    import numpy as np
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.1, 1, shape).astype({"f32": "float32", "f64": "float64"}[dtype]) for _ in range(2))
    function = op.removeprefix("linalg.")
    if op in ("cholesky_factor", "linalg.cholesky", "linalg.eigh", "linalg.eigvalsh"):
        x = (x + x.swapaxes(-1, -2)) / 2 + shape[-1] * np.eye(shape[-1], dtype=x.dtype)
    if len(shape) > 2 and (op.startswith("linalg.") or op == "matmul"):
        return small_matrices(name, function, x, y)
    if name == "numpy":
        if op.startswith("linalg."):
            f, more = getattr(np.linalg, function), (y[0],) if function == "solve" else ()
            return lambda: f(x, *more)
        calls = {"lu_solve": lambda: np.linalg.solve(x, y), "lu_inverse": lambda: np.linalg.inv(x),
                 "cholesky_factor": lambda: np.linalg.cholesky(x),
                 "relu": lambda: np.maximum(x, 0), "all_finite": lambda: np.isfinite(x).all(), "matmul": lambda: x @ y,
                 "+": lambda: x + y, "add": lambda: np.add(x, y), "multiply": lambda: np.multiply(x, y)}
        return calls.get(op) or (lambda f=getattr(np, op): f(x))
    if name == "tensorflow":
        import tensorflow as tf
        a, b = tf.constant(x), tf.constant(y[0][:, None])
        f, more = getattr(tf.linalg, function), (b,) if function == "solve" else ()
        return lambda: f(a, *more)
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    if op.startswith("linalg."):
        f, more = getattr(torch.linalg, function), (b[0],) if function == "solve" else ()
        return lambda: f(a, *more)
    calls = {"lu_factor": lambda: torch.linalg.lu_factor(a), "lu_solve": lambda: torch.linalg.solve(a, b),
             "lu_inverse": lambda: torch.linalg.inv(a), "cholesky_factor": lambda: torch.linalg.cholesky(a),
             "all_finite": lambda: torch.isfinite(a).all(), "matmul": lambda: a @ b, "softmax": lambda: torch.softmax(a, -1),
             "+": lambda: a + b, "add": lambda: torch.add(a, b), "multiply": lambda: torch.mul(a, b)}
    return calls.get(op) or (lambda f=getattr(torch, op): f(a))


def small_matrices(name, function, x, y):
    """A function of a stack of matrices; solve and lstsq have one right-hand side per matrix, matmul a matrix."""
    b = y if function == "matmul" else y[..., :1].copy()
    two = function in ("solve", "lstsq", "matmul")
    if name == "numpy":
        import numpy as np
        if function == "matmul":
            return lambda: x @ b
        f, more = getattr(np.linalg, function), (b,) if two else ()
        return lambda: f(x, *more)
    if name == "tensorflow":
        import tensorflow as tf
        a, b = tf.constant(x), tf.constant(b)
        calls = {"solve": lambda: tf.linalg.solve(a, b), "matmul": lambda: tf.linalg.matmul(a, b),
                 "svdvals": lambda: tf.linalg.svd(a, compute_uv=False), "eigvalsh": lambda: tf.linalg.eigvalsh(a),
                 "lstsq": lambda: tf.linalg.lstsq(a, b)}  # by the normal equations, which lose half of the digits
        return calls.get(function) or (lambda f=getattr(tf.linalg, function): f(a))
    if name == "jax":
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        a, b = jnp.asarray(x), jnp.asarray(b)
        plain = {"svdvals": lambda m: jnp.linalg.svd(m, compute_uv=False), "lu": jax.lax.linalg.lu, "matmul": jnp.matmul,
                 "expm": jax.scipy.linalg.expm,
                 "lstsq": jax.vmap(lambda m, r: jnp.linalg.lstsq(m, r)[0])}.get(function) or getattr(jnp.linalg, function)
        f, arguments = jax.jit(plain), (a, b) if two else (a,)
        return lambda: jax.block_until_ready(f(*arguments))
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = torch.from_numpy(x), torch.from_numpy(b)
    f, more = torch.matrix_exp if function == "expm" else getattr(torch.linalg, function), (b,) if two else ()
    return lambda: f(a, *more)


def serve_peer(name):
    if name == "numpy":
        import numpy
        print("NumPy", numpy.__version__, flush=True)
    elif name == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(int(os.environ["OMP_NUM_THREADS"]))
        tf.config.threading.set_inter_op_parallelism_threads(1)
        print("TensorFlow", tf.__version__, flush=True)
    elif name == "jax":
        import jax
        print("JAX", jax.__version__, flush=True)
    else:
        import torch
        torch.set_grad_enabled(False)
        print("PyTorch", torch.__version__, flush=True)
    clock = time.process_time_ns if os.environ.get("BENCH_CPU_TIME") else time.perf_counter_ns
    key, call, calls = None, None, 1

    def run(n):
        start = clock()
        for _ in range(n):
            call()
        return clock() - start

    for line in sys.stdin:
        op, dtype, shape, _, milliseconds = line.split()
        if key != (op, dtype, shape):
            key, call, calls = (op, dtype, shape), peer_call(name, op, dtype, [int(n) for n in shape.split("x")]), 1
            while run(calls) < 5e4:
                calls *= 2
        times = []
        while sum(times) < float(milliseconds) * 1e6:
            times.append(run(calls))
        print(statistics.median(times) / calls, flush=True)


# ---- the judge ---------------------------------------------------------------------------------------------------------
class Worker:
    def __init__(self, command, threads, cores):
        env = dict(os.environ, WELLPOSED_THREADS=str(threads), OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
                   OPENBLAS_NUM_THREADS=str(threads))
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
    """Times of every worker and reference, one list each, round by round in changing order."""
    names = ["ours", "again"] + [a for a in case["against"] if a in REFERENCES or a in OWN or a in workers]
    times = {n: [] for n in names}
    for r in range(-1, rounds):  # the first round warms up
        for name in names[r % len(names):] + names[:r % len(names)]:
            ours = name in REFERENCES or name in OWN
            worker = workers["ours" if ours else name]
            op = name if ours else case["op"]
            question = op, case["dtype"], case["shape"], case["checks"]
            if threads > 1:  # let the threads of the worker before stop spinning, then wake our cores: clocks and caches are cold
                time.sleep(0.06)
                worker.ask(*question, 30)
            t = worker.ask(*question, case["milliseconds"])
            if t is None:
                return None
            if r >= 0:
                times[name].append(t)
    return times


def compare(case, times):
    """Ratios of every peer, of the best one, and of ourselves."""
    result = {}
    for name, theirs in times.items():
        if name == "ours":
            continue
        scale = case["streams"] / REFERENCES[name] if name in REFERENCES else 1
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
    elements = 1
    for n in sizes:
        elements *= n
    text = f"{ns:.1f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} µs" if ns < 1e7 else f"{ns / 1e6:.1f} ms"
    if case["op"] == "matmul":
        return f"{text}, {2 * elements * sizes[-1] / ns:.1f} GFLOP/s"
    return text + (f", {case['streams'] * elements * ITEM[case['dtype']] / ns:.1f} GB/s" if case["streams"] else "")


def verdict(group, case, ours, result, threads):
    goals, limit, cost, extra = group.get("goal"), group.get("limit_ns"), group.get("cost"), group.get("extra")
    if cost:  # on top of the first of `against`
        share, most = 1 / result[case["against"][0]]["ratio"] - 1, cost[case["op"]][case["shape"]]
        return f"{share:+.0%}: {'met' if share <= most else 'missed'} (≤ {most:.0%})"
    if extra:  # what it takes beyond the first of `against`, shared by its calls
        more = ours * (1 - result[case["against"][0]]["ratio"]) / extra["calls"]
        return f"{more:+.0f} ns per call: {'met' if more <= extra['ns'] else 'missed'} (≤ {extra['ns']} ns)"
    if limit:
        return f"{'met' if ours <= limit[case['checks']] else 'missed'} (≤ {limit[case['checks']]} ns)"
    goals = goals if isinstance(goals, list) else [goals] if goals else []
    goals = [g for g in goals if case["op"].removeprefix("linalg.") in g.get("ops", case["op"].removeprefix("linalg."))
             and case["shape"].split("x", 1)[1:] in ([], [g.get("size", case["shape"].split("x", 1)[-1])])
             and case["dtype"] == g.get("dtype", case["dtype"]) and threads == g.get("threads", threads)]
    return ", ".join(f"{'met' if result[g['of']]['ratio'] >= g['ratio'] else 'missed'} (≥ {g['ratio']} of {g['of']})"
                     for g in goals if g["of"] in result)


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
    row |= {"ns": ours, "ratios": result, "goal": verdict(group, case, ours, result, threads)}
    if group.get("instructions"):
        row["instructions"] = instructions(options.worker, case, threads)
    shown = "  ".join(f"{n} {show(result[n])}" for n in [*case["against"], "A/A"] if n in result)
    count = f", {row['instructions']:.0f} instructions" if row.get("instructions") else ""
    print(f"{label}{rate(case, ours)}{count}  {shown}  {row['goal']}".rstrip(), flush=True)
    return row


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
    report = {"schema_version": 1, "machine": about, "rounds": options.rounds, "cpu_time": options.cpu_time, "rows": []}
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}, {about['date']}; {options.rounds} rounds"
          + (", processor time" if options.cpu_time else ""))
    groups = tomllib.loads((HERE / "cases.toml").read_text())["group"]
    todo = [(g, t, c) for g in groups for t, c in cases_of(g)
            if options.only.lower() in g["title"].lower() or options.only == c["op"]]
    for threads in sorted({t for _, t, _ in todo}):
        if (options.threads and threads not in options.threads) or threads > len(cores):
            continue
        use = set(cores[-threads:])
        workers = {n: Worker([options.worker], threads, use) for n in ("ours", "again")}
        for name in filter(None, options.peers.split(",")):
            if any(name in c["against"] for _, t, c in todo if t == threads):
                command = [options.native, name] if name in NATIVE else [sys.executable, __file__, "--peer", name]
                workers[name] = Worker(command, threads, use)
        print(f"\n{threads} thread{'s' if threads > 1 else ''}: " + "; ".join(w.about for n, w in workers.items() if n != "again"))
        report["workers"] = {n: w.about for n, w in workers.items()}
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
    print(f"\nwrote {options.json}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        serve_peer(sys.argv[2])
    else:
        main()
