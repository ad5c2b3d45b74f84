// Terms of a second derivative that cancel. Of a first one nothing is said: it vanishes at every minimum.
#include "linalg/cancelled.hpp"

#include <array>
#include <cmath>

#include "base/text.hpp"
#include "linalg/clusters.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/stack.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

// The rule once more, at outputs that are rounded otherwise.
class Rounded : public Backward {
 public:
  Rounded(const Backward& b, const Saved& s, std::span<const Tensor> cotangents)
      : Backward(s, cotangents, b.wanted), b_(b) {}
  std::vector<Tensors> taylor(const Variation& at, const Variation& along, int order) const override {
    return b_.taylor(at, along, order);
  }
  std::optional<bool> verify() const noexcept override { return false; }
  int depth() const noexcept override { return b_.depth(); }
  double eps_after() const override { return b_.eps_after(); }
  bool sampled() const override { return b_.sampled(); }
  Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const override {
    return b_.pulled_back(f, x, g);
  }
  void find(Finding) const override {}  // told by the rule itself

 private:
  const Backward& b_;
};

// Six digits must be left, three in f32.
double allowed_loss(DType dtype) {
  return finfo(real_of(dtype)).eps < 1e-15 ? 1e-6 : 1e-3;
}

// The gradient if the outputs had other last digits.
Tensor gradient_rounded(const Backward& b, std::uint64_t seed) {
  Tensors out(b.out.begin(), b.out.end());
  for (Tensor& t : out)
    if (is_floating(t.dtype())) t = rounded_otherwise(t, seed);
  const Tensors cotangents = b.taylor({out, {}}, {}, 0)[0];
  Saved other = b;
  other.out = {out.begin(), out.size()};
  return b.op.vjp(Rounded(b, other, {cotangents.begin(), b.cotangents.size()}))[0];
}

}  // namespace

Tensor rounded_otherwise(const Tensor& x, std::uint64_t seed) {
  return multiply(x, add(multiply(real(noise_like(x, seed)), finfo(real_of(x.dtype())).eps), 1));
}

std::string digits_left(double error, DType dtype) {
  const double left = std::floor(-std::log10(error)), most = std::floor(-std::log10(round_off(dtype)));
  return left >= 1 ? say("about ", left, " of ", most) : std::string("none");
}

Tensor derivative_size(const Tensor& x) {
  return x.ndim() < 2 ? size_of(reshape(x, {1, -1})) : size_of(x);
}

std::optional<Finding> cancelled(const Tensor& size, std::span<const Tensor, 3> rounded) {
  const auto apart = [&](std::size_t i, std::size_t j) { return derivative_size(subtract(rounded[i], rounded[j])); };
  const std::vector<double> noise = doubles_of(maximum(apart(0, 1), apart(1, 2))), sizes = doubles_of(size);
  const double allowed = allowed_loss(size.dtype());
  double worst = 0;  // 1: all of it is rounding
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (noise[i] > sizes[i] * allowed) worst = std::max(worst, noise[i] / std::max(noise[i], sizes[i]));
  if (worst == 0) return std::nullopt;
  Finding f;
  f.code = "WP-GRD-012";
  f.measured = worst;
  f.threshold = allowed;
  f.message = say("the second derivative is what is left of terms that cancel: ", digits_left(worst, size.dtype()),
                  " of its digits are right.");
  f.advice =
      "Where factors are only multiplied with each other again, use the matrix itself; else bring the matrix and what"
      " it is compared with to one size, or use a wider dtype.";
  return f;
}

void find_cancelled(const Backward& b, const Tensor& cotangents, const Tensor& least, const Tensor& size) {
  const Unrecorded here;
  if (!b.verify().value_or(true)) return;
  const Tensor rounding = multiply(divide(cotangents, least), 2 * eps_of(b, size.dtype()));
  if (!any_true(greater(rounding, multiply(size, allowed_loss(size.dtype()))))) return;
  const std::array<Tensor, 3> rounded{gradient_rounded(b, 1), gradient_rounded(b, 2), gradient_rounded(b, 3)};
  if (std::optional<Finding> f = cancelled(size, rounded)) b.suspect(std::move(*f), rounded);
}

}  // namespace wp::linalg
