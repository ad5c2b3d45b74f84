#!/usr/bin/env python3
"""Fails when a C++ file of the tree is not as clang-format-14 would write it. Generated files are left out.

    tools/check_format.py TREE
"""
import pathlib
import subprocess
import sys

tree = pathlib.Path(sys.argv[1])
endings = {".cpp", ".hpp", ".inl"}
listed = subprocess.run(["git", "-C", tree, "ls-files", "-z"], capture_output=True, text=True)
if listed.returncode == 0:
    paths = [tree / name for name in listed.stdout.split("\0") if name]
else:  # not a git checkout
    paths = [p for d in ("include", "src", "tests", "benchmarks", "examples") for p in (tree / d).rglob("*")]
paths = sorted(p for p in paths if p.suffix in endings and p.is_file() and not p.read_text().startswith("// Generated"))


def well_formatted(path):
    return subprocess.run(["clang-format-14", path], check=True, capture_output=True, text=True).stdout == path.read_text()


# One process for all files names the suspects; --dry-run complains also of the end of `namespace [[…]] wp`, which it would
# leave as it is.
dry = subprocess.run(["clang-format-14", "--dry-run", "--ferror-limit=0", *paths], capture_output=True, text=True).stderr
named = {line.split(":")[0] for line in dry.splitlines() if ": warning: " in line}
bad = [p for p in paths if str(p) in named and not well_formatted(p)]
for p in bad:
    print(f"{p.relative_to(tree)}: run clang-format-14 -i")
print(f"format: {len(paths)} files, {len(bad)} not as they should be")
sys.exit(bool(bad))
