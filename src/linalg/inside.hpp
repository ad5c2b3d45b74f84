// Ops made of other ops.
#pragma once
#include "ops/op.hpp"

namespace wp::linalg {

// The first output of another op, run as part of this call: what it finds counts as this call's.
inline Tensor run_inside(Call& c, const Op& op, const std::vector<Tensor>& in, Attrs attrs = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : in) pointers.push_back(&t);
  Call part(op, Inputs(pointers.data(), pointers.size()), attrs, c.place());
  op.infer(part);
  op.forward(part);
  c.status.bits |= part.status.bits;
  return part.out[0];
}

}  // namespace wp::linalg
