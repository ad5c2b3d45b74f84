"""The tensor as a Python object."""
import copy
import math
import pickle

import numpy as np
import pytest

import wellposed as wp

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128"]


def same(t, expected):
    expected = np.asarray(expected)
    assert t.shape == expected.shape
    assert t.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(t), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_are_shown_in_place_and_come_back_in_place(dtype):
    a = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    t = wp.asarray(a)
    same(t, a)
    back = np.asarray(t)
    assert np.shares_memory(a, back)
    assert not back.flags.writeable


@pytest.mark.parametrize("view", [lambda a: a[::-1], lambda a: a[:, ::2], lambda a: a.T, lambda a: a[1:, 1:], lambda a: a[:0]])
def test_strided_arrays_keep_their_layout(view):
    a = view(np.arange(12.0).reshape(3, 4))
    t = wp.asarray(a)
    same(t, a)
    same(t + 1.0, a + 1)
    assert a.size == 0 or np.shares_memory(a, np.asarray(t))


def test_read_only_arrays_are_taken():
    a = np.arange(3.0)
    a.flags.writeable = False
    same(wp.asarray(a) * 2, a * 2)


def test_lists_have_the_dtype_of_their_numbers():
    assert wp.asarray([True, False]).dtype == wp.bool
    assert wp.asarray([True, 2]).dtype == wp.int64
    assert wp.asarray([1, 2.5]).dtype == wp.float64
    assert wp.asarray([[1j, 2.5]]).dtype == wp.complex128
    assert wp.asarray([2**63]).dtype == wp.uint64
    assert wp.asarray([]).shape == (0,)
    assert wp.asarray([[], []]).shape == (2, 0)
    same(wp.asarray([wp.asarray([1.0, 2.0]), [3.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]])


def test_asarray_copies_when_it_must_and_only_then():
    a = np.arange(4.0)
    assert not np.shares_memory(a, np.asarray(wp.asarray(a, copy=True)))
    t = wp.asarray(a)
    assert wp.asarray(t) is t
    with pytest.raises(ValueError, match="copy"):
        wp.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="copy"):
        wp.asarray(a, dtype=wp.float32, copy=False)
    assert wp.asarray(a, dtype="f32").dtype == wp.float32


def test_numbers_of_python_are_weak_in_operators():
    x = wp.asarray([1, 2], dtype=wp.float32)
    assert (x + 1).dtype == (2.0 * x).dtype == (x**2).dtype == wp.float32
    assert (wp.asarray([1], dtype=wp.int8) + 1).dtype == wp.int8
    assert (x + 1j).dtype == wp.complex64


def test_operators_do_what_numpy_does():
    a, b = np.array([[5.0, -7.0], [2.5, 4.0]]), np.array([[2.0, 3.0], [-1.5, 4.0]])
    x, y = wp.asarray(a), wp.asarray(b)
    for f in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p // q, lambda p, q: p % q,
              lambda p, q: abs(p) ** q, lambda p, q: p @ q, lambda p, q: p < q, lambda p, q: p <= q, lambda p, q: p == q,
              lambda p, q: p != q, lambda p, q: p > q, lambda p, q: p >= q, lambda p, q: -p, lambda p, q: +p, lambda p, q: abs(p),
              lambda p, q: 3 - p, lambda p, q: 2 / p, lambda p, q: 3 // p, lambda p, q: 7 % q, lambda p, q: 2**p):
        np.testing.assert_allclose(np.asarray(f(x, y)), f(a, b), rtol=1e-15)
    i, j = np.array([12, 10, 7]), np.array([3, 1, 2])
    p, q = wp.asarray(i), wp.asarray(j)
    for f in (lambda p, q: p & q, lambda p, q: p | q, lambda p, q: p ^ q, lambda p, q: p << q, lambda p, q: p >> q, lambda p, q: ~p,
              lambda p, q: 6 & p, lambda p, q: 1 << q):
        same(f(p, q), f(i, j))


def test_numpy_leaves_operators_to_tensors():
    x = wp.asarray([1.0, 2.0])
    assert isinstance(np.array([1.0, 2.0]) + x, wp.Tensor)
    assert isinstance(x + np.array([1.0, 2.0]), wp.Tensor)
    assert isinstance(np.float64(2) * x, wp.Tensor)
    assert isinstance(np.exp(x), np.ndarray)


def test_in_place_operators_keep_shape_and_dtype():
    x = wp.asarray([1, 2])
    y = x
    x += 1
    assert y is x and x.tolist() == [2, 3]
    with pytest.raises(TypeError, match="dtype"):
        x += 0.5
    with pytest.raises(ValueError, match="shape"):
        x += wp.asarray([[1], [2]])
    assert x.tolist() == [2, 3]


def test_operators_leave_other_types_alone():
    x = wp.asarray([1.0])
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        x + None
    assert (x == None) is False  # noqa: E711


INDICES = [0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(5, 1, -2), None, Ellipsis, (), (0, 1), (slice(None), 1),
           (..., 0), (None, 0), (0, None, ...), ([0, 2],), ([0, 2], [1, 3]), (slice(None), [1, 1]), ([[0], [2]], [1, 3]),
           (slice(None), slice(1, 3)), (0, slice(-2, None)), (np.array([2, 0]), slice(None)), slice(10, 20), (slice(0, 0),)]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indexing_is_numpys(index):
    a = np.arange(12.0).reshape(3, 4)
    t = wp.asarray(a)
    own = wp.asarray(index) if isinstance(index, np.ndarray) else index
    same(t[own], a[index])
    b = a.copy()
    b[index] = -1
    t[own] = -1
    same(t, b)
    assert a[0, 0] == 0 and a.max() == 11  # the lender's memory is left alone


def test_masks_select_and_assign():
    a = np.arange(12).reshape(3, 4)
    t = wp.asarray(a)
    same(t[t > 5], a[a > 5])
    same(t[wp.asarray([True, False, True])], a[[True, False, True]])
    t[t > 5] = 0
    same(t, np.where(a > 5, 0, a))
    same(wp.asarray(3.0)[True], np.asarray(3.0)[True])


def test_assignment_leaves_views_and_copies_alone():
    x = wp.asarray([1.0, 2.0, 3.0])
    view, twin, lent = x[1:], copy.copy(x), np.asarray(x)
    x[1] = 7.0
    assert x.tolist() == [1, 7, 3]
    assert view.tolist() == [2, 3] and twin.tolist() == [1, 2, 3] and lent.tolist() == [1, 2, 3]


def test_indices_out_of_range_are_index_errors():
    x = wp.asarray([1.0, 2.0])
    for index in (2, -3, (0, 0), [2], 0.5, "a", wp.asarray([0.5]), 10**30):
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(wp.IndexError):
        x[2]


def test_iteration_length_and_truth():
    x = wp.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert len(x) == 2
    assert 3 in x and 5 not in x and None not in x
    assert wp.asarray(range(3)).tolist() == [0, 1, 2]
    first, second = x
    assert first.tolist() == [1, 2] and second.tolist() == [3, 4]
    with pytest.raises(TypeError):
        len(wp.asarray(1))
    with pytest.raises(TypeError):
        iter(wp.asarray(1))
    with pytest.raises(ValueError, match="one element"):
        bool(x)
    with pytest.raises(TypeError):
        hash(x)


def test_numbers_come_out_as_pythons():
    assert int(wp.asarray(3.7)) == 3 and float(wp.asarray(3)) == 3.0 and complex(wp.asarray(2.0)) == 2 + 0j
    assert bool(wp.asarray(0.0)) is False and bool(wp.asarray(math.nan)) is True
    assert type(wp.asarray(True).item()) is bool and type(wp.asarray(2).item()) is int
    assert wp.asarray(2**64 - 1).item() == 2**64 - 1
    assert [10, 20, 30][wp.asarray(1)] == 20
    with pytest.raises(TypeError):
        [10][wp.asarray(0.0)]
    with pytest.raises(TypeError):
        float(wp.asarray(1j))
    with pytest.raises((ValueError, OverflowError)):
        int(wp.asarray(math.inf))


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pickles_have_the_same_bits(dtype):
    t = wp.astype(wp.asarray([[0, 1], [1, 1]]), dtype).T
    back = pickle.loads(pickle.dumps(t))
    assert back.dtype == t.dtype and back.shape == t.shape
    assert wp.all(back == t)
    assert pickle.loads(pickle.dumps(t.dtype)) is t.dtype


def test_functions_and_results_can_be_pickled():
    assert pickle.loads(pickle.dumps(wp.log)) is wp.log
    assert pickle.loads(pickle.dumps(wp.linalg.svd)) is wp.linalg.svd
    assert pickle.loads(pickle.dumps(wp.linalg.diagnosed.inv)) is wp.linalg.diagnosed.inv
    result = pickle.loads(pickle.dumps(wp.linalg.slogdet(wp.eye(2))))
    assert result.sign.item() == 1.0


def test_html_is_escaped():
    x = wp.asarray([1.0, 2.0])
    assert x._repr_html_().startswith("<pre>Tensor([1., 2.])")
    assert "<b>" not in wp.linalg.diagnosed.inv([[1.0, 2], [2, 4]], names=["<b>a", "b"])[1]._repr_html_()


def test_printing_is_numpys():
    a = np.array([[1.5, -2.0], [1e-3, 100.0]])
    assert repr(wp.asarray(a)) == repr(a).replace("array(", "Tensor(").replace("\n ", "\n  ")


def test_formatting_shows_a_number_and_does_not_use_it():
    assert f"{wp.asarray(2.0):.3f} {wp.asarray(7):03d}" == "2.000 007"
    assert f"{wp.log(wp.asarray(0.0)):.1f}" == "-inf"
    assert f"{wp.asarray([1.0])}" == "Tensor([1.])"
    with pytest.raises(ValueError):
        f"{wp.asarray([1.0, 2.0]):.3f}"


def test_methods_of_others_are_functions_here():
    x = wp.asarray([1.0, 2.0])
    for name in ("sum", "mean", "reshape", "astype", "std"):
        with pytest.raises(AttributeError, match=f"functions are functions: wellposed.{name}\\(x\\)"):
            getattr(x, name)
        assert not hasattr(x, name)
    for name in ("nonsense", "Tensor", "_private", "__private__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'.$"):
            getattr(x, name)


def test_copies_are_independent():
    x = wp.asarray([1.0, 2.0])
    for y in (copy.copy(x), copy.deepcopy(x), x.copy(), pickle.loads(pickle.dumps(x))):
        y[0] = 9.0
        assert x.tolist() == [1.0, 2.0]


def test_dtypes_are_what_their_names_say():
    assert wp.float32 == np.float32 and wp.float32 == np.dtype("f4") and wp.float32 == "float32" and wp.float32 == "f32"
    assert wp.f32 is wp.float32
    assert wp.float32 != wp.float64 and wp.float32 != np.float64 and wp.float32 != 3
    assert len({wp.float32, wp.f32, wp.int8}) == 2
    assert repr(wp.float32) == "wellposed.float32"
    assert wp.zeros(2, dtype=np.int16).dtype == wp.int16 and wp.zeros(2, dtype=int).dtype == wp.int64


@pytest.mark.parametrize("date", ["datetime64('2020')", "datetime64('NaT')", "timedelta64(3, 's')"])
def test_dates_are_refused_by_the_name_of_the_argument(date):
    import numpy
    with pytest.raises(TypeError, match="asarray: obj has elements of dtype (datetime|timedelta)64.*accepted are"):
        wp.asarray(eval(f"numpy.{date}"))
