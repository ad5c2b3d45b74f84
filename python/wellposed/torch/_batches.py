"""Batches of a DataLoader with the numbers of the rows that its sampler drew."""
import collections
import contextlib
import operator
import weakref

_DONE = object()


class _Drawn:
    """A batch sampler that keeps what it draws. `ids`: what the newest iteration drew and nobody has taken; None: there was none."""

    def __init__(self, sampler):
        self.sampler, self.ids = sampler, None

    def __iter__(self):
        self.ids = collections.deque()  # at once, not with the first batch: prefetching takes several
        return self._kept(self.ids)

    def _kept(self, ids):
        for batch in self.sampler:
            ids.append(batch)
            yield batch

    def __len__(self):
        return len(self.sampler)

    def __getattr__(self, name):
        return getattr(self.sampler, name)


class Batches:
    """What a watch knows of DataLoaders. Workers that persist keep the sampler they began with, so there is one for each loader."""

    def __init__(self, watch):
        self._watch, self._drawn = watch, weakref.WeakKeyDictionary()

    def of(self, loader, name, begin=None):
        """The batches of begin() (iter(loader)), labelled."""
        begin, sampler = begin or (lambda: iter(loader)), loader.batch_sampler
        if sampler is None or loader.num_workers and not getattr(loader, "in_order", True):
            self._watch.pass_by("a DataLoader without a batch sampler, or out of order, gives no row numbers.")
            yield from begin()
            return
        drawn = self._drawn.get(loader)
        if drawn is None or drawn.sampler is not sampler:
            drawn = self._drawn[loader] = _Drawn(sampler)
        drawn.ids = None
        with _in_place_of(sampler, loader, drawn):
            iterator = begin()
            batch = next(iterator, _DONE)  # an __iter__ that is a generator begins here
            ids = drawn.ids
        while batch is not _DONE:
            self._watch.guarded(self._label, batch, ids, name)
            yield batch
            batch = next(iterator, _DONE)

    def _label(self, batch, ids, name):
        """A sampler may draw keys, or None for data that has no rows."""
        if ids is None:
            self._watch.pass_by("a DataLoader whose workers persist from before gives no row numbers.")
            return
        try:
            numbers = [operator.index(i) for i in ids.popleft()]
        except TypeError:
            self._watch.pass_by("a sampler that draws no integers gives no row numbers.")
            return
        self._watch.rows(batch, numbers, name)

    def follow(self, loader, name="data"):
        """Iterating over this DataLoader gives batches with row numbers from now on; returns what undoes that."""
        plain, batches = type(loader), self

        class Followed(plain):
            def __iter__(self):
                return batches.of(self, name, lambda: plain.__iter__(self))
        Followed.__name__, Followed.__qualname__ = plain.__name__, plain.__qualname__
        object.__setattr__(loader, "__class__", Followed)
        return lambda: object.__setattr__(loader, "__class__", plain)


@contextlib.contextmanager
def _in_place_of(sampler, loader, drawn):
    """DataLoader refuses to be given another sampler by name."""
    vars(loader)["batch_sampler"] = drawn
    try:
        yield
    finally:
        vars(loader)["batch_sampler"] = sampler
