import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def debug(monkeypatch):
    """What the adapters would pass over in a user's program fails here."""
    monkeypatch.setenv("WELLPOSED_DEBUG", "1")
