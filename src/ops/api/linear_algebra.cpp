// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/linear_algebra.hpp"

namespace wp {

extern const Op op_einsum;
extern const Op op_linalg_cholesky;
extern const Op op_linalg_cond;
extern const Op op_linalg_cross;
extern const Op op_linalg_det;
extern const Op op_linalg_diagonal;
extern const Op op_linalg_eigh;
extern const Op op_linalg_eigvalsh;
extern const Op op_linalg_inv;
extern const Op op_linalg_kron;
extern const Op op_linalg_lstsq;
extern const Op op_linalg_matrix_rank;
extern const Op op_linalg_multi_dot;
extern const Op op_linalg_outer;
extern const Op op_linalg_pinv;
extern const Op op_linalg_slogdet;
extern const Op op_linalg_solve;
extern const Op op_linalg_solve_banded;
extern const Op op_linalg_solve_sylvester;
extern const Op op_linalg_solve_toeplitz;
extern const Op op_linalg_solve_triangular;
extern const Op op_linalg_svd;
extern const Op op_linalg_svdvals;
extern const Op op_linalg_trace;
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
Tensor cholesky(const In& x, const CholeskyOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.uplo), Attr(options.if_ill)};
  return call1(op_linalg_cholesky, Inputs(in), attrs, Place(where));
}

Tensor cond(const In& x, const CondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_cond, Inputs(in), attrs, Place(where));
}

Tensor cross(const In& x1, const In& x2, const CrossOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_linalg_cross, Inputs(in), attrs, Place(where));
}

Tensor det(const In& x, const DetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_det, Inputs(in), attrs, Place(where));
}

Tensor diagonal(const In& x, const DiagonalOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.offset)};
  return call1(op_linalg_diagonal, Inputs(in), attrs, Place(where));
}

EighResult eigh(const In& x, const EighOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  Tensors out = call(op_linalg_eigh, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor eigvalsh(const In& x, const EigvalshOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  return call1(op_linalg_eigvalsh, Inputs(in), attrs, Place(where));
}

Tensor inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  return call1(op_linalg_inv, Inputs(in), attrs, Place(where));
}

Tensor kron(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_linalg_kron, Inputs(in), Attrs(), Place(where));
}

Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_lstsq, Inputs(in), attrs, Place(where));
}

Tensor matrix_rank(const In& x, const MatrixRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_matrix_rank, Inputs(in), attrs, Place(where));
}

Tensor multi_dot(const Tensors& arrays, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  return call1(op_linalg_multi_dot, Inputs(in.data(), in.size()), Attrs(), Place(where));
}

Tensor outer(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_linalg_outer, Inputs(in), Attrs(), Place(where));
}

Tensor pinv(const In& x, const PinvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_pinv, Inputs(in), attrs, Place(where));
}

SlogdetResult slogdet(const In& x, const SlogdetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensors out = call(op_linalg_slogdet, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  return call1(op_linalg_solve, Inputs(in), attrs, Place(where));
}

Tensor solve_banded(const In& ab, const In& b, std::int64_t l, std::int64_t u, const SolveBandedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&ab.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(l), Attr(u), Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  return call1(op_linalg_solve_banded, Inputs(in), attrs, Place(where));
}

Tensor solve_sylvester(const In& a, const In& b, const In& q, const SolveSylvesterOptions& options, std::source_location where) {
  const Tensor* const in[] = {&a.tensor(), &b.tensor(), &q.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  return call1(op_linalg_solve_sylvester, Inputs(in), attrs, Place(where));
}

Tensor solve_toeplitz(const In& c, const In& b, const In& r, const SolveToeplitzOptions& options, std::source_location where) {
  const Tensor* const in[] = {&c.tensor(), &b.tensor(), &r.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  return call1(op_linalg_solve_toeplitz, Inputs(in), attrs, Place(where));
}

Tensor solve_triangular(const In& x1, const In& x2, const SolveTriangularOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.lower), Attr(options.adjoint), Attr(options.unit_diagonal), Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  return call1(op_linalg_solve_triangular, Inputs(in), attrs, Place(where));
}

SvdResult svd(const In& x, const SvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.full_matrices), Attr(options.if_ill), Attr(options.accuracy)};
  Tensors out = call(op_linalg_svd, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor svdvals(const In& x, const SvdvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.accuracy)};
  return call1(op_linalg_svdvals, Inputs(in), attrs, Place(where));
}

Tensor trace(const In& x, const TraceOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.offset), Attr(options.dtype)};
  return call1(op_linalg_trace, Inputs(in), attrs, Place(where));
}

Tensor vector_norm(const In& x, const VectorNormOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.ord)};
  return call1(op_linalg_vector_norm, Inputs(in), attrs, Place(where));
}

namespace diagnosed {
Diagnosed<Tensor> cholesky(const In& x, const CholeskyOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cholesky, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> cond(const In& x, const CondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cond, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> det(const In& x, const DetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_det, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<EighResult> eigh(const In& x, const EighOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigh, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<Tensor> eigvalsh(const In& x, const EigvalshOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigvalsh, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_inv, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lstsq, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> matrix_rank(const In& x, const MatrixRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_matrix_rank, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> pinv(const In& x, const PinvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_pinv, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<SlogdetResult> slogdet(const In& x, const SlogdetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_slogdet, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> solve_banded(const In& ab, const In& b, std::int64_t l, std::int64_t u, const SolveBandedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&ab.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(l), Attr(u), Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve_banded, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> solve_sylvester(const In& a, const In& b, const In& q, const SolveSylvesterOptions& options, std::source_location where) {
  const Tensor* const in[] = {&a.tensor(), &b.tensor(), &q.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve_sylvester, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> solve_toeplitz(const In& c, const In& b, const In& r, const SolveToeplitzOptions& options, std::source_location where) {
  const Tensor* const in[] = {&c.tensor(), &b.tensor(), &r.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve_toeplitz, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> solve_triangular(const In& x1, const In& x2, const SolveTriangularOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.lower), Attr(options.adjoint), Attr(options.unit_diagonal), Attr(options.if_ill), Attr(options.refine), Attr(options.min_digits)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve_triangular, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<SvdResult> svd(const In& x, const SvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.full_matrices), Attr(options.if_ill), Attr(options.accuracy)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_svd, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> svdvals(const In& x, const SvdvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.accuracy)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_svdvals, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
