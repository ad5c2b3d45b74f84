"""What an exception of a watch carries, whatever programs and libraries make of it. Without any framework."""
import numpy as np
import pytest

import wellposed as wp
from wellposed._adapters.judge import Operand, judge
from wellposed._adapters.ops import kind_of
from wellposed._adapters.session import Session

WHERE = {"file": "/models/net.py", "line": 41, "scope": "Net.layer1", "step": 3}


class Block(Session):
    """A watch in which one value escapes."""

    def __init__(self):
        super().__init__("raise", None)

    def __enter__(self):
        self.escaped(judge("log", kind_of("log"), [Operand("self", np.array([0.0]))], np.array([-np.inf]), WHERE, lambda o, at: {}), "log")

    def __exit__(self, kind, error, trace):
        self._leaves_with(error)


def raised_in_a_block(change):
    """What leaves a block of a program that changes the errors of its model."""
    block = Block()
    with pytest.raises(Exception) as caught:
        try:
            try:
                block.__enter__()
            except wp.NonFiniteError as error:
                change(error)
        except Exception as error:
            block.__exit__(type(error), error, None)
            raise
    return caught.value


def as_it_is(error):
    raise error


def by_its_class(error):
    raise type(error)(f"in worker 3: {error}") from None


def by_its_text(error):
    raise RuntimeError(f"the interpreter failed: {error}") from None


def as_its_cause(error):
    raise RuntimeError("training failed") from error


def while_it_is_handled(error):
    raise KeyError("step")


def as_its_own_cause(error):
    raise error from error


@pytest.mark.parametrize("change", [as_it_is, by_its_class, by_its_text, as_its_cause, while_it_is_handled, as_its_own_cause])
def test_an_exception_that_a_program_makes_of_ours_keeps_its_blame(change):
    error = raised_in_a_block(change)
    assert "log[0] made -inf of x[0] = 0" in wp.blame(error).text()
    if isinstance(error, wp.Error):
        assert error.code == "WP-ESC-001" and error.finding.message in str(error)


def test_an_exception_that_has_nothing_to_do_with_ours_has_no_blame():
    block = Block()
    with pytest.raises(wp.NonFiniteError):
        block.__enter__()
    error = ZeroDivisionError("division by zero")
    block.__exit__(type(error), error, None)
    with pytest.raises(TypeError, match="not one of wellposed's, nor was it made of one"):
        wp.blame(error)
    alone = ValueError("no cause")
    alone.__cause__ = alone
    with pytest.raises(TypeError, match="not one of wellposed's"):
        wp.blame(alone)
