"""Memory shared by DLPack, as consumers and lenders without a framework see it (tests/python/frameworks has PyTorch, JAX and TensorFlow)."""
import ctypes
import gc
import weakref

import numpy as np
import pytest

import wellposed as wp


def test_what_is_lent_is_shared_and_read_only():
    x = wp.arange(5.0)
    lent = np.from_dlpack(x)
    assert np.shares_memory(lent, np.asarray(x)) and not lent.flags.writeable
    x[0] = 9.0  # the value of x changes, what was lent does not
    assert lent.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    own = np.from_dlpack(x, copy=True)
    assert not np.shares_memory(own, np.asarray(x)) and own.flags.writeable


def test_capsules_have_the_version_that_was_asked_for():
    x = wp.arange(5.0)
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0))) and '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(2, 3)))
    assert '"dltensor"' in repr(x.__dlpack__()) and '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    again = wp.from_dlpack(x.__dlpack__(copy=False))
    assert np.shares_memory(np.asarray(again), np.asarray(x))
    # A consumer that knows no read-only flag gets memory of its own.
    assert not np.shares_memory(np.asarray(wp.from_dlpack(x.__dlpack__())), np.asarray(x))


def test_a_capsule_can_be_used_once():
    capsule = wp.ones(2).__dlpack__(max_version=(1, 0))
    assert wp.from_dlpack(capsule).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="used already"):
        wp.from_dlpack(capsule)


@pytest.mark.parametrize("make", [lambda: np.arange(6.0), lambda: np.arange(12.0)[::-2], lambda: np.arange(12).reshape(3, 4).T, lambda: np.zeros((0, 3)),
                                  lambda: np.float32([[1.5]]), lambda: np.array([1 + 2j]), lambda: np.array([True, False]), lambda: np.array(7)])
def test_arrays_are_taken_in_place_and_given_back(make):
    class Mine(np.ndarray):
        pass
    a = make().view(Mine)
    t = wp.from_dlpack(a)
    assert t.tolist() == a.tolist() and t.dtype == a.dtype and t.shape == a.shape
    assert a.size == 0 or np.shares_memory(a, np.asarray(t))
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is not None
    del t
    gc.collect()
    assert gone() is None


class Versioned(ctypes.Structure):  # DLManagedTensorVersioned begins with its version
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("rest", ctypes.c_char * 128)]


def test_another_major_version_is_refused_before_anything_is_read():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    future = Versioned(2, 1)
    with pytest.raises(ValueError, match="DLPack 2.1; known are 0 and 1"):
        wp.from_dlpack(new(ctypes.addressof(future), b"dltensor_versioned", None))


def test_signs_that_are_only_meant_are_turned():
    class Lazy:  # as PyTorch's x.conj().imag: the memory has the signs of before
        def __init__(self, values, turned):
            self.values, self.turned = values, turned

        def is_neg(self):
            return self.turned

        def resolve_neg(self):
            return Lazy(-self.values, False)

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)
    assert wp.asarray(Lazy(np.array([2.0, -4.0]), True)).tolist() == [-2.0, 4.0]
    assert wp.asarray(Lazy(np.array([2.0, -4.0]), False)).tolist() == [2.0, -4.0]


def test_an_array_that_is_lent_by_dlpack_only_is_an_index():
    class Lender:  # as torch.Tensor: no buffer, and __index__ for one element
        def __init__(self, values):
            self.values = np.array(values)

        def __dlpack__(self, **options):
            return self.values.__dlpack__()

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

        def __index__(self):
            return self.values.__index__()
    x = wp.arange(3.0)
    assert x[Lender([1, 2])].tolist() == [1.0, 2.0] and x[Lender(1)].tolist() == 1.0
    assert x[Lender([True, False, True])].tolist() == [0.0, 2.0]
    x[Lender([0])] = 7.0
    assert x.tolist() == [7.0, 1.0, 2.0]
