"""Random arrays, indices, axes and shapes: hypothesis's strategies for the standard run on the namespace itself."""
import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import wellposed as wp

xps = make_strategies_namespace(wp, api_version="2024.12")
some = settings(max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
shapes = xps.array_shapes(min_dims=0, min_side=0, max_dims=4, max_side=5)


def equal(t, a):
    assert t.shape == a.shape and t.dtype == a.dtype
    np.testing.assert_array_equal(np.asarray(t), a)


@some
@given(st.data(), xps.scalar_dtypes(), shapes)
def test_arrays_survive_every_way_out_and_in(data, dtype, shape):
    x = data.draw(xps.arrays(dtype, shape))
    a = np.asarray(x).copy()
    for twin in (wp.asarray(x, copy=True), wp.asarray(a), wp.from_dlpack(a), wp.from_dlpack(x), x.copy()):
        equal(twin, a)
    if x.size:
        equal(wp.asarray(x.tolist(), dtype=dtype), a)
        assert str(np.asarray(a).dtype) == str(x.dtype)


@some
@given(st.data(), xps.array_shapes(max_dims=4, max_side=5))
def test_indexing_is_numpys_for_every_index(data, shape):
    a = np.arange(math.prod(shape)).reshape(shape)
    index = data.draw(xps.indices(shape, allow_newaxis=True))
    x = wp.asarray(a.copy())
    equal(x[index], np.asarray(a[index]))
    b = a.copy()
    b[index] = -1
    x[index] = -1
    equal(x, b)


@some
@given(st.data(), shapes)
def test_masks_are_numpys(data, shape):
    mask = np.asarray(data.draw(xps.arrays("bool", shape)))
    a = np.arange(math.prod(shape)).reshape(shape)
    x = wp.asarray(a.copy())
    equal(x[wp.asarray(mask)], a[mask])
    x[wp.asarray(mask)] = -1
    equal(x, np.where(mask, -1, a))


@some
@given(xps.mutually_broadcastable_shapes(3))
def test_broadcasting_is_numpys(found):
    arrays = [np.arange(math.prod(s), dtype=np.float64).reshape(s) for s in found.input_shapes]
    x, y, z = map(wp.asarray, arrays)
    equal(x + y * z, arrays[0] + arrays[1] * arrays[2])
    for t, a in zip(wp.broadcast_arrays(x, y, z), np.broadcast_arrays(*arrays)):
        equal(t, a)


@some
@given(st.data(), xps.array_shapes(max_dims=4, max_side=4))
def test_moves_and_reductions_are_numpys(data, shape):
    a = np.random.default_rng(0).integers(-9, 9, size=shape)
    x = wp.asarray(a)
    axes = data.draw(xps.valid_tuple_axes(len(shape)))
    keep = data.draw(st.booleans())
    for name in ("sum", "prod", "max", "min"):
        equal(getattr(wp, name)(x, axis=axes, keepdims=keep), np.asarray(getattr(np, name)(a, axis=axes, keepdims=keep)))
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    equal(wp.permute_dims(x, order), np.transpose(a, order))
    equal(wp.flip(x, axis=axes), np.flip(a, axes))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    equal(wp.sort(x, axis=axis), np.sort(a, axis=axis))
    equal(wp.roll(x, 2, axis=axis), np.roll(a, 2, axis=axis))
    equal(wp.concat([x, x], axis=axis), np.concatenate([a, a], axis=axis))
