// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/manipulation.hpp"

namespace wp {

extern const Op op_broadcast_arrays;
extern const Op op_broadcast_to;
extern const Op op_concat;
extern const Op op_expand_dims;
extern const Op op_flip;
extern const Op op_matrix_transpose;
extern const Op op_moveaxis;
extern const Op op_permute_dims;
extern const Op op_repeat;
extern const Op op_reshape;
extern const Op op_roll;
extern const Op op_squeeze;
extern const Op op_stack;
extern const Op op_tile;
extern const Op op_tril;
extern const Op op_triu;
extern const Op op_unstack;

Tensors broadcast_arrays(const Tensors& arrays, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  return call(op_broadcast_arrays, Inputs(in.data(), in.size()), Attrs(), Place(where));
}

Tensor broadcast_to(const In& x, const Ints& shape, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(shape)};
  return call1(op_broadcast_to, Inputs(in), attrs, Place(where));
}

Tensor concat(const Tensors& arrays, const ConcatOptions& options, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_concat, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor expand_dims(const In& x, const ExpandDimsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_expand_dims, Inputs(in), attrs, Place(where));
}

Tensor flip(const In& x, const FlipOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr())};
  return call1(op_flip, Inputs(in), attrs, Place(where));
}

Tensor matrix_transpose(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_matrix_transpose, Inputs(in), Attrs(), Place(where));
}

Tensor moveaxis(const In& x, const Ints& source, const Ints& destination, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(source), Attr(destination)};
  return call1(op_moveaxis, Inputs(in), attrs, Place(where));
}

Tensor permute_dims(const In& x, const Ints& axes, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(axes)};
  return call1(op_permute_dims, Inputs(in), attrs, Place(where));
}

Tensor repeat(const In& x, const In& repeats, const RepeatOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &repeats.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_repeat, Inputs(in), attrs, Place(where));
}

Tensor reshape(const In& x, const Ints& shape, const ReshapeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(shape), Attr(options.copy)};
  return call1(op_reshape, Inputs(in), attrs, Place(where));
}

Tensor roll(const In& x, const Ints& shift, const RollOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(shift), (options.axis ? Attr(*options.axis) : Attr())};
  return call1(op_roll, Inputs(in), attrs, Place(where));
}

Tensor squeeze(const In& x, const Ints& axis, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(axis)};
  return call1(op_squeeze, Inputs(in), attrs, Place(where));
}

Tensor stack(const Tensors& arrays, const StackOptions& options, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_stack, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor tile(const In& x, const Ints& repetitions, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(repetitions)};
  return call1(op_tile, Inputs(in), attrs, Place(where));
}

Tensor tril(const In& x, const TrilOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.k)};
  return call1(op_tril, Inputs(in), attrs, Place(where));
}

Tensor triu(const In& x, const TriuOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.k)};
  return call1(op_triu, Inputs(in), attrs, Place(where));
}

Tensors unstack(const In& x, const UnstackOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call(op_unstack, Inputs(in), attrs, Place(where));
}

}  // namespace wp
