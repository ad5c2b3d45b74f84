// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/special.hpp"

namespace wp {

extern const Op op_cbrt;
extern const Op op_digamma;
extern const Op op_erf;
extern const Op op_erfc;
extern const Op op_exp2;
extern const Op op_lgamma;
extern const Op op_polygamma;

Tensor cbrt(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_cbrt, Inputs(in), Attrs(), Place(where));
}

Tensor digamma(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_digamma, Inputs(in), Attrs(), Place(where));
}

Tensor erf(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_erf, Inputs(in), Attrs(), Place(where));
}

Tensor erfc(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_erfc, Inputs(in), Attrs(), Place(where));
}

Tensor exp2(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_exp2, Inputs(in), Attrs(), Place(where));
}

Tensor lgamma(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_lgamma, Inputs(in), Attrs(), Place(where));
}

Tensor polygamma(const In& n, const In& x, std::source_location where) {
  const Tensor* const in[] = {&n.tensor(), &x.tensor()};
  return call1(op_polygamma, Inputs(in), Attrs(), Place(where));
}

}  // namespace wp
