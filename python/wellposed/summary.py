"""Values for the writer of the innermost `with writer:`, at the current step and scope; without a writer they do nothing."""
from ._core.summary import histogram, image, scalar, text

__all__ = ["histogram", "image", "scalar", "text"]
