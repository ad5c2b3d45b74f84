#!/usr/bin/env python3
"""finite + range on an .npy file in the page cache: wellposed against reading the bytes and against NumPy doing the same checks.

    WELLPOSED_THREADS=1 PYTHONPATH=build/release/python .venv/bin/python benchmarks/data/validate.py [MIB] [ROUNDS]

All in one process, alternating, in processor time (user and system): medians of paired ratios with their quartiles, beside an A/A pair.
"""
import mmap
import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("WELLPOSED_THREADS", "1")
import numpy as np
import wellposed as wp


def read(path, block=mmap.mmap(-1, 1 << 18)):  # page-aligned, in the second cache: into a bytearray the same read took three times as long
    with open(path, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def by_numpy(path):
    x = np.load(path)
    assert np.isfinite(x).all() and not (np.any(x < 0) or np.any(x > 1))


def timed(f, path):
    read(path)  # whatever ran before may have pushed the file out of the cache: nothing timed may wait for a disk
    start = time.process_time()
    f(path)
    return time.process_time() - start


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} … {high:.3f})"


def main():
    mib, rounds = (int(a) for a in (sys.argv[1:] + ["512", "21"][len(sys.argv) - 1:]))
    schema = wp.Schema().tensor(finite=True, range=[0, 1])

    def ours(path):
        assert wp.validate(path, schema).ok

    for dtype in ("f8", "f4"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            width = np.dtype(dtype).itemsize
            np.save(path, np.random.default_rng(1).random((mib << 20) // width // 64 * 64, dtype=dtype).reshape(-1, 64))
            times = {name: [] for name in ("read", "ours", "numpy", "again")}
            for f in (read, ours, by_numpy):
                f(path)
            works = [("read", read), ("ours", ours), ("numpy", by_numpy), ("again", read)]
            for _ in range(rounds):
                works.append(works.pop(0))  # no one always comes after NumPy's allocations
                for name, f in works:
                    times[name].append(timed(f, path))
            ratio = lambda a, b: spread([x / y for x, y in zip(times[a], times[b])])
            gib = mib / 1024 / statistics.median(times["read"])
            print(f"{dtype} {mib} MiB: read {gib:.2f} GiB/s; ours / read bandwidth {ratio('read', 'ours')}; "
                  f"NumPy / ours {ratio('numpy', 'ours')}; A/A {ratio('read', 'again')}")


if __name__ == "__main__":
    main()
