"""NumPy reads what wellposed wrote, and the other way round."""
import itertools

import numpy as np
import pytest

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]


def sample(dtype, shape):
    """Values over the whole range of the dtype, special values among them."""
    random = np.random.default_rng([len(shape), *shape])
    kind = np.dtype(dtype)
    values = np.frombuffer(random.bytes(max(int(np.prod(shape)), 1) * kind.itemsize), kind)[:int(np.prod(shape))].copy()
    if kind == bool:
        values = random.integers(0, 2, values.size).astype(bool)
    if kind.kind == "f" and values.size > 3:
        values[:4] = [np.nan, np.inf, -0.0, np.finfo(kind).smallest_subnormal]
    return values.reshape(shape)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype,shape", list(itertools.product(DTYPES, SHAPES)))
def test_every_dtype_and_shape_survives_the_round_trip(dtype, shape, tmp_path, convert):
    values = sample(dtype, shape)
    np.save(tmp_path / "a.npy", values)
    assert convert(tmp_path / "a.npy", tmp_path / "b.npy").returncode == 0
    assert same_bits(np.load(tmp_path / "b.npy", allow_pickle=False), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_byte_order_and_fortran_order_of_numpy_are_read(dtype, tmp_path, convert):
    values = sample(dtype, (3, 4, 5))
    for name, stored in {"big": values.astype(np.dtype(dtype).newbyteorder(">")), "fortran": np.asfortranarray(values),
                         "both": np.asfortranarray(values.astype(np.dtype(dtype).newbyteorder(">")))}.items():
        np.save(tmp_path / "a.npy", stored)
        assert convert(tmp_path / "a.npy", tmp_path / "b.npy").returncode == 0, name
        assert same_bits(np.load(tmp_path / "b.npy"), values), name


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_files_are_the_same_mapped_and_copied(copy, order, tmp_path, convert):
    values = np.asarray(sample("f8", (600, 500)), order=order)
    np.save(tmp_path / "a.npy", values)
    assert convert(tmp_path / "a.npy", tmp_path / "b.npy", copy).returncode == 0
    assert same_bits(np.load(tmp_path / "b.npy"), np.ascontiguousarray(values))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_header_version_of_numpy_is_read(version, tmp_path, convert):
    values = sample("i4", (5, 3))
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, values, version)
    assert convert(tmp_path / "a.npy", tmp_path / "b.npy").returncode == 0
    assert same_bits(np.load(tmp_path / "b.npy"), values)


@pytest.mark.parametrize("values,reason", [
    (np.array([{"a": 1}], dtype=object), "would run code of the file"),
    (np.array(["text"]), "it holds text"),
    (np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), "several fields"),
    (np.array(["2020-01-01"], dtype="M8[D]"), "dates or durations"),
    (np.array([1], dtype=np.longdouble), "astype('f8')"),
])
def test_what_a_tensor_cannot_hold_is_refused_with_the_reason(values, reason, tmp_path, convert):
    np.save(tmp_path / "a.npy", values, allow_pickle=True)
    done = convert(tmp_path / "a.npy", tmp_path / "b.npy")
    assert done.returncode == 3 and reason in done.stderr
    assert not (tmp_path / "b.npy").exists()


def test_csv_goes_through_numpy_and_back_exactly(tmp_path, convert):
    values = np.random.default_rng(1).standard_normal((200, 7)) * 10.0 ** np.random.default_rng(2).integers(-300, 300, (200, 7))
    np.savetxt(tmp_path / "a.csv", values, delimiter=",", header="a,b,c,d,e,f,g", fmt="%.17g")
    assert convert(tmp_path / "a.csv", tmp_path / "b.npy").returncode == 0
    assert same_bits(np.load(tmp_path / "b.npy"), values)
    assert convert(tmp_path / "b.npy", tmp_path / "c.csv").returncode == 0
    assert same_bits(np.loadtxt(tmp_path / "c.csv", delimiter=","), values)
    assert convert(tmp_path / "c.csv", tmp_path / "d.tsv").returncode == 0
    assert same_bits(np.loadtxt(tmp_path / "d.tsv", delimiter="\t"), values)
