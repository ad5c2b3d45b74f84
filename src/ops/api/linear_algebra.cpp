// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/linear_algebra.hpp"

namespace wp {

extern const Op op_einsum;
extern const Op op_linalg_inv;
extern const Op op_linalg_solve;
extern const Op op_linalg_vector_norm;
extern const Op op_matmul;
extern const Op op_tensordot;
extern const Op op_vecdot;

Tensor einsum(std::string_view subscripts, const Tensors& operands, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : operands) in.push_back(&t);
  const Attr attrs[] = {Attr(intern(subscripts))};
  return call1(op_einsum, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor matmul(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_matmul, Inputs(in), Attrs(), Place(where));
}

Tensor tensordot(const In& x1, const In& x2, const TensordotOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.axes), (options.x1_axes ? Attr(*options.x1_axes) : Attr()), (options.x2_axes ? Attr(*options.x2_axes) : Attr())};
  return call1(op_tensordot, Inputs(in), attrs, Place(where));
}

Tensor vecdot(const In& x1, const In& x2, const VecdotOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_vecdot, Inputs(in), attrs, Place(where));
}

namespace linalg {
Tensor inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(intern(options.if_ill)), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(intern(options.assume)), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  return call1(op_linalg_inv, Inputs(in), attrs, Place(where));
}

Tensor solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(intern(options.if_ill)), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(intern(options.assume)), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  return call1(op_linalg_solve, Inputs(in), attrs, Place(where));
}

Tensor vector_norm(const In& x, const VectorNormOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.ord)};
  return call1(op_linalg_vector_norm, Inputs(in), attrs, Place(where));
}

namespace diagnosed {
Diagnosed<Tensor> inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(intern(options.if_ill)), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(intern(options.assume)), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_inv, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(intern(options.if_ill)), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(intern(options.assume)), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
