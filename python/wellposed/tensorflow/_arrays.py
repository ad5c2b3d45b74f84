"""Tensors of TensorFlow as arrays of NumPy, without a copy where that is possible."""
import numpy as np
import tensorflow as tf


def is_eager(x):
    return isinstance(x, tf.Tensor) and hasattr(x, "numpy")


def elsewhere(x):
    """"on GPU:0" for an eager tensor that is not on the CPU; None: it is."""
    device = x.backing_device
    return None if "CPU" in device else f"on {device.rpartition('device:')[2]}"


def as_numpy(x):
    """The elements, of another device as a copy; None: it has none that can be looked at (a resource, a variant, a string, a quantised tensor)."""
    if not is_eager(x):
        return None
    if x.dtype.is_floating or x.dtype.is_complex or x.dtype.is_integer or x.dtype.is_bool:
        a = np.asarray(x._numpy() if hasattr(x, "_numpy") else x.numpy())
        return a.astype(np.float32) if a.dtype.isbuiltin != 1 and x.dtype.is_floating else a  # bfloat16, float8
    return None


def flat(tree):
    """Tensors and variables of a structure, in order."""
    return [x for x in tf.nest.flatten(tree, expand_composites=False) if isinstance(x, (tf.Tensor, tf.Variable))]


def is_float(t):
    return t.dtype.is_floating or t.dtype.is_complex
