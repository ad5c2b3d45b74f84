// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/element_wise.hpp"

namespace wp {

extern const Op op_add;
extern const Op op_log;

Tensor add(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_add, Inputs(in), Attrs(), Place(where));
}

Tensor log(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_log, Inputs(in), Attrs(), Place(where));
}

Tensor operator+(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_add, Inputs(in), Attrs(), x1.place());
}
Tensor& operator+=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_add, Inputs(in), Attrs(), x2.place());
}
}  // namespace wp
