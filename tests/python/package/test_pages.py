"""What people look at, in headless Chromium: the page of `wellposed plot`, and TensorBoard itself with our event files (scripts/test --full)."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import wellposed as wp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import browser

pytest.importorskip("tensorboard")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of 20 steps: a scalar, a histogram that wanders and widens, a matrix that becomes singular."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    with wp.SummaryWriter(str(folder / "one")) as log:
        for step in range(20):
            log.scalar("loss", 1 / (step + 1), step)
            with wp.scope("layer1"):
                log.histogram("output", rng.normal(step / 5, 1 + step / 20, 2000), step)
            log.diagnosis("covariance", wp.linalg.diagnosed.inv(np.diag([1.0, 2.0, 10.0**-step]))[1], step)
        log.text("note", "**bold** <b>", 0)
    return folder


def curves(document, heading):
    """Paths of the first drawing below a heading."""
    drawing = document.split(f">{heading}</h2>")[1].split("</svg>")[0]
    return re.findall(r'<(?:path d|circle cx)="([^"]*)"', drawing)  # not the areas of ridges, which have a class


def coloured(image, box):
    """How many pixels of a part of the picture are neither grey nor nearly so."""
    pixels = image.crop(box).tobytes()
    return sum(max(pixels[i:i + 3]) - min(pixels[i:i + 3]) > 60 for i in range(0, len(pixels), 3))


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    """What `wellposed plot` writes of it."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    found = {**os.environ, "PYTHONPATH": str(pathlib.Path(wp.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "wellposed", "plot", str(runs), "--html", str(path)], check=True, env=found)
    return path


def check(document):
    assert [c.count("L") for c in curves(document, "loss")] == [19]
    assert len(curves(document, "one: layer1/output")) == 20
    assert 20 * 2 <= len(curves(document, "one: covariance/log10_singular_values")) < 20 * 3, "1 and 2, which may share a bucket, and 1e-step"
    assert curves(document, "covariance/log10_condition")
    assert "**bold** &lt;b&gt;" in document


def test_the_page_of_plot_has_curves_ridges_and_spectra(page):
    check(page.read_text())


if browser.WANTED:
    def test_a_browser_shows_the_page_of_plot_and_complains_about_nothing(page, tmp_path):
        done = browser.browse(tmp_path, page.as_uri(), "--dump-dom")
        assert "CONSOLE" not in done.stderr, done.stderr
        check(done.stdout)
        for colours, background in (("light", 240), ("dark", 30)):
            shot = browser.picture(tmp_path, page.as_uri(), colours)
            corner = shot.getpixel((5, 5))
            assert min(corner) >= background if colours == "light" else max(corner) <= background, (colours, corner)
            assert coloured(shot, (0, 0, *shot.size)) > 300, "the curve has a colour"


if browser.LONG:
    def test_tensorboard_shows_the_histogram_in_a_browser(runs, tmp_path):
        """WP_SCREENSHOTS=folder keeps what it looked like."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", str(runs), "--host", "127.0.0.1", "--port", str(port), "--load_fast=false"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            address = f"http://127.0.0.1:{port}/"
            for _ in range(120):
                try:
                    if b"layer1/output" in urllib.request.urlopen(address + "data/plugin/histograms/tags").read():
                        break
                except OSError:
                    pass
                time.sleep(0.5)
            shown = browser.picture(tmp_path, address + "#histograms")
            hidden = browser.picture(tmp_path, address + "#text")
        finally:
            server.terminate()
            server.wait()
        if os.environ.get("WP_SCREENSHOTS"):
            shown.save(os.path.join(os.environ["WP_SCREENSHOTS"], "tensorboard-histogram.png"))
        below = (290, 180, *shown.size)  # the bar above and the list of runs are coloured too
        assert 2 * coloured(hidden, below) < 10000 < coloured(shown, below), "the ridges of the histogram"
