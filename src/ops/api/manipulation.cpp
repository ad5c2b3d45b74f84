// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/manipulation.hpp"

namespace wp {

extern const Op op_permute_dims;

Tensor permute_dims(const In& x, const Ints& axes, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(axes)};
  return call1(op_permute_dims, Inputs(in), attrs, Place(where));
}

}  // namespace wp
