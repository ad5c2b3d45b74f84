"""Errors on their way through what wraps and converts exceptions around PyTorch: they arrive with what they carry."""
import re

import numpy as np
import pytest
import torch

import wellposed as wp
from wellposed.torch import linalg, watch


def in_torchscript(x):
    @torch.jit.script
    def f(x):
        return torch.log(x)
    return f(x)


def raised_again(make):
    """A training loop that makes an exception of its own."""
    def run(x):
        try:
            torch.log(x)
        except Exception as error:
            make(error)
    return run


def with_cause(error):
    raise RuntimeError("training failed") from error


def with_its_text(error):
    raise type(error)(f"worker 0: {error}") from None


def in_a_handler(error):
    raise ValueError("training failed")


def in_a_hook(x):
    x = x.clone().requires_grad_()
    y = x * 1.0
    y.register_hook(lambda g: torch.log(g * 0))
    y.sum().backward()


TORCH = {"torch.jit.script": in_torchscript, "torch.func.vmap": torch.func.vmap(torch.log), "torch.func.grad": torch.func.grad(lambda x: torch.log(x).sum()),
         "torch.func.jacrev": torch.func.jacrev(torch.log), "torch.compile": lambda x: torch.compile(torch.log, backend="eager")(x), "a hook": in_a_hook,
         "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(torch.log, x.requires_grad_(), use_reentrant=False),
         "raise from": raised_again(with_cause), "its text": raised_again(with_its_text), "raise in a handler": raised_again(in_a_handler)}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("way", TORCH)
def test_an_error_has_its_blame_after_every_way_to_call_torch(way):
    with pytest.raises(Exception) as caught, watch(level="raise"):
        TORCH[way](torch.zeros(2))
    found = wp.blame(caught.value)
    assert found.source == "op" and re.search(r"Source: log( in the backward pass)?\[0\] made -inf of x\[0\] = 0", found.text()), found.text()
    if isinstance(caught.value, wp.Error):
        assert caught.value.finding.code == "WP-ESC-001"


def test_an_exception_that_has_nothing_to_do_with_it_is_told_so():
    with pytest.raises(ZeroDivisionError) as caught, watch(level="raise"):
        try:
            torch.log(torch.zeros(2))
        except wp.NonFiniteError:
            pass
        1 / 0
    with pytest.raises(TypeError, match="not one of wellposed's"):
        wp.blame(caught.value)


@pytest.mark.parametrize("transformed", [lambda f: f, torch.func.vmap, lambda f: torch.func.grad(lambda a: f(a).sum()),
                                         lambda f: torch.func.vmap(torch.func.grad(lambda a: f(a).sum()))], ids=["plain", "vmap", "grad", "vmap of grad"])
def test_a_diagnosis_comes_through_transformations(transformed):
    with pytest.raises(wp.SingularMatrix) as caught:
        transformed(linalg.inv)(torch.from_numpy(np.array([[[1.0, 2.0], [1.0, 2.0]]])))
    assert caught.value.diagnosis[0].dependent == "row 1 = row 0"
