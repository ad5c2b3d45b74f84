// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/statistical.hpp"

namespace wp {

extern const Op op_sum;

Tensor sum(const In& x, const SumOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.dtype)};
  return call1(op_sum, Inputs(in), attrs, Place(where));
}

}  // namespace wp
