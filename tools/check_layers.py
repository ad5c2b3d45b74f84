#!/usr/bin/env python3
"""Fails when a folder of src includes one that comes after it in CMakeLists.txt, also by a public header, or a room includes another room.

A public header belongs to the folder of its name, else to the first one with a source file that begins with it."""
import pathlib
import re
import sys

tree = pathlib.Path(sys.argv[1])
layers = re.findall(r"^wp_layer\((\w+)", (tree / "CMakeLists.txt").read_text(), re.M) + ["dist", "cli"]
bad = []

homes = {layer: layer for layer in layers}
for path in sorted((tree / "src").rglob("*.cpp")):
    here = path.relative_to(tree / "src").parts[0]
    first = re.search(r'^#include "wellposed/(\w+)\.hpp"|^#include', path.read_text(), re.M)
    if first and first[1] and layers.index(here) < layers.index(homes.get(first[1], layers[-1])):
        homes[first[1]] = here
homes["diagnosis"] = "ops"  # a value that every call may carry

for path in sorted((tree / "src").rglob("*.?pp")) + sorted((tree / "src").rglob("*.inl")):
    here = path.relative_to(tree / "src").parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s+"([^"/]+)/([^"]*)', line)
        if not include:
            continue
        where = f"{path.relative_to(tree)}:{number}"
        if include[1] == "wellposed":
            home = homes.get(include[2].removesuffix(".hpp"), layers[0])
            if layers.index(home) > layers.index(here):
                bad.append(f"{where}: {here} may not include {include[2]}, which is of {home}")
            continue
        if include[1] not in layers or layers.index(include[1]) > layers.index(here):
            bad.append(f"{where}: {here} may not include {include[1]}")
        if "rooms/" in include[2]:
            bad.append(f"{where}: nobody includes a room")
for path in sorted((tree / "include").rglob("*.hpp")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r'\s*#\s*include\s+"(?!wellposed/)', line):
            bad.append(f"{path.relative_to(tree)}:{number}: a public header includes only public headers")
print("\n".join(bad) or "layers: ok")
sys.exit(bool(bad))
