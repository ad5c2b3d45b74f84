"""Values for the writer of the innermost `with writer:`, at the current step and scope; without a writer they do nothing."""
import atexit
import os
import sys

from ._core.summary import diagnosis, flush_all, histogram, histograms, image, scalar, text

__all__ = ["diagnosis", "flush_all", "histogram", "histograms", "image", "scalar", "text"]


def _flush_with(util):
    """A process of multiprocessing leaves by os._exit: nothing but its own finalizers is called before."""
    util.Finalize(None, flush_all, exitpriority=-100)


def _after_fork():
    if util := sys.modules.get("multiprocessing.util"):  # a child forgets the finalizers of its parent, then runs these
        util.register_after_fork(_after_fork, lambda _: _flush_with(util))


atexit.register(flush_all)
os.register_at_fork(after_in_child=_after_fork)
if "multiprocessing.util" in sys.modules:  # this may be a process of multiprocessing that has just begun
    _flush_with(sys.modules["multiprocessing.util"])
    _after_fork()
