"""The package under test: ctest sets PYTHONPATH (build/release/python without it)."""
import os
import pathlib
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # read when scipy is first imported, by whichever test

TREE = pathlib.Path(__file__).resolve().parents[3]
try:
    import wellposed  # noqa: F401
except ModuleNotFoundError:
    sys.path.insert(0, str(TREE / "build" / "release" / "python"))
