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


# Reads a table by the names of its columns, whole numbers as such; or two arrays with as many rows.
READS = """
import csv, sys, numpy as np
name = sys.argv[1]
if name.endswith(".csv"):
    rows = list(csv.DictReader(open(name), delimiter=";"))
    bad = any(int(r["id"]) >= 0 and np.isnan(float(r["b"])) for r in rows)
else:
    x, y = np.load(name)["features"], np.load(name)["labels"]
    assert len(x) == len(y)
    bad = (np.isnan(x).any(axis=1) & (y == 13)).any()
sys.exit(7 if bad else 0)
"""


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_rows_are_written_as_the_data_was(cli, tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    x = np.arange(40.0).reshape(20, 2) + 0.5
    x[13, 1] = x[5, 1] = np.nan
    data = tmp_path / f"data.{ending}"
    if ending == "csv":
        x[5, 1] = 1.0
        data.write_text("id;a;b\n" + "".join(f"{k};{a};{b}\n" for k, (a, b) in enumerate(x)))
    else:
        np.savez(data, features=x, labels=np.arange(20))
    (tmp_path / "program.py").write_text(READS)
    done = cli("bisect", "--data", str(data), "--json", "--", sys.executable, str(tmp_path / "program.py"), "{}")
    out = json.loads(done.stdout)
    assert out["rows"] == [13] and out["of"] == 20 and out["file"] == f"data-failing.{ending}" and out["again"]
    if ending == "csv":
        assert (tmp_path / out["file"]).read_text() == "id;a;b\n13;26.5;nan\n"
    else:
        found = np.load(tmp_path / out["file"])
        assert np.array_equal(found["features"], x[13:14], equal_nan=True) and found["labels"].tolist() == [13]


def test_arrays_of_other_lengths_are_refused(cli, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.ones((3, 2)), y=np.ones(4))
    done = cli("bisect", "--data", str(tmp_path / "data.npz"), "--", "false", "{}")
    assert done.returncode == 3 and "the same number of rows; 'x' is [3, 2], 'y' is [4]" in done.stderr


def test_a_table_without_names_stays_one(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("# made by hand\n1.5,2\n\n3.5,-4\n5.5,6")
    check = "import sys; text = open(sys.argv[1]).read(); sys.exit('-4' in text or 'column' in text or '\\x93NUMPY' in text)"
    done = cli("bisect", "--data", "data.csv", "--json", "--", sys.executable, "-c", check, "{}")
    assert json.loads(done.stdout)["rows"] == [1] and (tmp_path / "data-failing.csv").read_text() == "3.5,-4\n"
    cli("bisect", "--data", "data.csv", "--out", "rows.npy", "--", sys.executable, "-c", check, "{}")
    assert np.load(tmp_path / "rows.npy").tolist() == [[3.5, -4.0]]


def test_a_command_that_hangs_fails_by_its_time(cli, folder):
    (folder / "program.py").write_text("""
import sys, time, numpy as np
if np.isnan(np.load(sys.argv[1])).any():
    time.sleep(600)
""")
    done = cli("bisect", "--data", str(folder / "bad.npy"), "--out", str(folder / "rows.npy"), "--json", "--", "timeout", "2", sys.executable,
               str(folder / "program.py"), "{}")
    out = json.loads(done.stdout)
    assert out["rows"] == [31] and out["end"] == "exit code 124"


def test_a_command_that_fails_now_and_then_is_told_or_repeated(cli, folder):
    count = folder / "count"
    program = f"""
import sys, numpy as np
n = int(open({str(count)!r}).read()) + 1
open({str(count)!r}, "w").write(str(n))
sys.exit(7 if np.isnan(np.load(sys.argv[1])).any() and FAILS else 0)
"""
    (folder / "program.py").write_text(program.replace("FAILS", "n == 1"))
    count.write_text("0")
    once = bisect(cli, folder, "bad.npy")
    assert once.returncode == 1 and "50 of 50 rows" in once.stdout and "--repeat" in once.stdout
    (folder / "program.py").write_text(program.replace("FAILS", "n % 3 == 0"))
    out = json.loads(bisect(cli, folder, "bad.npy", "--repeat", "3", "--json").stdout)
    assert out["rows"] == [31] and out["again"]
    assert bisect(cli, folder, "bad.npy", "--repeat", "0").returncode == 2
