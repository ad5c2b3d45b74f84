#include "ops/shapes.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace wp {

Dims broadcast(const Dims& a, const Dims& b) {
  if (a == b) return a;
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t k = 0; k < shorter.size(); ++k) {
    const std::int64_t l = longer[k + shift], s = shorter[k];
    if (l != s && l != 1 && s != 1)
      refuse<ShapeError>("WP-SHP-001",
                         say("shapes ", a, " and ", b, " do not broadcast: axis ",
                             static_cast<std::int64_t>(k) - static_cast<std::int64_t>(shorter.size()), " has ",
                             a.size() >= b.size() ? l : s, " and ", a.size() >= b.size() ? s : l, "."),
                         "Lengths must be equal, or one of them 1; axes are matched from the last.");
    out[k + shift] = l == 1 ? s : l;
  }
  return out;
}

bool broadcasts_to(const Dims& from, const Dims& to) noexcept {
  if (from.size() > to.size()) return false;
  const std::size_t shift = to.size() - from.size();
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] != 1 && from[k] != to[k + shift]) return false;
  return true;
}

Dims broadcast_strides(const Tensor& t, const Dims& shape) {
  if (t.shape() == shape) return t.strides();
  Dims out(shape.size(), 0);
  const std::size_t shift = shape.size() - t.shape().size();
  for (std::size_t k = 0; k < t.shape().size(); ++k)
    if (t.shape()[k] != 1 || shape[k + shift] == 1) out[k + shift] = t.strides()[k];
  return out;
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t ndim) {
  if (axis < -ndim || axis >= ndim)
    refuse<IndexError>("WP-IDX-001", ndim == 0 ? say("axis ", axis, " of a 0-d tensor does not exist.")
                                               : say("axis ", axis, " is out of range; it must be from ", -ndim,
                                                     " to ", ndim - 1, "."));
  return axis < 0 ? axis + ndim : axis;
}

SmallVector<bool, 8> reduced_axes(const Attr& axis, std::int64_t ndim) {
  SmallVector<bool, 8> out(static_cast<std::size_t>(ndim), !axis);
  if (!axis) return out;
  for (const std::int64_t a : axis.ints()) {
    bool& slot = out[static_cast<std::size_t>(normal_axis(a, ndim))];
    if (slot) refuse<ArgumentError>("WP-ARG-003", say("axis ", a, " is named twice in ", axis.ints(), "."));
    slot = true;
  }
  return out;
}

Dims reduced_shape(const Dims& shape, const SmallVector<bool, 8>& reduced, bool keepdims) {
  Dims out;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (!reduced[k])
      out.push_back(shape[k]);
    else if (keepdims)
      out.push_back(1);
  return out;
}

namespace {

// What a weak scalar of dtype s makes of arrays of dtype a.
DType meet_weak(DType a, DType s) {
  if (s == DType::boolean) return a;
  if (is_integer(s)) return a == DType::boolean ? i64 : a;
  if (!is_floating(a)) return s;  // a float or complex number with integers: f64, c128
  return is_complex(s) ? complex_of(a) : a;
}

}  // namespace

DType common_dtype(const Call& c) {
  bool strong = false, weak = false;
  DType arrays = DType::boolean, scalars = DType::boolean;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i].defined() || c.op.param(i).separate) continue;
    const detail::Node& n = *c.in[i].node();
    if (n.weak) {
      scalars = weak ? promote(scalars, n.dtype) : n.dtype;
      weak = true;
    } else {
      arrays = strong ? promote(arrays, n.dtype) : n.dtype;
      strong = true;
    }
  }
  if (!strong) return scalars;
  return weak ? meet_weak(arrays, scalars) : arrays;
}

}  // namespace wp
