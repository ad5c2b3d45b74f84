"""Errors on their way through Keras, which makes other exceptions of those that pass its layers: they arrive with what they carry."""
import keras
import numpy as np
import pytest
import tensorflow as tf

import wellposed as wp
from wellposed.tensorflow import linalg, watch


class Log(keras.layers.Layer):
    def call(self, x):
        return tf.math.log(x)


class Inverse(keras.layers.Layer):
    def call(self, x):
        return linalg.inv(x)


def model_with(layer, eagerly):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, use_bias=False, kernel_initializer="zeros"), layer])
    model.compile(loss="mse", optimizer="sgd", run_eagerly=eagerly)
    return model


X = np.ones((64, 2), "float32")  # two batches: a compiled step that takes them from an iterator is looked at again on the second
WAYS = {"call": lambda m: m(X), "layer": lambda m: m.layers[-1](tf.zeros([4, 2])), "model in a model": lambda m: keras.Sequential([m])(X),
        "fit": lambda m: m.fit(X, X, verbose=0), "train_on_batch": lambda m: m.train_on_batch(X, X), "evaluate": lambda m: m.evaluate(X, X, verbose=0),
        "test_on_batch": lambda m: m.test_on_batch(X, X), "predict": lambda m: m.predict(X, verbose=0), "predict_on_batch": lambda m: m.predict_on_batch(X),
        "tf.function": lambda m: tf.function(m)(tf.constant(X)), "call in a tape": lambda m: in_a_tape(m)}


def in_a_tape(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(X))
    return tape.gradient(loss, model.trainable_variables)


def is_whole(error, source):
    """The error is ours, with its finding and its way back."""
    assert type(error) is wp.NonFiniteError and error.code == "WP-ESC-001" and str(error) == str(error.finding), error
    found = wp.blame(error)
    assert found.source == "op" and source in found.text(), found.text()


@pytest.mark.parametrize("eagerly", [True, False], ids=["eagerly", "compiled"])
@pytest.mark.parametrize("way", WAYS)
def test_an_error_has_its_blame_after_every_way_to_call_keras(way, eagerly):
    model = model_with(Log(), eagerly)
    with pytest.raises(wp.NonFiniteError) as caught, watch(level="raise"):
        WAYS[way](model)
    is_whole(caught.value, "Log[0, 0] made -inf of x")


@pytest.mark.parametrize("way", ["call", "call in a tape", "predict_on_batch", "train_on_batch"])
def test_an_error_that_is_caught_within_the_block_has_its_blame_too(way):
    with watch(level="raise") as w:
        with pytest.raises(wp.NonFiniteError) as caught:
            WAYS[way](model_with(Log(), True))
        is_whole(caught.value, "Log[0, 0] made -inf of x")
    assert w.last.text() == wp.blame(caught.value).text()


def test_an_operand_that_a_layer_refuses_is_blamed_where_it_was_made():
    model = keras.Sequential([Log(), Inverse()])
    with pytest.raises(wp.NonFiniteError) as caught, watch():
        model(tf.zeros([2, 2]))
    is_whole(caught.value, "Log[0, 0] made -inf of x")


@pytest.mark.parametrize("filtering", [True, False])
def test_a_diagnosis_comes_through_layers(filtering):
    (keras.config.enable_traceback_filtering if filtering else keras.config.disable_traceback_filtering)()
    try:
        with pytest.raises(wp.SingularMatrix) as caught:
            keras.Sequential([Inverse()])(tf.constant([[[1.0, 2.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 2.0]]]))
    finally:
        keras.config.enable_traceback_filtering()
    error = caught.value
    assert error.code == "WP-LIN-002" and error.diagnosis[0].dependent == "row 1 = row 0" and str(error) == str(error.finding)
    assert np.array_equal(np.asarray(error.value)[1], [[1.0, 0.0], [0.0, 0.5]])
