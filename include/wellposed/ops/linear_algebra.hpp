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

struct VectorNormOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  double ord = 2.0;  // The order; inf gives the largest |x|, 0 counts.
};
// The norm of vectors along axes, (sum |x|^ord)^(1/ord), without overflow or underflow on the way.
Tensor vector_norm(const In& x, const VectorNormOptions& options = {}, std::source_location where = std::source_location::current());

// The same functions with what can be said of the answer. Numerical trouble does not raise: the bad members are NaN.
namespace diagnosed {
Diagnosed<Tensor> inv(const In& x, const InvOptions& options = {}, std::source_location where = std::source_location::current());

Diagnosed<Tensor> solve(const In& x1, const In& x2, const SolveOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace diagnosed
}  // namespace linalg

}  // namespace wp
