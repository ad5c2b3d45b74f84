#include "autodiff/differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wp::autodiff {

Estimate differences(const std::function<Values(double)>& f, const Values& at, const Values& size, double h,
                     int side) {
  constexpr std::size_t kRows = 8;
  const std::size_t n = at.size();
  Estimate best{Values(n, 0), Values(n, HUGE_VAL),     Values(n, HUGE_VAL),
                Values(n, 0), std::vector<char>(n, 1), Values(n, 0)};
  std::vector<Values> above;
  Values jumps(n, 0);
  for (std::size_t k = 0; k < kRows; ++k, h /= 2) {
    std::vector<Values> row(k + 1, Values(n));
    const Values right = side >= 0 ? f(h) : at, left = side <= 0 ? f(-h) : at;
    for (std::size_t i = 0; i < n; ++i) {
      row[0][i] = (right[i] - left[i]) / (side == 0 ? 2 * h : h);
      best.size[i] = std::fmax(best.size[i], std::fmax(std::fabs(right[i]), std::fabs(left[i])));
      best.still[i] &= right[i] == at[i] && left[i] == at[i];
    }
    // |f(h) + f(−h) − 2 f(0)| that does not shrink with h is a jump: differences then say nothing.
    for (std::size_t i = 0; i < n && side == 0; ++i) {
      const double jump = std::fabs(right[i] - at[i] + (left[i] - at[i]));
      best.bend[i] = jump / h;
      if (k == 0) jumps[i] = jump;
      if (k + 1 == kRows && jump > 0.5 * jumps[i] && jump > 1e-6 * (std::fabs(right[i]) + std::fabs(at[i])))
        jumps[i] = HUGE_VAL;
    }
    double power = 1;
    for (std::size_t j = 1; j <= k; ++j) {
      power *= side == 0 ? 4 : 2;
      for (std::size_t i = 0; i < n; ++i) {
        row[j][i] = row[j - 1][i] + (row[j - 1][i] - above[j - 1][i]) / (power - 1);
        const double noise = 4 * std::numeric_limits<double>::epsilon() * size[i] / h;
        const double moved = std::max(std::fabs(row[j][i] - row[j - 1][i]), std::fabs(row[j][i] - above[j - 1][i]));
        const double error = moved + noise;
        if (error < best.error[i]) {
          best.error[i] = error;
          best.noise[i] = noise;
          best.value[i] = row[j][i];
        }
      }
    }
    above = std::move(row);
  }
  if (std::find(jumps.begin(), jumps.end(), HUGE_VAL) != jumps.end()) best.error.assign(n, HUGE_VAL);
  return best;
}

}  // namespace wp::autodiff
