"""wellposed events and wellposed plot, on files that TensorBoard's own writer made."""
import json
import os
import subprocess

import pytest

pytest.importorskip("tensorboard")
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

CLI = os.environ["WP_CLI"]


def run(*arguments):
    return subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def runs(tmp_path):
    for name, factor in (("a", 1.0), ("b", 2.0)):
        writer = EventFileWriter(str(tmp_path / name))
        for step in range(4):
            value = summary_pb2.Summary.Value(tag="loss", simple_value=factor / (step + 1))
            writer.add_event(event_pb2.Event(wall_time=float(step), step=step, summary=summary_pb2.Summary(value=[value])))
        writer.close()
    return tmp_path


def test_events_lists_what_is_there(runs):
    done = run("events", runs)
    assert done.returncode == 0 and done.stderr == ""
    assert "a: 5 records" in done.stdout and "loss: 4 steps, 0 to 3, last value 0.25" in done.stdout


def test_json_and_csv_hold_every_value(runs):
    told = json.loads(run("events", runs, "--json").stdout)
    assert told["schema_version"] == 1 and told["runs"]["b"]["scalars"]["loss"]["value"][:2] == [2.0, 1.0]
    lines = run("events", runs, "--csv").stdout.splitlines()
    assert lines[0] == "run,tag,step,wall_time,value" and len(lines) == 9 and lines[1] == "a,loss,0,0,1"


def test_damage_is_told_and_exits_with_1(runs):
    path = next((runs / "a").iterdir())
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(data)
    done = run("events", runs)
    assert done.returncode == 1 and "lost" in done.stderr and str(path) in done.stderr


def test_plot_writes_one_page_with_a_curve_per_run(runs, tmp_path):
    page = tmp_path / "page.html"
    assert run("plot", runs, "--html", page).returncode == 0
    text = page.read_text()
    assert text.count("<path") == 2 and "<script" not in text


def test_a_folder_without_event_files_is_bad_input(tmp_path):
    done = run("events", tmp_path)
    assert done.returncode == 3 and "tfevents" in done.stderr
