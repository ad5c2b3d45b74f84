"""Files against their reference writers and readers: NumPy, safetensors, SciPy, csv."""
import csv
import io
import struct
import zipfile

import numpy as np
import pytest
import safetensors.numpy
import scipy.io
import scipy.sparse

import wellposed as wp

A, B = np.arange(6.0).reshape(2, 3), np.array([1, -2, 3], np.int16)
SPARSE = scipy.sparse.coo_array(([1.5, -2.0, 3.0], ([0, 1, 2], [0, 0, 2])), (3, 3))


def same(ours, theirs):
    """Names, dtypes, shapes and bits."""
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        mine = np.asarray(ours[name])
        assert mine.dtype == value.dtype and mine.shape == value.shape and mine.tobytes() == value.tobytes(), name


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz_of_numpy_is_read_and_ours_by_numpy(write, tmp_path):
    arrays = {"a": A, "b": B, "f": np.asfortranarray(A), "big": A.astype(">f8").astype("f8"), "none": np.zeros((0, 3), bool)}
    write(tmp_path / "a.npz", **arrays)
    same(wp.load_all(tmp_path / "a.npz"), arrays)
    wp.save_all(tmp_path / "b.npz", arrays, compress=write is np.savez_compressed)
    with zipfile.ZipFile(tmp_path / "b.npz") as archive:
        assert archive.testzip() is None
    same(dict(np.load(tmp_path / "b.npz", allow_pickle=False)), arrays)
    assert np.array_equal(wp.load(tmp_path / "a.npz", name="b"), B)


def test_a_zip64_archive_of_python_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("a.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array(entry, A)
    same(wp.load_all(tmp_path / "a.npz"), {"a": A})


def test_safetensors_agree_both_ways(tmp_path):
    arrays = {"a": A.astype("f4"), "b": B, "h": A.astype("f2"), "t": A > 2, "s": np.array(2.5)}
    safetensors.numpy.save_file(arrays, tmp_path / "a.safetensors", {"k": "v"})
    ours = wp.load_all(tmp_path / "a.safetensors")
    same({name: ours[name] for name in arrays}, arrays)
    assert wp.load_metadata(tmp_path / "a.safetensors") == {"k": "v"}
    wp.save_all(tmp_path / "b.safetensors", arrays, metadata={"x": "ü"})
    theirs = safetensors.numpy.load_file(tmp_path / "b.safetensors")
    same({name: wp.asarray(theirs[name]) for name in arrays}, arrays)


@pytest.mark.parametrize("field", ["real", "integer", "complex", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
def test_matrix_market_of_scipy_is_read(field, symmetry, tmp_path):
    if (field == "pattern" and symmetry in ("skew-symmetric", "hermitian")) or (symmetry == "hermitian" and field != "complex"):
        pytest.skip("no such file can exist")
    rng = np.random.default_rng(3)
    dense = rng.integers(-3, 4, (5, 5)) * (1 + (2j if field == "complex" else 0))
    low = np.tril(dense, -1)
    dense = {"general": dense, "symmetric": low + low.T, "skew-symmetric": low - low.T, "hermitian": low + low.conj().T}[symmetry]
    dense = dense.astype({"real": "f8", "integer": "i8", "complex": "c16", "pattern": "f8"}[field])
    scipy.io.mmwrite(tmp_path / "s.mtx", scipy.sparse.coo_array(dense), field=field, symmetry=symmetry)
    want = scipy.io.mmread(tmp_path / "s.mtx").toarray()
    got = wp.load_all(tmp_path / "s.mtx")
    csr = scipy.sparse.csr_array(tuple(np.asarray(got[k]) for k in ("data", "indices", "indptr")), tuple(got["shape"].tolist()))
    assert np.array_equal(csr.toarray(), want)
    assert np.array_equal(wp.load(tmp_path / "s.mtx", dense=True), want)
    if field != "pattern":
        scipy.io.mmwrite(tmp_path / "d.mtx", dense, field=field, symmetry=symmetry)
        assert np.array_equal(wp.load(tmp_path / "d.mtx"), scipy.io.mmread(tmp_path / "d.mtx"))
        wp.save(tmp_path / "o.mtx", dense)
        assert np.array_equal(scipy.io.mmread(tmp_path / "o.mtx"), dense)


def test_row_writers_leave_the_old_file_when_the_block_raises(tmp_path):
    wp.save(tmp_path / "a.npy", B)
    with pytest.raises(RuntimeError), wp.RowWriter(tmp_path / "a.npy") as out:
        out.append(A)
        raise RuntimeError
    assert np.array_equal(np.load(tmp_path / "a.npy"), B)
    with wp.RowWriter(tmp_path / "a.npy") as out:
        out.append(A)
        out.append(A[:1])
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.vstack([A, A[:1]]))


# ---- damage: an error that names file and reason, or what the reference reader makes of the same bytes -----------------------------
def damages(data):
    for n in range(len(data)):
        yield data[:n]
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def stream(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def numpy_npy(path):
    return {"": np.load(path, allow_pickle=False)}


def numpy_npz(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def safe(path):
    return {name: value for name, value in safetensors.numpy.load_file(path).items()}


def scipy_mtx(path):
    return {"": np.asarray(scipy.io.mmread(path))}


def python_csv(path):
    def text(name):
        try:
            return name.encode("latin-1").decode()
        except UnicodeDecodeError:
            return name

    with open(path, newline="", encoding="latin-1") as file:
        rows = [row for row in csv.reader(file, strict=True) if row and not row[0].startswith("#") and "".join(row).strip(" ")]
    missing = ("", "na", "n/a", "null", "none", "nan")
    columns = {}
    for k, name in enumerate(rows[0]):
        fields = [row[k].strip(" \t") for row in rows[1:]]
        try:
            columns[text(name.strip(" \t"))] = np.array([int(f) for f in fields], np.int64)
        except ValueError:
            columns[text(name.strip(" \t"))] = np.array([np.nan if f.lower() in missing else float(f) for f in fields])
    assert all(len(row) == len(rows[0]) for row in rows) and len(columns) == len(rows[0])
    return columns


SAMPLES = {
    "table.csv": (b'x,y z,w\n1,2.5,"7"\n-3,,1e3\n\n# c\n4,5,-0.5\r\n', python_csv),
    "c.npy": (stream(lambda f: np.save(f, A)), numpy_npy), "fortran.npy": (stream(lambda f: np.save(f, np.asfortranarray(A))), numpy_npy),
    "stored.npz": (stream(lambda f: np.savez(f, a=A)), numpy_npz), "packed.npz": (stream(lambda f: np.savez_compressed(f, a=A)), numpy_npz),
    "two.safetensors": (safetensors.numpy.save({"a": A.astype("f4"), "b": B}), safe),
    "dense.mtx": (b"%%MatrixMarket matrix array real general\n2 2\n1.5\n-2\n3e2\n4\n", scipy_mtx),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_damage_is_an_error_or_what_the_reference_reads(name, tmp_path):
    data, reference = SAMPLES[name]
    path = tmp_path / name
    read = 0
    for damaged in damages(data):
        path.write_bytes(damaged)
        try:
            ours = wp.load_all(path)
        except wp.FormatError as error:
            assert name in str(error)
            continue
        try:
            theirs = reference(path)
        except Exception as error:  # noqa: BLE001: readers raise all kinds
            raise AssertionError(f"read what {reference.__name__} refuses: {error}") from error
        read += 1
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            mine = np.asarray(ours[key])
            if reference is scipy_mtx:
                mine = mine + 0.0  # SciPy adds entries to zeros: -0 becomes 0
            assert mine.dtype == value.dtype.newbyteorder("=") and mine.shape == value.shape
            assert mine.tobytes() == value.astype(mine.dtype).tobytes()
    assert read > 0


def test_headers_that_promise_much_ask_for_no_memory(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}" + b"\0" * 8)
    with pytest.raises(wp.FormatError, match="promises 0 bytes of data, but 8 follow"):
        wp.load_all(tmp_path / "a.safetensors")
    with pytest.raises(wp.FormatError, match="would run code"):
        np.savez(tmp_path / "o.npz", a=np.array([{}], object))
        wp.load_all(tmp_path / "o.npz")
