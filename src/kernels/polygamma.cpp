#include "kernels/polygamma.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace wp::kernels {
namespace {

using Real = long double;
constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr Real kBernoulli[] = {  // B₂, B₄, …
    1.0L / 6, -1.0L / 30,     1.0L / 42,      -1.0L / 30,       5.0L / 66,       -691.0L / 2730,
    7.0L / 6, -3617.0L / 510, 43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730};

// n! ζ(s, x), s = n + 1, x > 0, by Euler and Maclaurin (DLMF 25.11.5): terms up to X = x + m ≥ s + 12 one by one,
// then
//   X^(1−s)/(s − 1) + X^(−s)/2 + Σ_j B_2j/(2j)! s (s + 1) … (s + 2j − 2) X^(1−s−2j).
Real scaled_zeta(int n, Real x) {
  const Real s = n + 1;
  const int m = x < s + 12 ? static_cast<int>(std::ceil(s + 12 - x)) : 0;
  const Real far = x + m, power = std::pow(far, -s);
  Real sum = 0, term = s / (far * 2);  // (s)_(2j−1)/((2j)! X^(2j−1)) at j = 1
  for (int j = 1; j <= 12; ++j) {
    sum += kBernoulli[j - 1] * term;
    term *= (s + (2 * j - 1)) * (s + 2 * j) / (far * far * Real((2 * j + 1) * (2 * j + 2)));
  }
  sum = power * (far / n + Real(0.5) + sum);
  for (int k = m; k-- > 0;) sum += std::pow(x + k, -s);
  return sum * std::tgamma(s);
}

// dⁿ/dxⁿ cot πx = πⁿ Pₙ(cot πx), P₀ = c, P_(k+1) = −(1 + c²) P_k′; the coefficients of each have one sign.
Real cotangent_derivative(int n, double x) {
  const Real f = Real(x) - std::nearbyint(Real(x)), a = std::fabs(f);
  const Real c = std::copysign(a > 0.25L ? std::tan(kPi * (0.5L - a)) : 1 / std::tan(kPi * a), f);
  std::vector<Real> p{0, 1};
  for (int k = 0; k < n; ++k) {
    std::vector<Real> next(p.size() + 1, 0);
    for (std::size_t i = 1; i < p.size(); ++i) {
      next[i - 1] -= Real(i) * p[i];
      next[i + 1] -= Real(i) * p[i];
    }
    p = std::move(next);
  }
  Real y = 0;
  for (std::size_t i = p.size(); i-- > 0;) y = y * c + p[i];
  return y * std::pow(kPi, Real(n));
}

}  // namespace

double polygamma(double n, double x) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (!(n >= 1 && n <= kMostPolygamma && n == std::floor(n)) || std::isnan(x) || x == -inf) return nan;
  const int order = static_cast<int>(n);
  const bool odd = order % 2 != 0;
  if (x == inf) return odd ? 0.0 : -0.0;
  if (x <= 0 && x == std::floor(x))
    return odd ? inf : x == 0 ? std::copysign(inf, std::signbit(x) ? 1.0 : -1.0) : nan;
  const Real sign = odd ? 1 : -1;  // ψ⁽ⁿ⁾ = (−1)ⁿ⁺¹ n! ζ(n + 1, x)
  if (x > 0) return static_cast<double>(sign * scaled_zeta(order, x));
  // ψ⁽ⁿ⁾(x) = (−1)ⁿ ψ⁽ⁿ⁾(1 − x) − π dⁿ/dxⁿ cot πx.
  return static_cast<double>(-scaled_zeta(order, 1 - Real(x)) - kPi * cotangent_derivative(order, x));
}

}  // namespace wp::kernels
