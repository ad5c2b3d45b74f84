import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def raises_defects(monkeypatch):
    """What the adapters would pass over in a user's program fails here."""
    monkeypatch.setattr("wellposed._adapters.session.Session.raises_defects", True)
