"""Conformance with the array API standard 2024.12, as array-api-strict reads it; checks are off, as the standard knows none."""
import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[3]
try:
    import wellposed as wp
except ModuleNotFoundError:
    sys.path.insert(0, str(TREE / "build" / "release" / "python"))
    import wellposed as wp


@pytest.fixture(autouse=True)
def checks_are_off():
    with wp.checks("off"):
        yield
