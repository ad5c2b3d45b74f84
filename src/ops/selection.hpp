// What an index means for a tensor: the common ground of reading and writing parts.
#pragma once
#include "kernels/combine.hpp"
#include "ops/indices.hpp"

namespace wp {

// The chosen part has axes `outer`, then those of the index tensors, then `inner`. Without index tensors all axes are
// in `outer`, and the part is a view.
struct Selection {
  Dims shape;
  std::int64_t offset = 0;
  Dims outer, outer_strides, inner, inner_strides;
  bool listed = false;
  Dims list_shape;
  Tensor places;  // i64 in list_shape: offsets in elements
};

// Index items (IndexItem::write) applied to x's shape and strides; index tensors are c.in[first], c.in[first + 1], …
// Placement of the axes of index tensors follows NumPy: where the first of them stands if they are neighbours, else
// in front; integers between index tensors count as index tensors. Throws IndexError for anything out of range.
Selection select(const Tensor& x, const Dims& items, const Call& c, std::size_t first);

// The part: a view, or a copy when there are index tensors.
Tensor selected(const Tensor& x, const Selection& s);
// Writes `value`, which has y's dtype and broadcasts to s.shape, into y; s was made for y. Entries that repeat are
// written in order. Returns whether something non-finite was written by arithmetic.
bool write_selected(const Tensor& y, const Selection& s, const Tensor& value, kernels::Combine mode);

}  // namespace wp
