"""with-blocks that are decorators too."""
from functools import wraps

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


class record(_Block):
    """Records every op into a file that is readable whatever ends the process: with record("run.wpr"): …, or r = record(…).start()
    until r.stop(). Read it with `wellposed postmortem run.wpr`."""

    def __init__(self, path, *, records=16384, signals=True, children=True):
        import os
        self._inner = _core.Recorder(os.fsdecode(path), records=records, signals=signals, children=children)

    @property
    def path(self):
        return self._inner.path

    def start(self):
        self._inner.start()
        return self

    def stop(self):
        self._inner.stop()
