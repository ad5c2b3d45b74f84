"""wellposed postmortem: what it says of processes that died, in words, JSON and HTML."""
import json
import os
import re
import subprocess

import pytest

from conftest import BUILD, clean_environment


@pytest.fixture
def recorded(tmp_path):
    """recorded("segv"): the recording of a worker that ended so."""
    program = os.environ.get("WP_RECORD_WORKER", str(BUILD / "wp_record_worker"))

    def run(mode):
        path = tmp_path / f"{mode}.wpr"
        subprocess.run([program, str(path), mode], capture_output=True, env=clean_environment())
        return path

    return run


def same(text):
    """Without what differs from run to run."""
    for pattern, word in [(r"/[^ \n]*/", ""), (r"process \d+ died", "process N died"), (r"worker.cpp:\d+", "worker.cpp:N"), (r"tid \d+", "tid N"), (r"\d{4}-\d\d-\d\d [\d:]+ UTC on \S+;", "TIME;"),
                          (r" +\d+\.\d+ s ", " T s "), (r"at [\d.e-]+ s", "at T s"), (r"[\d.]+ [KMG]iB", "SIZE"), (r"0x[0-9a-f]+", "0xN")]:
        text = re.sub(pattern, word, text)
    return text


def test_the_report_of_a_crash_is_the_golden_text(cli, recorded, tree):
    """tests/golden/postmortem.txt; when a change is meant: WP_WRITE_GOLDEN=1 and commit the diff."""
    done = cli("postmortem", str(recorded("segv")), "--last", "3")
    assert (done.returncode, done.stderr) == (1, "")
    text = same(re.sub(r"\nThe stack\n(  .*\n)+", "\n", done.stdout))
    golden = tree / "tests" / "golden" / "postmortem.txt"
    if os.environ.get("WP_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_json_names_the_call_its_inputs_and_the_stack(cli, recorded):
    done = cli("postmortem", str(recorded("segv")), "--json")
    out = json.loads(done.stdout)
    run = out["recordings"][0]
    assert done.returncode == 1 and out["schema_version"] == 1 and run["fate"] == "signal" and run["signal"]["name"] == "SIGSEGV"
    assert run["in_flight"]["op"] == "doomed_op" and run["in_flight"]["state"] == "running"
    assert run["in_flight"]["inputs"][0] == {"dtype": "f64", "shape": [1, 3], "rank": 2, "elements": 3, "nan": False, "inf": False,
                                             "made_nonfinite_before": False, "borrowed": False, "samples": 3, "min": -2.0, "max": 3.0}
    assert any("inside_op" in frame["function"] for frame in run["signal"]["stack"])
    assert run["torn"] == 0 and run["missing"] == []


@pytest.mark.parametrize("mode, code, fate, words", [
    ("clean", 0, "stopped", "ended in order"),
    ("nan", 1, "killed", "log at record_worker.cpp"),
    ("growth", 1, "killed", "scope growing"),
    ("overflow", 1, "signal", "recursion without end"),
    ("terminate", 1, "signal", "nobody caught: reshape: shape [3]"),
])
def test_it_says_how_it_ended_and_what_to_look_at(cli, recorded, mode, code, fate, words):
    done = cli("postmortem", str(recorded(mode)), "--json")
    run = json.loads(done.stdout)["recordings"][0]
    assert (done.returncode, run["fate"]) == (code, fate) and words in run["look_first"]


def test_a_folder_is_read_as_a_whole_and_a_page_loads_nothing(cli, recorded, tmp_path):
    recorded("clean"), recorded("growth")
    page = tmp_path / "report.html"
    done = cli("postmortem", str(tmp_path), "--html", str(page))
    assert done.returncode == 1 and done.stdout.count("What happened") == 2
    text = page.read_text()
    assert "<svg" in text and "<script" not in text and "src=" not in text


def test_what_is_no_recording_is_bad_input(cli, tmp_path):
    (tmp_path / "x.wpr").write_text("nothing")
    assert cli("postmortem", str(tmp_path / "x.wpr")).returncode == 3
    assert cli("postmortem", str(tmp_path / "none.wpr")).returncode == 3
    (tmp_path / "x.wpr").unlink()
    assert cli("postmortem", str(tmp_path)).returncode == 3
    assert cli("postmortem").returncode == 2


def test_reading_with_the_variable_set_leaves_the_recording_alone(cli, recorded):
    path = recorded("segv")
    before = path.read_bytes()
    assert cli("postmortem", str(path), WELLPOSED_RECORD=str(path)).returncode == 1
    assert path.read_bytes() == before
