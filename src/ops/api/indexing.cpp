// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/indexing.hpp"

namespace wp {

extern const Op op_gather;
extern const Op op_index;
extern const Op op_index_set;
extern const Op op_one_hot;
extern const Op op_scatter;
extern const Op op_take;
extern const Op op_take_along_axis;

Tensor gather(const In& x, const In& indices, const GatherOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &indices.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_gather, Inputs(in), attrs, Place(where));
}

Tensor index(const In& x, const Tensors& indices, const Ints& items, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  in.push_back(&x.tensor());
  for (const Tensor& t : indices) in.push_back(&t);
  const Attr attrs[] = {Attr(items)};
  return call1(op_index, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor index_set(const In& x, const In& value, const Tensors& indices, const Ints& items, const IndexSetOptions& options, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  in.push_back(&x.tensor());
  in.push_back(&value.tensor());
  for (const Tensor& t : indices) in.push_back(&t);
  const Attr attrs[] = {Attr(items), Attr(options.mode)};
  return call1(op_index_set, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor one_hot(const In& indices, std::int64_t depth, const OneHotOptions& options, std::source_location where) {
  const Tensor* const in[] = {&indices.tensor()};
  const Attr attrs[] = {Attr(depth), Attr(options.dtype)};
  return call1(op_one_hot, Inputs(in), attrs, Place(where));
}

Tensor scatter(const In& x, const In& indices, const In& updates, const ScatterOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &indices.tensor(), &updates.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.mode)};
  return call1(op_scatter, Inputs(in), attrs, Place(where));
}

Tensor take(const In& x, const In& indices, const TakeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &indices.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_take, Inputs(in), attrs, Place(where));
}

Tensor take_along_axis(const In& x, const In& indices, const TakeAlongAxisOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &indices.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_take_along_axis, Inputs(in), attrs, Place(where));
}

}  // namespace wp
