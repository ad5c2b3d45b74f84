// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/set.hpp"

namespace wp {

extern const Op op_unique_all;
extern const Op op_unique_counts;
extern const Op op_unique_inverse;
extern const Op op_unique_values;

UniqueAllResult unique_all(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  Tensors out = call(op_unique_all, Inputs(in), Attrs(), Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2]), std::move(out[3])};
}

UniqueCountsResult unique_counts(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  Tensors out = call(op_unique_counts, Inputs(in), Attrs(), Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

UniqueInverseResult unique_inverse(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  Tensors out = call(op_unique_inverse, Inputs(in), Attrs(), Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor unique_values(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_unique_values, Inputs(in), Attrs(), Place(where));
}

}  // namespace wp
