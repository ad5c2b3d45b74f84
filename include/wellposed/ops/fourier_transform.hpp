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
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor fft(const In& x, const FftOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftOptions {
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor ifft(const In& x, const IfftOptions& options = {}, std::source_location where = std::source_location::current());

struct RfftOptions {
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor rfft(const In& x, const RfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IrfftOptions {
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor irfft(const In& x, const IrfftOptions& options = {}, std::source_location where = std::source_location::current());

struct HfftOptions {
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor hfft(const In& x, const HfftOptions& options = {}, std::source_location where = std::source_location::current());

struct IhfftOptions {
  std::optional<std::int64_t> n = std::nullopt;
  std::int64_t axis = -1;
  std::string_view norm = "backward";
};
// x
Tensor ihfft(const In& x, const IhfftOptions& options = {}, std::source_location where = std::source_location::current());

struct FftnOptions {
  OptionalInts s = std::nullopt;
  OptionalInts axes = std::nullopt;
  std::string_view norm = "backward";
};
// x
Tensor fftn(const In& x, const FftnOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftnOptions {
  OptionalInts s = std::nullopt;
  OptionalInts axes = std::nullopt;
  std::string_view norm = "backward";
};
// x
Tensor ifftn(const In& x, const IfftnOptions& options = {}, std::source_location where = std::source_location::current());

struct RfftnOptions {
  OptionalInts s = std::nullopt;
  OptionalInts axes = std::nullopt;
  std::string_view norm = "backward";
};
// x
Tensor rfftn(const In& x, const RfftnOptions& options = {}, std::source_location where = std::source_location::current());

struct IrfftnOptions {
  OptionalInts s = std::nullopt;
  OptionalInts axes = std::nullopt;
  std::string_view norm = "backward";
};
// x
Tensor irfftn(const In& x, const IrfftnOptions& options = {}, std::source_location where = std::source_location::current());

struct FftshiftOptions {
  OptionalInts axes = std::nullopt;
};
// x
Tensor fftshift(const In& x, const FftshiftOptions& options = {}, std::source_location where = std::source_location::current());

struct IfftshiftOptions {
  OptionalInts axes = std::nullopt;
};
// x
Tensor ifftshift(const In& x, const IfftshiftOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace fft

}  // namespace wp
