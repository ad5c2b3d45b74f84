"""Blame, traces, replay, bisection, trends, recordings, files."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import wellposed as wp


def test_blame_finds_the_row_of_the_data():
    data = np.ones((5, 3))
    data[3, 1] = -1.0
    with wp.Trace() as trace:
        x = wp.with_rows(wp.asarray(data), "data")
        loss = wp.mean(wp.log(x))
        found = wp.blame(loss)
        assert trace.calls == 2
    assert found.source == "op" and found.rows == [3] and "log" in found.text() and "test_sources.py" in found.text()
    assert found.chain[-1].op == "log" and found.chain[-1].element == (3, 1)
    told = json.loads(found.json())
    assert told["source"] == "op" and told["rows"] == [3] and told["rows_name"] == "data"
    assert [link["op"] for link in told["chain"]] == ["mean", "log"] and told["chain"][-1]["value"] == "nan"


def test_blame_takes_errors(tmp_path):
    with wp.Trace():
        y = wp.log(wp.asarray([1.0, 0.0]))
        with pytest.raises(wp.NonFiniteError) as caught:
            wp.sum(y).item()
        found = wp.blame(caught.value)
        found.html(str(tmp_path / "blame.html"))
    assert "x[1] = 0" in found.text()
    assert (tmp_path / "blame.html").read_text().startswith("<!")
    with pytest.raises(TypeError):
        wp.blame(ValueError("not ours"))


def test_replay_names_the_op_that_lost_the_digits():
    with wp.Trace():
        x = wp.asarray([1e-9])
        y = 1.0 - wp.cos(x)
        del y
        lost = wp.replay()
        assert wp.replay(precision="f64").calls == []  # blind to what f64 loses
        with pytest.raises(ValueError, match="precision"):
            wp.replay(precision="half")
    assert lost.calls[0].op == "subtract" and lost.calls[0].digits > 10
    with wp.Trace():
        wp.asarray(1.0, dtype="f32") - wp.cos(wp.asarray([1e-3], dtype="f32"))
        assert wp.replay(precision="f64").calls[0].op == "subtract"


def test_replay_tells_overflow_apart():
    with wp.Trace():
        wp.exp(wp.asarray([1.0, 90.0], dtype="f32"))
        1.0 - wp.cos(wp.asarray([1e-3], dtype="f32"))
        lost = wp.replay()
    assert [l.op for l in lost.overflowed] == ["exp"] and lost.overflowed[0].element == (1,)
    assert lost.calls[0].op == "subtract" and lost.missing == ""
    told = json.loads(lost.json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert told["overflowed"][0]["error"] == "inf" and told["calls"][0]["digits"] > 1


def test_an_array_that_was_overwritten_is_blamed_as_it_was_read():
    small, large = np.ones(100), np.ones(20000)
    for array, said in ((small, "x[7] = -1"), (large, "was changed since")):
        with wp.Trace():
            array[7] = -1.0
            loss = wp.sum(wp.log(wp.asarray(array, copy=False)))
            array[7] = 5.0
            assert said in wp.blame(loss).text()


def test_bisect_finds_the_smallest_failing_set():
    data = wp.asarray(np.arange(20.0))
    found = wp.bisect(data, lambda part: 7.0 in part.tolist() and 13.0 in part.tolist())
    assert found.rows == [7, 13] and found.minimal and found.data.tolist() == [7.0, 13.0]
    assert wp.bisect(data, lambda part: wp.any(part == 7.0)).rows == [7]
    assert wp.bisect(data, lambda part: np.any(np.asarray(part) == 3.0)).rows == [3]
    with pytest.raises(TypeError, match="must return True or False; it returned None"):
        wp.bisect(data, lambda part: None)


def test_a_name_changes_nothing_but_the_name():
    with wp.GradientTape() as tape:
        x = wp.asarray([3.0])
        tape.watch(x)
        y = wp.sum(wp.square(wp.named(x * 2.0, "h"))) + wp.sum(wp.with_rows(x * 5.0, "rows"))
    assert tape.gradient(y, x).tolist() == [29.0]
    with pytest.raises(wp.NonFiniteError, match="log"):
        float(wp.named(wp.log(wp.asarray(0.0)), "h"))


def test_trends_warn_before_overflow():
    trends = wp.Trends(window=8)
    with pytest.warns(wp.FindingWarning):
        for step in range(40):
            wp.set_step(step)
            trends.see("w", wp.asarray([2.0 ** (20 * step)]), wp.asarray([2.0 ** (20 * step)]))
    wp.set_step(-1)
    assert trends.findings and len(trends.gradient_norms("w")) == 40
    guard = wp.GradientGuard()
    with pytest.warns(wp.FindingWarning):
        assert not guard.accepts([wp.asarray([np.nan])])
    assert guard.accepts([wp.asarray([1.0])]) and guard.refused == 1


def test_assertions_give_the_tensor_back_or_raise():
    x = wp.asarray([[2.0, 0.0], [0.0, 1.0]])
    for holds in (lambda: wp.assert_finite(x), lambda: wp.assert_shape(x, (2, -1)), lambda: wp.assert_dims_at_most(x, (2, 2)),
                  lambda: wp.assert_range(x, 0, 2), lambda: wp.assert_spd(x), lambda: wp.assert_that(x, lambda t: t >= 0.0, "x ≥ 0")):
        assert holds().tolist() == x.tolist()
    assert wp.assert_probability(wp.asarray([0.25, 0.75])).tolist() == [0.25, 0.75]
    for fails in (lambda: wp.assert_shape(x, (3, 2)), lambda: wp.assert_dims_at_most(x, (2, 1)), lambda: wp.assert_range(x, 0, 1, "p"), lambda: wp.assert_spd(-x),
                  lambda: wp.assert_that(x, lambda t: t > 0.0, "x > 0"), lambda: wp.assert_probability(x * 3.0)):
        with pytest.raises(AssertionError):
            fails()
    with pytest.raises(wp.NonFiniteError):
        wp.assert_finite(wp.asarray([np.inf]))


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.tsv"])
def test_files_come_back(tmp_path, name):
    x = wp.asarray([[1.5, 2.0], [3.0, -4.0]])
    wp.save(tmp_path / name, x)
    assert wp.load(tmp_path / name).tolist() == x.tolist()
    assert wp.load(str(tmp_path / name), copy=True).tolist() == x.tolist()


def test_a_killed_process_leaves_its_recording(tmp_path):
    path = tmp_path / "run.wpr"
    code = f"""
import os, signal, wellposed as wp
with wp.record({str(path)!r}) as r:
    x = wp.ones(10)
    for k in range(5):
        x = wp.exp(x) * 0.1
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code])
    told = subprocess.run([sys.executable, "-m", "wellposed", "postmortem", str(path)], capture_output=True, text=True)
    assert "multiply" in told.stdout + told.stderr


def test_the_module_is_the_command(tmp_path):
    np.save(tmp_path / "A.npy", np.array([[1.0, 2.0], [2.0, 4.0]]))
    run = lambda *a: subprocess.run([sys.executable, "-m", "wellposed", *a], capture_output=True, text=True)  # noqa: E731
    done = run("diagnose", str(tmp_path / "A.npy"))
    assert done.returncode == 1 and "singular" in done.stdout
    assert run("nonsense").returncode == 2
    assert run("--version").stdout.strip() == f"wellposed {wp.__version__}"
    assert os.path.exists(tmp_path / "A.npy")


def test_an_index_out_of_range_goes_back_to_the_row_it_came_from():
    tokens = wp.with_rows(wp.asarray([[3, 17], [12, 8], [2, 1000]]), "tokens")
    with wp.Trace():
        batch = wp.take(tokens, wp.asarray([2, 0]), axis=0)
        with pytest.raises(IndexError) as caught:
            wp.take(wp.ones((1000, 8)), wp.reshape(batch, (-1,)), axis=0)
        assert "tokens row 2, column 1 = 1000" in wp.blame(caught.value).text()


def test_a_recording_is_read_back(tmp_path):
    path = str(tmp_path / "run.wpr")
    with wp.record(path):
        wp.exp(wp.asarray([1.0]))
    report = wp.postmortem(path)
    assert report.fine() and "exp at test_sources.py:" in report.text()
    assert json.loads(report.json())["schema_version"] == 1
    with pytest.raises(OSError):
        wp.postmortem(str(tmp_path / "none.wpr"))
    wp.postmortem(tmp_path / "run.wpr").html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!")


@pytest.mark.parametrize("how, words", [("with wp.record(path):\n    wp.exp(wp.asarray(['a']))", "closed the recording, by an exception"),
                                        ("r = wp.record(path).start()\nwp.exp(wp.ones(3)); 1 / 0", "by an exception"),
                                        ("wp.exp(wp.ones(3)); 1 / 0", "ended by itself, by an exception")])
def test_an_exception_that_nobody_caught_is_told(tmp_path, how, words):
    path = tmp_path / "run.wpr"
    own = {} if "record" in how else {"WELLPOSED_RECORD": str(path)}
    done = subprocess.run([sys.executable, "-c", f"import wellposed as wp\npath = {str(path)!r}\n{how}"], env={**os.environ, **own},
                          capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and "Error" in last
    report = wp.postmortem(path)
    assert not report.fine() and words in report.text() and last.split(":")[0].split(".")[-1] in report.text()
    with wp.record(path):
        with pytest.raises(ValueError):
            wp.reshape(wp.ones(3), (2,))
    assert wp.postmortem(path).fine()  # one that is caught inside is no end
    quiet = subprocess.run([sys.executable, "-c", f"import sys, wellposed as wp\nwith wp.record({str(path)!r}):\n    wp.exp(wp.ones(3)); sys.exit(0)"])
    assert quiet.returncode == 0 and wp.postmortem(path).fine()


def test_a_window_that_is_too_short_is_widened_as_it_says(tmp_path):
    def blamed(**options):
        with wp.Trace(**options):
            x = wp.asarray([1.0, np.nan])
            for step in range(6):
                wp.set_step(step)
                x = x * 1.0
            wp.set_step(-1)
            return wp.blame(x)
    short = blamed()
    assert short.source == "unknown" and all(f" {word}" in short.missing for word in ("calls", "bytes", "steps"))
    wide = blamed(steps=10)
    assert wide.source == "given" and len(wide.chain) == 6 and wide.missing == ""
    wide.html(tmp_path / "blame.html")
    assert (tmp_path / "blame.html").exists()
