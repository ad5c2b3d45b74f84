"""Paths of what is tested: ctest sets WP_CLI and WP_WORKER (build/release without it)."""
import os
import pathlib
import subprocess

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build" / "release" / "bin"


def clean_environment(**extra):
    """This process's environment without WELLPOSED_* variables."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WELLPOSED_") and k not in ("NO_COLOR", "COLUMNS")}
    return {**kept, **extra}


@pytest.fixture
def tree():
    return TREE


@pytest.fixture
def cli():
    """cli("ops", "log", WELLPOSED_ISA="avx2"): the finished process."""
    program = os.environ.get("WP_CLI", str(BUILD / "wellposed"))

    def run(*arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **variables):
        return subprocess.run([program, *arguments], stdout=stdout, stderr=subprocess.PIPE, stdin=stdin, text=True,
                              env=clean_environment(**variables))

    return run


@pytest.fixture
def convert():
    """convert(a, b): wp::save(b, wp::load(a)) in a process of its own; copy=True reads without mapping."""
    program = os.environ.get("WP_WORKER", str(BUILD / "wp_io_worker"))

    def run(source, target, copy=False):
        return subprocess.run([program, str(source), str(target)] + (["copy"] if copy else []), capture_output=True,
                              text=True, env=clean_environment())

    return run
