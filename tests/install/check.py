#!/usr/bin/env python3
"""Installs a build to a temporary prefix and uses it from outside: find_package, pkg-config, the command.

    tests/install/check.py BUILD_DIRECTORY VERSION
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
build, version = sys.argv[1:]


def run(*command, **variables):
    done = subprocess.run([str(c) for c in command], env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}")
    return done.stdout


def check(good, words):
    if not good:
        sys.exit(words)


with tempfile.TemporaryDirectory(prefix="wellposed-install-") as directory:
    work = pathlib.Path(directory)
    prefix = work / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    library = next(prefix.rglob("libwellposed.so"))

    run("cmake", "-S", here, "-B", work / "outside", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", work / "outside")
    check(run(work / "outside" / "outside", work).strip() == f"wellposed {version}", "find_package: wrong version")

    package = next(prefix.rglob("wellposed.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "wellposed", PKG_CONFIG_PATH=str(package)).split()
    check(any(str(prefix) in str(pathlib.Path(f[2:]).resolve()) for f in flags if f.startswith("-I")), f"pkg-config points elsewhere: {flags}")
    run("g++", here / "main.cpp", "-o", work / "plain", *flags)
    check(run(work / "plain", work, LD_LIBRARY_PATH=str(library.parent)).strip() == f"wellposed {version}", "pkg-config: wrong version")
    check(run("pkg-config", "--modversion", "wellposed", PKG_CONFIG_PATH=str(package)).strip() == version, "pkg-config: wrong version")

    check(run(prefix / "bin" / "wellposed", "--version").strip() == f"wellposed {version}", "the command: wrong version")

    spread = prefix / "bin" / "wellposed-mpi"  # where MPI was found
    check(not spread.exists() or run(spread, "--version").strip() == f"wellposed {version}", "wellposed-mpi: wrong version")

    major_minor = ".".join(version.split(".")[:2])
    names = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", library))
    check(names and names[1] == f"libwellposed.so.{major_minor}", f"SONAME is {names and names[1]}")
    # What is linked in statically stays inside: a program may have its own OpenBLAS.
    leaked = [s for s in run("nm", "-D", "--defined-only", library).split() if re.match(r"(cblas_|openblas_|gotoblas|[sdcz]gemm_$)", s)]
    check(not leaked, f"the library exports {leaked[:5]}")
print("install: ok")
