"""Keras' fit: a callback that keeps the weights and the batch of the step, and runs a step that fails again, op by op."""
import keras
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed import _core

from ._watch import Watch


class Callback(keras.callbacks.Callback):
    """model.fit(…, callbacks=[Callback()]): when the loss or a weight stops being finite, names the layer, op, line, element and operands.

    The step is run again eagerly with the weights from before it. data: an array or a dict of arrays whose rows are named. guard=True: the weights of
    the step before are put back and training goes on; else NonFiniteError ends it. record: a file for `wellposed postmortem`. trends=True: weights
    that grow are told early.
    """

    def __init__(self, *, data=None, guard=False, record=None, trends=False):
        super().__init__()
        self.watch = Watch(data=data, record=record, trends=trends)
        self.guard = guard
        self._batch, self._before, self._step = None, None, None

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
        model = self.model
        self._step = model.train_step

        def train_step(data):
            self._keep(data)
            return self._step(data)
        model.train_step = train_step
        model.make_train_function(force=True)  # traced again, with the batch kept

    def on_train_end(self, logs=None):
        self._finish()

    def _finish(self):
        if self._step is not None:
            self.model.train_step, self._step = self._step, None
            self.model.train_function = None
            self.watch._end()

    def _keep(self, data):
        """Inside the traced step: the batch goes into variables, which the callback can read."""
        flat = [x for x in tf.nest.flatten(data) if isinstance(x, tf.Tensor)]
        if self._batch is None:
            with tf.init_scope():
                self._batch = [tf.Variable(tf.zeros([0] * len(x.shape) if x.shape.rank is not None else [], x.dtype), shape=tf.TensorShape(
                    [None] * x.shape.rank if x.shape.rank is not None else None), trainable=False, dtype=x.dtype) for x in flat]
                self._tree = data
        for v, x in zip(self._batch, flat):
            v.assign(x)

    def on_train_batch_begin(self, batch, logs=None):
        self._before = [(v, tf.identity(v.value)) for v in self._variables()]

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss", 0.0)
        w = self.watch
        bad = not np.isfinite(loss) or any(v.dtype.startswith("float") and _core.first_nonfinite(np.asarray(v.value)) >= 0
                                           for v in self.model.trainable_variables)
        if w.trends is not None and not bad:
            self._see_trends()
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

    def _see_trends(self):
        """What the step did to the weights stands for the gradient."""
        now = {id(v): x for v, x in self._before}
        before = len(self.watch.trends.findings)
        for v in self.model.trainable_variables:
            old = np.asarray(now[id(v)])
            self.watch.trends.see(v.path, wp.asarray(np.asarray(v.value)), wp.asarray(np.asarray(v.value) - old))
        self.watch.findings += self.watch.trends.findings[before:]

    def _restore(self):
        for v, x in self._before:
            v.assign(x)

    def _again(self):
        """The step on the kept batch, eagerly, with the weights from before it."""
        self._restore()
        values = iter([v.value() if callable(v.value) else v.value for v in self._batch])
        data = tf.nest.map_structure(lambda x: next(values) if isinstance(x, tf.Tensor) else x, self._tree)
        step, recorder = self.watch._step_before, self.watch._recorder
        self.watch._recorder = None
        now = _core.current_step()
        try:
            with self.watch:
                wp.set_step(now)
                self._step(data)
        finally:
            self.watch._step_before, self.watch._recorder = step, recorder
            wp.set_step(now)
