"""Errors and warnings. Each error has the finding it was made from; names are those of the C++ classes."""
import builtins
import sys
import warnings


class Error(Exception):
    """Every error of wellposed; str(error) is the whole report."""

    finding = None

    @property
    def code(self):
        """The stable code of the finding: "WP-SHP-001"."""
        return self.finding.code if self.finding is not None else ""

    def __reduce__(self):  # findings and tensors stay in the process that raised them
        return type(self), self.args


class ArgumentError(Error, ValueError):
    """A value outside what the function takes."""


class ShapeError(Error, ValueError):
    """Shapes that do not fit."""


class DtypeError(Error, TypeError):
    """A dtype that the function does not take."""


class IndexError(Error, builtins.IndexError):
    """An index or axis out of range."""


class DomainError(Error, ValueError, ArithmeticError):
    """Integer division by zero, NaN cast to an integer, …"""


class NonFiniteError(Error, FloatingPointError, ValueError):
    """An Inf or NaN that was made left the computation (or was made, at level "raise")."""


class AssertionError(Error, builtins.AssertionError):
    """What a program asserts does not hold."""


class GradientError(Error, ValueError):
    """There is no derivative, or no way to it."""


class GaugeError(GradientError):
    """The loss depends on a choice that the matrix does not determine."""


class ValidationError(Error, ValueError):
    """Data is not what its schema says: `report` says which rules are broken, and where."""

    report = None


class OutOfMemory(Error, MemoryError):
    """More memory than there is was asked for."""


class FormatError(Error, ValueError):
    """A file that is not what it says."""


class FileError(Error, OSError):
    """A file that cannot be opened, read or written."""


class InternalError(Error, RuntimeError):
    """A defect of wellposed itself; please report it."""


class LinalgError(Error, ValueError):
    """Numerical trouble: `diagnosis` says what, `value` has the good members, and NaN for the bad ones.

    A numpy.linalg.LinAlgError too, as soon as NumPy is loaded.
    """

    diagnosis = None
    value = None


class SingularMatrix(LinalgError):
    """A matrix that is singular to working precision."""


class NotPositiveDefinite(LinalgError):
    """A matrix that had to be symmetric positive definite."""


class NotConverged(LinalgError):
    """An iteration that did not reach what was asked for."""


class FindingWarning(RuntimeWarning):
    """A finding that does not raise."""


class IllConditionedWarning(FindingWarning):
    """Digits of an answer of linear algebra were lost."""


class NonFiniteWarning(FindingWarning):
    """An Inf or NaN was made, or left the computation."""


def _class(name):
    """The class of this name, as the C++ part asks for it when it raises."""
    numpy = sys.modules.get("numpy.linalg")
    if numpy is not None and not issubclass(LinalgError, numpy.LinAlgError):
        LinalgError.__bases__ = (Error, numpy.LinAlgError)
    return globals()[name]


_categories = {"WP-LIN": IllConditionedWarning, "WP-ESC": NonFiniteWarning, "WP-DOM": NonFiniteWarning, "WP-NUM": NonFiniteWarning}
_registries = {}
_handler = None
_seen = set()


def _repeats(category, text, module, line):
    """Whether the filters ask for every warning, also where one was shown already."""
    for action, message, kind, place, at in warnings.filters:
        if ((message is None or message.match(text)) and issubclass(category, kind)
                and (place is None or place.match(module)) and at in (0, line)):
            return action in ("always", "error")
    return False


def _warn(finding):
    """A finding as a warning at the user's line; of one kind and place once, whatever the numbers."""
    if _handler is not None:
        _handler(finding)
        return
    category = _categories.get(finding.code[:6], FindingWarning)
    file, line, text = finding.file or "<unknown>", finding.line, str(finding)
    module = file.rsplit("/", 1)[-1].removesuffix(".py")
    key = finding.code, finding.op, file, line
    if key in _seen and not _repeats(category, text, module, line):
        return
    _seen.add(key)
    warnings.warn_explicit(text, category, file, line, module=module, registry=_registries.setdefault(file, {}))


def on_finding(handler):
    """Calls handler(finding) instead of warning; None: warn again. Returns the handler before."""
    global _handler
    before, _handler = _handler, handler
    return before
