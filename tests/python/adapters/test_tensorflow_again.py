"""A function that runs again op by op: it finds the op wherever it stands, and takes from the program neither data nor random numbers nor steps."""
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

import wellposed as wp
from points import line_of, notes_of, report_of
from wellposed import _core
from wellposed.tensorflow import Callback, watch

X = tf.constant([1.0, 0.0, 4.0])
DATA = tf.data.Dataset.from_tensor_slices(np.array([1.0, 0.0, 2.0, 3.0], "float32"))


def switch():
    f = tf.function(lambda i, x: tf.switch_case(i, [lambda: x, lambda: tf.math.log(x), lambda: -x]))
    return lambda: f(tf.constant(1), X)


def out_of_range_switch():
    f = tf.function(lambda i, x: tf.switch_case(i, [lambda: x, lambda: tf.math.log(x)]))
    return lambda: f(tf.constant(7), X)


def mapped():
    f = tf.function(lambda x: tf.map_fn(tf.math.log, x))
    return lambda: f(X)


def vectorized():
    f = tf.function(lambda x: tf.vectorized_map(tf.math.log, x))
    return lambda: f(X)


def written_to_an_array():
    @tf.function
    def f(x):
        array = tf.TensorArray(tf.float32, 3)
        for i in tf.range(3):
            array = array.write(i, tf.math.log(x[i]))
        return array.stack()
    return lambda: f(X)


def of_a_known_shape():
    f = tf.function(lambda x: tf.math.log(tf.ensure_shape(x, [3])))
    return lambda: f(X)


def over_a_dataset():
    @tf.function
    def f():
        s = tf.constant(0.0)
        for x in DATA:
            s += tf.math.log(x)
        return s
    return f


def over_a_dataset_with_an_end():
    @tf.function
    def f():
        s = tf.constant(0.0)
        for x in DATA:
            s += tf.math.log(x)
            if x > 1.0:
                break
        return s
    return f


@pytest.mark.parametrize("program", [switch, out_of_range_switch, mapped, vectorized, written_to_an_array, of_a_known_shape, over_a_dataset, over_a_dataset_with_an_end])
def test_the_op_is_found(program):
    run = program()

    def watched():
        with watch() as w:
            run()
        assert not w.findings
    report = report_of(watched)
    assert "Source: Log made -inf of x = 0" in report or "Source: Log[1] made -inf of x[1] = 0" in report, report


@pytest.mark.parametrize("written", [False, True])
def test_a_variable_that_holds_nan_is_given_and_one_that_gets_it_hands_it_on(written):
    v, total = tf.Variable([1.0, np.nan], name="weights"), tf.Variable(0.0)

    @tf.function
    def f(x):
        if written:
            total.assign_add(tf.reduce_sum(tf.math.log(x)))
            return total / 2
        return x * v

    def watched():
        with watch():
            f(tf.constant([1.0, 0.0]))
    report = report_of(watched)
    assert ("Source: Log[1] made -inf of x[1] = 0" if written else "ReadVariableOp[1] ← weights = nan, given") in report, report


def nested(inner, x):
    return inner(x) * 2  # here


def test_an_op_of_a_function_that_a_function_calls_has_the_line_of_the_call():
    inner = tf.function(lambda x: tf.math.log(x))
    outer = tf.function(lambda x: nested(inner, x))

    def watched():
        with watch():
            outer(X)
    assert f"test_tensorflow_again.py:{line_of(nested)}," in report_of(watched)


def numbers(generator):
    @tf.function
    def f(x):
        return tf.math.log(x) + generator.uniform([3])
    return lambda x: f(x).numpy().tolist()


def items(_):
    source = iter(DATA)
    f = tf.function(lambda: tf.math.log(next(source)))
    return lambda x: f().numpy().tolist()


def side_effects(_):
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)

    @tf.function
    def f(x):
        table.insert(tf.constant([1], tf.int64), table.lookup(tf.constant([1], tf.int64)) + 1)
        return tf.math.log(x) + table.lookup(tf.constant([1], tf.int64))
    return lambda x: f(x).numpy().tolist()


def trained(_):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        for d in DATA:
            v.assign_sub(0.1 * d)
        return tf.math.log(x) + v
    return lambda x: f(x).numpy().tolist()


@pytest.mark.parametrize("program", [numbers, items, side_effects, trained])
@pytest.mark.filterwarnings("ignore::wellposed.NonFiniteWarning")
def test_a_program_that_goes_on_misses_nothing(program):
    def run():
        f = program(tf.random.Generator.from_seed(3))
        return [f(X if k == 1 else X + 1) for k in range(4)]
    plain = run()
    with watch(level="warn") as w:
        assert run() == plain
    assert any(f.code == "WP-ESC-001" for f in w.findings)


def test_other_threads_are_left_alone():
    found, v = [], tf.Variable([0.0])
    log = tf.function(tf.math.log)

    def elsewhere():
        with tf.GradientTape() as tape:
            y = log(v)
        g = tape.gradient(y, v)
        keras.optimizers.SGD(0.1).apply([g], [v])
        found.append((float(y[0]), float(g[0])))
    with watch() as w:
        tf.math.log(tf.zeros(2))
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [(-np.inf, np.inf)] and not w.findings


def test_ops_by_whatever_name_and_functions_without_results_are_looked_at():
    v = tf.Variable(1.0)

    @tf.function
    def write():
        v.assign(2.0)
    with watch() as w:
        tf.reduce_max(tf.fill([3], -np.inf))  # TensorFlow gives its name in bytes
        write()
    assert not w.findings


def attention(seed):
    keras.utils.set_random_seed(seed)
    x, mask = keras.Input((4, 8)), keras.Input((4,), dtype="bool")
    y = keras.layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x, key_mask=mask, use_causal_mask=True)
    y = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(keras.layers.LayerNormalization()(y + x)))
    model = keras.Model([x, mask], y)
    model.compile("adam", "mse")
    return model


def test_fit_within_a_block_gives_the_same_numbers():
    x, mask = np.random.default_rng(0).normal(size=(16, 4, 8)).astype("float32"), np.ones((16, 4), bool)
    mask[3, 2:] = False

    def fitted():
        model = attention(2)
        model.fit([x, mask], x[:, 0, :1], batch_size=4, epochs=2, verbose=0)
        return model.get_weights()
    plain = fitted()
    with watch() as w:
        assert all(np.array_equal(a, b) for a, b in zip(plain, fitted()))
    assert not w.findings


def test_a_fit_that_an_exception_ended_leaves_nothing_for_the_next():
    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyboardInterrupt
    model, x, step = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]), np.ones((8, 3), "float32"), _core.current_step()
    model.compile("sgd", "mse")
    seen = Callback()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, x[:, :1], verbose=0, callbacks=[seen, Stops()])
    assert _core.current_step() == step
    model.fit(x, x[:, :1], verbose=0)
    assert getattr(model.train_function, "__self__", None) is not seen and _core.current_step() == step and notes_of(seen) == []
