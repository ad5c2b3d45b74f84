#!/usr/bin/env python3
"""Memory is shared with PyTorch, JAX and TensorFlow, both ways, where the other side allows it. Runs in .bench-venv."""
import sys
import time

import numpy as np

import wellposed as wp

LARGE = 100_000  # JAX shares only memory that is aligned to 64 bytes; large tensors are


def address(t):
    return np.asarray(t).ctypes.data


def refused(make, words):
    try:
        wp.add(make, 1.0)
    except (TypeError, ValueError) as error:
        assert "x1" in str(error) and words in str(error), error
        return
    raise AssertionError(f"taken: {make!r}")


def pytorch():
    import torch
    for dtype in (torch.float64, torch.float32, torch.int64, torch.uint8, torch.bool, torch.complex128):
        a = torch.ones(LARGE, dtype=dtype)
        for t in (wp.asarray(a), wp.from_dlpack(a)):
            assert address(t) == a.data_ptr() and t.shape == (LARGE,)
        back = torch.from_dlpack(t)
        assert back.data_ptr() == a.data_ptr() and back.dtype == dtype
    view = torch.arange(12.0).reshape(3, 4).T[1:]
    assert wp.asarray(view).tolist() == view.tolist()
    half = torch.ones(3, dtype=torch.bfloat16)
    assert wp.asarray(half).dtype == wp.bfloat16 and torch.from_dlpack(wp.asarray(half)).dtype == torch.bfloat16
    turned = torch.tensor([1 + 2j, 3 - 4j]).conj().imag  # its memory holds the signs of before
    assert turned.is_neg() and wp.asarray(turned).tolist() == wp.from_dlpack(turned).tolist() == turned.tolist() == [-2.0, 4.0]
    refused(torch.ones(2, dtype=torch.complex64).conj(), "conjugate")
    refused(torch.ones(2, requires_grad=True), "gradient")
    refused(torch.ones(2, device="meta"), "meta")
    refused(torch.ones(2).to_sparse(), "layout")
    a = torch.ones(3, dtype=torch.float64)
    x = wp.asarray(a)
    with wp.GradientTape() as tape:
        tape.watch(x)
        y = wp.sum(x * x)
    a[0] = 5.0
    try:
        assert tape.gradient(y, x).tolist() == [2.0, 2.0, 2.0]
    except wp.GradientError:
        pass


def jax():
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    for dtype in (jnp.float64, jnp.float32, jnp.int32):
        a = jnp.ones(LARGE, dtype=dtype)
        for t in (wp.asarray(a), wp.from_dlpack(a)):
            assert address(t) == a.unsafe_buffer_pointer()
        x = wp.ones(LARGE, dtype=t.dtype)
        assert jnp.from_dlpack(x).unsafe_buffer_pointer() == address(x)
    assert wp.asarray(jnp.ones(2, dtype=jnp.bfloat16)).dtype == wp.bfloat16


def tensorflow():
    import tensorflow as tf
    a = tf.ones(LARGE)
    first, second = wp.asarray(a), wp.from_dlpack(tf.experimental.dlpack.to_dlpack(a))
    assert address(first) == address(second)
    x = wp.ones(LARGE, dtype=wp.float32)
    shared = tf.experimental.dlpack.from_dlpack(x.__dlpack__(copy=False))
    assert wp.from_dlpack(tf.experimental.dlpack.to_dlpack(shared)).shape == (LARGE,)
    assert address(wp.from_dlpack(tf.experimental.dlpack.to_dlpack(shared))) == address(x)
    assert address(wp.from_dlpack(tf.experimental.dlpack.to_dlpack(tf.experimental.dlpack.from_dlpack(x.__dlpack__())))) != address(x)
    assert float(tf.reduce_sum(tf.convert_to_tensor(x))) == LARGE


for check in (pytorch, jax, tensorflow):
    start = time.time()
    check()
    print(f"{check.__name__}: shared ({time.time() - start:.1f} s)")
sys.stdout.flush()
