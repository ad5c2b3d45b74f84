#!/usr/bin/env python3
"""Adds one room to a copy of the tree and looks for it in everything that is derived: C++ header, library, CLI, Python, docs, type stubs."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOM = '''#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_triple;
namespace {
struct Triple {
  template <class T>
  WP_FN T apply(T x) {
    return x + x + x;
  }
};
constexpr simd::Loops loops = simd::loops1<Triple>(simd::RealFloats{});
std::vector<Sample> samples() { return elementwise_samples(op_triple, {{{1}}, {{-2.5}}}); }
}  // namespace

const Op op_triple = elementwise({
    .name = "triple",
    .group = "element-wise",
    .doc = "Three times x, element by element.",
    .params = {{"x", kinds::real_floating}},
    .loops = &loops,
    .samples = samples,
});
}  // namespace wp
'''
USER = '''#include <wellposed/wellposed.hpp>
int main() { return wp::triple(wp::Tensor{14.0}).item<double>() == 42 ? 0 : 1; }
'''
PYTHON = "import wellposed as wp; assert wp.triple(wp.asarray([14.0])).tolist() == [42.0]; assert 'Three times' in wp.triple.__doc__"
SKIPPED = {"build", ".git", ".venv", ".bench-venv"}


def run(command, where, **environment):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def expect(text, path_or_text, where):
    if text not in path_or_text:
        sys.exit(f"'{text}' is not in {where}")


def main():
    tree = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "tree"
        shutil.copytree(tree, copy, ignore=lambda directory, names: SKIPPED & set(names))
        (copy / "src/ops/rooms/triple.cpp").write_text(ROOM)
        configure = ["cmake", "--preset", "release", "-DWP_TESTS=OFF", "-DWP_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
        run(configure, copy)
        run(["cmake", "--build", "build/release", "--target", "wp_print_ops", "wellposed_python"], copy)
        headers = {path: path.stat() for path in (copy / "include/wellposed/ops").iterdir()}
        run(["cmake", "--build", "build/release", "--target", "generate"], copy)
        for path, before in headers.items():  # only what defines the op is rebuilt, not every file that sees its header
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        expect("def triple(x: _Array, /) -> Tensor", (copy / "python/wellposed/__init__.pyi").read_text(), "the type stubs")
        expect("Tensor triple(const In& x", (copy / "include/wellposed/ops/element_wise.hpp").read_text(), "the C++ header")
        expect("### `triple(x)`", (copy / "docs/ops.md").read_text(), "the op reference")
        run(configure, copy)
        run(["cmake", "--build", "build/release", "--target", "wellposed", "wellposed_cli", "wellposed_python"], copy)
        expect("triple", run(["build/release/bin/wellposed", "ops"], copy), "the output of `wellposed ops`")
        (copy / "user.cpp").write_text(USER)
        run(["g++", "-std=c++20", "user.cpp", "-Iinclude", "-Lbuild/release/lib", "-lwellposed", "-Wl,-rpath,build/release/lib", "-o", "user"], copy)
        run(["./user"], copy)
        run([sys.executable, "-c", PYTHON], copy, PYTHONPATH=str(copy / "build/release/python"))
    print("new room: found in header, library, CLI, Python and docs")


if __name__ == "__main__":
    main()
