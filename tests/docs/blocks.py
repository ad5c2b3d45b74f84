#!/usr/bin/env python3
"""Runs every ```cpp (or ```python) block of the documents; where a ```text block follows, it must be the output. The output of
every examples/TOPIC/NAME.cpp (examples/python/NAME.py) must be NAME.txt beside it (WP_WRITE_GOLDEN=1 writes it); there "…"
stands for anything within a line: times, process ids, addresses. "Tested with arguments: …" in its code says with which it runs here.

Files that an example writes with a name in its text ("x.svg") must be there: SVG must be well-formed XML with a line; pages must have
such drawings, closed tags, and nothing that is loaded from elsewhere.

    tests/docs/blocks.py TREE BUILD [python | frameworks]

frameworks: examples/adapters and blocks that begin with ```python frameworks, which need PyTorch, TensorFlow and JAX.

Code that includes wellposed/dist.hpp is run by mpirun with 4 ranks, if that part was built. A block of C++ without main becomes the body of one. Files of blocks are called example.cpp and example.py.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from html.parser import HTMLParser

SAME = {"WELLPOSED_ISA": "baseline", "OPENBLAS_CORETYPE": "Prescott"}  # the same roundings on every machine
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "4"]
HEAD = "#include <wellposed/wellposed.hpp>\n#include <iostream>\n"


def arguments(body):
    """Of an example that says so: a smaller problem than the one it is about."""
    said = re.search(r"Tested with arguments: (.+)", body)
    return said[1].split() if said else []


def program(body):
    return body if "int main" in body else HEAD + "using namespace wp;\nint main() {\n" + body + "}\n"


def run_cpp(tree, build, body, folder, name):
    spread = "wellposed/dist.hpp" in body
    if spread and not (build / "lib" / "libwellposed_mpi.so").exists():
        return None, None  # built without MPI
    (folder / name).write_text(program(body))
    compiled = subprocess.run(["g++", "-std=c++20", "-O0", name, f"-I{tree}/include", f"-L{build}/lib",
                               "-lwellposed_mpi" if spread else "-lwellposed", f"-Wl,-rpath,{build}/lib", "-o", "example"],
                              cwd=folder, capture_output=True, text=True)
    if compiled.returncode:
        return None, "does not compile:\n" + compiled.stderr
    done = subprocess.run([*(MPIRUN if spread else []), "./example", *arguments(body)], cwd=folder, capture_output=True, text=True, env={**os.environ, **SAME})
    return done.stdout, f"exits with {done.returncode}:\n{done.stderr}" if done.returncode \
        else bad_drawings(body, folder) or bad_pages(body, folder)


def run_python(tree, build, body, folder, name):
    (folder / name).write_text(body)
    done = subprocess.run([sys.executable, name, *arguments(body)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **SAME, "PYTHONPATH": f"{build}/python"})
    return done.stdout, f"exits with {done.returncode}:\n{done.stderr}" if done.returncode else bad_pages(body, folder)


def bad_drawings(body, folder):
    """What is wrong with the SVG files that the code names, if anything."""
    for name in re.findall(r'ofstream\("([^"]+\.svg)"\)', body):
        try:
            root = xml.etree.ElementTree.parse(folder / name).getroot()
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            return f"{name}: {error}"
        drawn = [e for e in root.iter() if e.tag.rpartition("}")[2] in ("polyline", "path", "line")]
        if root.tag != "{http://www.w3.org/2000/svg}svg" or not drawn:
            return f"{name} shows nothing"
    return None


class Page(HTMLParser):
    """Open tags, references and drawings of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.trouble, self.curves = [], [], 0
        self.feed(text)
        self.trouble += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.curves += tag in ("polyline", "path")
        if tag in ("script", "link", "iframe"):
            self.trouble.append(f"has a <{tag}>")
        self.trouble += [f"loads {value}" for name, value in attributes
                         if name in ("src", "href") and not value.startswith(("data:", "#"))]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.trouble.append(f"</{tag}> closes nothing")


def bad_pages(body, folder):
    """The same of the HTML pages."""
    for name in re.findall(r'(?:ofstream|open)\("([^"]+\.html)"', body):
        try:
            page = Page((folder / name).read_text())
        except OSError as error:
            return f"{name}: {error}"
        if page.trouble or not page.curves:
            return f"{name}: " + ("; ".join(page.trouble[:5]) or "shows no curve")
    return None


def like(output, expected):
    return re.fullmatch(re.escape(expected).replace("…", "[^\\n]*"), output) is not None


def pieces(tree, language, ending):
    """Where, code, the name of its file, what it must print (None: anything), and where that is written."""
    block = re.compile(rf"^```{language}\n(.*?)^```\n(?:\n?^```text\n(.*?)^```)?", re.S | re.M)
    for path in [tree / "README.md", tree / "CONTRIBUTING.md", *sorted((tree / "docs").glob("*.md"))]:
        text = path.read_text()
        for match in block.finditer(text):
            yield f"{path.relative_to(tree)}:{text[:match.start()].count(chr(10)) + 1}", match[1], f"example.{ending}", match[2], None
    for path in sorted((tree / "examples").glob(f"*/*.{ending}")):
        if (path.parent.name == "adapters") != (language == "python frameworks"):
            continue
        golden = path.with_suffix(".txt")
        name = path.name if ending == "py" else f"example.{ending}"
        yield path.relative_to(tree), path.read_text(), name, golden.read_text() if golden.exists() else "", golden


def main():
    tree, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    language, ending, run = {"python": ("python", "py", run_python), "frameworks": ("python frameworks", "py", run_python)}.get(
        "".join(sys.argv[3:]), ("cpp", "cpp", run_cpp))
    failed = ran = 0
    for where, code, name, expected, golden in pieces(tree, language, ending):
        with tempfile.TemporaryDirectory() as folder:
            output, trouble = run(tree, build, code, pathlib.Path(folder), name)
        if trouble or expected is None or output is None or like(output, expected):
            pass
        elif golden and os.environ.get("WP_WRITE_GOLDEN"):
            golden.write_text(output)
        else:
            trouble = f"prints\n{output}\nand not\n{expected}"
        ran += 1
        if trouble:
            failed += 1
            print(f"{where}: {trouble}")
    print(f"documents and examples, {language}: {ran} pieces of code ran, {failed} failed")
    sys.exit(bool(failed or not ran))


if __name__ == "__main__":
    main()
