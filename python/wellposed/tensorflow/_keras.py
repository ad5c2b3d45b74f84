"""Keras' fit: a callback that keeps the weights and the batches of a step, and runs a step that fails again, op by op."""
import keras
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from ._arrays import flat
from ._watch import Watch


class Callback(keras.callbacks.Callback):
    """model.fit(…, callbacks=[Callback()]): when the loss or a weight stops being finite, names the layer, op, line, element and operands.

    The step is run again eagerly with the weights from before it (with steps_per_execution, all steps of that execution). data: an array or a dict of arrays
    whose rows are named. guard=True: the weights of the step before are put back and training goes on; else NonFiniteError ends it. record: a file for
    `wellposed postmortem`: each step with its batch, and its rows if data names them. trends=True: weights that grow are told early.
    """

    def __init__(self, *, data=None, guard=False, record=None, trends=False):
        super().__init__()
        self.watch = Watch(data=data, record=record, trends=trends)
        self.guard = guard
        self._batches, self._before, self._run, self._numbers = [], None, None, {}
        self._called = False  # whether fit calls this callback

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
        self.model.make_train_function()
        self._run, self.model.train_function = self.model.train_function, self._train
        if self.watch.recording:
            self._numbers = {(name, row.tobytes()): k for name, a in self.watch._known for k, row in enumerate(np.ascontiguousarray(a))}

    def on_train_end(self, logs=None):
        self._finish()

    def _finish(self):
        if self._run is not None:
            self.model.train_function, self._run = self._run, None
            self.watch._end()

    # ---- one execution ----------------------------------------------------------------------------------------------------
    def _train(self, iterator):
        """Keras' own function on batches that are taken out one by one, as train_on_batch gives them."""
        if not self._called:  # a fit that an exception ended, which no callback is told of, has left this behind
            run = self._run
            self._finish()
            return run(iterator)
        self._called = False
        self._batches = []
        for _ in range(self.model.steps_per_execution):
            try:
                self._batches.append(next(iterator))
            except (StopIteration, tf.errors.OutOfRangeError):
                break
        if not self._batches:
            raise StopIteration
        return self._run(self._told() if self.watch.recording else iter(self._batches))

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
        self._before = [(v, tf.identity(v.value)) for v in self._variables()]

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss", 0.0)
        w = self.watch
        bad = not np.isfinite(loss) or any(v.dtype.startswith(("float", "bfloat")) and w._bad(tf.convert_to_tensor(v.value)) for v in self.model.trainable_variables)
        if w.trends is not None and not bad:
            w.guarded(w.see_trends, self._changes())
        if not bad:
            w.next_step()
            return
        error = None
        try:
            self._again()
        except wp.NonFiniteError as found:
            error = found
        self._restore()
        if not self.guard:
            self._finish()
            if error is None:
                error = wp.NonFiniteError(f"the loss of step {_core.current_step()} is {loss}; run again op by op it came out finite (random numbers differ).")
            raise error
        w.findings[:] = [f for f in w.findings if f is not getattr(error, "finding", None)]
        w.refuse(None, "fit", f"the loss was {loss}")
        w.next_step()

    def _changes(self):
        """What the step did to the weights stands for the gradient."""
        before = {id(v): x for v, x in self._before}
        for v in self.model.trainable_variables:
            now = np.asarray(v.value)
            yield v.path, wp.asarray(now), wp.asarray(now - np.asarray(before[id(v)]))

    def _restore(self):
        for v, x in self._before:
            v.assign(x)

    def _again(self):
        """The steps on the kept batches, eagerly, with the weights from before them."""
        self._restore()
        step, recorder = self.watch._step_before, self.watch._recorder
        self.watch._recorder = None
        now = _core.current_step()
        try:
            with self.watch:
                wp.set_step(now)
                for data in self._batches:
                    self.model.train_step(tf.nest.map_structure(lambda x: None if isinstance(x, tf.experimental.Optional) else x, data))
        finally:
            self.watch._step_before, self.watch._recorder = step, recorder
            wp.set_step(now)
