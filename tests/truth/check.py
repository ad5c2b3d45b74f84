#!/usr/bin/env python3
"""Compares every sample of every op with the truth: exact integers and data movement, 60-digit arithmetic for the rest.

    tests/truth/check.py build/release/bin/wellposed [op ...]

A reference is a function in one of the modules beside this file, marked @truth("name"). It takes Arrays and attributes by
name and returns an Array, or several. An op without a reference fails.
"""
import importlib
import json
import pathlib
import subprocess
import sys

from core import REFERENCES, Array, compare

sys.path.insert(0, str(pathlib.Path(__file__).parent))
for module in sorted(pathlib.Path(__file__).parent.glob("ref_*.py")):
    importlib.import_module(module.stem)


def check_sample(reference, sample):
    """None, or what is wrong."""
    if "error" in sample:
        return None if reference.may_fail(sample) else "raised: " + sample["error"]
    inputs = [Array.load(t) for t in sample["in"]]
    if reference.judges:
        return reference.function(inputs, [Array.load(t) for t in sample["out"]], **sample["attrs"])
    want = reference.function(*inputs, **sample["attrs"])
    want = list(want) if isinstance(want, (list, tuple)) else [want]
    got = [Array.load(t) for t in sample["out"]]
    if len(want) != len(got):
        return f"{len(got)} outputs, truth has {len(want)}"
    for w, g in zip(want, got):
        trouble = compare(w, g, reference.ulps)
        if trouble:
            return trouble
    return None


def main():
    raw = subprocess.run([sys.argv[1], "ops", "--samples"], check=True, capture_output=True, text=True).stdout
    only, failed, checked = set(sys.argv[2:]), 0, 0
    for op in json.loads(raw)["ops"]:
        name = op["namespace"] + "." + op["name"] if op["namespace"] else op["name"]
        if only and name not in only:
            continue
        if name not in REFERENCES:
            print(f"{name}: no reference in tests/truth")
            failed += 1
            continue
        for i, sample in enumerate(op["samples"]):
            trouble = check_sample(REFERENCES[name], sample)
            checked += 1
            if trouble:
                failed += 1
                dtypes = ", ".join(t["dtype"] if t else "none" for t in sample["in"])
                print(f"{name} sample {i} ({dtypes}; {sample['covers']}; {sample['attrs']}): {trouble}")
    print(f"truth: {checked} samples checked, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
