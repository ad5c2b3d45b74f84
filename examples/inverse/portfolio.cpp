// Portfolio risk from 60 days of 100 assets: the covariance is singular, whatever the program does next.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "wellposed/wellposed.hpp"

namespace linalg = wp::linalg;

namespace {

// Weights of the portfolio with the least variance: Σ⁻¹1 / 1ᵀΣ⁻¹1.
void least_variance(const char* name, const wp::Tensor& covariance) {
  const auto [x, diagnosis] = linalg::diagnosed::solve(covariance, wp::ones({100}), {.certify = true});
  const wp::Tensor weights = x / wp::sum(x);
  const double largest = wp::max(wp::abs(weights)).item<double>();
  // The error of x is relative to its largest element; the sum carries at most a hundred times as much.
  const double bar = 101 * diagnosis[0].forward_error * largest;
  std::printf("%s: condition %.3g, %s\n", name, diagnosis[0].cond,
              diagnosis[0].certified ? "certified" : "estimated");
  for (int i = 0; i < 3; ++i)
    std::printf("  weight of asset %d: %+.6f ± %.1e\n", i, weights.at(i).item<double>(), bar);
}

}  // namespace

int main() {
  // One market factor and noise: 60 days of 100 assets.
  wp::random::Generator g(7);
  const wp::Tensor market = g.normal({60, 1}, {.std = 0.01, .dtype = wp::f64});
  const wp::Tensor beta = g.uniform({1, 100}, {.low = 0.5, .high = 1.5, .dtype = wp::f64});
  const wp::Tensor returns = market * beta + g.normal({60, 100}, {.std = 0.02, .dtype = wp::f64});

  const wp::Tensor sample = linalg::covariance(returns);
  const linalg::Diagnosis wrong = linalg::diagnosed::inv(sample).diagnosis;
  std::cout << "What is wrong: the covariance " << wrong[0].message << '\n';
  std::cout << "rank " << wrong[0].rank << " of 100: 60 days span at most 59 directions around their mean.\n\n";

  const auto shrunk = linalg::diagnosed::covariance(returns, {.shrinkage = "ledoit_wolf"});
  std::printf("Ledoit and Wolf take %.3f of the diagonal.\n", shrunk.diagnosis[0].ridge);
  least_variance("shrunk covariance", shrunk.value);

  // A stress test edits the correlations of the first ten assets with the next ten: that is no correlation matrix any
  // more. The nearest one is found, and a twentieth of the diagonal keeps it away from the edge.
  const wp::Tensor deviation = wp::sqrt(linalg::diagonal(shrunk.value));
  const wp::Tensor scale = linalg::outer(deviation, deviation);
  wp::Tensor edited = shrunk.value / scale;
  edited[{wp::slice(0, 10), wp::slice(10, 20)}] = -0.9;
  edited[{wp::slice(10, 20), wp::slice(0, 10)}] = -0.9;
  const auto repaired = linalg::diagnosed::nearest_correlation(edited);
  std::printf(
      "\nedited correlations: least eigenvalue %+.2f; the nearest true ones: %+.0e, %.2g of their norm away\n",
      wp::min(linalg::eigvalsh(edited)).item<double>(),
      std::max(0.0, wp::min(linalg::eigvalsh(repaired.value)).item<double>()), repaired.diagnosis[0].backward_error);
  least_variance("stressed covariance", scale * (repaired.value * 0.95 + wp::eye(100) * 0.05));
}
