"""wellposed-mpi, and ranks that go wrong: every end is a clear one, told once. ctest sets WP_MPI_CLI, WP_MPI_WORKER and WP_MPIRUN."""
import contextlib
import json
import os
import shlex
import subprocess
import time

import numpy as np
import pytest

from conftest import BUILD, clean_environment

MPIRUN = shlex.split(os.environ.get("WP_MPIRUN", "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"))
CLI = os.environ.get("WP_MPI_CLI", str(BUILD / "wellposed-mpi"))
WORKER = os.environ.get("WP_MPI_WORKER", str(BUILD / "wp_dist_worker"))


def mpi(ranks, *arguments, program=CLI, **variables):
    return subprocess.run([*MPIRUN, "-n", str(ranks), program, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env=clean_environment(**variables))


@pytest.fixture
def folder(tmp_path):
    r = np.random.default_rng(1)
    a = r.standard_normal((60, 60))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(a))
    np.save(tmp_path / "b.npy", a @ np.arange(1.0, 61.0))
    twice = a.copy()
    twice[:, 31] = twice[:, 7]
    np.save(tmp_path / "twice.npy", twice)
    np.save(tmp_path / "tall.npy", a[:, :20])
    np.save(tmp_path / "nan.npy", np.where(np.arange(3600).reshape(60, 60) == 67, np.nan, a))
    return tmp_path


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("file", ["a.npy", "fortran.npy"])
def test_solve_reads_and_writes_files_in_parts(folder, ranks, file):
    done = mpi(ranks, "solve", folder / file, folder / "b.npy", "--out", folder / "x.npy", "--json", "--block", 7)
    assert done.returncode == 0, done.stderr
    assert np.allclose(np.load(folder / "x.npy"), np.arange(1.0, 61.0), rtol=1e-12)
    told = json.loads(done.stdout)
    assert told["ranks"] == ranks and told["block"] == 7 and told["verdict"] == "ok"
    assert told["diagnosis"]["members"][0]["digits"] > 12 and "value" not in told


def test_small_answers_are_printed_once(folder):
    done = mpi(4, "solve", folder / "a.npy", folder / "b.npy")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.allclose([float(line) for line in done.stdout.splitlines()], np.arange(1.0, 61.0), rtol=1e-12)


def test_inv_lstsq_and_svd_agree_with_numpy(folder):
    a = np.load(folder / "a.npy")
    assert mpi(2, "inv", folder / "a.npy", "--out", folder / "i.npy").returncode == 0
    assert np.allclose(np.load(folder / "i.npy") @ a, np.eye(60), atol=1e-11)
    assert mpi(4, "lstsq", folder / "tall.npy", folder / "b.npy", "--out", folder / "l.npy").returncode == 0
    assert np.allclose(np.load(folder / "l.npy"), np.linalg.lstsq(a[:, :20], np.load(folder / "b.npy"), rcond=None)[0], rtol=1e-9)
    done = mpi(4, "svd", folder / "tall.npy", "--u", folder / "u.npy", "--vh", folder / "v.npy", "--out", folder / "s.npy")
    assert done.returncode == 0, done.stderr
    u, s, v = (np.load(folder / f) for f in ("u.npy", "s.npy", "v.npy"))
    assert np.allclose(u * s @ v, a[:, :20], atol=1e-12)


def test_a_repeated_column_is_refused_and_both_are_named_once(folder):
    done = mpi(4, "solve", folder / "twice.npy", folder / "b.npy")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("olumn 31 = column 7") >= 1 and done.stderr.count("verdict") == 1
    told = mpi(2, "diagnose", folder / "twice.npy", "--json")
    member = json.loads(told.stdout)["diagnosis"]["members"][0]
    assert told.returncode == 1 and member["dependent_columns"] == "column 31 = column 7" and member["exactly_singular"]
    repaired = mpi(2, "solve", folder / "twice.npy", folder / "b.npy", "--if-ill", "pinv", "--out", folder / "p.npy")
    assert repaired.returncode == 1 and np.isfinite(np.load(folder / "p.npy")).all(), repaired.stderr


@pytest.mark.parametrize("arguments, words", [
    (("solve", "a.npy", "b.npy", "--shape", "60,61"), "was promised to be [60, 61]; it holds [60, 60]"),
    (("solve", "a.npy", "b.npy", "--grid", "3x3"), "the ranks must form the grid"),
    (("solve", "none.npy", "b.npy"), "none.npy"),
    (("solve", "tall.npy", "b.npy"), "A must be square; got [60, 20]"),
    (("solve", "nan.npy", "b.npy", "--out", "y.npy"), "A[1, 7] is nan"),
])
def test_bad_input_is_told_once(folder, arguments, words):
    done = mpi(4, *(folder / a if a.endswith(".npy") else a for a in arguments))
    assert done.returncode == (1 if "nan" in words else 3), done.stderr
    assert done.stderr.count(words) == 1, done.stderr
    assert not (folder / "y.npy").exists()


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("arguments", [("diagnose", "line.npy"), ("svd", "line.npy"), ("lstsq", "line.npy", "b.npy"), ("solve", "line.npy", "b.npy"),
                                       ("inv", "line.npy")])
def test_a_line_of_numbers_is_no_matrix(folder, arguments, ranks):
    np.save(folder / "line.npy", np.arange(60.0))
    done = mpi(ranks, *(folder / a if a.endswith(".npy") else a for a in arguments))
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("A must be a matrix, [m, n]; got [60]") == 1 and "Signal" not in done.stderr, done.stderr


def test_shapes_and_errors_are_told_as_given(folder):
    """Data are [49], not [49, 1], and no rank is named where all say the same."""
    np.save(folder / "short.npy", np.ones(49))
    for command in ("solve", "lstsq"):
        done = mpi(2, command, folder / "a.npy", folder / "short.npy")
        assert done.returncode == 3 and "got A [60, 60], b [49]." in done.stderr, done.stderr
    done = mpi(2, "inv", folder / "none.npy")
    assert done.returncode == 3 and "rank 0:" not in done.stderr and done.stderr.count("none.npy") == 1, done.stderr


def close(here, there, factor):
    """Numbers as they are in reports: null, or "inf", or within a factor of each other."""
    if not isinstance(here, float) or not isinstance(there, float):
        return here == there
    return here == there or (here * there > 0 and max(here / there, there / here) <= factor)


@pytest.mark.parametrize("ranks, layout", [(1, ()), (2, ("--block", 7)), (4, ("--block", 16)), (4, ("--grid", "4x1", "--block", 5))])
def test_reports_are_those_of_one_machine(cli, folder, ranks, layout):
    a = np.load(folder / "a.npy")
    u, _, v = np.linalg.svd(a)
    np.save(folder / "wide.npy", a[:20])
    np.save(folder / "complex.npy", a + 1j * a.T)
    np.save(folder / "narrow.npy", a.astype(np.float32))
    np.save(folder / "ill.npy", u * np.logspace(0, -13, 60) @ v)
    np.save(folder / "doubtful.npy", u * np.where(np.arange(60) < 59, 1, 3e-14) @ v)
    np.save(folder / "b20.npy", np.arange(20.0))
    b = {"wide.npy": "b20.npy"}
    square = ("a.npy", "twice.npy", "complex.npy", "narrow.npy", "ill.npy", "doubtful.npy")
    cases = [("diagnose", f) for f in (*square, "tall.npy", "wide.npy")] + [("svd", f) for f in ("a.npy", "twice.npy", "wide.npy")]
    cases += [("lstsq", f) for f in ("tall.npy", "wide.npy", "twice.npy", "ill.npy")] + [("solve", f) for f in square] + [("inv", f) for f in square]
    factors = {"rcond": 2, "cond": 1.2, "rank_threshold": 1.001, "forward_error": 1e16, "backward_error": 1e16, "growth": 3, "digits": 2, "rank_gap": 1e16}
    for command, file in cases:
        arguments = [folder / file, *([folder / b.get(file, "b.npy")] if command in ("lstsq", "solve") else []), "--json"]
        many, one = mpi(ranks, command, *arguments, *layout), cli(command, *map(str, arguments))
        assert many.returncode == one.returncode, (command, file, many.stderr, one.stderr)
        here, there = (json.loads(text) for text in (many.stdout, one.stdout))
        assert set(here) - set(there) <= {"ranks", "grid", "block"} and set(there) - set(here) <= {"singular_values"}, (command, file, set(here) ^ set(there))
        if "singular_values" in there and "singular_values" in here:
            assert np.allclose(here["singular_values"], there["singular_values"], rtol=0, atol=1e-5 if file == "narrow.npy" else 1e-12), (command, file)
        x, y = here["diagnosis"]["members"][0], there["diagnosis"]["members"][0]
        for field in ("status", "exactly_singular", "rank", "dependent", "dependent_columns", "certified", "ridge", "freedom"):
            assert x[field] == y[field], (command, file, field, x, y)
        for field, factor in factors.items():
            assert close(x[field], y[field], factor), (command, file, field, x, y)
        assert bool(x["rank_doubt"]) == bool(y["rank_doubt"]) and bool(x["null_vector"]) == bool(y["null_vector"]), (command, file, x, y)


def test_wrong_usage_is_told_once(folder):
    done = mpi(4, "solve", folder / "a.npy", folder / "b.npy", "--if-ill", "maybe")
    assert done.returncode == 2 and done.stderr.count("--if-ill") == 1, done.stderr


def test_without_mpirun_it_says_how_to_start_it(folder):
    done = subprocess.run([CLI, "solve", str(folder / "a.npy"), str(folder / "b.npy")], capture_output=True, text=True,
                          env=clean_environment())
    assert done.returncode == 3 and "mpirun" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("mode, words", [
    ("mismatch", "the ranks do not do the same:"),
    ("throw", "fails: the data of this rank are bad"),
    ("leave", "leaves the program"),
    ("load-dtype", "the ranks do not do the same:"),
    ("oom", "WP-MEM-001"),
    ("oom-inside", "no memory is left"),
    ("throw-inside", "the data of this rank are bad"),
])
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_that_differs_ends_all_with_a_clear_message(folder, mode, words, ranks):
    began = time.monotonic()
    done = mpi(ranks, mode, folder / "a.npy", program=WORKER)
    assert time.monotonic() - began < 30
    assert done.returncode != 0
    assert done.stderr.count(words) == 1, done.stderr
    assert f"rank {ranks - 1}: " in done.stderr
    assert "is done" not in done.stdout


def test_data_of_more_digits_than_the_matrix_keep_them(folder):
    np.save(folder / "narrow.npy", np.eye(60, dtype=np.float32) * 2)
    b = np.arange(60) + 2.0 ** -40
    np.save(folder / "fine.npy", b)
    for command in ("solve", "lstsq"):
        assert mpi(2, command, folder / "narrow.npy", folder / "fine.npy", "--out", folder / "x.npy").returncode == 0
        x = np.load(folder / "x.npy")
        assert x.dtype == np.float64 and (x == b / 2).all()


def test_options_are_those_of_wellposed(folder):
    names = ",".join(f"n{j}" for j in range(60))
    told = mpi(2, "solve", folder / "twice.npy", folder / "b.npy", "--names", names, "--json")
    assert json.loads(told.stdout)["diagnosis"]["members"][0]["dependent_columns"] == "n31 = n7", told.stdout
    assert mpi(2, "solve", folder / "a.npy", folder / "b.npy", "--names", "a,b").returncode == 3
    assert mpi(2, "solve", folder / "a.npy", folder / "b.npy", "--accuracy", "high", "--certify", "--out", folder / "x.npy").returncode == 0
    assert mpi(2, "svd", folder / "a.npy", "--accuracy", "high").returncode == 0


def test_every_option_of_wellposed_is_taken(cli):
    """What a function takes on one machine it takes on many, but for what makes no sense there."""
    def options(program, command):
        text = program(command, "--help").stdout
        return {word.strip(",[]") for line in text.splitlines() for word in line.split()[:2] if word.startswith("--")}
    own = {"--grid", "--block", "--shape"}
    for command in ("solve", "inv", "lstsq", "svd", "diagnose"):
        here, there = options(cli, command), options(lambda *a: mpi(1, *a), command)
        assert here - there <= ({"--rtol", "--atol"} if command == "diagnose" else {"--full-matrices"}) and there - here <= own | {"--u", "--vh"}, (command, here ^ there)


def test_options_reach_the_functions(folder):
    a, b = np.load(folder / "a.npy"), np.load(folder / "b.npy")
    def solved(*options, command="solve"):
        done = mpi(2, command, folder / "a.npy", folder / "b.npy", "--out", folder / "x.npy", *options)
        assert done.returncode == 0, done.stderr
        return np.load(folder / "x.npy")
    good = a + a.T + 50 * np.eye(60)
    np.save(folder / "a.npy", good)
    assert np.allclose(solved("--shift", 3), np.linalg.solve(good + 3 * np.eye(60), b), rtol=1e-9)
    assert np.allclose(solved("--assume", "lower"), np.linalg.solve(np.tril(good), b), rtol=1e-9)
    assert np.allclose(solved("--method", "qr", "--no-refine"), np.linalg.solve(good, b), rtol=1e-9)
    told = mpi(2, "solve", folder / "a.npy", folder / "b.npy", "--min-digits", 16, "--no-refine", "--out", folder / "x.npy")
    assert told.returncode == 1 and "ill-conditioned" in told.stderr, told.stderr
    np.save(folder / "a.npy", a[:, :20])
    told = mpi(2, "lstsq", folder / "a.npy", folder / "b.npy", "--certify", "--json")
    assert json.loads(told.stdout)["diagnosis"]["members"][0]["certified"], told.stdout


def test_a_page_shows_the_spectrum(folder):
    for file, code in (("a.npy", 0), ("twice.npy", 1)):
        done = mpi(2, "inv", folder / file, "--html", folder / "page.html", "--out", folder / "x.npy")
        assert done.returncode == code, done.stderr
        assert "<svg" in (folder / "page.html").read_text(), file


@pytest.mark.parametrize("promise", ["SLURM_NTASKS", "PMI_SIZE"])
def test_ranks_that_do_not_know_of_each_other_do_not_all_write(folder, promise):
    """As under srun without the plugin for this MPI: each process is alone, and would write the same file."""
    environment = {**clean_environment(), promise: "4", "SLURM_PROCID": "0"}
    done = subprocess.run([CLI, "solve", str(folder / "a.npy"), str(folder / "b.npy"), "--out", str(folder / "x.npy")], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 3 and "know" in done.stderr and "Nothing was read" in done.stderr, done.stderr
    assert not (folder / "x.npy").exists()


@pytest.mark.parametrize("n", [60, 1010])
def test_diagnose_says_rank_and_condition_of_any_size(folder, n):
    a = np.random.default_rng(3).standard_normal((n, n))
    a[:, 31] = a[:, 7]
    np.save(folder / "large.npy", a)
    told = mpi(2, "diagnose", folder / "large.npy", "--json")
    member = json.loads(told.stdout)["diagnosis"]["members"][0]
    assert told.returncode == 1 and member["rank"] == n - 1 and member["dependent_columns"] == "column 31 = column 7", told.stdout[:600]


def test_no_rank_holds_the_whole_of_a_file(folder):
    n = 6000  # 275 MiB
    np.save(folder / "wide.npy", np.eye(n))
    done = mpi(4, "copy", folder / "wide.npy", folder / "copied.npy", program=WORKER)
    assert done.returncode == 0, done.stderr
    share = n * n * 8 / 4
    for line in done.stdout.splitlines():
        assert float(line.split()[-1]) < share + 100e6, done.stdout  # and panels of 32 MiB
    assert (np.load(folder / "copied.npy", mmap_mode="r")[::997] == np.eye(n)[::997]).all()


def test_the_death_of_a_rank_ends_all_and_the_recordings_say_who(cli, tmp_path):
    began = time.monotonic()
    done = mpi(3, "die", program=WORKER, WELLPOSED_RECORD=str(tmp_path))
    assert time.monotonic() - began < 30
    assert done.returncode != 0 and "is done" not in done.stdout
    assert "signal 9" in done.stderr  # mpirun's own words
    told = cli("postmortem", str(tmp_path))
    assert told.returncode == 1
    assert "3 ranks" in told.stdout and "Rank 2 stopped first" in told.stdout, told.stdout[:1500]


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_that_is_killed_within_a_factorisation_ends_all(cli, tmp_path, ranks):
    began = time.monotonic()
    done = mpi(ranks, "die-within", program=WORKER, WELLPOSED_RECORD=str(tmp_path))
    assert time.monotonic() - began < 30
    assert done.returncode != 0 and "is done" not in done.stdout
    assert f"process rank {ranks - 1} " in done.stderr and "signal 9" in done.stderr, done.stderr  # mpirun's own words
    told = json.loads(cli("postmortem", str(tmp_path), "--json").stdout)
    last = {r["rank"]: r for r in told["ranks"]}[ranks - 1]
    assert last["dead"] and "p?getrf" in last["running"], last


@contextlib.contextmanager
def hanging(mode, folder):
    """Three ranks that record into the folder and hang."""
    running = subprocess.Popen([*MPIRUN, "-n", "3", WORKER, mode], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(WELLPOSED_RECORD=str(folder)))
    try:
        assert "hanging" in running.stderr.readline()
        time.sleep(1)
        yield
    finally:
        running.terminate()
        running.wait(timeout=30)


def test_a_hang_is_seen_while_it_lasts(cli, tmp_path):
    with hanging("hang", tmp_path):
        told = json.loads(cli("postmortem", str(tmp_path), "--json").stdout)
        ranks = {r["rank"]: r for r in told["ranks"]}
        for r in (0, 1):
            assert ranks[r]["waits"] and not ranks[r]["dead"]
            assert ranks[r]["running"][0] == "dist.generate" and "dist.meet" in ranks[r]["running"], ranks[r]
            assert ranks[r]["running"][-1] == "MPI_Allreduce"
        assert not ranks[2]["waits"] and ranks[2]["doing"].startswith("in no call; the last was ")
        assert told["first_to_stop"] == ""
        text = cli("postmortem", str(tmp_path)).stdout
        assert "rank 0  runs, in dist.generate (dist_worker.cpp:" in text and "> dist.meet > MPI_Allreduce since " in text, text[:600]


def test_a_hang_inside_scalapack_is_seen_too(cli, tmp_path):
    with hanging("hang-inside", tmp_path):
        ranks = {r["rank"]: r for r in json.loads(cli("postmortem", str(tmp_path), "--json").stdout)["ranks"]}
        waiting = [r for r in (0, 1) if ranks[r]["waits"]]
        assert waiting, ranks
        for r in waiting:
            assert ranks[r]["running"][0] == "p?getrf" and ranks[r]["running"][-1].startswith("MPI_"), ranks[r]
            assert ranks[r]["messages"] > 0 and ranks[r]["bytes"] > 0 and ranks[r]["flops"] > 0
        assert not ranks[2]["waits"]


@pytest.mark.parametrize("arguments, code, words", [
    (("inv", "wide.npy", "--block", "100000"), 3, "block must be from 1 to 1024; got 100000"),
    (("inv", "wide.npy", "--block", "3000000000"), 3, "block must be from 1 to 1024"),
    (("inv", "a.npy", "--grid", "4294967297x4"), 2, "--grid is ROWSxCOLUMNS; got '4294967297x4'"),
    (("inv", "wide.npy"), 3, "the answer is too large to print"),
    (("svd", "a.npy", "--out", "no/where.npy"), 3, "where.npy"),
    (("svd", "a.npy", "--html", "no/page.html"), 3, "page.html"),
])
def test_what_cannot_be_is_told_once_before_or_after_the_work(folder, arguments, code, words):
    np.save(folder / "wide.npy", np.eye(1025))
    done = mpi(4, *(folder / a if "." in a else a for a in arguments))
    assert done.returncode == code, done.stderr
    assert done.stderr.count(words) == 1 and "together" not in done.stderr, done.stderr


def test_vectors_of_a_matrix_without_any_leave_files_as_they_were(folder):
    (folder / "u.npy").write_text("before")
    done = mpi(2, "svd", folder / "nan.npy", "--u", folder / "u.npy", "--vh", folder / "v.npy")
    assert done.returncode == 1 and "No result is given" in done.stderr, done.stderr
    assert (folder / "u.npy").read_text() == "before" and not (folder / "v.npy").exists()
    assert "singular values" not in done.stderr, done.stderr


@pytest.mark.parametrize("dtype, name", [(np.float32, "f32"), (np.complex128, "c128")])
def test_reports_say_the_dtype_of_the_file(folder, dtype, name):
    np.save(folder / "typed.npy", np.load(folder / "a.npy").astype(dtype))
    done = mpi(2, "diagnose", folder / "typed.npy")
    assert name in done.stdout and "f64" not in done.stdout, done.stdout


def test_every_rank_records_into_a_folder_that_is_made(cli, folder):
    record = folder / "deep" / "run"
    assert mpi(2, "inv", folder / "a.npy", WELLPOSED_RECORD=str(record)).returncode == 0
    assert sorted(f.name for f in record.iterdir()) == ["rank-0000.wpr", "rank-0001.wpr"]
    assert "2 ranks" in cli("postmortem", str(record)).stdout


def test_a_recording_that_cannot_be_is_told_once(folder):
    done = mpi(4, "inv", folder / "a.npy", WELLPOSED_RECORD=str(folder / "a.npy"))
    assert done.returncode == 3 and done.stderr.count("WELLPOSED_RECORD must name a folder") == 1, done.stderr
    (folder / "run" / "rank-0001.wpr").mkdir(parents=True)
    done = mpi(4, "inv", folder / "a.npy", WELLPOSED_RECORD=str(folder / "run"))
    assert done.returncode == 3 and done.stderr.count("rank-0001.wpr") == 1 and "Signal" not in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("mode", ["throw-empty", "throw-number"])
def test_an_exception_without_words_is_told(mode, ranks):
    done = mpi(ranks, mode, program=WORKER)
    assert done.returncode == 4 and done.stderr.count("an exception ") == 1, done.stderr
