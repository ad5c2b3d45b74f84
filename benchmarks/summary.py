#!/usr/bin/env python3
"""Event files: ours, tf.summary, PyTorch's SummaryWriter and tensorboardX, taking turns in one process.

    PYTHONPATH=build/release/python .bench-venv/bin/python benchmarks/summary.py [ROUNDS]

Scalars, and histograms of 1e5 f32 values. Per call: processor time of the caller, and of the whole process until everything is in the
file (flush). Medians of the rounds; the ratio is peer / ours of one round. Peers that are not installed are left out.
"""
import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np

SCALARS, HISTOGRAMS = 1000, 20


def ours(folder):
    import wellposed as wp
    w = wp.SummaryWriter(folder)
    return lambda i: w.scalar("loss", 1.0 / (i + 1), i), lambda i, v: w.histogram("weights", v, i), w.flush


def torch(folder):
    from torch.utils.tensorboard import SummaryWriter
    w = SummaryWriter(folder)
    return lambda i: w.add_scalar("loss", 1.0 / (i + 1), i), lambda i, v: w.add_histogram("weights", v, i), w.flush


def tensorboardx(folder):
    from tensorboardX import SummaryWriter
    w = SummaryWriter(folder)
    return lambda i: w.add_scalar("loss", 1.0 / (i + 1), i), lambda i, v: w.add_histogram("weights", v, i), w.flush


def tensorflow(folder):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    w = tf.summary.create_file_writer(folder)
    w.set_as_default()
    return (lambda i: tf.summary.scalar("loss", 1.0 / (i + 1), step=i), lambda i, v: tf.summary.histogram("weights", v, step=i), w.flush)


def timed(calls, f, flush):
    process, thread = time.process_time_ns(), time.thread_time_ns()
    for i in range(calls):
        f(i)
    caller = time.thread_time_ns() - thread
    flush()
    return caller / calls / 1e3, (time.process_time_ns() - process) / calls / 1e3


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    values = np.random.default_rng(1).normal(size=100_000).astype(np.float32)
    writers = {}
    with tempfile.TemporaryDirectory() as folder:
        for make in (ours, torch, tensorboardx, tensorflow):
            try:
                writers[make.__name__] = make(f"{folder}/{make.__name__}")
            except ImportError as error:
                print(f"{make.__name__} is not here: {error}")
        for what, calls in (("scalar", SCALARS), ("histogram", HISTOGRAMS)):
            times = {name: [] for name in writers}
            for r in range(rounds + 1):  # the first is warming up
                for name, (scalar, histogram, flush) in writers.items():
                    f = scalar if what == "scalar" else (lambda i: histogram(i, values))
                    first = r * calls
                    times[name].append(timed(calls, lambda i: f(first + i), flush))
            for name, t in times.items():
                t = t[1:]
                caller, total = (statistics.median(x[k] for x in t) for k in (0, 1))
                ratio = statistics.median(x[1] / o[1] for x, o in zip(t, times["ours"][1:]))
                print(f"{what:9} {name:12} caller {caller:9.2f} µs, all threads {total:9.2f} µs, {ratio:6.1f} × ours")


if __name__ == "__main__":
    main()
