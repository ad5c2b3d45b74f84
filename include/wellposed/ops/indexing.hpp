// Generated from the op table by tools/generate.py; edit the room, not this file.
// Indexing functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct GatherOptions {
  std::int64_t axis = -1;  // The axis; the others are broadcast.
};
// take_along_axis under the name that models use; scatter is its counterpart. indices: Positions along the axis, as
// many axes as x; negative ones count from the end.
Tensor gather(const In& x, const In& indices, const GatherOptions& options = {}, std::source_location where = std::source_location::current());

// The part of x that an index names; in C++ x[{…}]. A view for integers, slices, newaxis and ellipsis; a copy when
// there are index tensors or masks. indices: Index tensors and masks, in the order of the index. items: The index,
// written out: 0 i an integer, 1 start stop step a slice, 2 newaxis, 3 ellipsis, 4 the next of indices.
Tensor index(const In& x, const Tensors& indices, const Ints& items, std::source_location where = std::source_location::current());

struct IndexSetOptions {
  std::string_view mode = "set";  // Whether value replaces or is added.
};
// x with another value in the part that an index names; in C++ x.at(i).set(v), x.at(i).add(v) and x[i] = v. Entries
// of index tensors are written in order: the last of equal ones stays, or all are added. value: Broadcasts to the
// part; takes x's dtype, whose kind must not be below its own. indices: Index tensors and masks, in the order of the
// index. items: The index, written as for index.
Tensor index_set(const In& x, const In& value, const Tensors& indices, const Ints& items, const IndexSetOptions& options = {}, std::source_location where = std::source_location::current());

struct OneHotOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// For each label a vector of zeros with a one at the label's place, along a new last axis. indices: Labels from 0 to
// depth - 1. depth: The length of the vectors.
Tensor one_hot(const In& indices, std::int64_t depth, const OneHotOptions& options = {}, std::source_location where = std::source_location::current());

struct ScatterOptions {
  std::int64_t axis = -1;  // The axis.
  std::string_view mode = "set";  // What an update does with the value that stands there.
};
// x with updates written along an axis where indices say: y[i, indices[i, j]] becomes updates[i, j], or is combined
// with it. Entries that name one element are taken in the order of the axis, for any number of threads: with 'set'
// the last one stays. indices: Positions along the axis, as many axes as x; negative ones count from the end.
// updates: Broadcasts to indices; takes x's dtype, whose kind must not be below its own.
Tensor scatter(const In& x, const In& indices, const In& updates, const ScatterOptions& options = {}, std::source_location where = std::source_location::current());

struct TakeOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; may be left out when x has one.
};
// The elements of x at indices along an axis. indices: Positions along the axis; negative ones count from the end.
// Their axes take the place of it.
Tensor take(const In& x, const In& indices, const TakeOptions& options = {}, std::source_location where = std::source_location::current());

struct TakeAlongAxisOptions {
  std::int64_t axis = -1;  // The axis; the others are broadcast.
};
// Along an axis, the element of x that each entry of indices names: y[i, j] = x[i, indices[i, j]]. indices:
// Positions along the axis, as many axes as x; negative ones count from the end.
Tensor take_along_axis(const In& x, const In& indices, const TakeAlongAxisOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
