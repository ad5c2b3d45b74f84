"""Files against their reference writers and readers: NumPy, safetensors, SciPy, csv."""
import csv
import io
import re
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


@pytest.mark.parametrize("compress", [False, True])
def test_archives_written_row_by_row_are_read_by_numpy(tmp_path, compress):
    rows = np.random.default_rng(3).standard_normal((5000, 7)).astype(np.float32)
    with wp.RowWriter(tmp_path / "a.npz", compress=compress) as out:
        for first in range(0, 5000, 999):
            out.append(rows[first:first + 999])
    with np.load(tmp_path / "a.npz") as archive:
        assert archive.files == ["arr_0"]
        assert np.array_equal(archive["arr_0"], rows)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
    assert np.array_equal(wp.load(tmp_path / "a.npz"), rows)
    assert np.array_equal(np.concatenate([np.asarray(b) for b in wp.RowReader(tmp_path / "a.npz", block=777)]), rows)


def test_safetensors_written_row_by_row_are_read_by_their_own_reader(tmp_path):
    with wp.RowWriter(tmp_path / "a.safetensors", metadata={"made": "by rows"}) as out:
        out.append(A[:1])
        out.append(A)
    assert np.array_equal(safetensors.numpy.load_file(tmp_path / "a.safetensors")["tensor"], np.vstack([A[:1], A]))
    assert wp.load_metadata(tmp_path / "a.safetensors") == {"made": "by rows"}


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
    matrix = scipy.io.mmread(path)
    return {"": matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)}


def numpy_raw(path):
    data = path.read_bytes()
    if len(data) % 8:
        raise ValueError("no whole number of elements")
    return {"": np.frombuffer(data, np.float64)}


def zip64():
    def write(file):
        with zipfile.ZipFile(file, "w") as archive, archive.open("a.npy", "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, A)
    return stream(write)


def python_tsv(path):
    return python_csv(path, "\t")


def python_csv(path, delimiter=","):
    def text(name):
        try:
            return name.encode("latin-1").decode()
        except UnicodeDecodeError:
            return name

    with open(path, newline="", encoding="latin-1") as file:
        rows = [row for row in csv.reader(file, strict=True, delimiter=delimiter) if row and not row[0].startswith("#") and "".join(row).strip(" ")]
    missing = ("", "na", "n/a", "null", "none", "nan")
    columns = {}
    for k, name in enumerate(rows[0]):
        fields = [row[k].strip(" \t") for row in rows[1:]]
        try:
            if "-0" in fields:
                raise ValueError("no int64")
            columns[text(name.strip(" \t"))] = np.array([int(f) for f in fields], np.int64 if fields else float)
        except ValueError:
            columns[text(name.strip(" \t"))] = np.array([np.nan if f.lower() in missing else float(f) for f in fields])
    assert all(len(row) == len(rows[0]) for row in rows) and len(columns) == len(rows[0])
    return columns


def sparse(kind, lines):
    return b"%%MatrixMarket matrix coordinate " + kind + b"\n% note\n" + lines, scipy_mtx


def padded_safetensors():
    """With blanks behind the header's JSON, whose damage must be found, too."""
    files = (safetensors.numpy.save({"a" * n: A.astype("f4"), "b": B}) for n in range(1, 9))
    return next(data for data in files if data[8:8 + struct.unpack("<Q", data[:8])[0]].endswith(b"}  "))


SAMPLES = {
    "table.csv": (b'x,y z,w\n1,2.5,"7"\n-3,,1e3\n\n# c\n4,5,-0.5\r\n', python_csv), "table.tsv": (b'x\ty\n1\t2.5\n-3\t\n4\t"5"\n', python_tsv),
    "raw.bin": (A.tobytes(), numpy_raw), "zip64.npz": (zip64(), numpy_npz),
    "v2.npy": (stream(lambda f: np.lib.format.write_array(f, A, (2, 0))), numpy_npy), "v3.npy": (stream(lambda f: np.lib.format.write_array(f, B, (3, 0))), numpy_npy),
    "big.npy": (stream(lambda f: np.save(f, A.astype(">f4"))), numpy_npy), "complex.npy": (stream(lambda f: np.save(f, A * (1 - 2j))), numpy_npy),
    "general.mtx": sparse(b"real general", b"3 3 3\n1 1 1.5\n2 1 -2\n3 3 3e2\n"), "symmetric.mtx": sparse(b"integer symmetric", b"2 2 2\n1 1 4\n2 1 -7\n"),
    "complex.mtx": sparse(b"complex hermitian", b"2 2 2\n1 1 4 0\n2 1 -7 0.5\n"), "pattern.mtx": sparse(b"pattern general", b"2 3 2\n1 1\n2 3\n"),
    "c.npy": (stream(lambda f: np.save(f, A)), numpy_npy), "fortran.npy": (stream(lambda f: np.save(f, np.asfortranarray(A))), numpy_npy),
    "stored.npz": (stream(lambda f: np.savez(f, a=A)), numpy_npz), "packed.npz": (stream(lambda f: np.savez_compressed(f, a=A)), numpy_npz),
    "two.safetensors": (padded_safetensors(), safe),
    "dense.mtx": (b"%%MatrixMarket matrix array real general\n2 2\n1.5\n-2\n3e2\n4\n", scipy_mtx),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_damage_is_an_error_or_what_the_reference_reads(name, tmp_path):
    data, reference = SAMPLES[name]
    path = tmp_path / name
    read = refused = 0
    for damaged in damages(data):
        path.write_bytes(damaged)
        try:
            ours = wp.load_all(path, delimiter="," if reference is python_csv else "", dense=True, dtype="f64" if name.endswith(".bin") else None)
        except wp.FormatError as error:
            assert f"{name}'" in str(error) and re.search(r"\bbytes? \d|\d bytes\b", str(error)), error
            refused += 1
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
                mine = mine + mine.dtype.type(0)  # SciPy adds entries to zeros: -0 becomes 0
            assert mine.dtype == value.dtype.newbyteorder("=") and mine.shape == value.shape
            assert mine.tobytes() == value.astype(mine.dtype).tobytes()
    assert read > 0 and refused > 0


def test_rows_are_read_in_blocks(tmp_path):
    x = np.arange(70.0).reshape(10, 7)
    np.save(tmp_path / "x.npy", x)
    wp.save(tmp_path / "x.csv", x)
    for name, rows in (("x.npy", 10), ("x.csv", None)):
        reader = wp.RowReader(tmp_path / name, block=3)
        assert reader.rows == rows and reader.row == 0
        blocks = [np.asarray(block) for block in reader]
        assert [len(b) for b in blocks] == [3, 3, 3, 1] and np.array_equal(np.concatenate(blocks), x) and reader.rows == 10
    np.savez(tmp_path / "two.npz", a=A, b=B)
    assert np.array_equal(next(wp.RowReader(tmp_path / "two.npz", name="b")), B)
    with pytest.raises(wp.ArgumentError, match="several arrays: 'a', 'b'"):
        wp.RowReader(tmp_path / "two.npz")


def test_nothing_stands_behind_a_nul(tmp_path):
    header = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    for tail in (b"\0", b"\0GARBAGE{{{"):
        (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header + tail)) + header + tail + b"x")
        with pytest.raises(wp.FormatError, match="NUL"):
            wp.load(tmp_path / "a.safetensors")
    with pytest.raises(wp.FormatError, match="NUL"):
        wp.Schema.from_json('{"tensor": {"rank": 1}}\0garbage')


def test_headers_that_promise_much_ask_for_no_memory(tmp_path):
    (tmp_path / "q.mtx").write_text("%%MatrixMarket matrix coordinate real general\n100000000 2 1\n1 1 5\n")
    with pytest.raises(wp.FormatError, match="as a dense matrix, 100000000 × 2 elements"):
        wp.load(tmp_path / "q.mtx", dense=True)
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}" + b"\0" * 8)
    with pytest.raises(wp.FormatError, match="promises 0 bytes of data, but 8 follow"):
        wp.load_all(tmp_path / "a.safetensors")
    with pytest.raises(wp.FormatError, match="would run code"):
        np.savez(tmp_path / "o.npz", a=np.array([{}], object))
        wp.load_all(tmp_path / "o.npz")
