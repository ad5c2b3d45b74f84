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

struct CrossOptions {
  std::int64_t axis = -1;  // The axis of the vectors in both.
};
// The cross product of vectors of 3 elements along an axis; the other axes broadcast. Products that cancel keep
// their digits. Nothing is conjugated. Integers wrap around.
Tensor cross(const In& x1, const In& x2, const CrossOptions& options = {}, std::source_location where = std::source_location::current());

struct DetOptions {
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The determinant of each square matrix; 0 only for a matrix that is proved singular, or below the range of floats.
Tensor det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

struct DiagonalOptions {
  std::int64_t offset = 0;  // Which diagonal: 0 the main one, positive ones above it.
};
// A diagonal of each matrix, x[..., i, i + offset]; a view.
Tensor diagonal(const In& x, const DiagonalOptions& options = {}, std::source_location where = std::source_location::current());

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

// The Kronecker product of two matrices: blocks x1[i, j] x2. Leading axes broadcast; a vector counts as a row, and
// two of them give a vector. Integers wrap around.
Tensor kron(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct LstsqOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The x of least norm that minimises |x1 x - x2|, one vector (1-d x2) or matrices; leading axes broadcast. Singular
// values up to rtol times the largest count as zero.
Tensor lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

struct MatrixRankOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// How many singular values of each matrix are above rtol times the largest; -1 where a matrix has none (if_ill =
// nan).
Tensor matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

// The product of two or more matrices in the order that takes the fewest multiplications; the first may be a vector
// (a row), the last too (a column). Leading axes broadcast. Integers wrap around.
Tensor multi_dot(const Tensors& arrays, std::source_location where = std::source_location::current());

// The products x1[..., i] x2[..., j] of all pairs of elements of two vectors; leading axes broadcast. Nothing is
// conjugated. Integers wrap around.
Tensor outer(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct PinvOptions {
  std::optional<double> rtol = std::nullopt;  // Singular values up to rtol times the largest count as zero; none: max(m, n) eps.
  std::string_view if_ill = "raise";  // What becomes of a matrix that is not finite, or on which the iteration does not converge.
};
// The Moore-Penrose pseudo-inverse of each matrix: singular values up to rtol times the largest count as zero.
Tensor pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

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
Diagnosed<Tensor> cholesky(const In& x, const CholeskyOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> cond(const In& x, const CondOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> det(const In& x, const DetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<EighResult> eigh(const In& x, const EighOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> eigvalsh(const In& x, const EigvalshOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> lstsq(const In& x1, const In& x2, const LstsqOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> matrix_rank(const In& x, const MatrixRankOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> pinv(const In& x, const PinvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SlogdetResult> slogdet(const In& x, const SlogdetOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_banded(const In& ab, const In& b, std::int64_t l, std::int64_t u, const SolveBandedOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_sylvester(const In& a, const In& b, const In& q, const SolveSylvesterOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_toeplitz(const In& c, const In& b, const In& r = std::nullopt, const SolveToeplitzOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve_triangular(const In& x1, const In& x2, const SolveTriangularOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<SvdResult> svd(const In& x, const SvdOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> svdvals(const In& x, const SvdvalsOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
