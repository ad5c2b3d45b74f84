"""Summaries, read by the real TensorBoard and compared with protobuf's own encoding."""
import math

import numpy as np
import pytest

import wellposed as wp

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.compat.proto import event_pb2
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.histogram import histograms_plugin
from tensorboard.plugins.scalar import scalars_plugin
from tensorboard.plugins.text import text_plugin
from tensorboard.util import tensor_util


@pytest.fixture
def log(tmp_path):
    writer = wp.SummaryWriter(str(tmp_path))
    yield writer
    writer.close()


def fill(writer):
    for step in range(5):
        writer.scalar("loss", 1 / (step + 1), step)
    writer.histogram("weights", np.arange(10.0), 3, bins=5)
    writer.text("note", "**bold** µ", 1)
    writer.image("picture", np.linspace(0, 1, 12).reshape(3, 4), 2)
    writer.image("pictures", np.zeros((2, 5, 6, 3), np.uint8), 2)
    writer.diagnosis("A", wp.linalg.diagnosed.inv([[2.0, 0.0], [0.0, 0.5]])[1], 4)
    writer.flush()


DIAGNOSED = {"A/log10_condition", "A/digits", "A/log10_singular_values"}


def records(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at:at + 8], "little")
        yield data[at + 12:at + 12 + length]
        at += 16 + length


def test_every_record_is_byte_for_byte_what_protobuf_writes(log):
    fill(log)
    for step in (0, 1, 127, 128, 2**40, 2**63 - 1, -1):  # varints of every length
        log.scalar("x" * 40, -0.0, step)
        log.scalar("long " * 30, math.nan, step)
        log.scalar("µ" * 9000, math.inf, step)
    log.histogram("empty", [], 1)
    log.histogram("bad", [math.nan, math.inf], 1)
    log.text("", "", 0)
    log.flush()
    seen = 0
    for record in records(log.path):
        event = event_pb2.Event()
        event.ParseFromString(record)
        assert event.SerializeToString(deterministic=True) == record
        seen += 1
    assert seen == 1 + log.written


def test_the_accumulator_of_tensorboard_reads_every_kind(log, tmp_path):
    fill(log)
    events = accumulator.EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    events.Reload()
    assert events.file_version == 2.0
    assert set(events.Tags()["tensors"]) == {"loss", "weights", "note", "picture", "pictures"} | DIAGNOSED
    assert tensor_util.make_ndarray(events.Tensors("A/log10_condition")[0].tensor_proto) == np.float32(math.log10(4))
    assert tensor_util.make_ndarray(events.Tensors("A/log10_singular_values")[0].tensor_proto)[:, 2].sum() == 2
    losses = events.Tensors("loss")
    assert [e.step for e in losses] == [0, 1, 2, 3, 4]
    assert [tensor_util.make_ndarray(e.tensor_proto).item() for e in losses] == [np.float32(1 / (k + 1)) for k in range(5)]
    rows = tensor_util.make_ndarray(events.Tensors("weights")[0].tensor_proto)
    assert rows.shape == (5, 3) and rows[:, 2].tolist() == [2, 2, 2, 2, 2] and rows[0, 0] == 0 and rows[-1, 1] == 9
    assert tensor_util.make_ndarray(events.Tensors("note")[0].tensor_proto).item().decode() == "**bold** µ"
    width, height, picture = tensor_util.make_ndarray(events.Tensors("picture")[0].tensor_proto)
    assert (width, height) == (b"4", b"3") and picture.startswith(b"\x89PNG")
    for tag, plugin in (("loss", "scalars"), ("weights", "histograms"), ("note", "text"), ("picture", "images")):
        assert events.SummaryMetadata(tag).plugin_data.plugin_name == plugin


def test_the_data_provider_of_tensorboard_gives_scalars_tensors_and_blobs(log, tmp_path):
    fill(log)
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    source = data_provider.MultiplexerDataProvider(multiplexer, str(tmp_path))
    some = {"ctx": RequestContext(), "experiment_id": "e", "downsample": 100}
    scalars = source.read_scalars(plugin_name="scalars", **some)
    assert [p.value for p in scalars["."]["loss"]] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert source.read_tensors(plugin_name="histograms", **some)["."]["weights"][0].numpy.shape == (5, 3)
    assert source.read_tensors(plugin_name="text", **some)["."]["note"]
    assert len(source.read_blob_sequences(plugin_name="images", **some)["."]["pictures"][0].values) == 4


def test_the_plugins_of_tensorboard_show_what_is_odd_too(log, tmp_path):
    """The code behind its pages: histograms without a finite value, tags with control characters, steps that go back."""
    with pytest.warns(wp.FindingWarning, match="go back from 1 to 0"):
        for step in (0, 1, 0):
            log.histogram("odd\n\x01tag", [math.nan, math.inf], step)
            log.scalar("s\t<b>", math.nan, step)
            log.text("t", "<script>alert(1)</script> **bold**", step)
        log.flush()
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    source = data_provider.MultiplexerDataProvider(multiplexer, str(tmp_path))
    context = base_plugin.TBContext(logdir=str(tmp_path), data_provider=source)
    histograms, _ = histograms_plugin.HistogramsPlugin(context).histograms_impl(RequestContext(), "odd\ufffd\ufffdtag", ".", "e")
    assert [step for _, step, _ in histograms] and all(rows == [] for _, _, rows in histograms)
    scalars, _ = scalars_plugin.ScalarsPlugin(context).scalars_impl(RequestContext(), "s\ufffd<b>", ".", "e", "json")
    assert all(math.isnan(value) for _, _, value in scalars) and scalars
    counted, _ = scalars_plugin.ScalarsPlugin(context).scalars_impl(RequestContext(), "odd\ufffd\ufffdtag/nonfinite", ".", "e", "json")
    assert [value for _, _, value in counted] == [2.0] * len(counted) and counted
    texts = text_plugin.TextPlugin(context).text_impl(RequestContext(), ".", "t", "e", True)
    assert "<strong>bold</strong>" in texts[0]["text"] and "<script" not in texts[0]["text"]


def test_whole_sets_of_parameters_and_diagnoses_go_to_the_innermost_writer(tmp_path):
    with wp.SummaryWriter(str(tmp_path)) as writer, wp.scope("model"):
        writer.histograms({"w": [1.0, 2.0], "b": np.zeros(3)}, 1)
        wp.summary.histograms({"v": [1.0]}, 1)
        wp.summary.diagnosis("A", wp.linalg.diagnosed.inv([[2.0]])[1], 1)
        wp.summary.scalar("loss", 0.5, 1)
    events = wp.read_events(str(tmp_path))[""]
    assert set(events.histograms) == {"model/w", "model/b", "model/v", "model/A/log10_singular_values"}
    assert {"model/loss", "model/A/digits"} <= set(events.scalars)


def test_the_pictures_are_what_was_given(log):
    pixels = np.random.default_rng(1).integers(0, 256, (4, 7, 3), dtype=np.uint8)
    log.image("x", pixels, 0)
    log.flush()
    png = wp.read_events(log.path)[""].images["x"]["value"][0][0]
    import struct
    import zlib
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0]
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(4, 1 + 21)
    assert not rows[:, 0].any() and (rows[:, 1:].reshape(4, 7, 3) == pixels).all()


def test_the_reader_gives_back_what_was_written(log):
    fill(log)
    events = wp.read_events(log.path)[""]
    assert events.scalar("loss").tolist() == [[k, float(np.float32(1 / (k + 1)))] for k in range(5)]
    assert events.texts["note"]["value"] == ["**bold** µ"]
    assert events.damage == []
    lines = [line for line in events.csv("r").splitlines() if line.startswith("r,loss,")]
    assert len(lines) == 5 and lines[1].startswith("r,loss,1,") and lines[1].endswith(",0.5")
    with pytest.raises(ValueError, match="loss"):
        events.scalar("los")


def test_inside_with_the_writer_scopes_name_the_tags(tmp_path):
    with wp.SummaryWriter(str(tmp_path)) as writer, wp.scope("layer1"):
        writer.histogram("output", [1.0, math.nan], 0)
    events = wp.read_events(str(tmp_path))[""]
    assert list(events.histograms) == ["layer1/output"]
    assert events.scalars["layer1/output/nonfinite"]["value"] == [1.0]


def test_files_of_tensorflows_old_form_are_read(tmp_path):
    from tensorboard.compat.proto import summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    writer = EventFileWriter(str(tmp_path))
    value = summary_pb2.Summary.Value(tag="old", simple_value=2.5)
    histogram = summary_pb2.HistogramProto(min=-1, max=2, num=3, bucket_limit=[0.0, 1.0, 2.0], bucket=[1, 0, 2])
    both = summary_pb2.Summary(value=[value, summary_pb2.Summary.Value(tag="h", histo=histogram)])
    writer.add_event(event_pb2.Event(wall_time=1.0, step=4, summary=both))
    writer.close()
    events = wp.read_events(str(tmp_path))[""]
    assert events.scalars["old"] == {"step": [4], "wall_time": [1.0], "value": [2.5]}
    assert events.histograms["h"]["value"][0].tolist() == [[-1.0, 0.0, 1.0], [1.0, 2.0, 2.0]]


def test_the_page_has_every_curve_and_loads_nothing(log):
    fill(log)
    page = wp.events_page(wp.read_events(log.path), "a <title>")
    assert "a &lt;title&gt;" in page and page.count("<svg") == 2 + len(DIAGNOSED) and "<script" not in page
    assert "data:image/png;base64," in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_writer_is_left_only_where_it_was_entered_and_lives_until_then(tmp_path):
    import gc
    import threading
    writer = wp.SummaryWriter(str(tmp_path / "a"))
    with pytest.raises(ValueError, match="needs an __enter__ of the same thread"):
        writer.__exit__(None, None, None)
    thread = threading.Thread(target=writer.__enter__)
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match="same thread"):
        writer.__exit__(None, None, None)
    held = wp.SummaryWriter(str(tmp_path / "b")).__enter__()
    path = held.path
    other = wp.SummaryWriter(str(tmp_path / "c")).__enter__()
    leave = held.__exit__
    del held
    gc.collect()
    leave(None, None, None)  # not the innermost one: that stays
    wp.summary.scalar("x", 1.0)
    leave_other = other.__exit__
    del other, leave
    gc.collect()
    wp.summary.scalar("y", 1.0)
    leave_other(None, None, None)
    wp.summary.scalar("nowhere", 1.0)
    assert set(wp.read_events(str(tmp_path / "c"))[""].scalars) == {"x", "y"}
    assert wp.read_events(path)[""].scalars == {}


def test_a_writer_that_nobody_else_holds_stays_innermost(tmp_path):
    import subprocess
    import sys
    code = ("import gc, sys, wellposed as wp\n"
            "wp.SummaryWriter(sys.argv[1]).__enter__()\n"
            "gc.collect()\n"
            "for k in range(100): wp.summary.scalar('x', 1.0, k)\n")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert len(wp.read_events(str(tmp_path))[""].scalars["x"]["step"]) == 100


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_process_of_multiprocessing_loses_nothing(tmp_path, method):
    import subprocess
    import sys
    script = tmp_path / "script.py"
    script.write_text("import multiprocessing, sys\n"
                      "def work(folder, writer=None):\n"
                      "    import wellposed as wp\n"
                      "    writer = writer or wp.SummaryWriter(folder)\n"
                      "    globals()['kept'] = writer  # nobody closes it\n"
                      "    for step in range(100): writer.scalar('child', step, step)\n"
                      "if __name__ == '__main__':\n"
                      "    c = multiprocessing.get_context(sys.argv[2])\n"
                      "    arguments = [sys.argv[1]]\n"
                      "    if sys.argv[2] == 'fork':\n"
                      "        import wellposed as wp\n"
                      "        arguments.append(wp.SummaryWriter(sys.argv[1]))\n"
                      "    p = c.Process(target=work, args=arguments); p.start(); p.join()\n"
                      "    sys.exit(p.exitcode)\n")
    subprocess.run([sys.executable, str(script), str(tmp_path / "runs"), method], check=True)
    assert wp.read_events(str(tmp_path / "runs"))[""].scalars["child"]["step"] == list(range(100))


def test_folders_whose_names_are_no_utf8_are_read_and_drawn(tmp_path):
    import os
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(odd)
    with wp.SummaryWriter(str(tmp_path)) as writer:
        writer.scalar("loss", 1.0, 0)
        writer.flush()
        os.rename(writer.path, odd + "/events.out.tfevents.1")
    with open(odd + "/events.out.tfevents.0", "w") as file:
        file.write("only words")
    for where, run in ((str(tmp_path), "\udcff"), (odd, "")):
        runs = wp.read_events(where)
        assert list(runs) == [run] and runs[run].scalars["loss"]["step"] == [0]
        assert runs[run].damage[0][0] == odd + "/events.out.tfevents.0"
        assert "loss" in runs[run].csv(run) and "loss" in wp.events_page(runs) and "only" not in runs[run].json()
