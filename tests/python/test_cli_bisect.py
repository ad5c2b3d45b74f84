"""The command bisect: rows, exit codes, JSON, what is written."""
import json
import sys

import numpy as np
import pytest

# Fails with exit code 7 when a NaN is there, with 2 on fewer than three rows.
PROGRAM = """
import sys, numpy as np
x = np.load(sys.argv[1])
sys.exit(7 if np.isnan(x).any() else 2 if len(x) < 3 else 0)
"""


@pytest.fixture
def folder(tmp_path):
    x = np.arange(200.0).reshape(50, 4)
    np.save(tmp_path / "good.npy", x)
    x[31, 2] = np.nan
    np.save(tmp_path / "bad.npy", x)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def bisect(cli, folder, data, *options):
    return cli("bisect", "--data", str(folder / data), "--out", str(folder / "rows.npy"), *options, "--", sys.executable,
               str(folder / "program.py"), "{}")


def test_the_row_is_found_and_written(cli, folder):
    done = bisect(cli, folder, "bad.npy")
    assert done.returncode == 1 and "1 of 50 rows is enough for it to fail (exit code 7): row 31." in done.stdout
    assert np.array_equal(np.load(folder / "rows.npy"), np.load(folder / "bad.npy")[31:32], equal_nan=True)


def test_json(cli, folder):
    out = json.loads(bisect(cli, folder, "bad.npy", "--json").stdout)
    assert out["rows"] == [31] and out["of"] == 50 and out["minimal"] and out["end"] == "exit code 7"


def test_any_failure_counts_if_asked(cli, folder):
    out = json.loads(bisect(cli, folder, "bad.npy", "--any", "--json").stdout)
    assert len(out["rows"]) == 1  # also the failure on few rows


def test_a_command_that_does_not_fail_is_refused(cli, folder):
    done = bisect(cli, folder, "good.npy")
    assert done.returncode == 3 and "does not fail" in done.stderr and not (folder / "rows.npy").exists()


def test_wrong_usage(cli, folder):
    assert cli("bisect", "--data", str(folder / "bad.npy"), "--", "true").returncode == 2
    done = cli("bisect", "--data", str(folder / "bad.npy"), "--", "no-such-program", "{}")
    assert done.returncode == 2 and "cannot be run" in done.stderr


def test_a_command_that_dies_by_a_signal_fails_by_that_signal(cli, folder):
    # Two rows together make it die of SIGSEGV; few rows end with an exit code, which is another failure.
    (folder / "program.py").write_text("""
import os, signal, sys, numpy as np
x = np.load(sys.argv[1])
if {12.0, 84.0} <= set(x[:, 0]):
    os.kill(os.getpid(), signal.SIGSEGV)
sys.exit(2 if len(x) < 10 else 0)
""")
    out = json.loads(bisect(cli, folder, "good.npy", "--json").stdout)
    assert out["rows"] == [3, 21] and out["minimal"] and out["end"] == "signal 11 (Segmentation fault)"
    done = bisect(cli, folder, "good.npy")
    assert done.returncode == 1 and "(signal 11 (Segmentation fault)): rows 3, 21." in done.stdout
    assert np.load(folder / "rows.npy")[:, 0].tolist() == [12.0, 84.0]
