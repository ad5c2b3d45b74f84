"""Tensors from and to files. The ending of the name says the format: .npy, .npz, .safetensors, .mtx, .csv, .tsv, .bin, .raw."""
import os

from . import _core
from ._arrays import asarray


def load(path, *, name=None, columns=(), copy=False, header=None, delimiter="", dense=False, dtype=None, shape=None, offset=0,
         max_unfolded=0):
    """The tensor a file holds.

    name: which array of an .npz or .safetensors file with several. columns: which columns of a table.
    copy: large arrays are mapped from the file, unless True. header, delimiter: of tables; found out if not given.
    dense: a sparse .mtx file becomes a matrix. dtype, shape, offset: what the bytes of a .bin or .raw file are.
    max_unfolded: bytes that a compressed array, or a sparse matrix with dense, may unfold to (0: 1 GiB, or 100 times its size if that is more).
    """
    names = [name] if name is not None else list(columns)
    return _core.load(os.fsdecode(path), dict(names=names, copy=copy, header=header, delimiter=delimiter, dense=dense, dtype=dtype,
                                              shape=shape, offset=offset, max_unfolded=max_unfolded))


def load_all(path, *, names=(), copy=False, header=None, delimiter="", dense=False, dtype=None, shape=None, offset=0,
             max_unfolded=0):
    """All arrays of a file, by name, in the order of the file: of an .npz or .safetensors file; the columns of a table, each of its
    own dtype (column_0, column_1, … without a header); indptr, indices, data and shape of a sparse .mtx file. The array of a file
    without names is called "". names: only these."""
    return dict(_core.load_all(os.fsdecode(path), dict(names=list(names), copy=copy, header=header, delimiter=delimiter, dense=dense,
                                                       dtype=dtype, shape=shape, offset=offset, max_unfolded=max_unfolded)))


def load_metadata(path):
    """The texts that a .safetensors file carries beside its arrays, by name."""
    return dict(_core.load_metadata(os.fsdecode(path)))


def save(path, x, *, names=(), compress=False, metadata=None):
    """Writes x to a file (names: the header of a table; compress: .npz; metadata: .safetensors). There is the whole new file or what
    was there before. Made Inf and NaN raise here."""
    _core.save(os.fsdecode(path), asarray(x), list(names), compress, _texts(metadata))


def save_all(path, arrays, *, compress=False, metadata=None):
    """Writes the arrays of a dict: .npz, .safetensors; .csv and .tsv (columns); .mtx (indptr, indices, data and shape)."""
    _core.save_all(os.fsdecode(path), [(name, asarray(x)) for name, x in dict(arrays).items()], compress, _texts(metadata))


def _texts(metadata):
    return list((metadata or {}).items())


class RowReader:
    """Reads an array of any length some rows at a time, with memory for one block:

        for block in wp.RowReader("long.npy", block=10000):
            ...

    block: rows at a time (0: about 8 MiB of them). The other arguments are those of load. rows: how many there are, None where that is
    known at the end only (tables). row: the number of the first row of the next block.
    """

    def __init__(self, path, *, block=0, name=None, columns=(), header=None, delimiter="", dtype=None, shape=None, offset=0, max_unfolded=0):
        names = [name] if name is not None else list(columns)
        self._block = block
        self._rows = _core.RowReader(os.fsdecode(path), dict(names=names, header=header, delimiter=delimiter, dtype=dtype, shape=shape,
                                                             offset=offset, max_unfolded=max_unfolded))

    @property
    def rows(self):
        return None if self._rows.rows < 0 else self._rows.rows

    @property
    def row(self):
        return self._rows.row

    def __iter__(self):
        return self

    def __next__(self):
        block = self._rows.next(self._block)
        if block is None:
            raise StopIteration
        return block


class RowWriter:
    """Writes an array of any length to a .npy, .npz, .safetensors, .csv, .tsv, .bin or .raw file, some rows at a time:

        with wp.RowWriter("long.npy") as out:
            for block in blocks:
                out.append(block)

    The file is there when the block ends; an exception leaves what was there before.
    """

    def __init__(self, path, *, names=(), compress=False, metadata=None):
        self._rows = _core.Rows(os.fsdecode(path), list(names), compress, _texts(metadata))

    def append(self, rows):
        """rows [n, ...]: n may differ from call to call, dtype and the other lengths may not."""
        self._rows.append(asarray(rows))

    def close(self):
        self._rows.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._rows.close() if kind is None else self._rows.leave()
