#include "linalg/ridge.hpp"

#include <cmath>
#include <functional>

namespace wp::linalg {
namespace {

// Plain cross-validation now and then takes noise for data and hardly regularises (4 of 30 draws at condition 1e10);
// the factor γ + (1 − γ) Σf²/m speaks against answers that follow the data too closely (Robinson & Moyeed 1989; Lukas
// 2006).
constexpr double kRobust = 0.1;

// The minimum of f over log t in [low, high]: the best of a grid, then golden sections around it.
double least(double low, double high, const std::function<double(double)>& f) {
  constexpr int kGrid = 200;
  const double from = std::log(low), step = (std::log(high) - from) / kGrid;
  int best = 0;
  double value = f(low);
  for (int i = 1; i <= kGrid; ++i)
    if (const double v = f(std::exp(from + i * step)); v < value) {
      value = v;
      best = i;
    }
  double a = from + (best - 1) * step, b = from + (best + 1) * step;
  constexpr double golden = 0.6180339887498949;
  while (b - a > 1e-6) {
    const double c = b - golden * (b - a), d = a + golden * (b - a);
    const bool left = f(std::exp(c)) < f(std::exp(d));
    (left ? b : a) = left ? d : c;
  }
  return std::exp((a + b) / 2);
}

}  // namespace

RidgePoint ridge_point(const RidgeData& d, double t) {
  RidgePoint p;
  p.rho = d.outside;
  for (std::size_t i = 0; i < d.sigma.size(); ++i) {
    const double q = d.sigma[i] / d.sigma[0], f = q * q / (q * q + t), left = t / (q * q + t);
    p.rho += left * left * d.parts[i];
    p.eta += q > 0 ? f * f / (q * q) * d.parts[i] : 0;
    p.freedom += f;
    p.squares += f * f;
  }
  p.rho = std::sqrt(p.rho);
  p.eta = std::sqrt(p.eta);
  return p;
}

double ridge_score(RidgeRule rule, const RidgeData& d, double t) {
  if (rule != RidgeRule::l_curve) {
    const RidgePoint p = ridge_point(d, t);
    const double rows = static_cast<double>(d.rows_outside) + static_cast<double>(d.sigma.size());
    const double left = rows - p.freedom;
    if (!(left > 0)) return HUGE_VAL;
    const double score = p.rho / left * (p.rho / left);
    return rule == RidgeRule::gcv ? score : score * (kRobust + (1 - kRobust) * p.squares / rows);
  }
  const double h = 1.05;  // minus the curvature, by central differences of log t
  const RidgePoint p = ridge_point(d, t / h), q = ridge_point(d, t), r = ridge_point(d, t * h);
  const auto lg = [](double v) { return std::log(std::max(v, 1e-150)); };
  const double dx = (lg(r.rho) - lg(p.rho)) / 2, dy = (lg(r.eta) - lg(p.eta)) / 2;
  const double ddx = lg(r.rho) - 2 * lg(q.rho) + lg(p.rho), ddy = lg(r.eta) - 2 * lg(q.eta) + lg(p.eta);
  const double speed = std::hypot(dx, dy);
  return speed > 0 ? -(dx * ddy - dy * ddx) / (speed * speed * speed) : 0;
}

double choose_ridge(RidgeRule rule, const RidgeData& d, double noise, double u) {
  const double s1 = d.sigma.empty() ? 0 : d.sigma[0];
  if (s1 == 0) return 1;
  const double last = d.sigma.back() / s1;  // far below its square λ changes nothing
  const double low = std::max(u * u, last * last / 100), high = 1;
  if (rule != RidgeRule::discrepancy)
    return s1 * s1 * least(low, high, [&](double t) { return ridge_score(rule, d, t); });
  double a = std::log(low * u), b = std::log(high);  // the residual falls with λ down to its last digit
  for (int i = 0; i < 100; ++i) (ridge_point(d, std::exp((a + b) / 2)).rho <= noise / d.norm ? a : b) = (a + b) / 2;
  return s1 * s1 * std::exp(a);
}

}  // namespace wp::linalg
