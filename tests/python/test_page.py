"""The page of `wellposed plot`, opened in headless Chromium where there is one (scripts/test --full installs it), else parsed."""
import os
import re
import subprocess
import sys

import pytest

import browser
from conftest import TREE

sys.path.insert(0, str(TREE / "tests" / "docs"))
from blocks import Page

pytest.importorskip("tensorboard")
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

CLI = os.environ["WP_CLI"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of a run with one curve of 20 points."""
    folder = tmp_path_factory.mktemp("page")
    writer = EventFileWriter(str(folder / "run"))
    for step in range(20):
        value = summary_pb2.Summary.Value(tag="loss <&>", simple_value=1 / (step + 1))
        writer.add_event(event_pb2.Event(wall_time=step, step=step, summary=summary_pb2.Summary(value=[value])))
    writer.close()
    file = folder / "page.html"
    subprocess.run([CLI, "plot", str(folder), "--html", str(file)], check=True, capture_output=True)
    return file


def test_is_well_formed_and_loads_nothing(page):
    text = page.read_text()
    parsed = Page(text)
    assert parsed.trouble == [] and parsed.curves >= 1
    assert "url(" not in text and "@import" not in text and "<script" not in text


def test_colours_follow_the_light_or_dark_theme(page):
    assert "prefers-color-scheme:dark" in page.read_text()


if browser.WANTED:
    def test_chromium_shows_the_curve_and_complains_about_nothing(page, tmp_path):
        done = browser.browse(tmp_path, page.as_uri(), "--dump-dom")
        curves = re.findall(r'<(?:polyline|path)[^>]*(?:points|\sd)="([^"]*)"', done.stdout)
        assert any(len(c.split()) >= 20 for c in curves), "the curve of 20 points is in the document that the browser built"
        assert "loss &lt;&amp;&gt;" in done.stdout
        assert "CONSOLE" not in done.stderr, done.stderr

    def test_chromium_tells_of_what_a_page_complains_about(tmp_path):
        """Else the test above could not fail."""
        (tmp_path / "bad.html").write_text("<!doctype html><body><script>nonsense()</script>")
        assert "CONSOLE" in browser.browse(tmp_path, (tmp_path / "bad.html").as_uri(), "--dump-dom").stderr
