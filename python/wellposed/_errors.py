"""Errors and warnings. Each error has the finding it was made from; names are those of the C++ classes."""
import ast
import builtins
import re
import sys
import warnings


class Error(Exception):
    """Every error of wellposed; str(error) is the whole report."""

    finding = None
    _keras_call_info_injected = True  # Keras' layers make new exceptions of those that lack it, and leave behind what these carry

    @property
    def code(self):
        """The stable code of the finding: "WP-SHP-001"."""
        return self.finding.code if self.finding is not None else ""

    def __reduce__(self):  # tensors stay in the process that raised them; a diagnosis goes as plain data
        said = {k: v for k in ("finding", "diagnosis") if (v := getattr(self, k, None)) is not None}
        return type(self), self.args, said


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
    if handler is not None and not callable(handler):
        raise TypeError(f"on_finding: handler must be a function of one finding, or None; got {_type(handler)}.")
    before, _handler = _handler, handler
    return before


# ---- calls that the C++ part refuses ---------------------------------------------------------------------------------
_accepted = {"Tensor": "a tensor, a number, a nested list of numbers, or an array", "str": "text", "int": "an integer", "float": "a number",
             "bool": "True or False", "Callable": "a function", "callable": "a function", "tuple": "a tuple of integers", "Sequence": "a list",
             "dict": "a dict", "DType": "a dtype or the name of one", "object": "given, not None"}
_public = {"Scope": "scope", "Checks": "checks", "Recorder": "record", "Tape": "GradientTape"}


def _type(value):
    kind = type(value)
    return "None" if value is None else kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _plain(annotation):
    return ast.unparse(annotation).split("[")[0].rsplit(".", 1)[-1]


def _fits(annotation, value):
    """Whether a value is what a signature of nanobind's asks for; True where this cannot tell."""
    from . import _arrays, _core
    if isinstance(annotation, ast.BinOp):  # X | None
        return _fits(annotation.left, value) or _fits(annotation.right, value)
    kind = _plain(annotation)
    if value is None or kind == "None":
        return value is None and kind == "None"
    if kind in ("Tensor", "DType", "tuple"):
        try:
            _arrays.asarray(value) if kind == "Tensor" else _core.promote(value, value) if kind == "DType" else [*map(int, value)]
        except Exception:
            return False
        return True
    if kind == "Sequence":
        return not isinstance(value, str) and hasattr(value, "__iter__") and all(_fits(annotation.slice, v) for v in value)
    if kind in ("Callable", "callable"):
        return callable(value)
    needs = {"int": "__index__", "float": "__float__"}.get(kind)
    if needs:
        return hasattr(value, needs) or kind == "float" and hasattr(value, "__index__")
    known = {"str": str, "bool": bool, "dict": dict}.get(kind) or getattr(_core, kind, object)
    return isinstance(value, known)


def _complaint(signature, args, kwargs):
    """What is wrong with a call: how badly, and in words."""
    spec = ast.parse(re.sub(r"\\\d+", "...", signature) + ": ...").body[0].args
    places = [*spec.posonlyargs, *spec.args]
    required = places[:len(places) - len(spec.defaults)] + [p for p, d in zip(spec.kwonlyargs, spec.kw_defaults) if d is None]
    named = {p.arg: p for p in [*places, *spec.kwonlyargs]}
    given = dict(zip(named, args)) | kwargs
    if len(args) > len(places) and spec.vararg is None:
        return 2, f"takes at most {len(places)} positional argument{'s' * (len(places) != 1)}; got {len(args)}"
    for name in kwargs:
        if name not in named and spec.kwarg is None:
            return 2, f"has no argument {name!r}"
    for p in required:
        if p.arg not in given:
            return 2, f"{p.arg} is missing"
    for name, value in given.items():
        annotation = named[name].annotation if name in named else None
        if annotation is not None and not _fits(annotation, value):
            optional = isinstance(annotation, ast.BinOp)
            kind = _plain(annotation.left if optional else annotation)
            return 1, f"{name} must be {_accepted.get(kind, f'a {kind}')}{' or None' if optional else ''}; got {_type(value)}"
    return None


def _explain(function, args, kwargs):
    """The sentence for a call that nanobind refused; None: it cannot be told."""
    *owner, name = function.__qualname__.split(".")
    if owner:
        owner = _public.get(owner[-1], owner[-1])
        name = owner if name == "__init__" else f"{owner}.{name}"
    try:
        found = [_complaint(s[0], args, kwargs) for s in function.__nb_signature__]
    except (AttributeError, SyntaxError):
        return None
    if not found or None in found:
        return None
    return f"{name}: {min(found)[1]}."
