#!/usr/bin/env python3
"""What memory `wellposed validate` takes for files larger than memory (finite and range): the most that was resident.

    .venv/bin/python benchmarks/data/memory.py build/release/bin/wellposed [GIB] [FOLDER]

Files of GIB (4) are written to FOLDER (a temporary one) and removed. The goal is 256 MiB for 4 GiB.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

COLUMNS, BLOCK = 16, 1 << 22  # bytes of rows that are written again and again


def write_npy(path, size):
    block = np.random.default_rng(1).random((BLOCK // 8 // COLUMNS, COLUMNS))
    rows = size // BLOCK * len(block)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (rows, COLUMNS)})
        for _ in range(size // BLOCK):
            file.write(block.tobytes())


def write_csv(path, size):
    rows = np.random.default_rng(1).random((BLOCK // 20 // COLUMNS, COLUMNS))
    block = "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    with open(path, "w") as file:
        file.write(",".join(f"c{k}" for k in range(COLUMNS)) + "\n")
        for _ in range(size // len(block)):
            file.write(block)


def most_resident(command):
    """Exit code, MiB and seconds of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            most = max(most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
        except OSError:
            break
        time.sleep(0.02)
    return process.wait(), most / 1024, time.perf_counter() - start


def main():
    program = os.path.abspath(sys.argv[1])
    size = int(float(sys.argv[2] if len(sys.argv) > 2 else 4) * (1 << 30))
    with tempfile.TemporaryDirectory(prefix="wellposed-memory-", dir=sys.argv[3] if len(sys.argv) > 3 else None) as folder:
        schema = os.path.join(folder, "s.toml")
        pathlib.Path(schema).write_text("version = 1\n[tensor]\nfinite = true\nrange = [0, 1]\n")
        for name, write in (("x.npy", write_npy), ("x.csv", write_csv)):
            path = os.path.join(folder, name)
            write(path, size)
            code, mib, seconds = most_resident([program, "validate", path, "--schema", schema])
            held = os.path.getsize(path)
            print(f"{name}: {held / 2**30:.2f} GiB, at most {mib:.0f} MiB resident, {held / seconds / 1e9:.2f} GB/s, exit code {code}", flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
