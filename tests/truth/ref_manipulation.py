"""Truth of ops that move elements."""
from core import build, truth


@truth("permute_dims")
def permute_dims(x, axes):
    axes = [a % x.ndim for a in axes]
    inverse = [axes.index(k) for k in range(x.ndim)]
    return build(x.dtype, [x.shape[a] for a in axes], lambda i: x[tuple(i[inverse[k]] for k in range(x.ndim))])
