"""Truth of indexing: written by element, with no regard for speed."""
import itertools

from core import INTEGERS, Array, broadcast, broadcast_shape, build, truth
from mpmath import mpf
from ref_elementwise import wrap


@truth("take")
def take(x, indices, axis):
    axis = (axis or 0) % x.ndim
    rank = indices.ndim
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1:]
    return build(x.dtype, shape, lambda i: x[i[:axis] + (indices[i[axis:axis + rank]] % x.shape[axis],) + i[axis + rank:]])


def take_along(x, indices, axis):
    axis %= x.ndim
    one = lambda s: s[:axis] + [1] + s[axis + 1:]
    rest = broadcast_shape(one(x.shape), one(indices.shape))
    xs = broadcast(x, rest[:axis] + [x.shape[axis]] + rest[axis + 1:])
    at = broadcast(indices, rest[:axis] + [indices.shape[axis]] + rest[axis + 1:])
    return build(x.dtype, at.shape, lambda i: xs[i[:axis] + (at[i] % x.shape[axis],) + i[axis + 1:]])


truth("take_along_axis")(take_along)
truth("gather")(take_along)


def combined(old, new, mode, dtype):
    if mode == "set":
        return new
    value = {"add": lambda: old + new, "multiply": lambda: old * new, "min": lambda: min(old, new), "max": lambda: max(old, new)}[mode]()
    return wrap(value, dtype) if dtype in INTEGERS else value


def as_dtype_of(x, value):
    """The value an array of x's dtype holds; floats stay exact and are compared after rounding."""
    return value if x.dtype in INTEGERS or x.dtype == "bool" else mpf(value) if isinstance(value, (int, bool)) else value


# Steps round one by one in f16 and bf16: small whole numbers, all exact.
@truth("scatter")
def scatter(x, indices, updates, axis, mode):
    axis %= x.ndim
    shape = x.shape[:axis] + [indices.shape[axis]] + x.shape[axis + 1:]
    at, new = broadcast(indices, shape), broadcast(updates, shape)
    out = {i: x[i] for i in x.indices()}
    for i in at.indices():
        place = i[:axis] + (at[i] % x.shape[axis],) + i[axis + 1:]
        out[place] = combined(out[place], as_dtype_of(x, new[i]), mode, x.dtype)
    return build(x.dtype, x.shape, out.__getitem__)


@truth("one_hot")
def one_hot(indices, depth, dtype):
    dtype = dtype or "f64"
    number = bool if dtype == "bool" else int if dtype in INTEGERS else mpf
    return build(dtype, indices.shape + [depth], lambda i: number(i[-1] == indices[i[:-1]]))


ABSENT = -2**63


def read_items(items, lists):
    """The index as Python objects: int, slice, None, Ellipsis, Array."""
    items, lists, out = iter(items), iter(lists), []
    for kind in items:
        if kind == 0:
            out.append(next(items))
        elif kind == 1:
            start, stop, step = (next(items) for _ in range(3))
            out.append(slice(None if start == ABSENT else start, None if stop == ABSENT else stop, step))
        else:
            out.append({2: None, 3: Ellipsis, 4: "list"}[kind])
            if kind == 4:
                out[-1] = next(lists)
    return out


def is_mask(item):
    return isinstance(item, Array) and item.dtype == "bool"


def axes_of(item):
    return item.ndim if is_mask(item) else 0 if item is None or item is Ellipsis else 1


def places(shape, items, lists):
    """(shape of the part, {index in the part: index in x}), by NumPy's rules."""
    index = read_items(items, lists)
    left = len(shape) - sum(map(axes_of, index))
    if Ellipsis not in [i for i in index if not isinstance(i, Array)]:
        index.append(Ellipsis)
    advanced = any(isinstance(i, Array) for i in index)
    basic, arrays, groups, axis, before = [], [], 0, 0, 0  # basic: (axis, positions); arrays: (axes, shape, function)
    inside = False
    for item in index:
        listed = isinstance(item, Array) or (isinstance(item, int) and advanced)
        groups += listed and not inside
        inside = listed
        before = len(basic) if listed and groups == 1 and len(arrays) == 0 else before
        if item is Ellipsis:
            basic += [(axis + k, list(range(shape[axis + k]))) for k in range(left)]
            axis += left
        elif item is None:
            basic.append((None, [0]))
        elif isinstance(item, slice):
            basic.append((axis, list(range(shape[axis]))[item]))
        elif is_mask(item):
            hits = [i for i in item.indices() if item[i]]
            arrays.append(([axis + k for k in range(item.ndim)], [len(hits)], lambda i, hits=hits: hits[i[0]]))
        elif isinstance(item, Array):
            arrays.append(([axis], item.shape, lambda i, item=item, n=shape[axis]: (item[i] % n,)))
        else:
            arrays.append(([axis], [], lambda i, k=item % shape[axis]: (k,)))
        axis += axes_of(item) if item is not Ellipsis else 0
    wide = broadcast_shape([], *(s for _, s, _ in arrays))
    at = before if advanced and groups == 1 else 0
    lengths = [len(p) for _, p in basic]
    whole = lengths[:at] + wide + lengths[at:] if advanced else lengths
    out = {}
    for i in itertools.product(*map(range, whole)):
        entry = i[at:at + len(wide)]
        rest = i[:at] + i[at + len(wide):]
        target = dict((a, p[k]) for k, (a, p) in zip(rest, basic) if a is not None)
        for axes, own, function in arrays:
            tail = entry[len(wide) - len(own):]
            target.update(zip(axes, function(tuple(0 if n == 1 else k for k, n in zip(tail, own)))))
        out[i] = tuple(target[a] for a in range(len(shape)))
    return whole, out


@truth("index")
def index_(x, *lists, items):
    shape, at = places(x.shape, items, lists)
    return build(x.dtype, shape, lambda i: x[at[i]])


@truth("index_set")
def index_set(x, value, *lists, items, mode):
    shape, at = places(x.shape, items, lists)
    new = broadcast(value, shape)
    out = {i: x[i] for i in x.indices()}
    for i in new.indices():
        out[at[i]] = combined(out[at[i]], as_dtype_of(x, new[i]), mode, x.dtype)
    return build(x.dtype, x.shape, out.__getitem__)
