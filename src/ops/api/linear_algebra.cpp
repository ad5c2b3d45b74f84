// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/linear_algebra.hpp"

namespace wp {

extern const Op op_einsum;
extern const Op op_linalg_cho_solve;
extern const Op op_linalg_chol_update;
extern const Op op_linalg_cholesky;
extern const Op op_linalg_cond;
extern const Op op_linalg_det;
extern const Op op_linalg_eig;
extern const Op op_linalg_eigh;
extern const Op op_linalg_eigh_generalized;
extern const Op op_linalg_eigvals;
extern const Op op_linalg_eigvalsh;
extern const Op op_linalg_householder_product;
extern const Op op_linalg_inv;
extern const Op op_linalg_ldl;
extern const Op op_linalg_lstsq;
extern const Op op_linalg_lu;
extern const Op op_linalg_lu_solve;
extern const Op op_linalg_matrix_rank;
extern const Op op_linalg_pinv;
extern const Op op_linalg_qr;
extern const Op op_linalg_qr_pivoted;
extern const Op op_linalg_schur;
extern const Op op_linalg_slogdet;
extern const Op op_linalg_solve;
extern const Op op_linalg_svd;
extern const Op op_linalg_svdvals;
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
Tensor cho_solve(const In& x1, const In& x2, const ChoSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.if_ill)};
  return call1(op_linalg_cho_solve, Inputs(in), attrs, Place(where));
}

Tensor chol_update(const In& x1, const In& x2, const CholUpdateOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.downdate), Attr(options.if_ill)};
  return call1(op_linalg_chol_update, Inputs(in), attrs, Place(where));
}

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

Tensor det(const In& x, const DetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_det, Inputs(in), attrs, Place(where));
}

EigResult eig(const In& x, const EigOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensors out = call(op_linalg_eig, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

EighResult eigh(const In& x, const EighOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy)};
  Tensors out = call(op_linalg_eigh, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

EighGeneralizedResult eigh_generalized(const In& x1, const In& x2, const EighGeneralizedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  Tensors out = call(op_linalg_eigh_generalized, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor eigvals(const In& x, const EigvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_eigvals, Inputs(in), attrs, Place(where));
}

Tensor eigvalsh(const In& x, const EigvalshOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy)};
  return call1(op_linalg_eigvalsh, Inputs(in), attrs, Place(where));
}

Tensor householder_product(const In& x, const In& tau, const HouseholderProductOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &tau.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_householder_product, Inputs(in), attrs, Place(where));
}

Tensor inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  return call1(op_linalg_inv, Inputs(in), attrs, Place(where));
}

LdlResult ldl(const In& x, const LdlOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  Tensors out = call(op_linalg_ldl, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_lstsq, Inputs(in), attrs, Place(where));
}

LuResult lu(const In& x, const LuOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensors out = call(op_linalg_lu, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&P.tensor(), &L.tensor(), &U.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_lu_solve, Inputs(in), attrs, Place(where));
}

Tensor matrix_rank(const In& x, const MatrixRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_matrix_rank, Inputs(in), attrs, Place(where));
}

Tensor pinv(const In& x, const PinvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  return call1(op_linalg_pinv, Inputs(in), attrs, Place(where));
}

QrResult qr(const In& x, const QrOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  Tensors out = call(op_linalg_qr, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

QrPivotedResult qr_pivoted(const In& x, const QrPivotedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  Tensors out = call(op_linalg_qr_pivoted, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

SchurResult schur(const In& x, const SchurOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.output), Attr(options.if_ill)};
  Tensors out = call(op_linalg_schur, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
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

Tensor vector_norm(const In& x, const VectorNormOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.ord)};
  return call1(op_linalg_vector_norm, Inputs(in), attrs, Place(where));
}

namespace diagnosed {
Diagnosed<Tensor> cho_solve(const In& x1, const In& x2, const ChoSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cho_solve, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> chol_update(const In& x1, const In& x2, const CholUpdateOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.downdate), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_chol_update, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

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

Diagnosed<EigResult> eig(const In& x, const EigOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eig, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<EighResult> eigh(const In& x, const EighOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigh, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<EighGeneralizedResult> eigh_generalized(const In& x1, const In& x2, const EighGeneralizedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigh_generalized, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<Tensor> eigvals(const In& x, const EigvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigvals, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> eigvalsh(const In& x, const EigvalshOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigvalsh, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> householder_product(const In& x, const In& tau, const HouseholderProductOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &tau.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_householder_product, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_inv, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<LdlResult> ldl(const In& x, const LdlOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_ldl, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lstsq, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<LuResult> lu(const In& x, const LuOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lu, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&P.tensor(), &L.tensor(), &U.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lu_solve, Inputs(in), attrs, Place(where));
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

Diagnosed<QrResult> qr(const In& x, const QrOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_qr, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<QrPivotedResult> qr_pivoted(const In& x, const QrPivotedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_qr_pivoted, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<SchurResult> schur(const In& x, const SchurOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.output), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_schur, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
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
