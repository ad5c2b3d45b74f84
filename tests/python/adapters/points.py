"""Six points for what a report names: op, scope, line, element, operands, origin. A program marks its culprit with a comment `# here`."""
import inspect
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import wellposed as wp


def line_of(function, mark="# here"):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, text in enumerate(lines) if mark in text)


def check(report, *, op, scope, line, element, operands, origin, file):
    """The points that the report misses."""
    wanted = {"op": op, "scope": scope, "line": rf"{re.escape(file.rpartition('/')[2])}:{line}\b", "element": element, "operands": operands,
              "origin": origin}
    return [name for name, pattern in wanted.items() if pattern is not None and not re.search(pattern, report)]


def killed(program, folder):
    """Runs a program that ends by SIGKILL and records into its first argument: the report, and the line that it marks."""
    path, recording = folder / "train.py", folder / "run.wpr"
    path.write_text(program)
    done = subprocess.run([sys.executable, path, recording], env=os.environ, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    return wp.postmortem(str(recording)).text(3), next(i for i, text in enumerate(program.splitlines(), 1) if "# here" in text)


def report_of(program):
    """The text of the NonFiniteError that a program ends with; it contains the way back."""
    with pytest.raises(wp.NonFiniteError) as caught:
        program()
    assert wp.blame(caught.value).text() in str(caught.value)
    return str(caught.value)


def notes_of(w):
    """The messages of a watch that found nothing but things it could not look at."""
    assert all(f.code == "WP-ADP-001" and f.severity == "note" for f in w.findings), w.findings
    return [f.message for f in w.findings]


def spd(n, seed=0, batch=()):
    x = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return x @ np.swapaxes(x, -1, -2) + n * np.eye(n)


def hidden(adapter, module):
    """What importing an adapter says when a module that it stands on has moved."""
    program = f"import {adapter}, sys\nsys.modules[{module!r}] = None\nimport wellposed.{adapter}\n"
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]
