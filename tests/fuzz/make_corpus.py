#!/usr/bin/env python3
"""Writes tests/fuzz/corpus: small files of every format by their reference writers, and damaged ones that must be refused.

    .venv/bin/python tests/fuzz/make_corpus.py

good-* files are read, bad-* files are refused, edge-* files may be either.
"""
import io
import pathlib
import struct
import zipfile

import numpy as np
import scipy.io
import scipy.sparse
from safetensors.numpy import save

HERE = pathlib.Path(__file__).parent / "corpus"


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def npz(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def streamed(arrays, method):
    """A zip archive written to a pipe: sizes stand behind the data."""
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = bytearray()

        def writable(self):
            return True

        def write(self, data):
            self.data += data
            return len(data)
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", method) as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", npy(array))
    return bytes(pipe.data)


def mtx(matrix, **options):
    out = io.BytesIO()
    scipy.io.mmwrite(out, matrix, **options)
    return out.getvalue()


def header(text, data=b""):
    return struct.pack("<Q", len(text)) + text + data


a, b = np.arange(6.0).reshape(2, 3), np.array([1, -2, 3], np.int16)
sparse = scipy.sparse.coo_array(([1.5, -2.0, 3.0], ([0, 1, 2], [0, 0, 2])), (3, 3))
zipped = npz(lambda f: np.savez(f, a=a, b=b))
tensors = save({"a": a.astype("f4"), "b": b}, {"k": "v"})
FILES = {
    "good-c.npy": npy(a), "good-fortran.npy": npy(np.asfortranarray(a)), "good-big.npy": npy(b.astype(">i2")),
    "good-v2.npy": npy(a, version=(2, 0)), "good-v3.npy": npy(a, version=(3, 0)), "good-bool.npy": npy(a > 2),
    "bad-object.npy": npy(np.array([{}], object), allow_pickle=True), "bad-record.npy": npy(np.zeros(2, "i4,f8")),
    "bad-long.npy": npy(a) + b"x", "bad-short.npy": npy(a)[:-1], "bad-shape.npy": npy(a).replace(b"(2, 3)", b"(9, 9)"),
    "good-stored.npz": zipped, "good-packed.npz": npz(lambda f: np.savez_compressed(f, a=a, b=np.zeros(3000))),
    "good-pipe.npz": streamed({"a": a, "b": b}, zipfile.ZIP_STORED), "good-pipe-packed.npz": streamed({"a": a}, zipfile.ZIP_DEFLATED),
    "good-empty.npz": npz(lambda f: np.savez(f)), "bad-cut.npz": zipped[:-30],
    "bad-crc.npz": zipped.replace(a.tobytes(), (a + 1).tobytes()), "bad-other-name.npz": zipped.replace(b"a.npy", b"c.npy", 1),
    "bad-object.npz": npz(lambda f: np.savez(f, a=np.array([{}], object))),
    "good-two.safetensors": tensors, "bad-cut.safetensors": tensors[:-1], "bad-long.safetensors": tensors + b"x",
    "good-empty.safetensors": header(b"{}"), "bad-nul.safetensors": header(b"{}\0garbage{"), "good-padded.safetensors": header(b"{}      "), "bad-deep.safetensors": header(b'{"a":' + b"[" * 300),
    "bad-overlap.safetensors": header(b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],'
                                      b'"data_offsets":[1,3]}}', b"xyz"),
    "bad-huge.safetensors": struct.pack("<Q", 1 << 63) + b"{}",
    "good-dense.mtx": mtx(a), "good-sparse.mtx": mtx(sparse), "good-symmetric.mtx": mtx(sparse + sparse.T),
    "good-complex.mtx": mtx(sparse * (1 + 2j)), "good-pattern.mtx": mtx(sparse, field="pattern"), "bad-cut.mtx": mtx(a)[:-4],
    "bad-index.mtx": mtx(sparse).replace(b"3 3 3", b"2 2 3", 1),
    "good-plain.csv": b"a,b\n1,2.5\n-3,\n", "good-quoted.csv": b'"x ""y""","z\nw"\r\n"1",2\r\n# note\r\n\r\n3,4\r\n',
    "good-blanks.csv": b"  1.5   2  \n-3 4\n", "good-column.csv": b"1\n\n2\n", "bad-ragged.csv": b"1,2\n3\n", "bad-quote.csv": b'1,"2\n3,4\n',
    "bad-utf16.csv": "1,2\n".encode("utf-16"), "good-tabs.tsv": b"1\t2\n3\t4\n", "edge-nul.csv": b"1,\x002\n",
}

if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, data in FILES.items():
        (HERE / name).write_bytes(data)
