"""Which row of a data set an element is in: labels on memory of batches."""
import numpy as np

import wellposed as wp


class Rows:
    """Row numbers of tensors, by the memory they are in. Labels of data sets stay, those of batches make way for newer ones; both keep the tensor
    alive, so that its memory holds nothing else."""

    def __init__(self, most=8):
        self._sets, self._batches, self._most = [], [], most

    def add(self, first, strides, shape, ids, name, *, keep, lasting=False):
        """first: address; strides in bytes; ids: one number per entry of the first axis; keep: who owns the memory."""
        if not shape or len(ids) != shape[0]:
            raise wp.ShapeError(f"rows: one number per row; got {len(ids)} for a tensor {list(shape)}.")
        ids = np.asarray(ids, dtype=np.int64)
        label = (first, tuple(strides), tuple(shape), ids, name, keep)
        if lasting:
            self._sets.append(label)
        else:
            self._batches = [b for b in self._batches if b[0] != first][1 - self._most:] + [label]
            following = len(ids) < 2 or bool((np.diff(ids) == 1).all())
            wp.set_rows(int(ids[0]) if len(ids) and following else int(ids.min()) if len(ids) else 0, len(ids))

    def __bool__(self):
        return bool(self._sets or self._batches)

    def locate(self, address):
        """(name, row number, entry within the row) of an element at an address; None: it is in no labelled tensor."""
        for first, strides, shape, ids, name, _ in reversed(self._sets + self._batches):
            rest, index = address - first, [0] * len(shape)
            if rest < 0:
                continue
            for axis in sorted(range(len(shape)), key=lambda d: -strides[d]):
                if strides[axis] > 0:
                    index[axis], rest = divmod(rest, strides[axis])
            if rest == 0 and all(i < n for i, n in zip(index, shape)):
                return name, int(ids[index[0]]), tuple(index[1:])
        return None

    def of_batch(self, length):
        """(name, numbers) of the newest batch with so many rows."""
        for _, _, shape, ids, name, _ in reversed(self._batches):
            if shape[0] == length:
                return name, ids
        return None
