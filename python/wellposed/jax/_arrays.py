"""Arrays of JAX as arrays of NumPy, without a copy where that is possible."""
import jax
import numpy as np

_NATIVE = {"float16", "float32", "float64", "complex64", "complex128"}  # what the compiled scan reads in NumPy's arrays


def elsewhere(x):
    """"on cuda:0" for an array that is not on the CPU; None: it is."""
    if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
        return None
    device = next(iter(x.devices()))
    return None if device.platform == "cpu" else f"on {device}"


def array_of(x):
    """The elements; narrow floats (bfloat16, float8) as float32. None: it has none (a random key, an abstract token)."""
    try:
        a = np.asarray(x)
    except Exception:
        return None
    if a.dtype.isbuiltin != 1 and jax.numpy.issubdtype(a.dtype, jax.numpy.floating):
        return a.astype(np.float32)
    return a if a.dtype.kind in "biufc" else None


def is_native(x):
    return str(x.dtype) in _NATIVE


def is_inexact(x):
    return hasattr(x, "dtype") and jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)


def pieces(x):
    """An array over several devices as the pieces that are in this process."""
    return [s.data for s in x.addressable_shards] if isinstance(x, jax.Array) and len(x.devices()) > 1 else [x]


def is_bad(x):
    a = array_of(x) if hasattr(x, "dtype") else np.asarray(x)
    return a is not None and a.dtype.kind in "fc" and not np.isfinite(a).all()
