// Generated from the op table by tools/generate.py; edit the room, not this file.
// Linear algebra functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/diagnosis.hpp"
#include "wellposed/ints.hpp"
#include "wellposed/setting.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// Sums products of elements over indices: 'ij,jk->ik' is a matrix product. An index that is not in the result is
// summed over; an index that is twice in one operand takes its diagonal; '...' stands for axes that broadcast.
// Without '->' the result has the indices that occur once, in alphabetical order. Operands are multiplied in the
// order that costs least. Integers wrap around. subscripts: The indices of each operand, separated by commas, then
// '->' and those of the result.
Tensor einsum(std::string_view subscripts, const Tensors& operands, std::source_location where = std::source_location::current());

// The product of two matrices, or of stacks of them (leading axes broadcast); a 1-d argument is a row (x1) or a
// column (x2). The bits of a result element depend on its row and its column only: not on threads, batch or layout.
// Integers wrap around.
Tensor matmul(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct TensordotOptions {
  std::int64_t axes = 2;  // How many: the last ones of x1 with the first ones of x2, in order.
  OptionalInts x1_axes = std::nullopt;  // The axes of x1, instead of a number of axes.
  OptionalInts x2_axes = std::nullopt;  // The axes of x2 they are paired with.
};
// Sums products of elements of x1 and x2 over pairs of axes; the result has the other axes of x1, then those of x2.
// Nothing is conjugated. Integers wrap around.
Tensor tensordot(const In& x1, const In& x2, const TensordotOptions& options = {}, std::source_location where = std::source_location::current());

struct VecdotOptions {
  std::int64_t axis = -1;  // The axis of the vectors in both.
};
// The dot product Σ conj(x1)·x2 of vectors along an axis; the other axes broadcast. Integers wrap around.
Tensor vecdot(const In& x1, const In& x2, const VecdotOptions& options = {}, std::source_location where = std::source_location::current());

namespace linalg {
struct CholeskyOptions {
  bool upper = false;  // Return the upper triangular factor.
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The lower triangular L with x = L conj(L)ᵀ of each symmetric or Hermitian positive definite matrix; with upper =
// true its conjugate transpose.
Tensor cholesky(const In& x, const CholeskyOptions& options = {}, std::source_location where = std::source_location::current());

struct CondOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The condition of each matrix, its largest singular value over its smallest; infinite if that is exactly zero.
Tensor cond(const In& x, const CondOptions& options = {}, std::source_location where = std::source_location::current());

struct CovarianceOptions {
  Setting shrinkage = "none";  // Between 0 and 1, or "ledoit_wolf": the one with the least expected square error.
  double ddof = 1.0;  // What is taken off the number of observations: 1 for an unbiased estimate.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The covariance matrix of the columns of x over its rows, the observations: Σ (x_i - mean) conj(x_j - mean) / (n -
// ddof), [..., p, p]; with shrinkage s: (1 - s) times it plus s times its mean variance on the diagonal.
Tensor covariance(const In& x, const CovarianceOptions& options = {}, std::source_location where = std::source_location::current());

struct DetOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The determinant of each square matrix; 0 only for a matrix that is proved singular, or below the range of floats.
Tensor det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

struct EighOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
// The eigenvalues, rising, and orthonormal eigenvectors (columns) of each symmetric or Hermitian matrix.
EighResult eigh(const In& x, const EighOptions& options = {}, std::source_location where = std::source_location::current());

struct EigvalshOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The eigenvalues of each symmetric or Hermitian matrix, rising.
Tensor eigvalsh(const In& x, const EigvalshOptions& options = {}, std::source_location where = std::source_location::current());

struct ExpmOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The exponential of each square matrix, by Padé approximation, scaling and squaring.
Tensor expm(const In& x, const ExpmOptions& options = {}, std::source_location where = std::source_location::current());

struct InvOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is singular to working precision.
  std::optional<Setting> ridge = std::nullopt;  // λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.
  double noise = 0.0;  // For ridge = "discrepancy": the norm of the noise in b.
  double shift = 0.0;  // λ: use A + λ I (A symmetric).
  std::string_view assume = "detect";  // The structure of A; detect looks for it.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  bool certify = false;  // Prove a bound of the error.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the rows and columns, for messages.
};
// The inverse of each matrix, right to the digits that its diagnosis vouches for; a matrix that is singular to
// working precision is refused with the reason (if_ill). To solve a system use solve: it is faster and more exact.
Tensor inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

struct LogdetOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The logarithm of the determinant of each symmetric or Hermitian positive definite matrix; -inf for a semidefinite
// one that is proved singular.
Tensor logdet(const In& x, const LogdetOptions& options = {}, std::source_location where = std::source_location::current());

struct LogmOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The principal logarithm of each square matrix, by its Schur form, or by its eigenvalues if it is symmetric or
// Hermitian. A real matrix with a negative eigenvalue has no real one: it is refused (if_ill), a complex one is not.
Tensor logm(const In& x, const LogmOptions& options = {}, std::source_location where = std::source_location::current());

struct LowRankOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The best approximation of each matrix by one of at most the given rank: its leading singular values and vectors.
// rank: The rank, at least 0.
Tensor low_rank(const In& x, std::int64_t rank, const LowRankOptions& options = {}, std::source_location where = std::source_location::current());

struct LstsqOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The x of least norm that minimises |x1 x - x2|, one vector (1-d x2) or matrices; leading axes broadcast. Singular
// values up to rtol times the largest count as zero.
Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

struct MatrixNormOptions {
  Ints axis = {-2, -1};  // The axes of rows and of columns.
  bool keepdims = false;  // Keep reduced axes with length 1.
  Setting ord = "fro";  // The norm: 1, -1, 2, -2, inf, -inf, "fro" or "nuc".
};
// The norm of matrices: fro √Σ|x|²; 1, inf the largest sum of |x| over a column, over a row; 2 the largest singular
// value, nuc their sum; -1, -inf, -2 the least instead. Nothing overflows or vanishes on the way.
Tensor matrix_norm(const In& x, const MatrixNormOptions& options = {}, std::source_location where = std::source_location::current());

struct MatrixPowerOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The power of each square matrix with a real exponent: by repeated squaring if that is whole (negative: of the
// inverse), else the principal power by the Schur form, or by the eigenvalues if x is symmetric or Hermitian.
// exponent: The exponent, at most 2^53.
Tensor matrix_power(const In& x, double exponent, const MatrixPowerOptions& options = {}, std::source_location where = std::source_location::current());

struct MatrixRankOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// How many singular values of each matrix are above rtol times the largest; -1 where a matrix has none (if_ill =
// nan).
Tensor matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

struct NearestCorrelationOptions {
  std::optional<double> tol = std::nullopt;  // How far the diagonal may be from 1 before it is set to 1; none: 64 n u.
  std::int64_t max_iterations = 100;  // How many steps of Newton's method.
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The correlation matrix (positive semidefinite, ones on the diagonal) nearest to each symmetric or Hermitian matrix
// in the Frobenius norm, by Newton's method on the dual problem. What does not converge is a finding; what was
// reached is kept.
Tensor nearest_correlation(const In& x, const NearestCorrelationOptions& options = {}, std::source_location where = std::source_location::current());

struct NearestSpdOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The symmetric or Hermitian positive definite matrix nearest to each x in the Frobenius norm: that of its symmetric
// part without negative eigenvalues, plus the smallest multiple of the identity (ridge in the diagnosis) with which
// cholesky proves it. backward_error is the relative distance.
Tensor nearest_spd(const In& x, const NearestSpdOptions& options = {}, std::source_location where = std::source_location::current());

struct NullSpaceOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// An orthonormal basis (columns) of the vectors that each matrix takes to zero: the right singular vectors of values
// up to rtol times the largest. How many there are depends on the values; a stack of matrices must have one rank.
Tensor null_space(const In& x, const NullSpaceOptions& options = {}, std::source_location where = std::source_location::current());

struct OrthOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// An orthonormal basis (columns) of the range of each matrix: the left singular vectors of values above rtol times
// the largest. How many there are depends on the values; a stack of matrices must have one rank.
Tensor orth(const In& x, const OrthOptions& options = {}, std::source_location where = std::source_location::current());

struct PinvOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The Moore-Penrose pseudo-inverse of each matrix: singular values up to rtol times the largest count as zero.
Tensor pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

struct PolarOptions {
  std::string_view side = "right";  // On which side of U the factor P stands.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
struct PolarResult {
  Tensor U, P;
};
// The polar decomposition x = U P of each matrix: U has orthonormal columns (rows, if x is wide), P is symmetric or
// Hermitian and positive semidefinite; with side = left x = P U.
PolarResult polar(const In& x, const PolarOptions& options = {}, std::source_location where = std::source_location::current());

struct ProjectorOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The orthogonal projector onto the range of each matrix, [..., m, m]: singular values up to rtol times the largest
// do not count.
Tensor projector(const In& x, const ProjectorOptions& options = {}, std::source_location where = std::source_location::current());

struct RandomizedSvdOptions {
  std::int64_t oversampling = 10;  // How many more random vectors than rank.
  std::int64_t power_iterations = 2;  // Products with x and its adjoint that sharpen the result.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
struct RandomizedSvdResult {
  Tensor U, S, Vh;
};
// The leading singular values and vectors x ≈ U diag(S) Vh of each matrix, from its products with random vectors:
// far cheaper than svd for a small rank of a large matrix. The diagnosis has a bound of the error of S relative to
// its largest (forward_error) and of what is left of x (backward_error). rank: How many singular values. key: Which
// sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit block.
RandomizedSvdResult randomized_svd(const In& x, std::int64_t rank, std::int64_t key, std::int64_t counter, const RandomizedSvdOptions& options = {}, std::source_location where = std::source_location::current());

struct RcondOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The reciprocal condition 1/(‖x‖₁‖x⁻¹‖₁) of each square matrix as it is given, estimated from its factors (never
// too small but for rounding, nearly always within a factor 3); 0 for a matrix that is singular.
Tensor rcond(const In& x, const RcondOptions& options = {}, std::source_location where = std::source_location::current());

struct SlogdetOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
struct SlogdetResult {
  Tensor sign, logabsdet;
};
// The sign of the determinant and the logarithm of its absolute value; (0, -inf) only for a matrix that is proved
// singular.
SlogdetResult slogdet(const In& x, const SlogdetOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is singular to working precision.
  std::optional<Setting> ridge = std::nullopt;  // λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.
  double noise = 0.0;  // For ridge = "discrepancy": the norm of the noise in b.
  double shift = 0.0;  // λ: use A + λ I (A symmetric).
  std::string_view assume = "detect";  // The structure of A; detect looks for it.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  bool certify = false;  // Prove a bound of the error.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the rows and columns, for messages.
};
// The solution x of x1 x = x2 for square x1, one vector (1-d x2) or matrices; leading axes broadcast. Answers are
// improved with residuals in twice the precision; a matrix that is singular to working precision is refused with the
// reason (if_ill).
Tensor solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());

struct SqrtmOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The principal square root of each square matrix, by its Schur form, or by its eigenvalues if it is symmetric or
// Hermitian. A real matrix with a negative eigenvalue has no real root: it is refused (if_ill), a complex one is
// not.
Tensor sqrtm(const In& x, const SqrtmOptions& options = {}, std::source_location where = std::source_location::current());

struct SvdOptions {
  bool full_matrices = true;  // Square U and Vh.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
};
struct SvdResult {
  Tensor U, S, Vh;
};
// The singular value decomposition x = U diag(S) Vh, S falling; U and Vh are square, or thin with full_matrices =
// false.
SvdResult svd(const In& x, const SvdOptions& options = {}, std::source_location where = std::source_location::current());

struct SvdvalsOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
};
// The singular values of each matrix, falling.
Tensor svdvals(const In& x, const SvdvalsOptions& options = {}, std::source_location where = std::source_location::current());

struct VectorNormOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  double ord = 2.0;  // The order; inf gives the largest |x|, 0 counts.
};
// The norm of vectors along axes, (sum |x|^ord)^(1/ord), without overflow or underflow on the way.
Tensor vector_norm(const In& x, const VectorNormOptions& options = {}, std::source_location where = std::source_location::current());

// The same functions with what can be said of the answer. Numerical trouble does not raise: the bad members are NaN.
namespace diagnosed {
Diagnosed<Tensor> cholesky(const In& x, const CholeskyOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> cond(const In& x, const CondOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> covariance(const In& x, const CovarianceOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<EighResult> eigh(const In& x, const EighOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> eigvalsh(const In& x, const EigvalshOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> expm(const In& x, const ExpmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> logdet(const In& x, const LogdetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> logm(const In& x, const LogmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> low_rank(const In& x, std::int64_t rank, const LowRankOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> matrix_power(const In& x, double exponent, const MatrixPowerOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> nearest_correlation(const In& x, const NearestCorrelationOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> nearest_spd(const In& x, const NearestSpdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> null_space(const In& x, const NullSpaceOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> orth(const In& x, const OrthOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<PolarResult> polar(const In& x, const PolarOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> projector(const In& x, const ProjectorOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<RandomizedSvdResult> randomized_svd(const In& x, std::int64_t rank, std::int64_t key, std::int64_t counter, const RandomizedSvdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> rcond(const In& x, const RcondOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SlogdetResult> slogdet(const In& x, const SlogdetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> sqrtm(const In& x, const SqrtmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SvdResult> svd(const In& x, const SvdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> svdvals(const In& x, const SvdvalsOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
