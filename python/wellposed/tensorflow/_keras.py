"""Keras' fit: a callback that keeps the weights and the batches of a step, and runs a step that fails again, op by op."""
import contextlib

import keras
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from .._adapters.session import version_guard
from ._arrays import flat
from ._watch import Watch

version_guard("tensorflow", tf.__version__, "2.16", ["keras:Model._symbolic_build", "keras:Model._flatten_layers"])


class Callback(keras.callbacks.Callback):
    """model.fit(…, callbacks=[Callback()]): when the loss or a weight stops being finite, names the layer, op, line, element and operands.

    The step is run again eagerly with the weights from before it (with steps_per_execution, all steps of that execution). data: an array or a dict of arrays
    whose rows are named. guard=True: the weights of the step before are put back and training goes on; else NonFiniteError ends it. record: a file for
    `wellposed postmortem`: each step with its batch, and its rows if data names them. trends=True: weights that grow are told early. A validation loss that is
    not finite is told in the same way.
    """

    def __init__(self, *, data=None, guard=False, record=None, trends=False):
        super().__init__()
        self.watch = Watch(data=data, record=record, trends=trends)
        self.guard = guard
        self._batches, self._before, self._run, self._numbers = [], None, None, {}
        self._called = False  # whether fit calls this callback
        self._built = False  # whether the model was before the step
        self._now = 0  # the number of the step
        self._test = None  # Keras' function for validation, while this callback stands in its place

    @property
    def findings(self):
        return self.watch.findings

    @property
    def refused(self):
        return self.watch.refused

    def _variables(self):
        optimizer = self.model.optimizer
        return [*self.model.variables, *self.model.metrics_variables, *(optimizer.variables if optimizer is not None else [])]

    def on_train_begin(self, logs=None):
        self.watch._begin()
        self._built, self._now = False, _core.current_step()
        wp.set_step(self.watch._step_before)
        self.model.make_train_function()
        self._run, self.model.train_function = self.model.train_function, self._train
        if self.watch.recording:
            self._numbers = {(name, row.tobytes()): k for name, a in self.watch._known for k, row in enumerate(np.ascontiguousarray(a))}

    def on_train_end(self, logs=None):
        self._finish()

    def _finish(self):
        if self._run is not None:
            self.model.train_function, self._run = self._run, None
            self.on_test_end()
            self.watch._end()

    # ---- one execution ----------------------------------------------------------------------------------------------------
    def _taken(self, iterator):
        """The batches of an execution."""
        batches = []
        for _ in range(self.model.steps_per_execution):
            try:
                batches.append(next(iterator))
            except (StopIteration, tf.errors.OutOfRangeError):
                break
        if not batches:
            raise StopIteration
        return batches

    def _train(self, iterator):
        """Keras' own function on batches that are taken out one by one, as train_on_batch gives them."""
        if not self._called:  # a fit that an exception ended, which no callback is told of, has left this behind
            run = self._run
            self._finish()
            return run(iterator)
        self._called = False
        self._batches = self._taken(iterator)
        self._built = self._built or self.watch.guarded(self._build)
        self._before = self._values()
        with self._numbered():
            return self._run(self._told() if self.watch.recording else iter(self._batches))

    @contextlib.contextmanager
    def _numbered(self):
        """What happens within has the number of the step; whatever ends it, others have theirs afterwards."""
        wp.set_step(self._now)
        try:
            yield
        finally:
            self._now = _core.current_step()
            wp.set_step(self.watch._step_before)

    def _told(self):
        """The batches, each in the recording while its step runs."""
        for data in self._batches:
            recorded = self.watch._quietly(self._recorded, data)
            yield data
            if recorded is not None:
                recorded.done([], False)

    def _recorded(self, data):
        tensors = flat(data)
        for x in tensors:
            numbers = self._rows_of(self.watch._array(x))
            if numbers is not None:
                self.watch.rows(x, numbers[1], numbers[0])
                break
        return _core.Recorded("train step", self.watch._tensors(tensors))

    def _rows_of(self, a):
        """(name, numbers) of the rows of the data that a batch consists of."""
        for name, known in self.watch._known if a is not None and a.ndim else ():
            found = [self._numbers.get((name, row.tobytes())) for row in np.ascontiguousarray(a.astype(known.dtype))]
            if found and None not in found:
                return name, found
        return None

    def on_train_batch_begin(self, batch, logs=None):
        self._called = True

    def _build(self):
        """A model that its first step would build is built before it, so that there are weights from before. Returns whether it is built."""
        if not self._is_built():
            try:
                self.model._symbolic_build(data_batch=_plain(self._batches[0]))
            except Exception:  # a model that needs values: its first step builds it
                return False
        return self._is_built()

    def _is_built(self):
        optimizer = self.model.optimizer
        return all(layer.built for layer in self.model._flatten_layers()) and (optimizer is None or optimizer.built)

    def _values(self):
        return [(v, tf.identity(v.value)) for v in self._variables()]

    def _scale(self):
        """By what the optimizer multiplies the loss."""
        optimizer = self.model.optimizer
        return float(optimizer.dynamic_scale) if isinstance(optimizer, keras.optimizers.LossScaleOptimizer) and optimizer.built else 1.0

    def on_train_batch_end(self, batch, logs=None):
        with self._numbered():
            self._judge_step(logs)

    def _judge_step(self, logs):
        loss = (logs or {}).get("loss", 0.0)
        w = self.watch
        bad = not np.isfinite(loss) or any(v.dtype.startswith(("float", "bfloat")) and w._bad(tf.convert_to_tensor(v.value)) for v in self.model.trainable_variables)
        error = self._of_step() if bad else self._of_scaled_step()
        if error is None and not bad:
            if w.trends is not None:
                w.guarded(w.see_trends, self._changes())
            w.next_step()
            return
        self._restore()
        if not self.guard or not self._built:
            self._finish()
            raise error or wp.NonFiniteError(f"the loss of step {_core.current_step()} is {loss}; " + (
                "run again op by op it came out finite (random numbers differ)." if self._built else
                "its source is not known, because this step built the model: call the model once on a batch before fit."))
        w.findings[:] = [f for f in w.findings if f is not getattr(error, "finding", None)]
        w.refuse(None, "fit", f"the loss was {loss}")
        w.next_step()

    # ---- validation -------------------------------------------------------------------------------------------------------
    def on_test_begin(self, logs=None):
        if self._run is None:  # not within fit
            return
        self._test = self.model.test_function
        told = []

        def test(iterator):
            if not self._called:  # left behind by an exception, as in _train
                run = self._test
                self.on_test_end()
                return run(iterator)
            self._called = False
            batches = self._taken(iterator)
            found = self._test(iter(batches))
            if not told and not np.isfinite((found or {}).get("loss", 0.0)):
                told.append(True)
                with self._numbered():
                    self._of_validation(batches)
            return found
        self.model.test_function = test

    def on_test_batch_begin(self, batch, logs=None):
        self._called = True

    def on_test_end(self, logs=None):
        if self._test is not None:
            self.model.test_function, self._test = self._test, None

    def _of_validation(self, batches):
        """Who made the loss of one of the batches infinite or NaN. The weights are as they were: nothing is put back."""
        w = self.watch
        try:
            with self._apart():
                for data in batches:
                    x, y, weight = keras.utils.unpack_x_y_sample_weight(_plain(data))
                    loss = self.model.compute_loss(x=x, y=y, y_pred=self.model(x, training=False), sample_weight=weight, training=False)
                    if w._bad(loss):
                        w.escaped(w.note_of(loss), "validation loss", "warn" if self.guard else "escape")
        except wp.NonFiniteError:
            self._finish()
            raise

    @contextlib.contextmanager
    def _apart(self):
        """Within the watch, as a block of its own that records nothing."""
        step, recorder, now = self.watch._step_before, self.watch._recorder, _core.current_step()
        self.watch._recorder = None
        try:
            with self.watch:
                wp.set_step(now)
                yield
        finally:
            self.watch._step_before, self.watch._recorder = step, recorder
            wp.set_step(now)

    def _changes(self):
        """What the step did to the weights stands for the gradient."""
        before = {id(v): x for v, x in self._before}
        for v in self.model.trainable_variables:
            now = np.asarray(v.value)
            yield v.path, wp.asarray(now), wp.asarray(now - np.asarray(before[id(v)]))

    def _restore(self, values=None):
        for v, x in values or self._before:
            v.assign(x)

    def _of_step(self):
        """The error of the steps on the kept batches, run eagerly with the weights from before them; None: they come out finite."""
        try:
            if self._built:
                self._again()
        except wp.NonFiniteError as error:
            return error
        return None

    def _of_scaled_step(self):
        """The same where the optimizer of a scaled loss has left out a step: None where that is the scale's doing, and everything is as it was."""
        scale = next((float(x) for v, x in self._before if v is getattr(self.model.optimizer, "dynamic_scale", None)), 0.0)
        if self._scale() >= scale:
            return None
        after = self._values()
        error = self._of_step()
        self._restore(after)
        return error

    def _again(self):
        self._restore()
        with self._apart():
            for data in self._batches:
                self.model.train_step(_plain(data))


def _plain(data):
    """A batch as steps take it: None where nothing was given."""
    return tf.nest.map_structure(lambda x: None if isinstance(x, tf.experimental.Optional) else x, data)
