// Generated from the op table by tools/generate.py; edit the room, not this file.
// Statistical functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct CumulativeProdOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; may be left out for a 1-d x.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the result; none: i64 or u64 for integers and bool, else x's.
  bool include_initial = false;  // Begin with the value of no elements: one more result.
};
// The products of the elements up to each element along an axis. Integers give i64 or u64 and wrap around.
Tensor cumulative_prod(const In& x, const CumulativeProdOptions& options = {}, std::source_location where = std::source_location::current());

struct CumulativeSumOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; may be left out for a 1-d x.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the result; none: i64 or u64 for integers and bool, else x's.
  bool include_initial = false;  // Begin with the value of no elements: one more result.
};
// The sums of the elements up to each element along an axis. Float sums are compensated or wider: errors do not grow
// with n. Integers give i64 or u64 and wrap around.
Tensor cumulative_sum(const In& x, const CumulativeSumOptions& options = {}, std::source_location where = std::source_location::current());

struct LogsumexpOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// log(sum(exp(x))) over axes, without overflow or underflow. All -inf, or no elements, give -inf. Domain: at least
// one element.
Tensor logsumexp(const In& x, const LogsumexpOptions& options = {}, std::source_location where = std::source_location::current());

struct MaxOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// The largest element over axes; NaN if there is one. An empty run is refused.
Tensor max(const In& x, const MaxOptions& options = {}, std::source_location where = std::source_location::current());

struct MeanOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// The arithmetic mean over axes. f32 is summed in f64; no sum overflows on the way. Integers and bool give f64.
// Domain: at least one element.
Tensor mean(const In& x, const MeanOptions& options = {}, std::source_location where = std::source_location::current());

struct MinOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// The smallest element over axes; NaN if there is one. An empty run is refused.
Tensor min(const In& x, const MinOptions& options = {}, std::source_location where = std::source_location::current());

struct ProdOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the result; none: i64 or u64 for integers and bool, else x's.
};
// The product of elements over axes. It overflows or underflows only if the exact product does. Integers give i64 or
// u64 and wrap around.
Tensor prod(const In& x, const ProdOptions& options = {}, std::source_location where = std::source_location::current());

struct StdOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  double correction = 0.0;  // The divisor is N - correction; 1 gives the unbiased estimate of a variance.
};
// The standard deviation over axes: the square root of var, without overflow or underflow of the squares. Integers
// and bool give f64, complex numbers a real result. Domain: more elements than correction.
Tensor std(const In& x, const StdOptions& options = {}, std::source_location where = std::source_location::current());

struct SumOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the result; none: i64 or u64 for integers and bool, else x's.
};
// The sum of elements over axes, added in twice the precision and rounded once: what cancels leaves no trace. It is
// infinite only if the exact sum is beyond the dtype. Integers give i64 or u64 and wrap around.
Tensor sum(const In& x, const SumOptions& options = {}, std::source_location where = std::source_location::current());

struct VarOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  double correction = 0.0;  // The divisor is N - correction; 1 gives the unbiased estimate of a variance.
};
// The variance over axes, sum |x - mean|^2 / (N - correction), as exact for data far from zero as near it. Integers
// and bool give f64, complex numbers a real result. Domain: more elements than correction.
Tensor var(const In& x, const VarOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
