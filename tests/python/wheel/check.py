#!/usr/bin/env python3
"""The wheel and the source archive install and work in a clean environment.

    tests/python/wheel/check.py TREE

The wheel is built from the source archive in a folder of its own; ccache has the objects of the ordinary build. What it needs of
the system is put into it (auditwheel), and it is installed without an index.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

PROGRAM = """
import wellposed as wp, pathlib, sys
assert 'site-packages' in wp.__file__, wp.__file__
assert wp.linalg.solve([[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]).shape == (2,)
try:
    wp.linalg.inv([[1.0, 2.0], [2.0, 4.0]])
except wp.SingularMatrix as error:
    assert error.finding.line == 6, error.finding.line
folder = pathlib.Path(wp.__file__).parent
assert (folder / 'py.typed').exists() and (folder / 'linalg' / '__init__.pyi').exists()
assert 'numpy' not in sys.modules
print(wp.__version__)
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-6000:]}")
    return done.stdout


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(dir=tree / "build") as folder:  # as deep as other builds: ccache knows the relative paths
        folder = pathlib.Path(folder)
        environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
        environment.pop("PYTHONPATH", None)
        environment["CXX"] = shutil.which("c++")  # the name CMake finds: ccache tells compilers apart by their names
        run(sys.executable, "-c", f"import scikit_build_core.build as b; b.build_sdist({str(folder)!r})", cwd=tree, env=environment)
        archive = next(folder.glob("*.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "source")
        source = next((folder / "source").iterdir())
        assert not (source / "build").exists() and (source / "src" / "ops" / "rooms" / "log.cpp").exists()
        run(sys.executable, "-m", "pip", "wheel", source, "--no-build-isolation", "--no-deps", "-w", folder / "raw", env=environment)
        raw = next((folder / "raw").glob("*.whl"))
        run(sys.executable, "-m", "auditwheel", "repair", raw, "-w", folder / "wheel", env=environment)
        wheel = next((folder / "wheel").glob("*.whl"))
        inside = zipfile.ZipFile(wheel).namelist()
        for library in ("sleef", "gfortran"):
            assert any(library in name for name in inside), f"{library} is not in {wheel.name}"
        assert "manylinux" in wheel.name, wheel.name
        venv.create(folder / "clean", with_pip=True)
        python = folder / "clean" / "bin" / "python"
        run(python, "-m", "pip", "install", "--no-index", wheel, env=environment)
        version = run(python, "-c", PROGRAM, cwd=folder, env=environment).strip()
        assert run(folder / "clean" / "bin" / "wellposed", "--version", cwd=folder, env=environment).strip() == f"wellposed {version}"
        assert run(python, "-m", "wellposed", "--version", cwd=folder, env=environment).strip() == f"wellposed {version}"
        print(f"{wheel.name} ({wheel.stat().st_size >> 20} MiB) installs and works")
        if keep := os.environ.get("WP_KEEP_WHEEL"):
            shutil.copy(wheel, keep)
            shutil.copy(archive, keep)


if __name__ == "__main__":
    main()
