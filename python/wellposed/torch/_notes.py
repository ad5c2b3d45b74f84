"""What is known of the Inf and NaN in the memory of tensors: the newest note of the bytes that a tensor shows."""
from .._adapters.session import version_guard

import torch

StorageWeakRef, = version_guard("torch", torch.__version__, "2.10", ["torch.multiprocessing.reductions:StorageWeakRef"])
_MOST = 1024


class Notes:
    """Of memory on the CPU the compiled watcher keeps them, by address; of other memory they are kept here, by storage and bytes in it."""

    def __init__(self, watcher):
        self._watcher, self._elsewhere = watcher, {}  # storage → (weak reference, [(first byte, end, note)])

    def __bool__(self):
        return bool(self._watcher.notes or self._elsewhere)

    def clear(self):
        self._watcher.clear_notes()
        self._elsewhere.clear()

    def set(self, x, note):
        """note: None forgets."""
        if note is not None:
            note.holder = StorageWeakRef(x.untyped_storage())
        if x.device.type == "cpu":
            self._watcher.note(x, note)
            return
        key, (first, end) = x.untyped_storage()._cdata, _bytes(x)
        kept = [n for n in self._of(key) if n[1] <= first or end <= n[0]] + ([(first, end, note)] if note is not None else [])
        self._elsewhere.pop(key, None)
        if kept:  # a weak reference keeps the address of a storage from being given to another
            self._elsewhere[key] = StorageWeakRef(x.untyped_storage()), kept
        if len(self._elsewhere) > _MOST:
            self._elsewhere = {k: e for k, e in self._elsewhere.items() if not e[0].expired()}

    def of(self, x):
        """The newest note of the memory of x, if it is still that of the tensor the note was made for."""
        if x.device.type != "cpu":
            first, end = _bytes(x)
            return next((n for a, b, n in reversed(self._of(x.untyped_storage()._cdata)) if a < end and first < b), None)
        note = self._watcher.note_of(x)
        return note if note is None or note.holder is None or not note.holder.expired() else None

    def _of(self, key):
        kept = self._elsewhere.get(key)
        return kept[1] if kept is not None and not kept[0].expired() else []


def _bytes(x):
    """Where in its storage the elements of x lie."""
    size, first = x.element_size(), x.storage_offset()
    return first * size, (first + 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))) * size
