// Generated from the op table by tools/generate.py; edit the room, not this file.
// Creation functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct ArangeOptions {
  std::optional<Scalar> stop = std::nullopt;  // The end, which is not reached.
  Scalar step = 1;  // The distance; negative to count down.
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: i64 for integers, else f64.
};
// The numbers start, start + step, … before stop; one argument counts from 0 to it. There are ceil((stop -
// start)/step) of them. Integers are exact; reals are start + i*step rounded once. start: The first number; without
// stop, the end, and the first number is 0.
Tensor arange(const Scalar& start, const ArangeOptions& options = {}, std::source_location where = std::source_location::current());

struct EmptyOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// An array of zeros. Memory with arbitrary values is never handed out: results must not depend on what ran before.
// shape: The shape.
Tensor empty(const Ints& shape, const EmptyOptions& options = {}, std::source_location where = std::source_location::current());

struct EmptyLikeOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: x's.
};
// Zeros in the shape of x; see empty for why they are zeros. x: Gives shape and dtype.
Tensor empty_like(const In& x, const EmptyLikeOptions& options = {}, std::source_location where = std::source_location::current());

struct EyeOptions {
  std::optional<std::int64_t> n_cols = std::nullopt;  // The number of columns; none: as many as rows.
  std::int64_t k = 0;  // The diagonal: 0 the main one, k > 0 above it.
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// A matrix with ones on a diagonal and zeros elsewhere. n_rows: The number of rows.
Tensor eye(std::int64_t n_rows, const EyeOptions& options = {}, std::source_location where = std::source_location::current());

struct FullOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: bool, i64, f64 or c128 by the number.
};
// An array in which every element is one number. shape: The shape. fill_value: The number; its kind must not be
// above the dtype's (no 0.5 in an integer array).
Tensor full(const Ints& shape, const Scalar& fill_value, const FullOptions& options = {}, std::source_location where = std::source_location::current());

struct FullLikeOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: x's.
};
// An array in the shape of x in which every element is one number. x: Gives shape and dtype. fill_value: The number;
// its kind must not be above the dtype's (no 0.5 in an integer array).
Tensor full_like(const In& x, const Scalar& fill_value, const FullLikeOptions& options = {}, std::source_location where = std::source_location::current());

struct LinspaceOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64, or c128 for complex ends.
  bool endpoint = true;  // Whether stop is one of the numbers.
};
// num evenly spaced numbers from start to stop. Both ends are exact; the others are right to the last digit, also
// when stop - start is beyond the largest number. start: The first number. stop: The last number. num: How many.
Tensor linspace(const Scalar& start, const Scalar& stop, std::int64_t num, const LinspaceOptions& options = {}, std::source_location where = std::source_location::current());

struct MeshgridOptions {
  std::string_view indexing = "xy";  // 'ij': array i varies along axis i. 'xy': the first two axes change places.
};
// Coordinate arrays of a grid: each one-axis array repeated over the axes of the others. Views. arrays: The
// coordinates along each axis.
Tensors meshgrid(const Tensors& arrays, const MeshgridOptions& options = {}, std::source_location where = std::source_location::current());

struct OnesOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// An array of ones. shape: The shape.
Tensor ones(const Ints& shape, const OnesOptions& options = {}, std::source_location where = std::source_location::current());

struct OnesLikeOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: x's.
};
// Ones in the shape of x. x: Gives shape and dtype.
Tensor ones_like(const In& x, const OnesLikeOptions& options = {}, std::source_location where = std::source_location::current());

struct ZerosOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// An array of zeros. shape: The shape.
Tensor zeros(const Ints& shape, const ZerosOptions& options = {}, std::source_location where = std::source_location::current());

struct ZerosLikeOptions {
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: x's.
};
// Zeros in the shape of x. x: Gives shape and dtype.
Tensor zeros_like(const In& x, const ZerosLikeOptions& options = {}, std::source_location where = std::source_location::current());

namespace fft {
struct FftfreqOptions {
  double d = 1.0;  // The distance of two points.
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// The frequencies of fft's results, in their order: 0, 1, …, -2, -1, divided by n d. n: The number of points.
Tensor fftfreq(std::int64_t n, const FftfreqOptions& options = {}, std::source_location where = std::source_location::current());

struct RfftfreqOptions {
  double d = 1.0;  // The distance of two points.
  std::optional<DType> dtype = std::nullopt;  // The dtype; none: f64.
};
// The frequencies of rfft's results: 0, 1, …, n/2, divided by n d. n: The number of points.
Tensor rfftfreq(std::int64_t n, const RfftfreqOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace fft

}  // namespace wp
