// Tensors in double-double: 106 bits, for the replay.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ops/op.hpp"

namespace wp::trace {

using Quad = __float128;

struct Wide {
  Dims shape;
  std::vector<double> hi, lo;

  explicit Wide(const Dims& its_shape);
  explicit Wide(const Tensor& t);  // real values; exact
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(hi.size()); }
  Quad at(std::int64_t e) const noexcept {
    return static_cast<Quad>(hi[static_cast<std::size_t>(e)]) + lo[static_cast<std::size_t>(e)];
  }
  void set(std::int64_t e, Quad v) noexcept;
  Tensor rounded() const;  // f64
};

// The first output of the call, from these inputs; none: the op is not known in double-double. c: the call as it was.
std::optional<Wide> widely(const Call& c, const std::vector<const Wide*>& in);
// The same of sums, products, moments, and what is made of exponentials of a line.
std::optional<Wide> wide_sum(const Call& c, const std::vector<const Wide*>& in);

}  // namespace wp::trace
