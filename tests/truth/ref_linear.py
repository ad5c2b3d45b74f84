"""Truth of products over axes: exact sums of exact products."""
import itertools

from core import INTEGERS, broadcast_shape, build, truth
from mpmath import mpc, mpf
from ref_elementwise import wrap


def total(terms, dtype):
    terms = list(terms)
    if dtype in INTEGERS:
        return wrap(sum(terms), dtype)
    return sum(terms, mpc(0) if dtype in ("c64", "c128") else mpf(0))


def conjugate(v):
    return v.conjugate() if hasattr(v, "conjugate") else v


def spread(index, shape):
    """An index over a broadcast shape as an index of one of the arrays."""
    return tuple(0 if n == 1 else i for i, n in zip(index[len(index) - len(shape):], shape))


@truth("matmul")
def matmul(a, b):
    row, column = a.ndim == 1, b.ndim == 1
    batch_a, batch_b = a.shape[:-2], b.shape[:-2]
    batch = broadcast_shape(batch_a, batch_b) if batch_a or batch_b else []
    shape = batch + ([] if row else [a.shape[-2]]) + ([] if column else [b.shape[-1]])

    def value(index):
        member, rest = index[:len(batch)], list(index[len(batch):])
        i = () if row else (rest.pop(0),)
        j = () if column else (rest.pop(0),)
        at_a, at_b = spread(member, batch_a), spread(member, batch_b)
        return total((a[at_a + i + (p,)] * b[at_b + (p,) + j] for p in range(a.shape[-1])), a.dtype)

    return build(a.dtype, shape, value)


@truth("vecdot")
def vecdot(a, b, axis):
    axis_a, axis_b = axis % a.ndim, axis % b.ndim
    rest_a, rest_b = a.shape[:axis_a] + a.shape[axis_a + 1:], b.shape[:axis_b] + b.shape[axis_b + 1:]
    shape = broadcast_shape(rest_a, rest_b)

    def value(index):
        ia, ib = spread(index, rest_a), spread(index, rest_b)
        return total((conjugate(a[ia[:axis_a] + (p,) + ia[axis_a:]]) * b[ib[:axis_b] + (p,) + ib[axis_b:]]
                      for p in range(a.shape[axis_a])), a.dtype)

    return build(a.dtype, shape, value)


@truth("tensordot")
def tensordot(a, b, axes, x1_axes, x2_axes):
    first = [k % a.ndim for k in x1_axes] if x1_axes is not None else list(range(a.ndim - axes, a.ndim))
    second = [k % b.ndim for k in x2_axes] if x2_axes is not None else list(range(axes))
    names = iter("abcdefghijklmnopqrstuvwxyz")
    label_a = [next(names) for _ in a.shape]
    label_b = [next(names) for _ in b.shape]
    for i, j in zip(first, second):
        label_b[j] = label_a[i]
    out = [n for k, n in enumerate(label_a) if k not in first] + [n for k, n in enumerate(label_b) if k not in second]
    return einsum(a, b, subscripts="".join(label_a) + "," + "".join(label_b) + "->" + "".join(out))


@truth("einsum")
def einsum(*operands, subscripts):
    """By definition: a loop over all indices."""
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    dots = max([0] + [x.ndim - (len(t) - 3) for t, x in zip(terms, operands) if "..." in t])
    hidden = "".join(chr(0x3b1 + k) for k in range(dots))  # Greek letters stand for the axes under dots

    def expand(term, ndim):
        return term.replace("...", hidden[dots - (ndim - (len(term) - 3)):]) if "..." in term else term

    terms = [expand(t, x.ndim) for t, x in zip(terms, operands)]
    if arrow:
        out = out.replace("...", hidden)
    else:
        once = [n for n in sorted(set("".join(terms)) - set(hidden)) if "".join(terms).count(n) == 1]
        out = hidden + "".join(once)
    length = {}
    for term, x in zip(terms, operands):
        for name, n in zip(term, x.shape):
            length[name] = n if length.get(name, 1) == 1 else length[name]
    summed = sorted(set("".join(terms)) - set(out))
    dtype = operands[0].dtype

    def value(index):
        at = dict(zip(out, index))

        def product(values):
            at.update(zip(summed, values))
            result = 1
            for term, x in zip(terms, operands):
                result = result * x[tuple(0 if n == 1 else at[name] for name, n in zip(term, x.shape))]
            return result

        return total((product(v) for v in itertools.product(*(range(length[n]) for n in summed))), dtype)

    return build(dtype, [length[n] for n in out], value)
