#include <cmath>

#include "base/text.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace wp::nn {
namespace {

// Lengths that a unit adds over, and that it is added to; at least 1 each.
struct Fans {
  double in = 1, out = 1;
};
Fans fans(const Dims& shape) {
  Fans f;
  for (std::size_t k = 0; k + 1 < shape.size(); ++k) f.in *= static_cast<double>(shape[k]);
  if (!shape.empty()) f.out = static_cast<double>(shape.back());
  return {std::max(f.in, 1.0), std::max(f.out, 1.0)};
}

Tensor spread(const Dims& shape, DType dtype, random::Generator& draws, double limit) {
  return astype(draws.uniform(shape, {.low = -limit, .high = limit}), dtype);
}
Tensor bell(const Dims& shape, DType dtype, random::Generator& draws, double std) {
  return astype(draws.normal(shape, {.std = std}), dtype);
}

}  // namespace

Initializer constant(double value) {
  return [value](const Dims& s, DType d, random::Generator&) { return full(s, value, {.dtype = d}); };
}
Initializer normal(double std) {
  return [std](const Dims& s, DType d, random::Generator& g) { return bell(s, d, g, std); };
}
Initializer uniform(double limit) {
  return [limit](const Dims& s, DType d, random::Generator& g) { return spread(s, d, g, limit); };
}
Initializer glorot_uniform() {
  return [](const Dims& s, DType d, random::Generator& g) {
    return spread(s, d, g, std::sqrt(6 / (fans(s).in + fans(s).out)));
  };
}
Initializer glorot_normal() {
  return [](const Dims& s, DType d, random::Generator& g) {
    return bell(s, d, g, std::sqrt(2 / (fans(s).in + fans(s).out)));
  };
}
Initializer he_uniform() {
  return [](const Dims& s, DType d, random::Generator& g) { return spread(s, d, g, std::sqrt(6 / fans(s).in)); };
}
Initializer he_normal() {
  return [](const Dims& s, DType d, random::Generator& g) { return bell(s, d, g, std::sqrt(2 / fans(s).in)); };
}
Initializer lecun_normal() {
  return [](const Dims& s, DType d, random::Generator& g) { return bell(s, d, g, std::sqrt(1 / fans(s).in)); };
}

// Q of a matrix of normal draws, with the signs of R's diagonal: uniform over all such matrices (Mezzadri 2007).
Initializer orthogonal(double gain) {
  return [gain](const Dims& s, DType d, random::Generator& g) {
    const auto in = static_cast<std::int64_t>(fans(s).in), out = static_cast<std::int64_t>(fans(s).out);
    const bool tall = in >= out;
    const auto [q, r] = linalg::qr(g.normal({std::max(in, out), std::min(in, out)}));
    const Tensor columns = multiply(q, copysign(gain, linalg::diagonal(r)));
    return reshape(astype(tall ? columns : matrix_transpose(columns), d), s);
  };
}

}  // namespace wp::nn
