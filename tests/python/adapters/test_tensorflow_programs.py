"""The eight buggy programs of examples/crash_hunt, written in TensorFlow (eager and tf.function), and five healthy models."""
import textwrap

import keras
import numpy as np
import pytest
import tensorflow as tf

import wellposed as wp
from points import check, hidden, killed, line_of, notes_of, report_of
from wellposed.tensorflow import Callback, watch

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def gradient_of(loss, *variables):
    def step(*args):
        with tf.GradientTape() as tape:
            y = loss(*args)
        return y, tape.gradient(y, list(variables))
    return step


# ---- log of zero
def log_model(x, w):
    with tf.name_scope("features"):
        f = tf.math.log(x) - tf.math.log(x + 1)  # here
    return tf.tanh(tf.tanh(f @ w) @ w)


@MODES
def test_log_of_zero(mode):
    x = tf.constant([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 0.0, 8.0]])
    w = tf.Variable(np.diag([0.0, 1.0, 0.0, 1.0]).astype("float32"))
    step = mode(gradient_of(lambda x: tf.reduce_mean(log_model(x, w)), w))

    def run():
        with watch():
            step(x)
    report = report_of(run)
    missing = check(report, op=r"Source: Log\[", scope="scope features", line=line_of(log_model), file=__file__, element=r"Log\[1, 2\]", operands=r"x\[1, 2\] = 0",
                    origin="made -inf")
    assert not missing, report


# ---- zero by zero
def shares(counts):
    with tf.name_scope("normalize"):
        return counts / tf.reduce_sum(counts, 1, keepdims=True)  # here


@MODES
def test_zero_by_zero(mode):
    counts = (np.floor(np.random.default_rng(7).random((64, 5)) * 4) + 1).astype("float32")
    counts[41] = 0
    order = np.random.default_rng(1).permutation(64)
    v = tf.Variable(1.0)
    step = mode(gradient_of(lambda x: tf.reduce_sum(v * shares(x) * tf.math.log(shares(x) + 1e-9)), v))

    def run():
        with watch(data={"counts": counts}):
            for b in range(4):
                step(tf.constant(counts[order[16 * b:16 * b + 16]]))
    report = report_of(run)
    missing = check(report, op=r"Source: RealDiv\[", scope="scope normalize", line=line_of(shares), file=__file__, element=r"RealDiv\[\d+, 0\]",
                    operands=r"x1\[\d+, 0\] = 0, x2\[\d+, 0\] = 0", origin="It rests on counts row 41")
    assert not missing, report


# ---- a masked branch
def masked(v):
    y = tf.math.log(v)  # here
    return tf.reduce_sum(tf.where(v > 0, y, 0.0))


@MODES
def test_masked_branch(mode):
    v = tf.Variable([1.0, 0.0, 4.0])
    with watch() as w:
        assert float(mode(masked)(v)) == pytest.approx(np.log(4.0))  # the forward pass is fine
    assert not w.findings

    def run():
        with watch():
            mode(gradient_of(masked, v))(v)
    report = report_of(run)
    missing = check(report, op=r"Source: Reciprocal in the derivative of Log\[", scope=None, line=line_of(masked), file=__file__, element=r"Log\[1\]", operands=r"x\[1\] = 0",
                    origin="made inf")
    assert not missing, report


# ---- divergence
def line(w, x, y):
    return tf.reduce_mean(tf.square(x @ w - y))  # here


@MODES
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_divergence(mode):
    x, y, v = tf.constant(normal(1, 64, 8)), tf.constant(normal(2, 64, 1)), tf.Variable(normal(3, 8, 1))
    step, found = mode(gradient_of(lambda: line(v, x, y), v)), []

    def run():
        with watch(trends=True) as w:
            found.append(w)
            for _ in range(400):
                _, (g,) = step()
                w.see([v], [g])
                v.assign_sub(1.1 * g)
    report = report_of(run)
    missing = check(report, op=r"Source: (Square|Mul|MatMul|Mean)", scope=None, line=line_of(line), file=__file__, element=r"\[\d+, 0\]",
                    operands=r"= -?\d\.\d+e\+\d\d", origin="made -?inf")
    assert not missing, report
    assert any(f.code == "WP-TRD-001" and f.step < 30 for f in found[0].findings), found[0].findings


# ---- a bad row
def regression(v, x, y):
    return tf.reduce_mean(tf.square((x - tf.reduce_mean(x, 1, keepdims=True)) @ v - y))  # here


@MODES
def test_bad_row(mode):
    data, target = normal(3, 10000, 6), normal(4, 10000, 1)
    data[7311, 4] = np.nan
    order, v = np.random.default_rng(2).permutation(10000), tf.Variable(normal(5, 6, 1))
    step = mode(gradient_of(lambda x, y: regression(v, x, y), v))

    def run():
        with watch() as w:
            for b in range(100):
                ids = order[100 * b:100 * b + 100]
                step(w.rows(tf.constant(data[ids]), ids), tf.constant(target[ids]))
    report = report_of(run)
    missing = check(report, op=r"first read by (Sub|Mean)", scope=None, line=line_of(regression), file=__file__, element="column 4", operands="= nan",
                    origin="data row 7311")
    assert not missing, report


# ---- overflow of exp
def softmax(logits):
    with tf.name_scope("softmax"):
        e = tf.exp(logits)  # here
        return e / tf.reduce_sum(e, -1, keepdims=True)


@MODES
def test_exp_overflow(mode):
    x = normal(5, 32, 4)
    x[17, 2] = 900
    v = tf.Variable(1.0)
    step = mode(gradient_of(lambda x: tf.reduce_mean(softmax(x) * v), v))

    def run():
        with watch() as w:
            step(w.rows(tf.constant(x), range(32), "features"))
    report = report_of(run)
    missing = check(report, op=r"Source: Exp\[", scope="scope softmax", line=line_of(softmax), file=__file__, element=r"Exp\[17, 2\]", operands=r"x\[17, 2\] = 900",
                    origin="features row 17")
    assert not missing, report


# ---- an index out of range
def embed(table, tokens):
    return tf.gather(table, tokens)  # here


def test_index_out_of_range():
    tokens = tf.constant([[3, 17, 999, 4], [12, 8, 5, 6], [2, 1000, 7, 9]])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught, watch(data={"tokens": tokens.numpy()}):
        embed(tf.ones([1000, 8]), tf.gather(tokens, [2, 0]))
    report = str(caught.value) + "\n".join(caught.value.__notes__)
    missing = check(report, op="GatherV2", scope=None, line=line_of(embed), file=__file__, element=r"indices\[0, ?1\]", operands=r"= 1000", origin="tokens row 2, column 1 = 1000")
    assert not missing, report


# ---- killed
KILLED = textwrap.dedent("""
    import os, signal, sys
    import numpy as np, tensorflow as tf
    from wellposed.tensorflow import watch
    data = np.random.default_rng(0).normal(size=(512, 16)).astype("float32")
    v = tf.Variable(np.full((16, 4), 0.1, "float32"))
    @tf.function
    def train(x, kill):
        with tf.GradientTape() as tape:
            y = tf.reduce_mean(tf.square(tf.tanh(x @ v)))
        if kill:
            tf.py_function(lambda: os.kill(os.getpid(), signal.SIGKILL), [], [])
        v.assign_sub(0.1 * tape.gradient(y, v))
        return y
    with watch(record=sys.argv[1]) as w:
        for k in range(8):
            w.set_step(k)
            x = w.rows(tf.constant(data[64 * k:64 * k + 64]), range(64 * k, 64 * k + 64))
            train(x, tf.constant(k == 7))  # here
    """)


def test_killed_in_training(tmp_path):
    report, line_number = killed(KILLED, tmp_path)
    missing = check(report, op="The call in flight\n  train", scope=None, line=line_number, file="train.py", element="rows 448 to 511", operands=r"f32 \[64, 16\], 8 sampled in",
                    origin="killed without a word")
    assert not missing, report


# ---- Keras
def keras_model(dtype="float32"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(8, activation="relu", name="hidden"), keras.layers.Dense(1, name="out")])
    return model


class LogLayer(keras.layers.Layer):
    def call(self, x):
        return tf.math.log(x)  # here


@MODES
def test_a_layer_is_the_scope_without_fit(mode):
    model = keras.Sequential([keras.layers.Input((2,)), LogLayer(name="features"), keras.layers.Dense(1, name="out")])
    call = mode(lambda x: model(x))

    def run():
        with watch():
            y = call(tf.constant([[1.0, 0.0]]))
        return y
    assert not check(report := report_of(run), op=r"Source: Log\[", scope="features", line=line_of(LogLayer.call), file=__file__, element=r"Log\[0, 1\]",
                     operands=r"x\[0, 1\] = 0", origin="made -inf"), report


def test_fit_names_the_layer_and_the_row_and_the_guard_goes_on():
    x, y = np.abs(normal(1, 256, 6)) + 0.1, normal(2, 256, 1)
    x[77, 3] = 0
    model = keras.Sequential([keras.layers.Input((6,)), LogLayer(name="features"), keras.layers.Dense(1, name="out")])
    model.compile("sgd", "mse")
    with pytest.raises(wp.NonFiniteError) as caught:
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[Callback(data={"table": x})])
    report = str(caught.value)
    missing = check(report, op=r"Source: Log\[", scope="features", line=line_of(LogLayer.call), file=__file__, element=r"Log\[\d+, 3\]", operands=r"x\[\d+, 3\] = 0",
                    origin="table row 77")
    assert not missing, report
    assert all(np.isfinite(w).all() for w in model.get_weights())
    guard = Callback(data=x, guard=True)
    with pytest.warns(wp.FindingWarning, match="refused"):
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[guard])
    assert guard.refused == 1 and all(np.isfinite(w).all() for w in model.get_weights())


@pytest.mark.parametrize("layers", [
    lambda: [keras.layers.Dense(8), keras.layers.BatchNormalization(), keras.layers.Dense(1)], lambda: [keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(1)],
    lambda: [keras.layers.Dense(8, activation="gelu", dtype="mixed_bfloat16"), keras.layers.Dense(1, dtype="float32")],
    lambda: [keras.layers.Dense(8, activation="gelu", dtype="mixed_float16"), keras.layers.Dense(1, dtype="float32")]],
    ids=["batch norm", "dropout", "mixed precision, bf16", "mixed precision, f16"])
@pytest.mark.parametrize("executions", [1, 3])
def test_healthy_fit_raises_nothing_and_gives_the_same_numbers(layers, executions):
    def trained(callbacks):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.layers.Input((6,)), *layers()])
        model.compile("adam", "mse", steps_per_execution=executions)
        model.fit(normal(1, 128, 6), normal(2, 128, 1), batch_size=32, epochs=2, verbose=0, callbacks=callbacks)
        return model.get_weights()
    seen = Callback()
    for a, b in zip(trained([]), trained([seen])):
        assert np.array_equal(a, b)
    assert not seen.findings


def test_a_step_in_the_middle_of_an_execution_is_found():
    x, y = np.abs(normal(1, 256, 6)) + 0.1, normal(2, 256, 1)
    x[40, 3] = 0  # of the second of four steps
    model = keras.Sequential([keras.layers.Input((6,)), LogLayer(name="features"), keras.layers.Dense(1, name="out")])
    model.compile("sgd", "mse", steps_per_execution=4)
    with pytest.raises(wp.NonFiniteError, match=r"Source: Log\[8, 3\] made -inf(.|\n)*It rests on table row 40"):
        model.fit(x, y, batch_size=32, verbose=0, shuffle=False, callbacks=[Callback(data={"table": x})])


@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_weights_that_grow_in_fit_are_told_early():
    x, y = normal(1, 64, 6), normal(2, 64, 1)
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(1, name="out")])
    model.compile(keras.optimizers.SGD(1.5), "mse")
    seen = Callback(trends=True)
    with pytest.raises(wp.NonFiniteError):
        model.fit(x, y, batch_size=64, epochs=400, verbose=0, callbacks=[seen])
    assert any(f.code == "WP-TRD-001" and 0 <= f.step < 30 for f in seen.findings), seen.findings


FIT_KILLED = textwrap.dedent("""
    import os, signal, sys
    import keras, numpy as np, tensorflow as tf
    from wellposed.tensorflow import Callback
    data = np.random.default_rng(0).normal(size=(512, 16)).astype("float32")
    class Kills(keras.layers.Layer):
        supports_jit = False
        calls = 0
        def call(self, x):
            def out(t):
                Kills.calls += 1
                if Kills.calls == 8: os.kill(os.getpid(), signal.SIGKILL)
                return t
            return tf.ensure_shape(tf.py_function(out, [x], x.dtype), x.shape)
    model = keras.Sequential([keras.layers.Input((16,)), Kills(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(data, data[:, :1], batch_size=64, verbose=0, shuffle=False, callbacks=[Callback(data=data, record=sys.argv[1])])  # here
    """)


def test_killed_in_fit(tmp_path):
    report, line_number = killed(FIT_KILLED, tmp_path)
    missing = check(report, op="The call in flight\n  train step", scope=None, line=line_number, file="train.py", element="rows 448 to 511",
                    operands=r"f32 \[64, 16\], 8 sampled in", origin="killed without a word")
    assert not missing, report


@MODES
def test_gradients_that_a_loss_scale_judges_are_its_own_business(mode):
    """The first scale is beyond the range of f16: the gradients overflow, the step is left out, and the scale is halved."""
    v, x = tf.Variable([1.0, 2.0]), tf.constant([[3.0, 4.0]])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0**40)
    optimizer.build([v])

    @mode
    def step():
        with tf.GradientTape() as tape:
            loss = tf.cast(tf.reduce_sum(tf.cast(x, tf.float16) * tf.cast(v, tf.float16)), tf.float32)
            scaled = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(scaled, [v]), [v])
        return loss
    with watch() as w:
        step()
        assert np.array_equal(v, [1.0, 2.0])
    assert not w.findings and float(optimizer.dynamic_scale) == 2.0**39


def test_a_gradient_that_a_user_spoils_is_found_at_the_optimizer():
    v = tf.Variable([1.0, 2.0], name="weights")
    optimizer = keras.optimizers.SGD(0.1)

    def run():
        with watch():
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(v * v)
            g = tape.gradient(y, v)
            optimizer.apply([g / tf.zeros(2)], [v])
    assert "Source: RealDiv[0] made inf" in report_of(run) and np.array_equal(v, [1.0, 2.0]) and "apply" not in vars(keras.optimizers.Optimizer)


def attention(x, v):
    n = x.shape[1]
    mask = tf.linalg.band_part(tf.ones([n, n]), -1, 0)
    scores = x @ tf.transpose(x, [0, 2, 1]) + tf.where(mask > 0, 0.0, -np.inf)
    return tf.reduce_mean(tf.nn.softmax(scores + tf.math.log(mask)) @ x * v)


def embedding(x, v):
    table = tf.nn.embedding_lookup(v * tf.ones([5, 4]), [0, 1, 4])
    return tf.reduce_mean(tf.nn.log_softmax(table)) + tf.reduce_mean(tf.math.divide_no_nan(x, tf.zeros_like(x)))


def batch_norm(x, v):
    mean, variance = tf.nn.moments(x, [0, 1])
    return tf.reduce_mean(tf.nn.batch_normalization(x * v, mean, variance, 0.0, 1.0, 1e-5) ** 2)


def dropout(x, v):
    return tf.reduce_mean(tf.nn.experimental.stateless_dropout(x * v, 0.5, seed=[1, 2]) ** 2)


def mixed(x, v):
    return tf.reduce_mean(tf.cast(tf.cast(x, tf.float16) * tf.cast(v, tf.float16), tf.float32))


@MODES
@pytest.mark.parametrize("model", [attention, embedding, batch_norm, dropout, mixed])
def test_healthy_models_raise_nothing(mode, model):
    x, v = tf.constant(normal(1, 2, 6, 4)), tf.Variable(1.5)
    step = mode(gradient_of(lambda x: model(x, v), v))
    plain = step(x)
    with watch() as w:
        seen = step(x)
    assert not w.findings and float(plain[0]) == float(seen[0]) and float(plain[1][0]) == float(seen[1][0])


def test_levels_and_what_cannot_be_looked_at():
    with watch(level="warn") as w, pytest.warns(wp.NonFiniteWarning, match="Log"):
        tf.math.log(tf.zeros(2))
    with pytest.raises(wp.NonFiniteError), watch(level="raise"):
        tf.math.log(tf.zeros(2))
    with watch() as w:
        sparse = tf.sparse.from_dense(tf.eye(3))
        tf.sparse.sparse_dense_matmul(sparse, tf.eye(3))
        tf.strings.join(["a", "b"])
        tf.ragged.constant([[1.0], [2.0, 3.0]]) * 2.0
    assert not w.findings
    with watch() as w:
        for _ in range(3):
            tf.quantization.quantize(tf.ones(3), 0.0, 1.0, tf.quint8)
    assert notes_of(w) == ["a result is not looked at: a quantised tensor."]
    for composite in (lambda: tf.sparse.from_dense(1e38 * tf.eye(2)) * 1e38, lambda: tf.ragged.constant([[1.0], [2.0]]) / 0.0,
                      lambda: tf.cast(tf.constant([1e6]), tf.dtypes.experimental.float8_e5m2)):  # their elements are looked at
        with pytest.raises(wp.NonFiniteError), watch(level="raise"):
            composite()


def test_tensors_on_a_gpu_are_named_and_copied_only_when_asked(monkeypatch):
    for module in ("_watch", "_arrays"):
        monkeypatch.setattr(f"wellposed.tensorflow.{module}.elsewhere", lambda x: "on GPU:0")
    with watch(level="raise") as w:
        monkeypatch.setattr("wellposed.tensorflow._watch.as_numpy", None)  # nothing is copied
        tf.math.log(tf.zeros(2))
        tf.function(tf.math.log)(tf.zeros(2))
    assert notes_of(w) == ["a result is not looked at: on GPU:0."] and 'device="copy"' in w.findings[0].advice
    monkeypatch.undo()
    monkeypatch.setattr("wellposed._adapters.session.Session.raises_defects", True)
    monkeypatch.setattr("wellposed.tensorflow._watch.elsewhere", lambda x: "on GPU:0")
    with pytest.raises(wp.NonFiniteError, match=r"Log\[0\] made -inf of x\[0\] = 0"), watch(device="copy"):
        tf.function(tf.math.log)(tf.zeros(2))
    with pytest.raises(wp.ArgumentError, match="device"):
        watch(device="gpu")


def test_an_interface_that_moved_is_named():
    for module in ("tensorflow.python.framework.op_callbacks", "tensorflow.python.framework.function_def_to_graph", "tensorflow.python.eager.record"):
        assert f"does not have {module}." in hidden("tensorflow", module)


def test_a_defect_of_the_adapter_stays_a_note(monkeypatch):
    monkeypatch.setattr("wellposed._adapters.session.Session.raises_defects", False)
    with watch() as w:
        monkeypatch.setattr(type(w), "_look", lambda *_: 1 / 0)
        y = tf.exp(tf.constant([0.0, 1.0]))
    assert np.array_equal(y, tf.exp(tf.constant([0.0, 1.0])))
    assert any("could not be judged (ZeroDivisionError" in note for note in notes_of(w))


def test_a_variable_that_a_function_spoils_is_found():
    v = tf.Variable([4.0, 0.0])

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sqrt(v))
        v.assign_sub(0.1 * tape.gradient(y, v))
        return y

    def run():
        with watch():
            train()
    report = report_of(run)
    assert "derivative of Sqrt" in report and "variable of train" in report


def test_errors_of_linear_algebra_are_explained():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught, watch():
        tf.linalg.inv(tf.zeros([2, 2]))
    assert "singular" in "\n".join(caught.value.__notes__)


@MODES
def test_a_guard_leaves_a_bad_step_out(mode):
    v, taken = tf.Variable(1.0), 0
    step = mode(gradient_of(lambda x: tf.math.log(x * v), v))
    with watch(guard=True) as w, pytest.warns(wp.FindingWarning, match="an update was refused"):
        for x in (1.0, 0.0, 2.0):
            step(tf.constant(x))
            taken += w.ok
    assert taken == 2 and w.refused == 1
