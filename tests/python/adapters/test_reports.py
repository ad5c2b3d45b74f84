"""What a report of any adapter is: the same Blame, JSON and page as those of wellposed's own tensors."""
import html.parser
import json

import jax.numpy as jnp
import pytest
import tensorflow as tf
import torch

import wellposed as wp
from wellposed.jax import watch as watch_jax
from wellposed.tensorflow import watch as watch_tensorflow
from wellposed.torch import watch as watch_torch


def in_torch():
    with watch_torch(level="raise"):
        torch.log(torch.zeros(2))


def in_tensorflow():
    with watch_tensorflow(level="raise"):
        tf.math.log(tf.zeros(2))


def in_jax():
    watch_jax(jnp.log)(jnp.zeros(2))


def keys(value):
    """The names in a JSON text, with those of the objects in it; place and step stand where they are known."""
    if isinstance(value, dict):
        return {name: keys(v) for name, v in value.items() if name not in ("file", "line", "step")}
    return [keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


@pytest.mark.parametrize("program", [in_torch, in_tensorflow, in_jax])
def test_json_and_page_are_those_of_wellposed(program, tmp_path):
    with wp.Trace():
        own = wp.blame(wp.log(wp.zeros([2])))
    with pytest.raises(wp.NonFiniteError) as caught:
        program()
    found = wp.blame(caught.value)
    told = json.loads(found.json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert keys(told) == keys(json.loads(own.json()))
    assert told["source"] == "op" and told["chain"][-1]["value"] == "-inf"
    page = tmp_path / "blame.html"
    found.html(page)
    html.parser.HTMLParser().feed(page.read_text())
    assert "-inf" in page.read_text() and page.read_text().rstrip().endswith("</html>")
