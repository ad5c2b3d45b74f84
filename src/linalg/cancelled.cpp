// Terms of a second derivative that cancel. Of a first one nothing is said: it vanishes at every minimum.
#include <cmath>

#include "base/text.hpp"
#include "linalg/quotients.hpp"
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
  Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const override {
    return b_.pulled_back(f, x, g);
  }
  void find(Finding) const override {}  // told by the rule itself

 private:
  const Backward& b_;
};

// The gradient if the outputs had other last digits.
Tensor gradient_rounded(const Backward& b, std::uint64_t seed) {
  Tensors out(b.out.begin(), b.out.end());
  for (Tensor& t : out)
    if (is_floating(t.dtype()))
      t = multiply(t, add(multiply(real(noise_like(t, seed)), finfo(real_of(t.dtype())).eps), 1));
  const Tensors cotangents = b.taylor({out, {}}, {}, 0)[0];
  Saved other = b;
  other.out = {out.begin(), out.size()};
  return b.op.vjp(Rounded(b, other, {cotangents.begin(), b.cotangents.size()}))[0];
}

}  // namespace

void find_cancelled(const Backward& b, const Tensor& cotangents, const Tensor& least, const Tensor& size) {
  const Unrecorded here;
  const double eps = finfo(size.dtype()).eps, allowed = eps < 1e-15 ? 1e-6 : 1e-3;
  const Tensor suspected = greater(multiply(divide(cotangents, least), 2 * eps), multiply(size, allowed));
  if (!any_true(suspected)) return;
  const Tensor one = gradient_rounded(b, 1), two = gradient_rounded(b, 2), three = gradient_rounded(b, 3);
  const Tensor noise = maximum(size_of(subtract(one, two)), size_of(subtract(two, three)));
  const Tensor lost = greater(noise, multiply(size, allowed));
  if (!any_true(lost)) return;
  const double worst = largest(where(lost, divide(noise, maximum(noise, size)), 0));  // 1: all of it is rounding
  const double left = std::floor(-std::log10(worst)), most = std::floor(-std::log10(eps / 2));
  find_loss(
      b, "WP-GRD-012", worst, allowed,
      say("the second derivative is what is left of terms that cancel: ",
          left >= 1 ? say("about ", left, " of ", most) : std::string("none"), " of its digits are right."),
      "Where factors are only multiplied with each other again, use the matrix itself; else bring the matrix and "
      "what it is compared with to one size, or use a wider dtype.");
}

}  // namespace wp::linalg
