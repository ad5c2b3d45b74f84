"""with-blocks that are decorators too."""
import os
import sys
from functools import wraps
from traceback import format_exception_only

from . import _core


class _Block:
    """A with-block around an object of the C++ part; as a decorator it surrounds every call."""

    def __enter__(self):
        self._inner.__enter__()
        return self

    def __exit__(self, *error):
        self._inner.__exit__(*error)

    def __call__(self, function):
        @wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return inside


class scope(_Block):
    """Names what is computed inside: with scope("layer1"): …, or @scope("layer1"). Nested scopes join: "train/layer1"."""

    def __init__(self, name):
        self._inner = _core.Scope(name)


class checks(_Block):
    """Sets the check level inside: "off", "escape", "warn" or "raise"."""

    def __init__(self, level):
        self._inner = _core.Checks(level)


class allow_nonfinite(_Block):
    """Inf and NaN made inside are meant: they are not noted."""

    def __init__(self):
        self._inner = _core.AllowNonfinite()


def _tell(kind, value):
    """The exception that ends a recording, in its words; leaving by sys.exit() is none."""
    if kind is not None and not issubclass(kind, (SystemExit, GeneratorExit)):
        _core.last_words("".join(format_exception_only(kind, value)).strip())


def _tell_uncaught():
    """From now on exceptions that nobody catches stand in the recording, if there is one; then the hook before is called."""
    before = sys.excepthook

    def hook(kind, value, trace):
        if not hasattr(sys, "ps1"):  # at a prompt they end nothing
            _tell(kind, value)
        before(kind, value, trace)
    sys.excepthook = hook


if os.environ.get("WELLPOSED_RECORD"):
    _tell_uncaught()


class record(_Block):
    """Records every op into a file that is readable whatever ends the process: with record("run.wpr"): …, or r = record(…).start()
    until r.stop(). Read it with `wellposed postmortem run.wpr`."""

    def __init__(self, path, *, records=16384, signals=True, children=True):
        self._inner = _core.Recorder(os.fsdecode(path), records=records, signals=signals, children=children)

    @property
    def path(self):
        return self._inner.path

    def __exit__(self, *error):
        _tell(*(error or (None, None))[:2])
        self._inner.__exit__(*error)

    _hooked = False

    def start(self):
        self._inner.start()
        if not record._hooked:
            record._hooked = True
            _tell_uncaught()
        return self

    def stop(self):
        self._inner.stop()
