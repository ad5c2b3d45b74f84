"""The extension `fft`: names, signatures, dtypes, shapes, values."""
import itertools

import numpy as np
import pytest

import wellposed as wp

rng = np.random.default_rng(3)
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
WIDE = {"float32": "complex64", "float64": "complex128"}
NARROW = {c: r for r, c in WIDE.items()}
NORMS = ["backward", "ortho", "forward"]


def numbers(shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def close(got, expected, dtype):
    assert got.dtype == dtype and got.shape == expected.shape
    scale = np.max(np.abs(expected), initial=1e-30)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=0, atol=(4e-7 if dtype in ("float32", "complex64") else 1e-14) * scale)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, norm):
    for dtype in REAL if name in ("rfft", "ihfft") else COMPLEX:
        out = NARROW[dtype] if name in ("irfft", "hfft") else dtype if dtype in COMPLEX else WIDE[dtype]
        for n, axis in itertools.product([None, 1, 2, 3, 4, 5, 8, 12, 67, 100], [-1, 0, 1]):
            a = numbers((5, 6, 4), dtype)
            got = getattr(wp.fft, name)(wp.asarray(a), n=n, axis=axis, norm=norm)
            close(got, getattr(np.fft, name)(a.astype("complex128" if dtype in COMPLEX else "float64"), n=n, axis=axis, norm=norm), out)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name, norm):
    for dtype in REAL if name == "rfftn" else COMPLEX:
        out = NARROW[dtype] if name == "irfftn" else dtype if dtype in COMPLEX else WIDE[dtype]
        for s, axes in [(None, None), (None, (0,)), (None, (2, 0)), ((4, 3, 6), (0, 1, 2)), ((7, 2), (-1, -3)), (None, (0, 1))]:
            a = numbers((3, 4, 5), dtype)
            got = getattr(wp.fft, name)(wp.asarray(a), s=s, axes=axes, norm=norm)
            close(got, getattr(np.fft, name)(a.astype("complex128" if dtype in COMPLEX else "float64"), s=s, axes=axes, norm=norm), out)


def test_real_and_whole_numbers_are_transformed_too():
    for dtype, out in (("float32", "complex64"), ("float64", "complex128"), ("int32", "complex128")):
        a = np.arange(6).astype(dtype)
        close(wp.fft.fft(wp.asarray(a)), np.fft.fft(a.astype("float64")), out)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 16, 30, 61, 64, 97, 127, 128, 210, 1000, 1009, 4096, 5003])
def test_every_length_is_right_and_has_an_inverse(n):
    a = numbers(n, "complex128")
    close(wp.fft.fft(wp.asarray(a)), np.fft.fft(a), "complex128")
    close(wp.fft.ifft(wp.fft.fft(wp.asarray(a))), a, "complex128")
    r = numbers(n, "float64")
    close(wp.fft.irfft(wp.fft.rfft(wp.asarray(r)), n=n), r, "float64")
    close(wp.fft.hfft(wp.fft.ihfft(wp.asarray(r)), n=n), r, "float64")


def test_numbers_near_the_limits_neither_overflow_nor_lose_digits():
    for n in (8, 67):
        a = numbers(n, "complex128")
        small = wp.fft.ifft(wp.asarray(a))
        for scale in (2.0**1020, 2.0**-1000):
            b = a * (scale / 8)
            got = wp.fft.ifft(wp.asarray(b))
            close(got / (scale / 8), np.asarray(small), "complex128")
    assert wp.fft.ifft(wp.asarray(np.full(64, 1.5e308 + 0j)))[0].item() == 1.5e308


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies_and_their_order(n):
    for d in (1.0, 0.25, -3.0):
        np.testing.assert_array_equal(np.asarray(wp.fft.fftfreq(n, d=d)), np.fft.fftfreq(n, d=d))
        np.testing.assert_array_equal(np.asarray(wp.fft.rfftfreq(n, d=d)), np.fft.rfftfreq(n, d=d))
    assert wp.fft.fftfreq(n, dtype=wp.float32, device="cpu").dtype == wp.float32
    a = np.arange(n * 4.0).reshape(n, 4)
    for axes in (None, (0,), 0, (1, 0), -1):
        np.testing.assert_array_equal(np.asarray(wp.fft.fftshift(wp.asarray(a), axes=axes)), np.fft.fftshift(a, axes=axes))
        np.testing.assert_array_equal(np.asarray(wp.fft.ifftshift(wp.asarray(a), axes=axes)), np.fft.ifftshift(a, axes=axes))


def test_misuse_is_refused_with_the_reason():
    x = wp.ones((2, 3))
    for call, kind, words in [(lambda: wp.fft.fft(x, n=0), ValueError, "at least one point"), (lambda: wp.fft.fft(x, axis=2), IndexError, "axis"),
                              (lambda: wp.fft.rfft(x * 1j), TypeError, "real"), (lambda: wp.fft.fft(x, norm="none"), ValueError, "one of"),
                              (lambda: wp.fft.irfft(wp.ones((2, 1))), ValueError, "how long"), (lambda: wp.fft.fftn(x, s=(2,)), ValueError, "one length per axis"),
                              (lambda: wp.fft.fftn(x, axes=(0, 0)), ValueError, "twice"), (lambda: wp.fft.fft(wp.ones(())), IndexError, "axis"),
                              (lambda: wp.fft.fftn(wp.ones(())), ValueError, "at least one axis"), (lambda: wp.fft.fftfreq(0), ValueError, "at least 1"),
                              (lambda: wp.fft.fftfreq(3, d=0.0), ValueError, "distance"), (lambda: wp.fft.fftfreq(3, dtype=wp.int64), TypeError, "real")]:
        with pytest.raises(kind, match=words):
            call()
    assert wp.fft.fft(wp.ones((0, 4))).shape == (0, 4) and wp.fft.rfft(wp.ones((3, 0, 5))).shape == (3, 0, 3)


def test_gradients_go_through_transforms():
    a = wp.asarray(numbers(7, "float64"))
    assert wp.gradcheck(lambda t: wp.sum(wp.abs(wp.fft.rfft(t)) ** 2), a)
    assert wp.gradcheck(lambda t: wp.fft.irfft(wp.fft.rfft(t) * 2.0, n=7), a)
