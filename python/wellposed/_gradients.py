"""Gradients of functions and recordings. Arguments may be tensors, or lists, tuples and dicts of them."""
import sys
from weakref import ref

from . import _core
from ._errors import _type

_wp = sys.modules[__package__]
Tensor = _wp.Tensor


def _leaves(tree):
    """The tensors of a structure, and None where it has None."""
    if isinstance(tree, (list, tuple)):
        return [t for item in tree for t in _leaves(item)]
    if isinstance(tree, dict):
        return [t for item in tree.values() for t in _leaves(item)]
    return [tree if tree is None or isinstance(tree, Tensor) else _wp.asarray(tree)]


def _flat(tree):
    """The tensors of a structure."""
    return [t for t in _leaves(tree) if t is not None]


def _beside(function, like, given):
    """Those of `given` in the order of the tensors of `like` that they belong to; None where there is none."""
    if given is None:
        return [None] * len(_flat(like))
    if isinstance(like, dict) and isinstance(given, dict):
        if like.keys() != given.keys():
            raise _wp.ArgumentError(f"{function}: keys must be those of what it belongs to, {list(like)}; got {list(given)}.")
        return [t for k, v in like.items() for t in _beside(function, v, given[k])]
    if isinstance(like, (list, tuple)) and isinstance(given, (list, tuple)) and len(like) == len(given):
        return [t for v, g in zip(like, given) for t in _beside(function, v, g)]
    return _leaves(given)


def _like(tree, items):
    """The next items in the structure of `tree`."""
    if isinstance(tree, dict):
        return {k: _like(v, items) for k, v in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_like(v, items) for v in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_like(v, items) for v in tree)
    return None if tree is None else next(items)


def _need_function(function, name, f):
    if not callable(f):
        raise TypeError(f"{function}: {name} must be a function; got {_type(f)}.")


class GradientTape:
    """Records what is computed from the tensors it watches, and differentiates it.

        with wp.GradientTape() as tape:
            tape.watch(x)
            y = wp.sum(wp.square(x))
        tape.gradient(y, x)                # 2 x

    It records from its making on; a with-block ends the recording. Tapes nest to any depth.
    """

    def __init__(self, persistent=False):
        self._tape, self._hooks = _core.Tape(persistent), []

    def __enter__(self):
        self._tape.enter()
        return self

    def __exit__(self, *error):
        self._tape.stop()

    def watch(self, x):
        """From now on what is computed from x (a tensor, or a structure of them) is recorded."""
        for t in self._own("watch", x):
            self._tape.watch(t)
        return x

    @staticmethod
    def _own(function, tree):
        if isinstance(tree, Tensor):
            return [tree]
        if isinstance(tree, (list, tuple)):
            return [t for item in tree for t in GradientTape._own(function, item)]
        if isinstance(tree, dict):
            return [t for item in tree.values() for t in GradientTape._own(function, item)]
        raise TypeError(f"{function}: needs tensors, or lists, tuples and dicts of them; got {type(tree).__name__}.")

    def gradient(self, target, sources, output_gradients=None, *, unconnected="none", verify=None):
        """The gradients of the target in the structure of `sources`; None where it does not depend on one.

        Targets are summed; `output_gradients`, in the structure of the target, weighs them (None: ones).
        """
        found = self._tape.gradient(self._own("gradient", target), self._own("gradient", sources),
                                    [] if output_gradients is None else _beside("gradient", target, output_gradients),
                                    unconnected, verify)
        return found[0] if isinstance(sources, Tensor) else _like(sources, iter(found))

    def jacobian(self, target, source, *, unconnected="none", verify=None):
        """The derivative in the shape target.shape + source.shape."""
        return self._tape.jacobian(target, source, unconnected, verify)

    def batch_jacobian(self, target, source, *, unconnected="none", verify=None):
        """The Jacobian of every member of a batch: target[b] depends on source[b] only."""
        return self._tape.batch_jacobian(target, source, unconnected, verify)

    def hessian(self, target, source, *, unconnected="none", verify=None):
        """The second derivative of a scalar, in the shape source.shape + source.shape."""
        return self._tape.hessian(target, source, unconnected, verify)

    def hook(self, x, function):
        """Calls function with the whole gradient of x on its way back; what it returns goes on (None: as it was)."""
        _need_function("hook", "function", function)
        me, number = ref(self), len(self._hooks)  # kept here, where the garbage collector sees it: it may know the tape
        self._tape.hook(x, lambda g: me()._hooks[number](g))
        self._hooks.append(function)

    def stop_recording(self):
        """with tape.stop_recording(): nothing is recorded inside."""
        return _Stopped(self._tape)

    def reset(self):
        """Forgets everything, also what it watches, and records again."""
        self._tape.reset()
        self._hooks.clear()

    def findings(self):
        """What was noticed on the way back: digits lost, kinks, ill-conditioned solves."""
        return self._tape.findings()

    @property
    def recorded(self):
        """Calls on the tape."""
        return self._tape.recorded

    @property
    def bytes(self):
        """Memory that tensors kept for the way back take."""
        return self._tape.bytes


class _Stopped:
    def __init__(self, tape):
        self._tape = tape

    def __enter__(self):
        self._was = self._tape.is_stopped
        self._tape.stop()
        return self

    def __exit__(self, *error):
        if not self._was:
            self._tape.enter()


class _Function:
    """A function of a structure of tensors as one from a list to a list of them; keeps the structure of its results."""

    def __init__(self, function, argument, *, spread=True):
        _need_function(sys._getframe(1).f_code.co_name, "f", function)
        self.function, self.argument, self.result = function, argument, None
        self.spread = spread and isinstance(argument, (list, tuple))

    def __call__(self, tensors):
        x = next(iter(tensors)) if isinstance(self.argument, Tensor) else _like(self.argument, iter(tensors))
        self.result = self.function(*x) if self.spread else self.function(x)
        return _flat(self.result)

    def unflat(self, tensors):
        return _like(self.result, iter(tensors))


def _argument(x):
    return x if isinstance(x, (Tensor, list, tuple, dict)) else _wp.asarray(x)


def jvp(f, x, v):
    """f(x) and its derivative along v: forward mode. With a list or tuple x, f is called as f(*x). None in v: zero."""
    x = _argument(x)
    function = _Function(f, x)
    values, tangents = _core.jvp(function, _flat(x), _beside("jvp", x, v))
    return function.unflat(values), function.unflat(tangents)


def vjp(f, x):
    """f(x), and the map from cotangents of f(x) (None: zero) to cotangents of x; it may be called many times."""
    x = _argument(x)
    function = _Function(f, x)
    values, pullback = _core.vjp(function, _flat(x))
    result = function.unflat(values)
    return result, lambda g: _like(x, iter(pullback(_beside("vjp", result, g))))


def linearize(f, x):
    """f(x), and the linear map v ↦ f'(x)·v; f runs once."""
    return _core.linearize(f, _wp.asarray(x))


def gradient(f, x):
    """The gradient of a scalar f."""
    return _core.gradient(f, _wp.asarray(x))


def jacobian(f, x):
    """∂f/∂x in the shape f(x).shape + x.shape."""
    return _core.jacobian(f, _wp.asarray(x))


def hessian(f, x):
    """∂²f/∂x² of a scalar f."""
    return _core.hessian(f, _wp.asarray(x))


def hvp(f, x, v):
    """The product of the Hessian of a scalar f with v."""
    return _core.hvp(f, _wp.asarray(x), _wp.asarray(v))


def per_sample_gradients(f, parameters, data):
    """One gradient per sample: f(parameters, sample) is a scalar, samples are rows of `data`."""
    def flat(p, d):
        return f(_like(parameters, iter(p)), _like(data, iter(d)))
    return _like(parameters, iter(_core.per_sample_gradients(flat, _flat(parameters), _flat(data))))


def checkpoint(f, *x):
    """f(*x) without keeping what it computes: the way back computes it again, and refuses another result."""
    function = _Function(f, x)
    out = _core.checkpoint(function, _flat(x))
    return function.unflat(out)


def custom_gradient(f):
    """A decorator: f(*x) returns the values and a function from their cotangents to those of x, in the structure of x (None: there is
    none). A tape that this function refers to lives until its gradient is taken (persistent: until reset()). Where that function is
    differentiated f runs once more, so that what it captured of f's work varies too. What is computed with NumPy there has no derivative."""
    _need_function("custom_gradient", "f", f)
    def call(*x):
        kept = []

        def rule(tensors):
            result, pullback = f(*_like(x, iter(tensors)))
            kept.append(result)

            def back(cotangents):
                g = pullback(_like(result, iter(cotangents)))
                if len(x) == 1 and g is not None and not (isinstance(g, (list, tuple)) and len(g) == 1):
                    g = (g,)
                return [] if g is None else _beside(call.__name__, x, g)
            return _flat(result), back
        out = _core.custom_gradient(rule, _flat(x))
        return _like(kept[0], iter(out))
    call.__name__ = getattr(f, "__name__", "custom_gradient")
    call.__doc__ = f.__doc__
    return call


def custom_op(name, forward, *, vjp=None, jvp=None, no_derivative="", elementwise=False):
    """An op of one's own, with checks, notes about Inf and NaN, and derivatives.

    forward(*x) gives a tensor or a tuple; vjp(inputs, outputs, cotangents) gives the cotangents of the inputs, jvp(inputs, outputs,
    tangents) the tangents of the outputs, both as lists with one for each (None: there is none). Where these rules compute with NumPy,
    second derivatives are refused.
    """
    def listed(rule):
        def run(*given):
            found = rule(*given)
            return [] if found is None else _leaves(found)
        return rule and run
    single = []

    def run(x):
        y = forward(*x)
        single[:] = [isinstance(y, Tensor)]
        return _flat(y)
    op = _core.custom_op(name, run, listed(vjp), listed(jvp), no_derivative, elementwise)

    def call(*x):
        out = op(_flat(x))
        return out[0] if single[0] else tuple(out)
    call.__name__ = name
    return call


def implicit_root(F, solve, parameters):
    """x with F(x, parameters) = 0, found by solve(parameters), differentiated by the implicit function theorem."""
    return _core.implicit_root(lambda x, p: F(x, _like(parameters, iter(p))), lambda p: solve(_like(parameters, iter(p))),
                               _flat(parameters))


def gradcheck(f, x, order=1, *, rtol=1e-6, atol=1e-9):
    """Compares the derivatives of f at x with differences of f. A report that is true when nothing is wrong; `kinks` counts entries where no
    derivative exists, `findings` has what the way back said."""
    x = _argument(x)
    return _core.gradcheck(_Function(f, x), _flat(x), order, rtol, atol)
