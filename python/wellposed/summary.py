"""Values for the writer of the innermost `with writer:`, at the current step and scope; without a writer they do nothing."""
from ._core.summary import diagnosis, histogram, histograms, image, scalar, text

__all__ = ["diagnosis", "histogram", "histograms", "image", "scalar", "text"]
