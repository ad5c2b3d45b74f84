"""What the tests of the standard share."""
import numpy as np

import wellposed as wp

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
INTEGERS, REALS, COMPLEXES = SIGNED + UNSIGNED, ["float32", "float64"], ["complex64", "complex128"]
NUMERIC = INTEGERS + REALS + COMPLEXES
ALL = ["bool", *NUMERIC]


def same(got, expected, **close):
    expected = np.asarray(expected)
    assert isinstance(got, wp.Tensor)
    assert got.shape == expected.shape and got.dtype == expected.dtype, f"{got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
    if close:
        np.testing.assert_allclose(np.asarray(got), expected, **close)
    else:
        np.testing.assert_array_equal(np.asarray(got), expected)
