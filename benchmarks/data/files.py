#!/usr/bin/env python3
"""Reading and writing files: ours and the peers in turns, in processor time; the ratios of neighbouring turns are judged.

    PYTHONPATH=build/release/python .bench-venv/bin/python benchmarks/data/files.py [--only TEXT] [--rounds 24] [--wall] [--threads 1] [--json FILE]

A ratio is peer time / our time of one round: above 1 we are faster. Printed are the median and a 95 % bootstrap interval; A/A is ours against itself and
shows the noise. Files are in the page cache. With --wall and --threads 2 it shows how tables scale ("1 thread" is ours with one).
Peers: pandas (C engine), pyarrow (its threads as ours), NumPy, safetensors, SciPy.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import tempfile
import time
import zipfile
import zlib

import numpy as np

ROWS, COLUMNS = 200_000, 10


def tables(folder):
    rng = np.random.default_rng(0)
    normal, whole = rng.normal(size=(ROWS, COLUMNS)), rng.integers(-10**5, 10**5, (ROWS, COLUMNS))
    names = ",".join(f"c{i}" for i in range(COLUMNS)) + "\n"
    cells = {"full": lambda: (map(repr, row) for row in normal.tolist()), "short": lambda: (("%.4f" % v for v in row) for row in normal.tolist()),
             "integer": lambda: (map(str, row) for row in whole.tolist()),
             "quoted": lambda: (('"%.4f"' % v if i == 3 else "%.4f" % v for i, v in enumerate(row)) for row in normal.tolist())}
    for name, rows in cells.items():
        (folder / f"{name}.csv").write_text(names + "".join(",".join(row) + "\n" for row in rows()))
    return list(cells)


def inflated(path):
    """zlib alone, on the bytes of the only entry."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        entry = archive.infolist()[0]
        file.seek(entry.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(name + extra, os.SEEK_CUR)
        return zlib.crc32(zlib.decompress(file.read(entry.compress_size), -15, entry.file_size))


def cases(folder, threads):
    import pandas
    import pyarrow
    import pyarrow.csv
    import safetensors.numpy
    import scipy.io
    import wellposed as wp
    pyarrow.set_cpu_count(threads)
    wp.set_threads(threads)
    options = pyarrow.csv.ReadOptions(use_threads=threads > 1)

    def one_thread(path):
        wp.set_threads(1)
        try:
            return wp.load_all(path)
        finally:
            wp.set_threads(threads)

    for name in tables(folder):
        path = str(folder / f"{name}.csv")
        peers = {"pandas": lambda p=path: pandas.read_csv(p, engine="c"),
                 "pyarrow": lambda p=path: pyarrow.csv.read_csv(p, read_options=options)}
        if threads > 1:
            peers["1 thread"] = lambda p=path: one_thread(p)
        yield f"csv {name}", path, lambda p=path: wp.load_all(p), peers

    rng = np.random.default_rng(1)
    large = rng.normal(size=(1 << 22, 4))
    compressible = rng.integers(0, 1000, (1 << 18, 4)).astype(float)
    file = {n: str(folder / n) for n in ("a.npy", "a.npz", "p.npz", "a.safetensors", "s.mtx", "out.npz", "peer.npz", "out.csv", "peer.csv")}
    np.save(file["a.npy"], large)
    np.savez(file["a.npz"], a=large)
    np.savez_compressed(file["p.npz"], a=compressible)
    safetensors.numpy.save_file({"a": large}, file["a.safetensors"])
    scipy.io.mmwrite(file["s.mtx"], scipy.sparse.random(20000, 20000, 1e-3, random_state=1))
    buffer = np.empty_like(large)

    def read_into():
        with open(file["a.npy"], "rb", buffering=0) as f:
            f.seek(128)
            f.readinto(memoryview(buffer).cast("B"))

    yield "npy copy", file["a.npy"], lambda: wp.load(file["a.npy"], copy=True), {"numpy": lambda: np.load(file["a.npy"]), "readinto": read_into}
    yield "npz stored", file["a.npz"], lambda: wp.load_all(file["a.npz"], copy=True), {"numpy": lambda: np.load(file["a.npz"])["a"]}
    yield "npz deflated", file["p.npz"], lambda: wp.load_all(file["p.npz"]), {"numpy": lambda: np.load(file["p.npz"])["a"], "zlib": lambda: inflated(file["p.npz"])}
    yield "npz deflate, write", file["p.npz"], lambda: wp.save_all(file["out.npz"], {"a": compressible}, compress=True), {
        "numpy": lambda: np.savez_compressed(file["peer.npz"], a=compressible), "zlib": lambda: zlib.crc32(zlib.compress(compressible, 6))}
    yield "safetensors", file["a.safetensors"], lambda: wp.load_all(file["a.safetensors"], copy=True), {
        "safetensors": lambda: safetensors.numpy.load_file(file["a.safetensors"])}
    yield "mtx sparse", file["s.mtx"], lambda: wp.load_all(file["s.mtx"]), {"scipy": lambda: scipy.io.mmread(file["s.mtx"]).tocsr()}
    frame = pandas.DataFrame(compressible[:50_000])
    yield "csv, write", file["p.npz"], lambda: wp.save(file["out.csv"], compressible[:50_000]), {
        "pandas": lambda: frame.to_csv(file["peer.csv"], index=False, header=False)}


def interval(ratios, draws=1000):
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[draws // 40], medians[-draws // 40]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    clock = time.perf_counter if args.wall else time.process_time

    def timed(call):
        start = clock()
        call()
        return clock() - start

    results = []
    with tempfile.TemporaryDirectory(prefix="wellposed-files-", dir=os.environ.get("TMPDIR")) as folder:
        for name, path, ours, peers in cases(pathlib.Path(folder), args.threads):
            if args.only not in name:
                continue
            calls = {"A/A": ours, **peers}
            ours()
            for call in calls.values():
                call()
            mine, ratios = [], {peer: [] for peer in calls}
            for _ in range(args.rounds):
                for peer, call in calls.items():
                    own = timed(ours)
                    ratios[peer].append(timed(call) / own)
                    mine.append(own)
            speed = os.path.getsize(path) / statistics.median(mine) / 1e6
            text = f"{name:20} {speed:7.0f} MB/s"
            for peer, values in ratios.items():
                low, high = interval(values)
                text += f"   {peer} {statistics.median(values):.2f} [{low:.2f}, {high:.2f}]"
                results.append({"case": name, "peer": peer, "ratio": statistics.median(values), "low": low, "high": high, "mb_per_s": speed})
            print(text, flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"threads": args.threads, "wall": args.wall, "rounds": args.rounds, "results": results}, indent=1))


if __name__ == "__main__":
    main()
