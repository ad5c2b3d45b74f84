"""Who made an Inf or NaN: the op, one of its operands, or whoever gave it. On NumPy arrays; runs only when something is wrong."""
import itertools

import numpy as np

import wellposed as wp

_numbers = itertools.count(1)


class Note:
    """What is known of the non-finite elements of one result: the calls they came through, the newest first, and their source."""
    __slots__ = ("link", "before", "origin", "holder", "again")

    def __init__(self, link, before, origin):
        self.link, self.before, self.origin = link, before, origin
        self.holder = None  # of the memory it is about, for adapters that know results by their memory
        self.again = None  # again(element): the note of another element, where operands are kept

    @property
    def made(self):
        return self.origin["source"] == "op"

    def owed_to_scale(self, scale):
        """Whether in the gradient of a loss times `scale` this may be the scale's doing: then whoever scaled it leaves the step out and takes a smaller one."""
        return scale > 1 and self.origin.get("scaled", not self.made and self.origin["value"] != "nan")

    def chain(self, most=32):
        links, note = [], self
        while note is not None:
            if note.link is not None:
                links.append(note.link)
            note = note.before
        return links if len(links) <= most else links[: most - 8] + links[-8:]


class Operand:
    """An argument of a call. `value`: an array, or None where it is not known any more (written in place) or cannot be looked at."""
    __slots__ = ("name", "value", "note", "_bad")

    def __init__(self, name, value, note=None):
        self.name, self.value, self.note, self._bad = name, value, note, None

    @property
    def bad(self):
        """Whether any element is not finite."""
        if self._bad is None:
            v = self.value
            self._bad = self.note is not None if v is None else v.dtype.kind in "fcV" and not np.isfinite(v).all()
        return self._bad


def value_text(v):
    """As wellposed writes numbers: nan, -inf, 0, 1.5."""
    if isinstance(v, (complex, np.complexfloating)):
        return f"{value_text(v.real)}+{value_text(v.imag)}i"
    if isinstance(v, (bool, np.bool_, int, np.integer)):
        return str(v)
    v = np.asarray(v)[()]
    if not np.isfinite(v):
        return "nan" if np.isnan(v) else "inf" if v > 0 else "-inf"
    if float(v).is_integer() and abs(v) < 1e15:
        return str(int(v))
    text = np.format_float_scientific(v, trim="-") if abs(v) >= 1e16 or abs(v) < 1e-4 else np.format_float_positional(v, trim="-")
    return text


def _at(element, shape):
    """The index into an operand of `shape` that meets `element` of the result."""
    tail = element[len(element) - len(shape):] if shape else ()
    return tuple(0 if n == 1 else int(i) for i, n in zip(tail, shape))


def _entry(name, index, value):
    return f"{name}{list(index) if index else ''} = {value_text(value)}"


def _broadcasts(shape, to):
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(shape[::-1], to[::-1]))


def _only(mask, element):
    """The mask, or of it one element."""
    if element is None:
        return mask
    one = np.zeros_like(mask)
    one[element] = mask[element]
    return one


def _explained(out, operands, element=None):
    """Masks over the result (or one element of it): elements that a non-finite operand explains, by operand, and elements that nothing explains."""
    bad, nan = _only(~np.isfinite(out), element), _only(np.isnan(out), element)
    by, fresh, any_nan, any_made_inf = [], bad.copy(), np.zeros(out.shape, bool), np.zeros(out.shape, bool)
    for o in operands:
        if not o.bad:
            by.append(None)
            continue
        if o.value is None or not _broadcasts(o.value.shape, out.shape):
            by.append(bad)
            fresh[:] = False
            continue
        here = np.broadcast_to(~np.isfinite(o.value), out.shape)
        any_nan |= np.broadcast_to(np.isnan(o.value), out.shape)
        if o.note is not None and o.note.made:
            any_made_inf |= here
        by.append(bad & here)
        fresh &= ~here
    if any(o.bad and o.value is None for o in operands):
        return bad, by, np.zeros_like(bad)
    fresh |= nan & ~any_nan & ~any_made_inf  # a NaN of infinities that were given
    return bad, by, fresh


class Verdict:
    """made: by this op; else `operand` is where it came from (None: given by a number of the program)."""
    __slots__ = ("made", "element", "operand")

    def __init__(self, made, element, operand=None):
        self.made, self.element, self.operand = made, element, operand


def _first(mask):
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _by_element(kind, operands, out):
    return kind.family == "elementwise" and all(o.value is None or _broadcasts(o.value.shape, out.shape) for o in operands)


def decide(kind, operands, out, element=None):
    """Who is to blame for the first non-finite element of `out` that matters; element: for this one, of an element-wise op."""
    if _by_element(kind, operands, out):
        bad, by, fresh = _explained(out, operands, element)
        if fresh.any():
            return Verdict(True, _first(fresh))
        for made in (True, False):
            for o, mask in zip(operands, by):
                if mask is not None and mask.any() and (o.note is not None and o.note.made) == made:
                    return Verdict(False, _first(mask), o)
        return Verdict(False, _first(bad))
    bad = _only(~np.isfinite(out), element)
    wrong = [o for o in operands if o.bad]
    for o in wrong:
        if o.note is not None and o.note.made:
            return Verdict(False, _first(bad), o)
    if not wrong:
        return Verdict(kind.family != "creates", _first(bad))
    nan = _only(np.isnan(out), element)
    if kind.family != "moves" and nan.any() and not any(o.value is None or np.isnan(o.value).any() for o in wrong):
        return Verdict(True, _first(nan))
    return Verdict(False, _first(bad), wrong[0])


def _largest(o):
    v = np.abs(o.value)
    at = _first(v == np.nanmax(v)) if v.size else ()
    return f"largest |{o.name}| = {_entry('', at, v[at]).removeprefix(str(list(at))).removeprefix(' = ')} at {list(at)}" if at else _entry(
        o.name, (), o.value[()])


def _product(kind, operands, element):
    """The pair of factors whose product is largest."""
    pair = [o for o in operands if o.value is not None and o.value.ndim >= 1][-2:]
    if len(pair) != 2 or len(element) < 2:
        return None
    (a, b), i, j = pair, element[-2], element[-1]
    try:
        left = a.value[_at(element[:-1] + (0,), a.value.shape)[:-1]] if a.value.ndim > 1 else a.value
        right = b.value[_at(element[:-2] + (0, 0), b.value.shape)[:-2]][:, j] if b.value.ndim > 1 else b.value
        if left.shape != right.shape:
            return None
        with np.errstate(all="ignore"):
            products = np.abs(left.astype(np.float64) * right.astype(np.float64))
        k = int(np.nanargmax(products)) if np.isfinite(products).any() or np.isinf(products).any() else int(np.argmax(np.isnan(products)))
    except (IndexError, ValueError, TypeError):
        return None
    return [_entry(a.name, (i, k), left[k]), _entry(b.name, (k, j), right[k])]


def operands_text(kind, operands, element, out_shape):
    """The values that met at an element of the result."""
    if kind.family == "matrix":
        pair = _product(kind, operands, element)
        if pair:
            return pair
    texts = []
    for o in operands:
        if o.value is None:
            continue
        if o.value.ndim == 0:
            texts.append(_entry(o.name, (), o.value[()]))
        elif kind.family == "elementwise" and _broadcasts(o.value.shape, out_shape) or o.value.shape == out_shape:
            at = _at(element, o.value.shape)
            texts.append(_entry(o.name, at, o.value[at]))
        elif o.value.dtype.kind in "fc" and o.value.size:
            texts.append(_largest(o))
    return texts


def advice_of(kind, operands, element, out):
    """What wellposed says of its own op at the same operands."""
    function = getattr(wp, kind.ours, None) if kind.ours else None
    if function is not None and out.dtype.kind in "fc":
        try:
            values = [wp.asarray(o.value[_at(element, o.value.shape)].item(), dtype=str(out.dtype) if out.dtype.itemsize > 2 else "float32")
                      for o in operands if o.value is not None]
            with wp.checks("raise"):
                function(*values)
        except wp.NonFiniteError as error:
            return error.finding.advice
        except Exception:  # another signature: there is nothing to say
            pass
    value = np.asarray(out)[element]
    large = np.sqrt(np.finfo(out.dtype).max) if out.dtype.kind in "fc" else np.inf
    narrow = np.isinf(value) and out.dtype.itemsize <= 4 and _beyond_range(kind, operands, element, out)
    if narrow and any(o.value is not None and o.value.size and np.abs(o.value).max() > large for o in operands):
        return f"The result is beyond the largest {out.dtype}: scale the operands, or compute in a wider type."
    return ""


def names_for(kind, operands):
    """wellposed's names of the operands, where it has the same op."""
    if any(o.value is None for o in operands):
        return operands
    if kind.ours in ("divide", "multiply", "add", "subtract", "pow", "maximum", "minimum") and len(operands) == 2:
        for o, name in zip(operands, ("x1", "x2")):
            o.name = name
    elif kind.ours and len(operands) == 1:
        operands[0].name = "x"
    return operands


def link_of(op, element, out, where):
    """One station of the way back; `where`: file, line, scope, step."""
    return {"op": op, "element": tuple(element), "dtype": str(out.dtype), "shape": str(list(out.shape)), "value": value_text(out[element]),
            **where}


def _beyond_range(kind, operands, element, out):
    """Whether what was made of finite operands may be a number beyond the range of its type: not where an element has a pole or is NaN, nor of small operands."""
    known = [o.value for o in operands if o.value is not None and o.value.size]
    if not known or len(known) < len(operands):
        return True
    if _by_element(kind, operands, out):
        additive = kind.ours in ("add", "subtract", "multiply") or kind.name.lower().startswith("addc")
        return not np.isnan(out[element]) and (additive or all(v[_at(element, v.shape)] != 0 for v in known))
    largest = np.prod([max(float(np.abs(v).max()), 1.0) for v in known])
    return bool(largest**2 * max(v.size for v in known) >= np.finfo(out.dtype).max)  # ops square, and add


def judge(op, kind, operands, out, where, entrance, *, source=None, element=None):
    """A note for a result that is not finite. `entrance(operand, element)` tells of an operand that nobody made: name, row, entry. source(operand, element):
    where an op that moves elements took one from (None: not known); given where arrays do not change, so that the note can be asked again for
    other elements. element: the one that is asked for."""
    numeric = [o for o in operands if o.value is None or o.value.dtype.kind in "fciuV"]
    with np.errstate(all="ignore"):
        note = _note(op, kind, numeric, out, where, entrance, decide(kind, numeric, out, element), source)
    if source is not None and (kind.family == "moves" or _by_element(kind, numeric, out)):
        note.again = lambda at: judge(op, kind, operands, out, where, entrance, source=source, element=at)
    return note


def _inherited(kind, o, element, out, source):
    """The note of an operand; of the element that went on, where that can be asked."""
    if o.note.again is None or o.value is None or source is None:
        return o.note
    at = _at(element, o.value.shape) if _by_element(kind, [o], out) else source(o, element) if kind.family == "moves" else None
    return o.note if at is None or at == o.note.link["element"] or np.isfinite(o.value[at]) else o.note.again(at)


def _note(op, kind, numeric, out, where, entrance, verdict, source):
    link = link_of(op, verdict.element, out, where)
    if verdict.made:
        names_for(kind, numeric)
        after = "derivative" in op or "backward" in op or kind.ours == "multiply"  # of the loss, or of it and its scale
        return Note(link, None, {"source": "op", "number": next(_numbers), "value": link["value"], "spread": 0,
                                 "scaled": after and _beyond_range(kind, numeric, verdict.element, out),
                                 "operands": operands_text(kind, numeric, verdict.element, out.shape),
                                 "advice": advice_of(kind, numeric, verdict.element, out)})
    o = verdict.operand
    if o is not None and o.note is not None:
        before = _inherited(kind, o, verdict.element, out, source)
        before.origin["spread"] += 1
        return Note(link, before, before.origin)
    origin = {"source": "given", "number": next(_numbers), "value": link["value"], "spread": 0}
    if o is not None and o.value is not None:
        mask = ~np.isfinite(o.value)
        at = _at(verdict.element, o.value.shape) if kind.family == "elementwise" and _broadcasts(o.value.shape, out.shape) else _first(mask)
        origin.update(value=value_text(o.value[at]), entry=at, name=o.name)
        origin.update(entrance(o, at) or {})
    return Note(link, None, origin)

