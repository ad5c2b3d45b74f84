"""Products and pieces of matrices: JAX's own, where no conditioning can spoil anything, with the arguments of wellposed.linalg."""
import functools

import jax.numpy as jnp
from jax.numpy.linalg import cross, diagonal, matmul, matrix_transpose, trace, vecdot

__all__ = ["cross", "diagonal", "kron", "matmul", "matrix_transpose", "multi_dot", "outer", "tensordot", "trace", "vecdot"]


def kron(x1, x2):
    """The Kronecker product of two matrices: blocks x1[i, j] x2. Leading axes broadcast; a vector counts as a row, and two of them give a vector."""
    x1, x2 = jnp.asarray(x1), jnp.asarray(x2)
    y = jnp.einsum("...ij,...kl->...ikjl", jnp.atleast_2d(x1), jnp.atleast_2d(x2))
    y = y.reshape(*y.shape[:-4], y.shape[-4] * y.shape[-3], y.shape[-2] * y.shape[-1])
    return y[0] if x1.ndim < 2 and x2.ndim < 2 else y


def multi_dot(*arrays):
    """The product of two or more matrices, or of a list of them: in the order that takes the fewest multiplications, stacks of them from the left."""
    arrays = [jnp.asarray(a) for a in (arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays)]
    return functools.reduce(jnp.matmul, arrays) if max(a.ndim for a in arrays) > 2 else jnp.linalg.multi_dot(arrays)


def outer(x1, x2):
    """The products x1[..., i] x2[..., j] of all pairs of elements of two vectors; leading axes broadcast."""
    return jnp.asarray(x1)[..., :, None] * jnp.asarray(x2)[..., None, :]


def tensordot(x1, x2, *, axes=2, x1_axes=None, x2_axes=None):
    """Sums products of elements over pairs of axes: so many of them, or x1_axes with x2_axes."""
    return jnp.tensordot(x1, x2, axes if x1_axes is None and x2_axes is None else (x1_axes, x2_axes))
