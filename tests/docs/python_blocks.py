#!/usr/bin/env python3
"""Runs every ```python block of the documents; where a ```text block follows, it must be the output. The output of every
examples/python/NAME.py must be NAME.txt beside it (WP_WRITE_GOLDEN=1 writes it).

    tests/docs/python_blocks.py TREE BUILD

Blocks of one document run one after the other in one namespace per block; the file is called example.py.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```)?", re.S | re.M)
SAME = {"WELLPOSED_ISA": "baseline", "OPENBLAS_CORETYPE": "Prescott"}  # the same roundings on every machine


def run(path, folder, build):
    done = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **SAME, "PYTHONPATH": f"{build}/python"})
    return done.stdout, f"exits with {done.returncode}:\n{done.stderr}" if done.returncode else None


def pieces(tree):
    """Where, code, and what it must print (None: anything)."""
    for path in [tree / "README.md", tree / "CONTRIBUTING.md", *sorted((tree / "docs").glob("*.md"))]:
        text = path.read_text()
        for match in BLOCK.finditer(text):
            yield f"{path.relative_to(tree)}:{text[:match.start()].count(chr(10)) + 1}", match[1], match[2], None
    for path in sorted((tree / "examples" / "python").glob("*.py")):
        golden = path.with_suffix(".txt")
        yield path.relative_to(tree), path.read_text(), golden.read_text() if golden.exists() else "", golden


def main():
    tree, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    failed = ran = 0
    for where, code, expected, golden in pieces(tree):
        with tempfile.TemporaryDirectory() as folder:
            name = golden.with_suffix(".py").name if golden else "example.py"
            (pathlib.Path(folder) / name).write_text(code)
            output, trouble = run(name, folder, build)
        if golden and not trouble and os.environ.get("WP_WRITE_GOLDEN"):
            golden.write_text(output)
        elif not trouble and expected is not None and output != expected:
            trouble = f"prints\n{output}\nand not\n{expected}"
        ran += 1
        if trouble:
            failed += 1
            print(f"{where}: {trouble}")
    print(f"Python in documents and examples: {ran} pieces of code ran, {failed} failed")
    sys.exit(bool(failed or not ran))


if __name__ == "__main__":
    main()
