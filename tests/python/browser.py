"""Headless Chromium for tests that look at pages: scripts/test --full installs it, and does not pass without it."""
import os
import shutil
import subprocess

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LONG = bool(os.environ.get("WELLPOSED_LONG_TESTS"))
WANTED = LONG or PROGRAM is not None


def browse(folder, url, *options, colours="light"):
    """The finished process: the document that the browser built (--dump-dom) on stdout, the console's lines with CONSOLE on stderr."""
    assert PROGRAM, "the long tests need chromium"
    common = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
              "--disable-sync", "--no-first-run", f"--user-data-dir={folder}/profile", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
              "--enable-logging=stderr", "--log-level=0", "--window-size=1000,800", "--virtual-time-budget=30000",
              "--blink-settings=preferredColorScheme=" + {"dark": "0", "light": "1"}[colours]]
    return subprocess.run([PROGRAM, *common, *options, url], capture_output=True, text=True, timeout=300)


def picture(folder, url, colours="light"):
    """A screenshot, as rows of (red, green, blue)."""
    from PIL import Image
    path = f"{folder}/shot-{colours}.png"
    browse(folder, url, f"--screenshot={path}", colours=colours)
    with Image.open(path) as image:
        return image.convert("RGB").copy()
