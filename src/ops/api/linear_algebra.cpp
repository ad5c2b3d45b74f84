// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/linear_algebra.hpp"

namespace wp {

extern const Op op_einsum;
extern const Op op_linalg_cho_solve;
extern const Op op_linalg_chol_update;
extern const Op op_linalg_cholesky;
extern const Op op_linalg_cond;
extern const Op op_linalg_covariance;
extern const Op op_linalg_cross;
extern const Op op_linalg_det;
extern const Op op_linalg_diagonal;
extern const Op op_linalg_eig;
extern const Op op_linalg_eigh;
extern const Op op_linalg_eigh_generalized;
extern const Op op_linalg_eigvals;
extern const Op op_linalg_eigvalsh;
extern const Op op_linalg_expm;
extern const Op op_linalg_householder_product;
extern const Op op_linalg_inv;
extern const Op op_linalg_kron;
extern const Op op_linalg_ldl;
extern const Op op_linalg_logdet;
extern const Op op_linalg_logm;
extern const Op op_linalg_low_rank;
extern const Op op_linalg_lstsq;
extern const Op op_linalg_lu;
extern const Op op_linalg_lu_solve;
extern const Op op_linalg_matrix_norm;
extern const Op op_linalg_matrix_power;
extern const Op op_linalg_matrix_rank;
extern const Op op_linalg_multi_dot;
extern const Op op_linalg_nearest_correlation;
extern const Op op_linalg_nearest_spd;
extern const Op op_linalg_null_space;
extern const Op op_linalg_orth;
extern const Op op_linalg_outer;
extern const Op op_linalg_pinv;
extern const Op op_linalg_polar;
extern const Op op_linalg_projector;
extern const Op op_linalg_qr;
extern const Op op_linalg_qr_pivoted;
extern const Op op_linalg_randomized_svd;
extern const Op op_linalg_rcond;
extern const Op op_linalg_schur;
extern const Op op_linalg_slogdet;
extern const Op op_linalg_solve;
extern const Op op_linalg_solve_banded;
extern const Op op_linalg_solve_sylvester;
extern const Op op_linalg_solve_toeplitz;
extern const Op op_linalg_solve_triangular;
extern const Op op_linalg_sqrtm;
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

Tensor matmul(const In& x1, const In& x2, const MatmulOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call_into(op_matmul, Inputs(in), Attrs(), Place(where), options.out);
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
  const Attr attrs[] = {Attr(options.downdate), Attr(options.columns), Attr(options.if_ill)};
  return call1(op_linalg_chol_update, Inputs(in), attrs, Place(where));
}

Tensor cholesky(const In& x, const CholeskyOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.uplo), Attr(options.if_ill), Attr(options.names)};
  return call_into(op_linalg_cholesky, Inputs(in), attrs, Place(where), options.out);
}

Tensor cond(const In& x, const CondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.names)};
  return call1(op_linalg_cond, Inputs(in), attrs, Place(where));
}

Tensor covariance(const In& x, const CovarianceOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.shrinkage), Attr(options.ddof), Attr(options.if_ill)};
  return call1(op_linalg_covariance, Inputs(in), attrs, Place(where));
}

Tensor cross(const In& x1, const In& x2, const CrossOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_linalg_cross, Inputs(in), attrs, Place(where));
}

Tensor det(const In& x, const DetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call_into(op_linalg_det, Inputs(in), attrs, Place(where), options.out);
}

Tensor diagonal(const In& x, const DiagonalOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.offset)};
  return call1(op_linalg_diagonal, Inputs(in), attrs, Place(where));
}

EigResult eig(const In& x, const EigOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensors out = call(op_linalg_eig, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

EighResult eigh(const In& x, const EighOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out ? &options.out->eigenvalues : nullptr, options.out ? &options.out->eigenvectors : nullptr};
  Tensors out = call_into(op_linalg_eigh, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
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
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  return call_into(op_linalg_eigvalsh, Inputs(in), attrs, Place(where), options.out);
}

Tensor expm(const In& x, const ExpmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call_into(op_linalg_expm, Inputs(in), attrs, Place(where), options.out);
}

Tensor householder_product(const In& x, const In& tau, const HouseholderProductOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &tau.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_householder_product, Inputs(in), attrs, Place(where));
}

Tensor inv(const In& x, const InvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names), Attr(options.accuracy), Attr(options.method)};
  return call_into(op_linalg_inv, Inputs(in), attrs, Place(where), options.out);
}

Tensor kron(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_linalg_kron, Inputs(in), Attrs(), Place(where));
}

LdlResult ldl(const In& x, const LdlOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  Tensors out = call(op_linalg_ldl, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor logdet(const In& x, const LogdetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.names)};
  return call1(op_linalg_logdet, Inputs(in), attrs, Place(where));
}

Tensor logm(const In& x, const LogmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_logm, Inputs(in), attrs, Place(where));
}

Tensor low_rank(const In& x, std::int64_t rank, const LowRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(rank), Attr(options.if_ill)};
  return call1(op_linalg_low_rank, Inputs(in), attrs, Place(where));
}

Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.ridge), Attr(options.noise), Attr(options.if_ill), Attr(options.certify), Attr(options.names)};
  return call_into(op_linalg_lstsq, Inputs(in), attrs, Place(where), options.out);
}

LuResult lu(const In& x, const LuOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensor* const into[] = {options.out ? &options.out->P : nullptr, options.out ? &options.out->L : nullptr, options.out ? &options.out->U : nullptr};
  Tensors out = call_into(op_linalg_lu, Inputs(in), attrs, Place(where), Into(into, options.out ? 3 : 0));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&P.tensor(), &L.tensor(), &U.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_lu_solve, Inputs(in), attrs, Place(where));
}

Tensor matrix_norm(const In& x, const MatrixNormOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.keepdims), Attr(options.ord)};
  return call1(op_linalg_matrix_norm, Inputs(in), attrs, Place(where));
}

Tensor matrix_power(const In& x, double exponent, const MatrixPowerOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(exponent), Attr(options.if_ill)};
  return call1(op_linalg_matrix_power, Inputs(in), attrs, Place(where));
}

Tensor matrix_rank(const In& x, const MatrixRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  return call1(op_linalg_matrix_rank, Inputs(in), attrs, Place(where));
}

Tensor multi_dot(const Tensors& arrays, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  return call1(op_linalg_multi_dot, Inputs(in.data(), in.size()), Attrs(), Place(where));
}

Tensor nearest_correlation(const In& x, const NearestCorrelationOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.tol), Attr(options.max_iterations), Attr(options.uplo), Attr(options.if_ill)};
  return call1(op_linalg_nearest_correlation, Inputs(in), attrs, Place(where));
}

Tensor nearest_spd(const In& x, const NearestSpdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  return call1(op_linalg_nearest_spd, Inputs(in), attrs, Place(where));
}

Tensor null_space(const In& x, const NullSpaceOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  return call1(op_linalg_null_space, Inputs(in), attrs, Place(where));
}

Tensor orth(const In& x, const OrthOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  return call1(op_linalg_orth, Inputs(in), attrs, Place(where));
}

Tensor outer(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_linalg_outer, Inputs(in), Attrs(), Place(where));
}

Tensor pinv(const In& x, const PinvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  return call_into(op_linalg_pinv, Inputs(in), attrs, Place(where), options.out);
}

PolarResult polar(const In& x, const PolarOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.side), Attr(options.if_ill)};
  Tensors out = call(op_linalg_polar, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor projector(const In& x, const ProjectorOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill)};
  return call1(op_linalg_projector, Inputs(in), attrs, Place(where));
}

QrResult qr(const In& x, const QrOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  Tensor* const into[] = {options.out ? &options.out->Q : nullptr, options.out ? &options.out->R : nullptr};
  Tensors out = call_into(op_linalg_qr, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
  return {std::move(out[0]), std::move(out[1])};
}

QrPivotedResult qr_pivoted(const In& x, const QrPivotedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  Tensors out = call(op_linalg_qr_pivoted, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

RandomizedSvdResult randomized_svd(const In& x, std::int64_t rank, std::int64_t key, std::int64_t counter, const RandomizedSvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(rank), Attr(key), Attr(counter), Attr(options.oversampling), Attr(options.power_iterations), Attr(options.if_ill)};
  Tensors out = call(op_linalg_randomized_svd, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor rcond(const In& x, const RcondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_rcond, Inputs(in), attrs, Place(where));
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
  Tensor* const into[] = {options.out ? &options.out->sign : nullptr, options.out ? &options.out->logabsdet : nullptr};
  Tensors out = call_into(op_linalg_slogdet, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
  return {std::move(out[0]), std::move(out[1])};
}

Tensor solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names), Attr(options.accuracy), Attr(options.method)};
  return call_into(op_linalg_solve, Inputs(in), attrs, Place(where), options.out);
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

Tensor sqrtm(const In& x, const SqrtmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  return call1(op_linalg_sqrtm, Inputs(in), attrs, Place(where));
}

SvdResult svd(const In& x, const SvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.full_matrices), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out ? &options.out->U : nullptr, options.out ? &options.out->S : nullptr, options.out ? &options.out->Vh : nullptr};
  Tensors out = call_into(op_linalg_svd, Inputs(in), attrs, Place(where), Into(into, options.out ? 3 : 0));
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor svdvals(const In& x, const SvdvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  return call_into(op_linalg_svdvals, Inputs(in), attrs, Place(where), options.out);
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
Diagnosed<Tensor> cho_solve(const In& x1, const In& x2, const ChoSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cho_solve, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> chol_update(const In& x1, const In& x2, const CholUpdateOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.downdate), Attr(options.columns), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_chol_update, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> cholesky(const In& x, const CholeskyOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.upper), Attr(options.uplo), Attr(options.if_ill), Attr(options.names)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cholesky, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> cond(const In& x, const CondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_cond, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> covariance(const In& x, const CovarianceOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.shrinkage), Attr(options.ddof), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_covariance, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> det(const In& x, const DetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_det, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
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
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out ? &options.out->eigenvalues : nullptr, options.out ? &options.out->eigenvectors : nullptr};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigh, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
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
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_eigvalsh, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> expm(const In& x, const ExpmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_expm, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
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
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names), Attr(options.accuracy), Attr(options.method)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_inv, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<LdlResult> ldl(const In& x, const LdlOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_ldl, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> logdet(const In& x, const LogdetOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_logdet, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> logm(const In& x, const LogmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_logm, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> low_rank(const In& x, std::int64_t rank, const LowRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(rank), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_low_rank, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.ridge), Attr(options.noise), Attr(options.if_ill), Attr(options.certify), Attr(options.names)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lstsq, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<LuResult> lu(const In& x, const LuOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  Tensor* const into[] = {options.out ? &options.out->P : nullptr, options.out ? &options.out->L : nullptr, options.out ? &options.out->U : nullptr};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lu, Inputs(in), attrs, Place(where), Into(into, options.out ? 3 : 0));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&P.tensor(), &L.tensor(), &U.tensor(), &b.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_lu_solve, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> matrix_power(const In& x, double exponent, const MatrixPowerOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(exponent), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_matrix_power, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> matrix_rank(const In& x, const MatrixRankOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_matrix_rank, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> nearest_correlation(const In& x, const NearestCorrelationOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.tol), Attr(options.max_iterations), Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_nearest_correlation, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> nearest_spd(const In& x, const NearestSpdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.uplo), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_nearest_spd, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> null_space(const In& x, const NullSpaceOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_null_space, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> orth(const In& x, const OrthOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_orth, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<Tensor> pinv(const In& x, const PinvOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill), Attr(options.names)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_pinv, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<PolarResult> polar(const In& x, const PolarOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.side), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_polar, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<Tensor> projector(const In& x, const ProjectorOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.rtol), Attr(options.atol), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_projector, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<QrResult> qr(const In& x, const QrOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  Tensor* const into[] = {options.out ? &options.out->Q : nullptr, options.out ? &options.out->R : nullptr};
  auto [out, diagnosis] = call_diagnosed(op_linalg_qr, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<QrPivotedResult> qr_pivoted(const In& x, const QrPivotedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.mode), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_qr_pivoted, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<RandomizedSvdResult> randomized_svd(const In& x, std::int64_t rank, std::int64_t key, std::int64_t counter, const RandomizedSvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(rank), Attr(key), Attr(counter), Attr(options.oversampling), Attr(options.power_iterations), Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_randomized_svd, Inputs(in), attrs, Place(where));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> rcond(const In& x, const RcondOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_rcond, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
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
  Tensor* const into[] = {options.out ? &options.out->sign : nullptr, options.out ? &options.out->logabsdet : nullptr};
  auto [out, diagnosis] = call_diagnosed(op_linalg_slogdet, Inputs(in), attrs, Place(where), Into(into, options.out ? 2 : 0));
  return {{std::move(out[0]), std::move(out[1])}, diagnosis};
}

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.ridge), Attr(options.noise), Attr(options.shift), Attr(options.assume), Attr(options.refine), Attr(options.certify), Attr(options.min_digits), Attr(options.names), Attr(options.accuracy), Attr(options.method)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_solve, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
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

Diagnosed<Tensor> sqrtm(const In& x, const SqrtmOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill)};
  auto [out, diagnosis] = call_diagnosed(op_linalg_sqrtm, Inputs(in), attrs, Place(where));
  return {std::move(out[0]), diagnosis};
}

Diagnosed<SvdResult> svd(const In& x, const SvdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.full_matrices), Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out ? &options.out->U : nullptr, options.out ? &options.out->S : nullptr, options.out ? &options.out->Vh : nullptr};
  auto [out, diagnosis] = call_diagnosed(op_linalg_svd, Inputs(in), attrs, Place(where), Into(into, options.out ? 3 : 0));
  return {{std::move(out[0]), std::move(out[1]), std::move(out[2])}, diagnosis};
}

Diagnosed<Tensor> svdvals(const In& x, const SvdvalsOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.if_ill), Attr(options.accuracy), Attr(options.names)};
  Tensor* const into[] = {options.out};
  auto [out, diagnosis] = call_diagnosed(op_linalg_svdvals, Inputs(in), attrs, Place(where), Into(into, options.out ? 1 : 0));
  return {std::move(out[0]), diagnosis};
}
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
