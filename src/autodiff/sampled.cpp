#include "autodiff/sampled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "linalg/rules.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {
namespace {

constexpr int kSide = 4;  // points on each side
constexpr std::size_t kPoints = 2 * kSide + 1;
constexpr double kFarthest = 0.9 / 16;                     // of h: no number at which values would often meet
using Weights = std::vector<std::array<double, kPoints>>;  // by order of the derivative, then point −4 … 4

// Weights of the points −side … side for derivatives at 0 of the polynomial through them (B. Fornberg, Math. Comp. 51
// (1988) 699-706).
Weights weights_of(int side, int order) {
  const auto orders = static_cast<std::size_t>(order);
  Weights w(orders + 1, std::array<double, kPoints>{});
  const auto node = [&](std::size_t i) { return static_cast<double>(i) - side; };
  const std::size_t first = static_cast<std::size_t>(kSide - side), n = static_cast<std::size_t>(2 * side);
  w[0][first] = 1;
  double before = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    double product = 1;
    const std::size_t most = std::min(i, orders);
    for (std::size_t j = 0; j < i; ++j) {
      const double apart = node(i) - node(j);
      product *= apart;
      if (j + 1 == i)
        for (std::size_t k = most + 1; k-- > 0;)
          w[k][first + i] = before *
                            ((k > 0 ? static_cast<double>(k) * w[k - 1][first + j] : 0) - node(j) * w[k][first + j]) /
                            product;
      for (std::size_t k = most + 1; k-- > 0;)
        w[k][first + j] =
            (node(i) * w[k][first + j] - (k > 0 ? static_cast<double>(k) * w[k - 1][first + j] : 0)) / apart;
    }
    before = product;
  }
  return w;
}

using Samples = std::array<std::vector<Tensor>, kPoints>;

Tensor combined(const Samples& at, const std::array<double, kPoints>& weights, std::size_t i, double scale) {
  Tensor all;
  for (std::size_t p = 0; p < kPoints; ++p) {
    if (weights[p] == 0 || !at[p][i].defined()) continue;
    const Tensor term = multiply(at[p][i], weights[p] * scale);
    all = all.defined() ? add(all, term) : term;
  }
  return all;
}

// By how much of a member's size its most different element differs.
double farthest(const Tensor& off, const Tensor& size, std::size_t batch) {
  Ints axes;
  for (std::size_t a = batch; a < off.shape().size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
  const auto largest = [&](const Tensor& x) { return max(abs(x), {.axis = axes}); };
  const Tensor whole = largest(size), ratio = divide(largest(off), where(equal(whole, 0), 1, whole));
  const double worst = ratio.size() > 0 ? astype(max(ratio), f64).item<double>() : 0;
  return std::isfinite(worst) ? worst : HUGE_VAL;
}

// f at the points x + t v but the middle one. At some of them may lie a pole: they are too far away then.
bool sampled(const Function& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v, double h, Samples& at) {
  try {
    for (std::size_t p = 0; p < kPoints; ++p) {
      if (p == kSide) continue;
      std::vector<Tensor> beside = x;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (v[i].defined()) beside[i] = add(x[i], multiply(v[i], h * (static_cast<double>(p) - kSide)));
      at[p] = f(beside);
    }
    return true;
  } catch (const NonFiniteError&) {
  } catch (const GradientError&) {
  }
  return false;
}

// By how much the first derivative would be another without the two points that are farthest away.
double unsettled(const Samples& at, const std::vector<Tensor>& first, const Weights& fewer, double h,
                 std::size_t batch) {
  const linalg::Unrecorded here;
  double worst = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined()) continue;
    Tensor size = abs(first[i]);
    for (const std::vector<Tensor>& values : at)
      if (values[i].defined()) size = maximum(size, abs(values[i]));
    worst = std::max(worst, farthest(subtract(first[i], combined(at, fewer[1], i, 1 / h)), size, batch));
  }
  return worst;
}

}  // namespace

std::optional<std::vector<std::vector<Tensor>>> sampled_taylor(const Function& f, const std::vector<Tensor>& x,
                                                               const std::vector<Tensor>& v, int order,
                                                               std::size_t batch) {
  const checks unchecked(CheckLevel::off);
  const detail::Restore<&Context::saw_nonfinite> seen;
  const Weights all = weights_of(kSide, order), fewer = weights_of(kSide - 1, 1);
  Samples at;
  at[kSide] = f(x);
  double eps = 0;
  for (const Tensor& y : at[kSide])
    if (y.defined()) eps = std::max(eps, finfo(y.dtype()).eps);
  std::vector<std::vector<Tensor>> best;
  double least = std::pow(eps, 0.4);
  for (double h = kFarthest; h > kFarthest * 0x1p-11 && (best.empty() || least > std::pow(eps, 0.6)); h /= 4) {
    if (!sampled(f, x, v, h, at)) continue;
    std::vector<std::vector<Tensor>> found{at[kSide]};
    for (std::size_t k = 1; k < all.size(); ++k) {
      std::vector<Tensor>& next = found.emplace_back();
      for (std::size_t i = 0; i < at[kSide].size(); ++i)
        next.push_back(combined(at, all[k], i, std::pow(h, -static_cast<double>(k))));
    }
    const double off = unsettled(at, found[1], fewer, h, batch);
    if (off >= least) continue;
    least = off;
    best = std::move(found);
  }
  return best.empty() ? std::nullopt : std::optional(best);
}

}  // namespace wp::autodiff
