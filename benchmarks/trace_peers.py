#!/usr/bin/env python3
"""What watching for NaN costs elsewhere: on/off ratio of the training steps of trace.cpp, alternating, in processor time.

    WELLPOSED_THREADS=1 .bench-venv/bin/python benchmarks/trace_peers.py [torch|tensorflow|jax] [ROUNDS]

PyTorch: set_detect_anomaly. TensorFlow: enable_check_numerics, eager and in a tf.function. JAX: checkify with nan_checks under jit.
"""
import os
import statistics
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="3", TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1")

from tape_peers import jax_update, tensorflow_step, torch_call

CASES = {"batch 64, 32-64-64-10": ((64, 32, 64), 20), "batch 1024, 256-512-512-10": ((1024, 256, 512), 2)}


def torch_steps(sizes):
    import torch
    torch.set_num_threads(1)
    step = torch_call("tape.mlp", "f32", sizes)

    def watched():
        with torch.autograd.set_detect_anomaly(True):
            step()
    yield "anomaly mode", step, watched, None


def tensorflow_steps(sizes):
    import tensorflow as tf
    watch, leave = tf.debugging.enable_check_numerics, tf.debugging.disable_check_numerics
    eager = tensorflow_step("f32", sizes)
    yield "check_numerics, eager", eager, eager, (watch, leave)
    plain, watched = (tf.function(tensorflow_step("f32", sizes)) for _ in range(2))
    plain()
    watch()
    watched()  # what is traced under it stays checked
    leave()
    yield "check_numerics, tf.function", plain, watched, None


def jax_steps(sizes):
    import jax
    from jax.experimental import checkify
    update, p = jax_update("f32", sizes)
    plain, checked = jax.jit(update), jax.jit(checkify.checkify(update, errors=checkify.nan_checks))
    state = [p]

    def step():
        state[0] = jax.block_until_ready(plain(state[0]))

    def watched():
        error, state[0] = jax.block_until_ready(checked(state[0]))
        error.throw()
    yield "checkify nan_checks, jit", step, watched, None


def time_of(step, calls):
    step()
    start = time.process_time()
    for _ in range(calls):
        step()
    return (time.process_time() - start) / calls


def main():
    steps = {"torch": torch_steps, "tensorflow": tensorflow_steps, "jax": jax_steps}[sys.argv[1]]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    for case, (sizes, calls) in CASES.items():
        for name, plain, watched, switch in steps(sizes):
            ratios, base = [], []
            for _ in range(rounds):
                off = time_of(plain, calls)
                if switch:
                    switch[0]()
                on = time_of(watched, calls)
                if switch:
                    switch[1]()
                ratios.append(on / off)
                base.append(off)
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"{sys.argv[1]:10} {name:28} {case:27} on/off {middle:.2f} [{low:.2f}, {high:.2f}]  "
                  f"off {statistics.median(base) * 1e6:.0f} us", flush=True)


if __name__ == "__main__":
    main()
