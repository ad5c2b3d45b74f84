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

struct MatmulOptions {
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The product of two matrices, or of stacks of them (leading axes broadcast); a 1-d argument is a row (x1) or a
// column (x2). The bits of a result element depend on its row and its column only: not on threads, batch or layout.
// Integers wrap around.
Tensor matmul(const In& x1, const In& x2, const MatmulOptions& options = {}, std::source_location where = std::source_location::current());

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
struct ChoSolveOptions {
  bool upper = false;  // x1 is the upper triangular factor.
  std::string_view if_ill = "raise";  // What becomes of factors that are not finite, or with which no digit of the answer is sure.
};
// The solution x of A x = x2 for A = L conj(L)ᵀ given by its Cholesky factor x1 = L (upper = true: A = conj(U)ᵀ U by
// x1 = U), one vector (1-d x2) or matrices; leading axes broadcast.
Tensor cho_solve(const In& x1, const In& x2, const ChoSolveOptions& options = {}, std::source_location where = std::source_location::current());

struct CholUpdateOptions {
  bool downdate = false;  // Subtract instead of add.
  bool columns = false;  // x2 is a matrix of k columns, [..., n, k], and not one vector.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The Cholesky factor of A + x2 conj(x2)ᵀ, or with downdate = true of A - x2 conj(x2)ᵀ, from the lower factor x1 of
// A in O(n²) per column; leading axes broadcast. A downdate that is not positive definite is refused.
Tensor chol_update(const In& x1, const In& x2, const CholUpdateOptions& options = {}, std::source_location where = std::source_location::current());

struct CholeskyOptions {
  bool upper = false;  // Return the upper triangular factor.
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The lower triangular L with x = L conj(L)ᵀ of each symmetric or Hermitian positive definite matrix; with upper =
// true its conjugate transpose.
Tensor cholesky(const In& x, const CholeskyOptions& options = {}, std::source_location where = std::source_location::current());

struct CondOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
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

struct CrossOptions {
  std::int64_t axis = -1;  // The axis of the vectors in both.
};
// The cross product of vectors of 3 elements along an axis; the other axes broadcast. Products that cancel keep
// their digits. Nothing is conjugated. Integers wrap around.
Tensor cross(const In& x1, const In& x2, const CrossOptions& options = {}, std::source_location where = std::source_location::current());

struct DetOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The determinant of each square matrix; 0 only for a matrix that is proved singular, or below the range of floats.
Tensor det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

struct DiagonalOptions {
  std::int64_t offset = 0;  // Which diagonal: 0 the main one, positive ones above it.
};
// A diagonal of each matrix, x[..., i, i + offset]; a view.
Tensor diagonal(const In& x, const DiagonalOptions& options = {}, std::source_location where = std::source_location::current());

struct EigResult {
  Tensor eigenvalues, eigenvectors;
};
struct EigOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The eigenvalues and right eigenvectors (columns of length 1) of each square matrix, both complex. The diagnosis
// has the condition and an error bound of each eigenvalue; one of which no digit is sure is a finding.
EigResult eig(const In& x, const EigOptions& options = {}, std::source_location where = std::source_location::current());

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
struct EighOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  EighResult* out = nullptr;  // Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees.
};
// The eigenvalues, rising, and orthonormal eigenvectors (columns) of each symmetric or Hermitian matrix. Where rows
// differ widely in size, small eigenvalues keep their digits.
EighResult eigh(const In& x, const EighOptions& options = {}, std::source_location where = std::source_location::current());

struct EighGeneralizedResult {
  Tensor eigenvalues, eigenvectors;
};
struct EighGeneralizedOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The eigenvalues w, rising, and eigenvectors v (columns) of x1 v = w x2 v for symmetric or Hermitian x1 and
// positive definite x2; conj(v)ᵀ x2 v = 1. Leading axes broadcast.
EighGeneralizedResult eigh_generalized(const In& x1, const In& x2, const EighGeneralizedOptions& options = {}, std::source_location where = std::source_location::current());

struct EigvalsOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The complex eigenvalues of each square matrix, judged as eig does.
Tensor eigvals(const In& x, const EigvalsOptions& options = {}, std::source_location where = std::source_location::current());

struct EigvalshOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The eigenvalues of each symmetric or Hermitian matrix, rising.
Tensor eigvalsh(const In& x, const EigvalshOptions& options = {}, std::source_location where = std::source_location::current());

struct ExpmOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The exponential of each square matrix, by scaling and squaring of a Padé or Taylor approximation.
Tensor expm(const In& x, const ExpmOptions& options = {}, std::source_location where = std::source_location::current());

struct HouseholderProductOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The first n columns of H0 H1 ..., Hi = 1 - tau[i] v conj(v)ᵀ with v = (0, ..., 0, 1, x[i+1:, i]); what is on and
// above the diagonal of x is not used.
Tensor householder_product(const In& x, const In& tau, const HouseholderProductOptions& options = {}, std::source_location where = std::source_location::current());

struct InvOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is singular to working precision.
  std::optional<Setting> ridge = std::nullopt;  // λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.
  double noise = 0.0;  // For ridge = "discrepancy": the norm of the noise in b.
  double shift = 0.0;  // λ: use A + λ I (A symmetric).
  std::string_view assume = "detect";  // The structure of A; detect looks for it, triangular for the triangle that is zero.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  bool certify = false;  // Prove a bound of the error.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  std::string_view accuracy = "normal";  // high: what f64 cannot resolve is eliminated in 113-bit arithmetic (up to 200 rows); slower.
  std::string_view method = "auto";  // How A is factored; auto goes by its structure. cholesky and ldl take the Hermitian part of A.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The inverse of each matrix, right to the digits that its diagnosis vouches for; a matrix that is singular to
// working precision is refused with the reason (if_ill). To solve a system use solve: it is faster and more exact.
Tensor inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

// The Kronecker product of two matrices: blocks x1[i, j] x2. Leading axes broadcast; a vector counts as a row, and
// two of them give a vector. Integers wrap around.
Tensor kron(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct LdlResult {
  Tensor L, D, P;
};
struct LdlOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The factors x[P][:, P] = L D conj(L)ᵀ of each symmetric or Hermitian matrix: L unit lower triangular, D with
// blocks of 1 × 1 and 2 × 2 on its diagonal (rook pivoting), P the order of rows and columns.
LdlResult ldl(const In& x, const LdlOptions& options = {}, std::source_location where = std::source_location::current());

struct LogdetOptions {
  std::optional<std::string_view> uplo = std::nullopt;  // Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
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
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::optional<Setting> ridge = std::nullopt;  // λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.
  double noise = 0.0;  // For ridge = "discrepancy": the norm of the noise in b.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  bool certify = false;  // Prove a bound of the error.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The x of least norm that minimises |x1 x - x2|, one vector (1-d x2) or matrices; leading axes broadcast. Singular
// values up to rtol times the largest, or atol, count as zero; with a ridge λ, |x1 x - x2|² + λ|x|² is minimised.
Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

struct LuResult {
  Tensor P, L, U;
};
struct LuOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  LuResult* out = nullptr;  // Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees.
};
// The factors x[P] = L U of each matrix with its rows in the order P (partial pivoting): L unit lower triangular or
// trapezoidal, |L| of at most about 1, U upper. A matrix that is not finite has P = -1 with if_ill = nan.
LuResult lu(const In& x, const LuOptions& options = {}, std::source_location where = std::source_location::current());

struct LuSolveOptions {
  std::string_view if_ill = "raise";  // What becomes of factors that are not finite, or with which no digit of the answer is sure.
};
// The solution x of A x = b for A[P] = L U, the results of lu; one vector (1-d b) or matrices; leading axes
// broadcast.
Tensor lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options = {}, std::source_location where = std::source_location::current());

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
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
};
// How many singular values of each matrix are above rtol times the largest and above atol; -1 where a matrix has
// none (if_ill = nan).
Tensor matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

// The product of two or more matrices in the order that takes the fewest multiplications; the first may be a vector
// (a row), the last too (a column). Leading axes broadcast. Integers wrap around.
Tensor multi_dot(const Tensors& arrays, std::source_location where = std::source_location::current());

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
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
};
// An orthonormal basis (columns) of the vectors that each matrix takes to zero: the right singular vectors of values
// up to rtol times the largest, or atol. How many there are depends on the values; a stack of matrices must have one
// rank.
Tensor null_space(const In& x, const NullSpaceOptions& options = {}, std::source_location where = std::source_location::current());

struct OrthOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
};
// An orthonormal basis (columns) of the range of each matrix: the left singular vectors of values above rtol times
// the largest and atol. How many there are depends on the values; a stack of matrices must have one rank.
Tensor orth(const In& x, const OrthOptions& options = {}, std::source_location where = std::source_location::current());

// The products x1[..., i] x2[..., j] of all pairs of elements of two vectors; leading axes broadcast. Nothing is
// conjugated. Integers wrap around.
Tensor outer(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct PinvOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The Moore-Penrose pseudo-inverse of each matrix: singular values up to rtol times the largest count as zero.
Tensor pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

struct PolarResult {
  Tensor U, P;
};
struct PolarOptions {
  std::string_view side = "right";  // On which side of U the factor P stands.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The polar decomposition x = U P of each matrix: U has orthonormal columns (rows, if x is wide), P is symmetric or
// Hermitian and positive semidefinite; with side = left x = P U.
PolarResult polar(const In& x, const PolarOptions& options = {}, std::source_location where = std::source_location::current());

struct ProjectorOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  double atol = 0.0;  // Singular values up to atol count as zero too.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The orthogonal projector onto the range of each matrix, [..., m, m]: singular values up to rtol times the largest,
// or atol, do not count.
Tensor projector(const In& x, const ProjectorOptions& options = {}, std::source_location where = std::source_location::current());

struct QrResult {
  Tensor Q, R;
};
struct QrOptions {
  std::string_view mode = "reduced";  // reduced: Q is m × min(m, n); complete: Q is m × m.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  QrResult* out = nullptr;  // Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees.
};
// The factors x = Q R of each matrix: Q with orthonormal columns, R upper triangular. The diagonal of R may have any
// sign.
QrResult qr(const In& x, const QrOptions& options = {}, std::source_location where = std::source_location::current());

struct QrPivotedResult {
  Tensor Q, R, P;
};
struct QrPivotedOptions {
  std::string_view mode = "reduced";  // reduced: Q is m × min(m, n); complete: Q is m × m.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The factors x[:, P] = Q R of each matrix with its columns in the order P, in which the diagonal of R falls in
// size: small last ones tell of dependent columns.
QrPivotedResult qr_pivoted(const In& x, const QrPivotedOptions& options = {}, std::source_location where = std::source_location::current());

struct RandomizedSvdResult {
  Tensor U, S, Vh;
};
struct RandomizedSvdOptions {
  std::int64_t oversampling = 10;  // How many more random vectors than rank.
  std::int64_t power_iterations = 2;  // Products with x and its adjoint that sharpen the result.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
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

struct SchurResult {
  Tensor T, Z;
};
struct SchurOptions {
  std::string_view output = "real";  // real: of the kind of x; complex: triangular in any case.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The Schur form x = Z T conj(Z)ᵀ of each square matrix: Z orthonormal, T upper triangular with the eigenvalues on
// its diagonal. For real x a pair of complex eigenvalues is a 2 × 2 block of T, unless output = "complex".
SchurResult schur(const In& x, const SchurOptions& options = {}, std::source_location where = std::source_location::current());

struct SlogdetResult {
  Tensor sign, logabsdet;
};
struct SlogdetOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  SlogdetResult* out = nullptr;  // Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees.
};
// The sign of the determinant and the logarithm of its absolute value; (0, -inf) only for a matrix that is proved
// singular.
SlogdetResult slogdet(const In& x, const SlogdetOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is singular to working precision.
  std::optional<Setting> ridge = std::nullopt;  // λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.
  double noise = 0.0;  // For ridge = "discrepancy": the norm of the noise in b.
  double shift = 0.0;  // λ: use A + λ I (A symmetric).
  std::string_view assume = "detect";  // The structure of A; detect looks for it, triangular for the triangle that is zero.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  bool certify = false;  // Prove a bound of the error.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  std::string_view accuracy = "normal";  // high: what f64 cannot resolve is eliminated in 113-bit arithmetic (up to 200 rows); slower.
  std::string_view method = "auto";  // How A is factored; auto goes by its structure. cholesky and ldl take the Hermitian part of A.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The solution x of x1 x = x2 for square x1, one vector (1-d x2) or matrices; leading axes broadcast. Answers are
// improved with residuals in twice the precision; a matrix that is singular to working precision is refused with the
// reason (if_ill).
Tensor solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveBandedOptions {
  std::string_view if_ill = "raise";  // What becomes of a problem that is singular to working precision.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
};
// The solution x of A x = b for a banded A given by its diagonals: element (i, j) of A is ab[u + i - j, j]. O(n) for
// a fixed band, judged and improved as solve does; leading axes broadcast. l: Diagonals below the main one. u:
// Diagonals above the main one.
Tensor solve_banded(const In& ab, const In& b, std::int64_t l, std::int64_t u, const SolveBandedOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveSylvesterOptions {
  std::string_view if_ill = "raise";  // What becomes of a problem that is singular to working precision.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
};
// The solution x of Sylvester's equation a x + x b = q, by Schur forms (Bartels & Stewart), improved with residuals
// in twice the precision; leading axes broadcast. It is singular where a and -b have a common eigenvalue.
Tensor solve_sylvester(const In& a, const In& b, const In& q, const SolveSylvesterOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveToeplitzOptions {
  std::string_view if_ill = "raise";  // What becomes of a problem that is singular to working precision.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
};
// The solution x of T x = b for the Toeplitz matrix with first column c and first row r (r[0] is not read); leading
// axes broadcast. The matrix is written out and solved as any other: O(n³), but as right as solve where Levinson's
// recursion, which needs well-conditioned leading minors, is not. r: None: the conjugate of c, so that T is
// Hermitian.
Tensor solve_toeplitz(const In& c, const In& b, const In& r = std::nullopt, const SolveToeplitzOptions& options = {}, std::source_location where = std::source_location::current());

struct SolveTriangularOptions {
  bool lower = false;  // A is the lower triangle.
  bool adjoint = false;  // Solve Aᴴ x = x2 instead.
  bool unit_diagonal = false;  // The diagonal counts as ones and is not read.
  std::string_view if_ill = "raise";  // What becomes of a problem that is singular to working precision.
  std::optional<bool> refine = std::nullopt;  // Improve the answer with residuals in twice the precision; none: when it pays.
  std::optional<double> min_digits = std::nullopt;  // Fewer digits are a finding; none: 6 in f64, 3 in f32.
};
// The solution x of A x = x2, where A is a triangle of x1; the other one is not read. One vector (1-d x2) or
// matrices; leading axes broadcast. Triangular systems are often solved far more accurately than their condition
// says: where rcond gives up, a proved bound of the error decides.
Tensor solve_triangular(const In& x1, const In& x2, const SolveTriangularOptions& options = {}, std::source_location where = std::source_location::current());

struct SqrtmOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The principal square root of each square matrix, by its Schur form, or by its eigenvalues if it is symmetric or
// Hermitian. A real matrix with a negative eigenvalue has no real root: it is refused (if_ill), a complex one is
// not.
Tensor sqrtm(const In& x, const SqrtmOptions& options = {}, std::source_location where = std::source_location::current());

struct SvdResult {
  Tensor U, S, Vh;
};
struct SvdOptions {
  bool full_matrices = true;  // Square U and Vh.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  SvdResult* out = nullptr;  // Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees.
};
// The singular value decomposition x = U diag(S) Vh, S falling; U and Vh are square, or thin with full_matrices =
// false.
SvdResult svd(const In& x, const SvdOptions& options = {}, std::source_location where = std::source_location::current());

struct SvdvalsOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
  std::string_view accuracy = "normal";  // high: small values of graded matrices keep their digits; slower.
  std::optional<std::vector<std::string>> names = std::nullopt;  // Labels of the columns, for messages; of a symmetric matrix also of the rows.
  Tensor* out = nullptr;  // Where the result is written: a tensor of its dtype and shape whose memory nobody else sees.
};
// The singular values of each matrix, falling.
Tensor svdvals(const In& x, const SvdvalsOptions& options = {}, std::source_location where = std::source_location::current());

struct TraceOptions {
  std::int64_t offset = 0;  // Which diagonal: 0 the main one, positive ones above it.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the result; none: i64 or u64 for integers and bool, else x's.
};
// The sum of a diagonal of each matrix, added in twice the precision. Integers give i64 or u64 and wrap around.
Tensor trace(const In& x, const TraceOptions& options = {}, std::source_location where = std::source_location::current());

struct VectorNormOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  double ord = 2.0;  // The order; inf gives the largest |x|, 0 counts.
};
// The norm of vectors along axes, (sum |x|^ord)^(1/ord), without overflow or underflow on the way.
Tensor vector_norm(const In& x, const VectorNormOptions& options = {}, std::source_location where = std::source_location::current());

// The same functions with what can be said of the answer. Numerical trouble does not raise: the bad members are NaN.
namespace diagnosed {
Diagnosed<Tensor> cho_solve(const In& x1, const In& x2, const ChoSolveOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> chol_update(const In& x1, const In& x2, const CholUpdateOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> cholesky(const In& x, const CholeskyOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> cond(const In& x, const CondOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> covariance(const In& x, const CovarianceOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<EigResult> eig(const In& x, const EigOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<EighResult> eigh(const In& x, const EighOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<EighGeneralizedResult> eigh_generalized(const In& x1, const In& x2, const EighGeneralizedOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> eigvals(const In& x, const EigvalsOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> eigvalsh(const In& x, const EigvalshOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> expm(const In& x, const ExpmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> householder_product(const In& x, const In& tau, const HouseholderProductOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<LdlResult> ldl(const In& x, const LdlOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> logdet(const In& x, const LogdetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> logm(const In& x, const LogmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> low_rank(const In& x, std::int64_t rank, const LowRankOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<LuResult> lu(const In& x, const LuOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> lu_solve(const In& P, const In& L, const In& U, const In& b, const LuSolveOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> matrix_power(const In& x, double exponent, const MatrixPowerOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> nearest_correlation(const In& x, const NearestCorrelationOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> nearest_spd(const In& x, const NearestSpdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> null_space(const In& x, const NullSpaceOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> orth(const In& x, const OrthOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<PolarResult> polar(const In& x, const PolarOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> projector(const In& x, const ProjectorOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<QrResult> qr(const In& x, const QrOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<QrPivotedResult> qr_pivoted(const In& x, const QrPivotedOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<RandomizedSvdResult> randomized_svd(const In& x, std::int64_t rank, std::int64_t key, std::int64_t counter, const RandomizedSvdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> rcond(const In& x, const RcondOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SchurResult> schur(const In& x, const SchurOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SlogdetResult> slogdet(const In& x, const SlogdetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_banded(const In& ab, const In& b, std::int64_t l, std::int64_t u, const SolveBandedOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_sylvester(const In& a, const In& b, const In& q, const SolveSylvesterOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_toeplitz(const In& c, const In& b, const In& r = std::nullopt, const SolveToeplitzOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_triangular(const In& x1, const In& x2, const SolveTriangularOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> sqrtm(const In& x, const SqrtmOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SvdResult> svd(const In& x, const SvdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> svdvals(const In& x, const SvdvalsOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
