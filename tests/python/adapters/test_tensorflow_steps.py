"""Steps of training in TensorFlow: scaled losses, models that the first step builds, guards and the state of optimizers, validation."""
import keras
import numpy as np
import pytest
import tensorflow as tf

import wellposed as wp
from points import line_of, report_of
from wellposed import _core
from wellposed.tensorflow import Callback, watch

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


# ---- scaled losses
def scaled(mode, start, scale, steps, **options):
    """Watches steps of a scaled loss; gives the watch, the variable and the scale."""
    v = tf.Variable(start)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=scale)
    optimizer.build([v])

    @mode
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(tf.sqrt(tf.cast(v, tf.float16)), tf.float32))  # here
            larger = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(larger, [v]), [v])
        return loss
    with watch(**options) as w:
        for _ in range(steps):
            step()
    return w, v, float(optimizer.dynamic_scale)


@MODES
@pytest.mark.parametrize("scale", [2.0**10, 1.0])
def test_a_gradient_that_no_scale_makes_finite_is_told_at_once(mode, scale):
    report = report_of(lambda: scaled(mode, [0.0, 1.0], scale, 2))
    assert "Source: SqrtGrad in the derivative of Sqrt[0] made inf of x1[0] = 0" in report and f":{line_of(scaled)}, " in report and "float16" not in report, report


@MODES
def test_overflow_of_a_scale_that_is_too_large_is_the_optimizers_business(mode):
    w, v, scale = scaled(mode, [1.0, 2.0], 2.0**40, 3)
    assert not w.findings and scale == 2.0**37 and np.array_equal(v, [1.0, 2.0])


@MODES
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_a_guard_tells_each_step_that_is_left_out(mode):
    w, v, _ = scaled(mode, [0.0, 1.0], 2.0**10, 3, guard=True)
    assert w.refused == 3 and np.array_equal(v, [0.0, 1.0])


class Root(keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="zeros", name="w")

    def call(self, x):
        return x + tf.sqrt(self.w)  # here


def fitted(layers, x, *, optimizer="sgd", built=True, **options):
    """The callback and the model after two epochs of fit."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([*([keras.layers.Input((x.shape[1],))] if built else []), *layers])
    model.compile(optimizer, "mse")
    callback = Callback(data={"table": x}, **options)
    model.fit(x, normal(2, len(x), 1), batch_size=32, shuffle=False, epochs=2, verbose=0, callbacks=[callback])
    return callback, model


def of_scale(scale):
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01), initial_scale=scale)


def test_fit_tells_a_gradient_that_its_optimizer_has_left_out():
    x = normal(1, 64, 4)
    report = report_of(lambda: fitted([Root(name="root"), keras.layers.Dense(1)], x, optimizer=of_scale(2.0**10)))
    assert "Source: SqrtGrad in the derivative of Sqrt[0] made" in report and f":{line_of(Root.call)}, " in report, report
    with pytest.warns(wp.FindingWarning, match="refused"):
        callback, model = fitted([Root(name="root"), keras.layers.Dense(1)], x, optimizer=of_scale(2.0**10), guard=True)
    assert callback.refused == 4 and float(model.optimizer.dynamic_scale) == 2.0**10  # the scale was not to blame


def test_fit_goes_on_where_only_the_scale_was_too_large_and_gives_the_same_numbers():
    def run(callbacks):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, dtype="mixed_float16"), keras.layers.Dense(1, dtype="mixed_float16")])
        model.compile(of_scale(2.0**24), "mse")
        model.fit(normal(1, 64, 4), normal(2, 64, 1), batch_size=16, epochs=8, verbose=0, callbacks=callbacks)
        return [*map(np.asarray, model.get_weights()), float(model.optimizer.dynamic_scale)]
    seen = Callback()
    plain, watched = run([]), run([seen])
    assert plain[-1] < 2.0**24 and not seen.findings and all(np.array_equal(a, b) for a, b in zip(plain, watched))


# ---- models that the first step builds, optimizers with a state
class LogLayer(keras.layers.Layer):
    def call(self, x):
        return tf.math.log(x)  # here


def spoilt(row):
    x = np.abs(normal(1, 256, 6)) + 0.1
    x[row, 3] = 0
    return x


@pytest.mark.parametrize("built", [True, False], ids=["built", "unbuilt"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("row", [3, 77], ids=["first step", "third step"])
def test_the_origin_is_told_and_a_guard_restores_weights_and_optimizers(optimizer, built, row):
    def layers():
        return [LogLayer(name="features"), keras.layers.Dense(4), keras.layers.Dense(1, name="out")]
    report = report_of(lambda: fitted(layers(), spoilt(row), optimizer=optimizer, built=built))
    assert f"Source: Log[{row % 32}, 3] made -inf of x[{row % 32}, 3] = 0" in report and f"It rests on table row {row}." in report, report
    with pytest.warns(wp.FindingWarning, match="refused"):
        guard, model = fitted(layers(), spoilt(row), optimizer=optimizer, built=built, guard=True)
    assert guard.refused == 2 and all(np.isfinite(np.asarray(v)).all() for v in (*model.variables, *model.optimizer.variables))
    assert int(model.optimizer.iterations) == 14  # of 16 steps


class Late(keras.Model):
    """A model that needs values, so that only its first step can build it."""

    def __init__(self):
        super().__init__()
        self.layer = keras.layers.Dense(1)

    def call(self, x):
        return tf.math.log(self.layer(x)) if x.numpy()[0, 0] > 0 else self.layer(x)


@pytest.mark.parametrize("spoilt", [0, 1], ids=["first step", "second step"])
def test_a_model_that_its_first_step_builds_is_told_without_a_wrong_origin(spoilt):
    model, x = Late(), -np.abs(normal(1, 48, 3))
    x[16 * spoilt, 0] = 1
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(wp.NonFiniteError) as caught:
        model.fit(x, 0 * x[:, :1] - 1e3, batch_size=16, shuffle=False, verbose=0, callbacks=[Callback()])
    assert ("this step built the model" if spoilt == 0 else "Source: Log[") in str(caught.value), caught.value


# ---- validation
def validated(bad, **options):
    x, y = np.abs(normal(1, 64, 6)) + 0.1, normal(2, 64, 1)
    z = x.copy()
    if bad:
        z[40, 3] = 0
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((6,)), LogLayer(name="features"), keras.layers.Dense(1, name="out")])
    model.compile("sgd", "mse")
    callback = Callback(data={"held out": z}, **options)
    history = model.fit(x, y, batch_size=16, epochs=2, verbose=0, validation_data=(z, y), callbacks=[callback])
    return callback, model, history


def test_a_validation_loss_that_is_not_finite_is_told_with_its_row():
    step = _core.current_step()
    report = report_of(lambda: validated(True))
    assert "validation loss" in report and "Source: Log[8, 3] made -inf of x[8, 3] = 0" in report and "It rests on held out row 40." in report, report
    assert _core.current_step() == step
    with pytest.warns(wp.NonFiniteWarning, match="validation loss"):
        callback, model, history = validated(True, guard=True)
    assert callback.refused == 0 and len(history.history["val_loss"]) == 2 and "Callback" not in str(model.test_function)


def test_a_healthy_validation_is_as_without_the_callback():
    callback, model, history = validated(False)
    assert not callback.findings and np.isfinite(history.history["val_loss"]).all()
    assert model.evaluate(np.ones((4, 6), "float32"), np.ones((4, 1), "float32"), verbose=0) >= 0
