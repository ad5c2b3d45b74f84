"""wellposed.nn: the same names and bits as in C++, and what only Python can get wrong."""
import gc
import math
import os
import signal
import subprocess
import sys
import weakref

import numpy as np
import pytest

import wellposed as wp
from wellposed import nn


def line(rows=100, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2)).astype(np.float32)
    return {"x": x, "y": (x @ [[2.0], [-1.0]] + 1).astype(np.float32)}


def net(p, x):
    with wp.scope("layer1"):
        x = nn.dropout(p, nn.batch_norm(p, nn.dense(p, x, 8, activation="relu")), 0.2)
    with wp.scope("layer2"):
        return nn.dense(p, x, 1)


def loss(p, batch):
    return nn.mse(net(p, batch["x"]), batch["y"])


def linear(p, batch):
    return nn.mse(nn.dense(p, batch["x"], 1), batch["y"])


def weights(model):
    return {name: np.asarray(value).tobytes() for name, value in model.parameters.items()}


def test_parameters_are_named_by_their_scopes():
    model = nn.Model(seed=1)
    net(nn.Pass(model), np.zeros((2, 3), np.float32))
    assert list(model.parameters)[:2] == ["layer1/dense/weights", "layer1/dense/bias"]
    assert model.trained == ["layer1/dense/weights", "layer1/dense/bias", "layer1/batch_norm/scale", "layer1/batch_norm/offset",
                             "layer2/dense/weights", "layer2/dense/bias"]
    assert model["layer1/dense/weights"].shape == (3, 8) and model.size == 3 * 8 + 8 + 8 + 8 + 8 + 1


def test_a_hand_written_loop_and_the_trainer_give_the_same_bits():
    data = wp.Dataset(line(), batch=16, seed=9)
    a, b = nn.Model(seed=3), nn.Model(seed=3)
    optimizer = nn.adam(0.01)
    for epoch in range(2):
        for batch in data.epoch(epoch):
            p = nn.Pass(a, training=True)
            optimizer.step(p, loss(p, batch))
    nn.Trainer(b, nn.adam(0.01), loss, epochs=2, progress=False).fit(data)
    assert weights(a) == weights(b) and optimizer.steps == 14


def test_training_finds_the_line():
    model = nn.Model()
    trainer = nn.Trainer(model, nn.sgd(0.05, momentum=0.9), linear, epochs=60, progress=False)
    trainer.metric("error", lambda p, b: wp.mean(wp.abs(nn.dense(p, b["x"], 1) - b["y"])))
    history = trainer.fit(wp.Dataset(line(), batch=16), wp.Dataset(line(30, 6)))
    assert history.epochs[-1].values["validation/error"] < 1e-3
    assert np.allclose(np.asarray(model["dense/weights"]).ravel(), [2, -1], atol=1e-3)


def test_a_killed_run_resumes_to_the_same_bits(tmp_path):
    data = wp.Dataset(line(), batch=16, seed=9)
    whole = nn.Model(seed=3)
    nn.Trainer(whole, nn.adam(0.01), loss, epochs=3, progress=False).fit(data)
    path = str(tmp_path / "run.safetensors")

    def train(model, kill=None):
        trainer = nn.Trainer(model, nn.adam(0.01), loss, epochs=3, checkpoint=path, checkpoint_every=2, progress=False)
        if kill is not None:
            trainer.on_step(lambda s: os.kill(os.getpid(), signal.SIGKILL) if s.step == kill else None)
        trainer.fit(data)

    child = os.fork()
    if child == 0:
        train(nn.Model(seed=3), 11)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    resumed = nn.Model(seed=3)
    train(resumed)
    assert weights(resumed) == weights(whole)


def test_a_full_disk_is_told_once_each_and_training_goes_on(tmp_path):
    """Files that may not grow, in a process of its own; the findings of the writer's thread are warnings too."""
    program = f"""
import resource, signal, warnings
import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
import wellposed as wp
from wellposed import nn
from test_nn import line, linear
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (800, 800))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    trainer = nn.Trainer(nn.Model(), nn.adam(), linear, epochs=30, checkpoint={str(tmp_path / "run.safetensors")!r}, summaries={str(tmp_path / "runs")!r}, progress=False)
    trainer.fit(wp.Dataset(line(), batch=16))
print(*sorted(str(w.message).split()[0] for w in told))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "WP-NNM-008 WP-SUM-002\n"
    assert wp.read_events(str(tmp_path / "runs"))[""].damage == []


def test_a_bad_row_is_named_or_left_out():
    bad = line()
    bad["x"][61, 1] = math.nan
    data = wp.Dataset(bad, batch=16, seed=9)
    with pytest.raises(wp.NonFiniteError, match="x row 61, column 1 = nan"):
        nn.Trainer(nn.Model(), nn.adam(), loss, progress=False).fit(data)
    with pytest.warns(wp.FindingWarning, match="x row 61"):
        history = nn.Trainer(nn.Model(), nn.adam(), loss, nonfinite="skip", progress=False).fit(data)
    assert history.skipped == 1 and history.steps == 7


def test_an_exception_of_the_model_reaches_the_caller():
    def broken(p, batch):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nn.Trainer(nn.Model(), nn.adam(), broken, progress=False).fit(wp.Dataset(line()))
    with pytest.raises(TypeError, match="loss"):
        nn.Trainer(nn.Model(), nn.adam(), lambda p, b: "text", progress=False).fit(wp.Dataset(line()))


def test_schedules_may_be_functions():
    optimizer = nn.sgd(lambda step: 0.5 / (step + 1))
    model = nn.Model(dtype="f64")
    for expected in (0.5, 0.25):
        assert optimizer.rate == expected
        p = nn.Pass(model, True)
        optimizer.step(p, wp.sum(p.parameter("w", (1,), nn.constant(0))))
    assert model["w"].item() == -0.75
    assert nn.warmup(4, 0.2)(0) == pytest.approx(0.05) and nn.piecewise([(0, 1.0), (5, 0.1)])(7) == 0.1


def test_optimizers_follow_the_formula_of_adamw():
    model, g = nn.Model(dtype="f64"), np.array([0.3, -2.0, 1e-3])
    w, m, v = np.array([1.0, -1.0, 0.5]), 0, 0
    optimizer = nn.adamw(0.01, weight_decay=0.1)
    for t in range(1, 6):
        p = nn.Pass(model, True)
        x = p.parameter("w", 3, nn.constant(0))
        if t == 1:
            model["w"] = w
            p.again()
            x = p.parameter("w", 3, nn.constant(0))
        optimizer.step(p, wp.sum(x * (g * t)))
        m, v = 0.9 * m + 0.1 * g * t, 0.999 * v + 0.001 * (g * t) ** 2
        w = w * (1 - 0.01 * 0.1) - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    assert np.allclose(np.asarray(model["w"]), w, rtol=1e-14)


def test_models_are_saved_and_loaded(tmp_path):
    model, path = nn.Model(seed=1), str(tmp_path / "m.safetensors")
    net(nn.Pass(model), np.zeros((2, 3), np.float32))
    model.save(path)
    other = nn.Model(seed=2)
    other.load(path)
    assert weights(other) == weights(model)
    with pytest.raises(wp.FormatError, match="layer9"):
        with wp.scope("layer9"):
            nn.dense(nn.Pass(other), np.zeros((2, 3), np.float32), 1)


def test_free_summaries_and_the_switch_write_histograms(tmp_path):
    def logged(p, batch):
        wp.summary.histogram("chosen", batch["x"])
        return loss(p, batch)

    trainer = nn.Trainer(nn.Model(), nn.adam(), logged, epochs=2, summaries=str(tmp_path), watch_every=5, progress=False)
    trainer.fit(wp.Dataset(line(), batch=16))
    events = wp.read_events(str(tmp_path))[""]
    assert len(events.histograms["chosen"]["step"]) == 14
    assert events.histograms["layer1/dense/weights/gradient"]["step"] == [0, 5, 10]
    assert len(events.scalars["loss"]["step"]) == 14


def test_hooks_may_keep_what_they_see():
    kept = []
    trainer = nn.Trainer(nn.Model(), nn.adam(), loss, progress=False)
    trainer.on_step(kept.append)
    epochs = []
    trainer.on_epoch(epochs.append)
    trainer.fit(wp.Dataset(line(), batch=16))
    assert [s.step for s in kept] == list(range(7)) and kept[0].gradients[0].shape == (2, 8)
    assert "layer1/dense/output" in kept[0].activations and len(kept[0].batch["x"]) == 16
    assert epochs[0].values.keys() == {"loss"}


def test_a_trainer_keeps_its_model_alive_and_lets_it_go():
    class Function:
        def __call__(self, p, batch):
            return loss(p, batch)

    f = Function()
    gone = weakref.ref(f)
    trainer = nn.Trainer(nn.Model(), nn.adam(), f, progress=False)
    del f
    trainer.fit(wp.Dataset(line()))
    del trainer
    gc.collect()
    assert gone() is None


def test_a_rate_that_is_no_number_is_named():
    for given, error, words in (("fast", TypeError, "the function gave 'fast' for step 0"), (None, TypeError, "None"),
                                (-1.0, ValueError, "finite and not negative"), (math.nan, ValueError, "nan")):
        model, optimizer = nn.Model(), nn.sgd(lambda step: given)
        p = nn.Pass(model, True)
        with pytest.raises(error, match=words):
            optimizer.step(p, wp.sum(p.parameter("w", (1,), nn.constant(1))))
        assert model["w"].item() == 1 and optimizer.steps == 0


def test_labels_and_numbers_do_not_count_from_the_end():
    with pytest.raises(IndexError, match=r"labels\[1\] = -1 is outside of 0 … 2"):
        nn.softmax_cross_entropy(np.zeros((2, 3)), [0, -1])
    with pytest.raises(IndexError, match=r"numbers\[0, 1\] = 5 is outside of 0 … 4"):
        nn.embedding(nn.Pass(nn.Model()), [[0, 5]], 5, 2)


def heavy_ball(w, g, slots, rate, step):
    slots[0] = slots[0] * 0.9 + g
    return w - slots[0] * rate


def test_a_rule_of_ones_own_is_momentum_bit_for_bit_and_may_be_restored():
    def run(optimizer, steps, model=None):
        model = model or nn.Model(seed=3)
        for k in range(steps):
            p = nn.Pass(model, True)
            optimizer.step(p, linear(p, {name: wp.asarray(v) for name, v in line(10, k).items()}))
        return model
    mine = nn.Optimizer(nn.Rule("mine", heavy_ball, ["velocity"]), 0.1, clip_norm=1)
    model = run(mine, 4)
    assert weights(model) == weights(run(nn.sgd(0.1, momentum=0.9, clip_norm=1), 4)) and mine.name == "mine"
    slots = mine.slots(model)
    assert set(slots) == {"velocity/dense/weights", "velocity/dense/bias"}
    other = nn.Optimizer(nn.Rule("mine", heavy_ball, ["velocity"]), 0.1, clip_norm=1)
    other.restore(model, slots, mine.steps)
    assert other.steps == 4
    assert weights(run(other, 1, model.copy())) == weights(run(mine, 1, model.copy()))
    with pytest.raises(wp.FormatError, match="is not of this model"):
        other.restore(model, {"velocity/other": [1.0]}, 1)


def test_a_rule_that_gives_what_is_no_weight_changes_nothing():
    for update, error in ((lambda w, g, slots, rate, step: w[:1], wp.ShapeError), (lambda w, g, slots, rate, step: "w", TypeError),
                          (lambda w, g, slots, rate, step: slots.clear() or w, ValueError), (lambda *a: 1 / 0, ZeroDivisionError)):
        model, optimizer = nn.Model(), nn.Optimizer(nn.Rule("bad", update, ["s"]), 0.1)
        p = nn.Pass(model, True)
        with pytest.raises(error):
            optimizer.step(p, wp.sum(p.parameter("w", (2,), nn.constant(1))))
        assert model["w"].tolist() == [1, 1] and optimizer.steps == 0


def test_draws_of_a_pass_move_the_counter_of_its_model():
    model = nn.Model(seed=7)
    p, same = nn.Pass(model), wp.random.Generator(0)
    same.state = model.random.state
    for draws in (p.random, model.random, p.random):
        assert draws.normal((5,)).tolist() == same.normal((5,)).tolist() and model.random.state == same.state
    model.random.state = (7, 0)
    assert p.random.counter == 0 and p.random.key == 7


def test_the_writer_of_a_trainer_is_at_hand(tmp_path):
    trainer = nn.Trainer(nn.Model(), nn.adam(), linear, summaries=str(tmp_path), progress=False)
    trainer.summaries.scalar("mine", 2.0, 0)
    trainer.summaries.flush()
    assert wp.read_events(str(tmp_path))[""].scalars["mine"]["value"] == [2.0]
    assert nn.Trainer(nn.Model(), nn.adam(), linear, progress=False).summaries is None
    with pytest.raises(ValueError, match="watch_every = 5 logs to the folder `summaries`"):
        nn.Trainer(nn.Model(), nn.adam(), linear, watch_every=5)
