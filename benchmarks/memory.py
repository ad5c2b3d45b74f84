#!/usr/bin/env python3
"""Peak memory of the gradients of tape.cpp, ours and the peers': what the resident set grows by at most beyond a small case.

    benchmarks/memory.py --worker build/release/bin/wp_bench [--peers torch,jax]
"""
import argparse
import pathlib
import re
import sys

from judge import Worker

CASES = [("tape.chain", "f32", "16", "262144"), ("tape.mlp", "f32", "64", "16384")]


def megabytes(worker, field):
    status = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024


def growth(command, op, dtype, small, large):
    worker = Worker(command, 1, {0})
    worker.ask(op, dtype, small, "escape", 1)
    before = megabytes(worker, "VmRSS")
    worker.ask(op, dtype, large, "escape", 1)
    peak = megabytes(worker, "VmHWM") - before
    worker.close()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--peers", default="torch,jax")
    options = parser.parse_args()
    commands = {"ours": [options.worker]}
    for peer in options.peers.split(","):
        commands[peer] = [sys.executable, str(pathlib.Path(__file__).parent / "peers.py"), peer]
    for op, dtype, small, large in CASES:
        for name, command in commands.items():
            print(f"{op} {dtype} {large} {name}: {growth(command, op, dtype, small, large):.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
