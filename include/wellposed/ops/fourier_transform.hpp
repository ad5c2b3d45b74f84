// Generated from the op table by tools/generate.py; edit the room, not this file.
// Fourier transform functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

namespace fft {
struct FftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Points: x is cut off, or filled up with zeros; none: its length.
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The discrete Fourier transform along an axis: the sum of x[j] exp(-2 pi i j k / n) over j.
Tensor fft(const In& x, const FftOptions& options = {}, std::source_location where = std::source_location::current());

struct FftnOptions {
  OptionalInts s = std::nullopt;  // Points along each of the axes: x is cut off, or filled up with zeros.
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// fft along several axes, one after the other.
Tensor fftn(const In& x, const FftnOptions& options = {}, std::source_location where = std::source_location::current());

struct FftshiftOptions {
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
};
// x with frequency 0 brought from the front to the middle of the axes, element n/2.
Tensor fftshift(const In& x, const FftshiftOptions& options = {}, std::source_location where = std::source_location::current());

struct HfftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Length of the result: x is read up to n/2 + 1; none: 2 (length - 1).
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// fft of numbers of which the second half are the conjugates of the first: x is the first half, the result is real.
Tensor hfft(const In& x, const HfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Points: x is cut off, or filled up with zeros; none: its length.
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The inverse of fft: the sum of x[k] exp(2 pi i j k / n) over k, divided by n.
Tensor ifft(const In& x, const IfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftnOptions {
  OptionalInts s = std::nullopt;  // Points along each of the axes: x is cut off, or filled up with zeros.
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The inverse of fftn: ifft along several axes.
Tensor ifftn(const In& x, const IfftnOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftshiftOptions {
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
};
// The inverse of fftshift: element n/2 of the axes comes to the front.
Tensor ifftshift(const In& x, const IfftshiftOptions& options = {}, std::source_location where = std::source_location::current());

struct IhfftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Points: x is cut off, or filled up with zeros; none: its length.
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The inverse of hfft: the first n/2 + 1 results of ifft of real numbers.
Tensor ihfft(const In& x, const IhfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IrfftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Length of the result: x is read up to n/2 + 1; none: 2 (length - 1).
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The inverse of rfft: n real numbers from n/2 + 1 complex ones. Of the first one, and of the last one if n is even,
// the real part counts.
Tensor irfft(const In& x, const IrfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IrfftnOptions {
  OptionalInts s = std::nullopt;  // Points along each of the axes: x is cut off, or filled up with zeros.
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// The inverse of rfftn: ifft along all axes but the last, irfft along that.
Tensor irfftn(const In& x, const IrfftnOptions& options = {}, std::source_location where = std::source_location::current());

struct RfftOptions {
  std::optional<std::int64_t> n = std::nullopt;  // Points: x is cut off, or filled up with zeros; none: its length.
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// fft of real numbers: the first n/2 + 1 results; the others are their conjugates.
Tensor rfft(const In& x, const RfftOptions& options = {}, std::source_location where = std::source_location::current());

struct RfftnOptions {
  OptionalInts s = std::nullopt;  // Points along each of the axes: x is cut off, or filled up with zeros.
  OptionalInts axes = std::nullopt;  // The axes; none: all of them.
  std::string_view norm = "backward";  // What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).
};
// fftn of real numbers: rfft along the last of the axes, fft along the others.
Tensor rfftn(const In& x, const RfftnOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace fft

}  // namespace wp
