"""Gradients through svd and eigh where values repeat or vanish, with the function that follows (docs/gradients.md has the formulas).

K/r is 0/0 at a tie. K vanishes there for every loss that does not depend on the choice of vectors, so K/r = K′ − (r/2) K″ + O(r²), with derivatives of
the cotangents along s + t·w. Below the switch the series is used, above it the quotient. That is written in JAX, for compiled programs, which must not call
back, and for further arguments. Outside of them wellposed calls the function of JAX, and differentiates to any order.
"""
import jax
import jax.numpy as jnp
import numpy as np

import wellposed as wp

from .._adapters.functions import Framework, of_numpy, through as through_wp, to_numpy
from .._adapters.session import version_guard
from ._call import Following, call_p

_compiling, = version_guard("jax", jax.__version__, "0.8", ["jax._src.core:unsafe_am_i_under_a_jit"])


def _captured():
    return wp.ArgumentError("through_svd, through_eigh: f uses a value that is followed by a transformation of JAX and is not among its arguments. Hand it over: "
                            "through_svd(A, f, w), with f(…, w).")


class _Jax(Framework):
    def to_wp(self, x):
        if isinstance(x, jax.core.Tracer):
            raise _captured()
        return of_numpy(np.asarray(x))

    def from_wp(self, x):
        return jnp.asarray(to_numpy(x, jnp.bfloat16))

    def vjp(self, f, xs, gs):
        """wellposed's cotangents are conjugates of JAX's."""
        return [jnp.conj(g) for g in jax.vjp(lambda *a: tuple(f(list(a))), *xs)[1](tuple(map(jnp.conj, gs)))]

    def jvp(self, f, xs, vs):
        return list(jax.jvp(lambda *a: tuple(f(list(a))), tuple(xs), tuple(vs))[1])


def _outside(name, a, f, like):
    """Outside of compiled programs: like is (shape, dtype) of the result."""
    def follow(*parts):
        try:
            return f(*parts)
        except jax.errors.UnexpectedTracerError as error:
            raise _captured() from error
    return call_p.bind(a, program=Following(name, through_wp(name, follow, _Jax()), (tuple(like.shape), str(like.dtype))))[0]


def _skew(z):
    return (z - jnp.conj(z).T) / 2


def _switch(dtype):
    return jnp.finfo(dtype).eps ** (1 / 3)


def _quotients(k, num, den, tiny):
    """K / num by quotient or series; k: K and its two derivatives along w; num = r · den."""
    large = jnp.abs(num) > tiny
    r = num / jnp.where(den == 0, 1, den)
    series = (k[1] - r / 2 * k[2]) / jnp.where(den == 0, 1, den)
    return jnp.where(large, k[0] / jnp.where(large, num, 1), series)


def _taylor(cotangents, s, w):
    """Cotangents of the factors at s, and their first and second derivative along w."""
    def first(t):
        return jax.jvp(cotangents, (t,), (w,))[1]
    return cotangents(s), first(s), jax.jvp(first, (s,), (w,))[1]


@jax.custom_jvp
def _once(x):
    return x


@_once.defjvp
def _never(primals, tangents):
    raise wp.GradientError("through_svd, through_eigh, svd_apply, eigh_apply: inside of jit, and with other arguments, only first derivatives are known. Take second "
                           "ones outside of jit, or use functions of matrices (polar, projector, sqrtm, pinv, …), which differentiate to any order.")


def _settled(name, g, doubt, scale):
    """The gradient if the loss does not depend on the choice of vectors; else GaugeError, inside a compiled program NaN."""
    dtype = doubt.dtype
    wrong = doubt > jnp.finfo(dtype).eps ** 0.6 * jnp.maximum(scale, jnp.finfo(dtype).tiny)
    if isinstance(wrong, jax.core.Tracer):
        return _once(jnp.where(wrong, jnp.nan, g))
    if bool(wrong):
        raise wp.GaugeError(f"{name}: values repeat, and the loss depends on which vectors of their space were chosen ({float(doubt):.3g} where 0 is needed): it "
                            "has no derivative there. Use what does not depend on the choice: projectors, polar factor, functions of the matrix.")
    return _once(g)


def _turned(values, exact):
    """A rotation of each group of equal values: what does not depend on the choice of vectors does not change with it."""
    k = values.shape[0]
    equal = (jnp.abs(values[None, :] - values[:, None]) <= exact) & ~jnp.eye(k, dtype=bool)
    angles = jnp.sin(jnp.arange(1.0, k * k + 1, dtype=values.dtype) * 1.7).reshape(k, k)
    return jax.scipy.linalg.expm(jnp.where(equal, angles - angles.T, 0)), equal.any()


def _verified(g, doubt, scale, again, ties):
    """The doubt, and that of the same gradient in other bases of the ties."""
    other, other_doubt, _ = jax.lax.cond(ties, again, lambda: (g, doubt, scale))
    size = jnp.maximum(jnp.max(jnp.abs(g)), scale)
    off = jnp.max(jnp.abs(other - g)) if g.size else doubt
    return jnp.where(off > jnp.finfo(doubt.dtype).eps ** 0.45 * size, jnp.maximum(off, size), jnp.maximum(doubt, other_doubt))


def _largest(*xs):
    return jnp.stack([jnp.max(jnp.abs(x)) if x.size else jnp.zeros((), jnp.abs(x).dtype) for x in xs]).max()


def _matrix(name, a):
    if a.ndim != 2:
        raise wp.ShapeError(f"{name}: needs one matrix [m, n]; got {list(a.shape)}. jax.vmap makes a batch of it.")
    return a


def _svd_gradient(u, s, vh, along):
    """Gradient and doubt; along(u, s, vh) gives the cotangents of the factors there."""
    found = _svd_quotients(u, s, vh, lambda t: along(u, t, vh))
    turn, ties = _turned(s, 8 * max(u.shape[0], vh.shape[1]) * jnp.finfo(s.dtype).eps * jnp.max(s))
    u2, vh2 = u @ turn.astype(u.dtype), turn.T.astype(u.dtype) @ vh
    doubt = _verified(*found, lambda: _svd_quotients(u2, s, vh2, lambda t: along(u2, t, vh2)), ties)
    return found[0], doubt, found[2]


def _svd_quotients(u, s, vh, cotangents):
    v, k = jnp.conj(vh).T, s.shape[0]
    w = jnp.arange(1, k + 1, dtype=s.dtype)
    terms = _taylor(cotangents, s, w)
    gu, gs, gv = [t[0] for t in terms], [t[1] for t in terms], [jnp.conj(t[2]).T for t in terms]
    ku, kv = [_skew(jnp.conj(u).T @ g) for g in gu], [_skew(jnp.conj(v).T @ g) for g in gv]
    pu, pv = [g - u @ (jnp.conj(u).T @ g) for g in gu], [g - v @ (jnp.conj(v).T @ g) for g in gv]
    top = jnp.maximum(jnp.max(s), jnp.finfo(s.dtype).tiny)
    tiny = _switch(s.dtype) * top
    off = ~jnp.eye(k, dtype=bool)
    apart, apart_w = s[None, :] - s[:, None], w[None, :] - w[:, None]
    both, both_w = s[None, :] + s[:, None], w[None, :] + w[:, None]
    plus, minus = [a + b for a, b in zip(ku, kv)], [a - b for a, b in zip(ku, kv)]
    inner = jnp.diag(gs[0]) + jnp.where(off, _quotients(plus, apart, apart_w, tiny), 0) + _quotients(minus, both, both_w, tiny)
    g = u @ inner @ vh
    g = g + _quotients(pu, s[None, :], w[None, :], tiny) @ vh + u @ jnp.conj(_quotients(pv, s[None, :], w[None, :], tiny)).T
    exact = 8 * max(u.shape[0], vh.shape[1]) * jnp.finfo(s.dtype).eps * top
    doubt = jnp.stack([jnp.max(jnp.where(off & (jnp.abs(apart) <= exact), jnp.abs(plus[0]), 0)),
                       jnp.max(jnp.where(both <= exact, jnp.abs(minus[0]), 0)),
                       _largest(jnp.where(s[None, :] <= exact, jnp.abs(pu[0]), 0)), _largest(jnp.where(s[None, :] <= exact, jnp.abs(pv[0]), 0))]).max()
    return g, doubt, _largest(gu[0], gv[0])


def _eigh_gradient(values, v, along):
    found = _eigh_quotients(values, v, lambda t: along(t, v))
    turn, ties = _turned(values, 8 * values.shape[0] * jnp.finfo(values.dtype).eps * jnp.max(jnp.abs(values)))
    v2 = v @ turn.astype(v.dtype)
    doubt = _verified(*found, lambda: _eigh_quotients(values, v2, lambda t: along(t, v2)), ties)
    return found[0], doubt, found[2]


def _eigh_quotients(values, v, cotangents):
    k = values.shape[0]
    w = jnp.arange(1, k + 1, dtype=values.dtype)
    terms = _taylor(cotangents, values, w)
    kv = [_skew(jnp.conj(v).T @ t[1]) for t in terms]
    top = jnp.maximum(jnp.max(jnp.abs(values)), jnp.finfo(values.dtype).tiny)
    off = ~jnp.eye(k, dtype=bool)
    apart, apart_w = values[None, :] - values[:, None], w[None, :] - w[:, None]
    inner = jnp.diag(terms[0][0]) + jnp.where(off, _quotients(kv, apart, apart_w, _switch(values.dtype) * top), 0)
    g = v @ inner @ jnp.conj(v).T
    doubt = jnp.max(jnp.where(off & (jnp.abs(apart) <= 8 * k * jnp.finfo(values.dtype).eps * top), jnp.abs(kv[0]), 0))
    return (g + jnp.conj(g).T) / 2, doubt, _largest(terms[0][1])


def _rule(name, factors, gradient):
    """through(A, f, *others) for a factorisation: factors(A) gives f's arguments, gradient(*parts, along) that of A."""
    def through(a, f, *others):
        a = _matrix(name, jnp.asarray(a))
        if not others and not _compiling():
            return _outside(name, a, f, jax.eval_shape(lambda a: f(*factors(a)), jax.ShapeDtypeStruct(a.shape, a.dtype)))

        @jax.custom_vjp
        def value(a, *others):
            return f(*factors(a), *others)

        def forward(a, *others):
            parts = factors(a)
            return f(*parts, *others), (parts, others)

        def backward(kept, g):
            parts, others = kept

            def along(*here):  # wellposed's convention: conjugates of JAX's
                found = jax.vjp(lambda *p: f(*p, *others), *here)[1](g)
                return tuple(jnp.conj(c) for c in found)
            found, doubt, scale = gradient(*parts, along)
            rest = jax.vjp(lambda *o: f(*parts, *o), *others)[1](g) if others else ()
            return (jnp.conj(_settled(name, found, doubt, scale)), *rest)
        value.defvjp(forward, backward)
        return value(a, *others)
    through.__name__ = through.__qualname__ = name
    return through


def _svd(a):
    from . import linalg
    return tuple(linalg.svd(a, full_matrices=False))


def _eigh(a):
    from . import linalg
    return tuple(linalg.eigh(a))


through_svd = _rule("through_svd", _svd, _svd_gradient)
through_svd.__doc__ = """f(U, S, Vh, *others) of the thin svd of one matrix, with a gradient that is right also where singular values repeat or vanish."""
through_eigh = _rule("through_eigh", _eigh, _eigh_gradient)
through_eigh.__doc__ = """f(eigenvalues, eigenvectors, *others) of eigh of one matrix, with a gradient that is right also where eigenvalues repeat."""


def svd_apply(a, h):
    """U diag(h(σ)) Vᴴ of one matrix U diag(σ) Vᴴ."""
    if not _compiling():
        return _outside("svd_apply", _matrix("svd_apply", jnp.asarray(a)), h, a)
    return through_svd(a, lambda u, s, vh: (u * h(s).astype(u.dtype)) @ vh)


def eigh_apply(a, h):
    """V diag(h(λ)) Vᴴ of one symmetric or Hermitian matrix."""
    if not _compiling():
        return _outside("eigh_apply", _matrix("eigh_apply", jnp.asarray(a)), h, a)
    return through_eigh(a, lambda s, v: (v * h(s).astype(v.dtype)) @ jnp.conj(v).T)
