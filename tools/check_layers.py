#!/usr/bin/env python3
"""Fails when a folder of src includes one that comes after it in CMakeLists.txt, or a room includes another room."""
import pathlib
import re
import sys

tree = pathlib.Path(sys.argv[1])
layers = re.findall(r"^wp_layer\((\w+)", (tree / "CMakeLists.txt").read_text(), re.M) + ["dist", "cli"]
bad = []
for path in sorted((tree / "src").rglob("*.?pp")) + sorted((tree / "src").rglob("*.inl")):
    here = path.relative_to(tree / "src").parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s+"([^"/]+)/([^"]*)', line)
        if not include or include[1] == "wellposed":
            continue
        where = f"{path.relative_to(tree)}:{number}"
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
