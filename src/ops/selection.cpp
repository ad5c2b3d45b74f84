#include "ops/selection.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/copy.hpp"
#include "kernels/pick.hpp"
#include "kernels/walk.hpp"
#include "wellposed/index.hpp"

namespace wp {
namespace {

constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

struct Item {
  IndexItem::Kind kind;
  std::int64_t numbers[3] = {};
  const Tensor* list = nullptr;
  std::size_t number = 0;  // of the index tensor
  std::int64_t axes() const {
    if (kind == IndexItem::listed) return list->dtype() == DType::boolean ? list->ndim() : 1;
    return kind == IndexItem::integer || kind == IndexItem::range;
  }
};
using Items = SmallVector<Item, 8>;

Items read_items(const Dims& code, const Call& c, std::size_t first) {
  Items items;
  std::size_t lists = 0, at = 0;
  while (at < code.size()) {
    const std::int64_t kind = code[at++];
    const std::size_t numbers = kind == IndexItem::integer ? 1 : kind == IndexItem::range ? 3 : 0;
    if (kind < IndexItem::integer || kind > IndexItem::listed || at + numbers > code.size())
      refuse<ArgumentError>("WP-ARG-005", say("items ", code, " is not a written index."), "Write x[{…}].");
    Item item{static_cast<IndexItem::Kind>(kind)};
    for (std::size_t k = 0; k < numbers; ++k) item.numbers[k] = code[at++];
    if (kind == IndexItem::listed) {
      if (first + lists >= c.in.size())
        refuse<ArgumentError>(
            "WP-ARG-005", say("items ", code, " names more index tensors than the ", c.in.size() - first, " given."));
      item.number = lists;
      item.list = &c.in[first + lists++];
    }
    items.push_back(item);
  }
  if (first + lists != c.in.size())
    refuse<ArgumentError>(
        "WP-ARG-005", say("items ", code, " names ", plural(static_cast<std::int64_t>(lists), "index tensor"), "; ",
                          c.in.size() - first, " were given."));
  return items;
}

// Puts the axes that no item names in the place of the ellipsis, or at the end, as whole slices.
Items complete(const Items& given, const Tensor& x) {
  std::int64_t named = 0;
  bool open = false;
  for (const Item& i : given) {
    named += i.axes();
    if (i.kind == IndexItem::rest && std::exchange(open, true))
      refuse<IndexError>("WP-IDX-003", "an index has at most one ellipsis.");
  }
  if (named > x.ndim())
    refuse<IndexError>("WP-IDX-003", say("the index names ", named, named == 1 ? " axis; x " : " axes; x ", x.shape(),
                                         " has ", x.ndim(), "."));
  const Item whole{IndexItem::range, {kAbsent, kAbsent, 1}};
  Items out;
  const auto fill = [&] {
    for (std::int64_t k = named; k < x.ndim(); ++k) out.push_back(whole);
  };
  for (const Item& i : given) {
    out.push_back(i);
    if (i.kind == IndexItem::rest) fill();
  }
  if (!open) fill();
  return out;
}

struct Run {
  std::int64_t first, length, step;
};
// Python's rule for slices of n elements.
Run slice_run(const Item& item, std::int64_t n) {
  // Steps beyond n all take one element; the bound keeps products in range.
  const std::int64_t step = std::clamp(item.numbers[2], -n - 1, n + 1);
  if (step == 0) refuse<ArgumentError>("WP-ARG-001", "the step of a slice must not be 0.");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](std::int64_t b, std::int64_t absent) {
    if (b == kAbsent) return absent;
    return std::clamp(b < 0 ? b + n : b, low, high);
  };
  const std::int64_t start = bound(item.numbers[0], step > 0 ? low : high);
  const std::int64_t stop = bound(item.numbers[1], step > 0 ? high : low);
  const std::int64_t way = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
  return {start, way > 0 ? (way + size - 1) / size : 0, step};
}

std::int64_t integer_position(std::int64_t i, const Tensor& x, std::size_t axis) {
  const std::int64_t n = x.shape()[axis];
  if (i < -n || i >= n)
    refuse<IndexError>("WP-IDX-002",
                       say("index ", i, " is out of range for axis ", axis, " of x ", x.shape(),
                           n ? say("; it must be from ", -n, " to ", n - 1, ".") : std::string("; it is empty.")));
  return i < 0 ? i + n : i;
}

// Offsets of the true elements of a mask over x's axes from `axis` on. A mask without axes gives one element or none.
Tensor mask_places(const Tensor& given, const Tensor& x, std::size_t axis) {
  const Tensor mask = contiguous(given);
  const std::size_t rank = mask.shape().size();
  for (std::size_t k = 0; k < rank; ++k)
    if (mask.shape()[k] != x.shape()[axis + k])
      refuse<IndexError>("WP-IDX-004", say("a mask has the shape of the axes it stands for; mask ", mask.shape(),
                                           " stands at axis ", axis, " of x ", x.shape(), "."));
  const bool* const on = reinterpret_cast<const bool*>(mask.node()->data);
  const Tensor places = Tensor::adopt(detail::make_node(i64, {std::count(on, on + mask.size(), true)}));
  auto* at = reinterpret_cast<std::int64_t*>(places.node()->data);
  if (places.size() == 0) return places;
  const std::int64_t row = rank ? mask.shape()[rank - 1] : 1, step = rank ? x.strides()[axis + rank - 1] : 0;
  for (std::int64_t r = 0; r < mask.size() / row; ++r) {
    std::int64_t rest = r, base = 0;
    for (std::size_t k = rank ? rank - 1 : 0; k-- > 0;) {
      base += rest % mask.shape()[k] * x.strides()[axis + k];
      rest /= mask.shape()[k];
    }
    for (std::int64_t i = 0; i < row; ++i)
      if (on[r * row + i]) *at++ = base + i * step;
  }
  return places;
}

Tensor list_places(const Item& item, const Tensor& x, std::size_t axis) {
  return positions(*item.list, x.shape()[axis], say("index tensor ", item.number), static_cast<std::int64_t>(axis),
                   x.strides()[axis]);
}

// The sum of offsets, broadcast.
Tensor joined_places(const Tensors& parts, const Dims& shape) {
  if (parts.size() == 1) return parts[0];
  const Tensor out = Tensor::adopt(detail::make_node(i64, shape));
  auto* const v = reinterpret_cast<std::int64_t*>(out.node()->data);
  parallel_for(out.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t buffer[4096];
    std::fill(v + begin, v + end, 0);
    for (const Tensor& p : parts) {
      kernels::gather(reinterpret_cast<char*>(buffer), i64, p.node()->data, i64, shape, broadcast_strides(p, shape),
                      begin, end - begin);
      for (std::int64_t i = begin; i < end; ++i) v[i] += buffer[i - begin];
    }
  });
  return out;
}

}  // namespace

Selection select(const Tensor& x, const Dims& code, const Call& c, std::size_t first) {
  const Items items = complete(read_items(code, c, first), x);
  Selection s;
  s.listed = std::any_of(items.begin(), items.end(), [](const Item& i) { return i.kind == IndexItem::listed; });
  enum { before, inside, after, apart } state = before;  // of the run of index tensors
  Tensors parts;
  std::size_t axis = 0;
  for (const Item& i : items) {
    const bool list = i.kind == IndexItem::listed || (i.kind == IndexItem::integer && s.listed);
    if (list)
      state = state == after || state == apart ? apart : inside;
    else if (state == inside)
      state = after;
    Dims& lengths = state == before ? s.outer : s.inner;
    Dims& strides = state == before ? s.outer_strides : s.inner_strides;
    if (i.kind == IndexItem::integer) {
      s.offset += integer_position(i.numbers[0], x, axis) * x.strides()[axis];
    } else if (i.kind == IndexItem::range) {
      const Run r = slice_run(i, x.shape()[axis]);
      if (r.length) s.offset += r.first * x.strides()[axis];
      lengths.push_back(r.length);
      strides.push_back(r.step * x.strides()[axis]);
    } else if (i.kind == IndexItem::new_axis) {
      lengths.push_back(1);
      strides.push_back(0);
    } else if (i.kind == IndexItem::listed) {
      parts.push_back(i.list->dtype() == DType::boolean ? mask_places(*i.list, x, axis) : list_places(i, x, axis));
      s.list_shape = broadcast(s.list_shape, parts.back().shape());
    }
    axis += static_cast<std::size_t>(i.axes());
  }
  if (state == apart) {  // the axes of index tensors go in front
    for (std::size_t k = s.outer.size(); k-- > 0;) {
      s.inner.insert(0, s.outer[k]);
      s.inner_strides.insert(0, s.outer_strides[k]);
    }
    s.outer.clear();
    s.outer_strides.clear();
  }
  if (s.listed) s.places = joined_places(parts, s.list_shape);
  for (const Dims* d : {&s.outer, &s.list_shape, &s.inner})
    for (const std::int64_t n : *d) s.shape.push_back(n);
  return s;
}

namespace {

// One side of a pick: an array with these strides over s.shape.
kernels::Pick::Side side(const Selection& s, const Dims& strides, Tensor& places) {
  const std::size_t a = s.outer.size(), b = a + s.list_shape.size();
  kernels::Pick::Side out;
  out.outer = Dims(strides.begin(), strides.begin() + a);
  out.inner = Dims(strides.begin() + b, strides.end());
  Dims shape = s.list_shape, list(strides.begin() + a, strides.begin() + b);
  Dims* l = &list;
  if (s.places.size()) kernels::coalesce(shape, &l, 1);
  if (shape.size() <= 1) {
    out.step = shape.empty() ? 0 : list[0];
    return out;
  }
  places = Tensor::adopt(detail::make_node(i64, {s.places.size()}));
  auto* const v = reinterpret_cast<std::int64_t*>(places.node()->data);
  for (std::int64_t k = 0; k < places.size(); ++k) {
    std::int64_t rest = k;
    v[k] = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      v[k] += rest % shape[d] * list[d];
      rest /= shape[d];
    }
  }
  out.places = v;
  return out;
}

kernels::Pick::Side listed_side(const Selection& s) {
  return {s.outer_strides, s.inner_strides, reinterpret_cast<const std::int64_t*>(s.places.node()->data), 0};
}

}  // namespace

Tensor selected(const Tensor& x, const Selection& s) {
  if (!s.listed) return view_of(x, s.shape, s.outer_strides, s.offset);
  const Tensor y = Tensor::adopt(detail::make_node(x.dtype(), s.shape));
  Tensor unused;
  const kernels::Pick p{s.outer, s.inner, s.places.size(), side(s, y.strides(), unused), listed_side(s)};
  const std::size_t item = size_of(x.dtype());
  kernels::pick(p, y.node()->data, x.node()->data + s.offset * static_cast<std::int64_t>(item), item);
  return y;
}

bool write_selected(const Tensor& y, const Selection& s, const Tensor& value, kernels::Combine mode) {
  const Dims strides = broadcast_strides(value, s.shape);
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  char* const at = y.node()->data + s.offset * item;
  if (!s.listed && mode == kernels::Combine::set) {
    kernels::copy(at, s.outer_strides, value.node()->data, strides, s.shape, size_of(y.dtype()));
    return false;
  }
  Tensor places;
  kernels::Pick p;
  if (s.listed) {
    p = {s.outer, s.inner, s.places.size(), listed_side(s), side(s, strides, places)};
  } else {
    p.inner = s.shape;
    p.n = 1;
    p.to.inner = s.outer_strides;
    p.from.inner = strides;
  }
  return kernels::put(p, at, value.node()->data, y.dtype(), mode);
}

}  // namespace wp
