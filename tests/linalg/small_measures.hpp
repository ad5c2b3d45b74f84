// What is right for one small matrix, and how far an answer is from it: forward errors of answers and values,
// residuals and orthogonality of factors. Everything is measured on the matrix over its power of two, in
// double-double.
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "small_kinds.hpp"
#include "small_lapack.hpp"
#include "small_truth.hpp"

namespace small_measures {

using namespace small_kinds;
using small_lapack::Numbers;
using small_lapack::Outputs;
using small_truth::at;
using small_truth::DoubleDouble;
using small_truth::Exact;

inline constexpr double kNone = std::numeric_limits<double>::infinity();  // the error of an answer without a digit

struct Type {
  DType dtype;
  double u, most;
  int least;  // the exponent of the least denormal number
};
inline constexpr Type kTypes[] = {{wp::f64, 0x1p-53, std::numeric_limits<double>::max(), -1074},
                                  {wp::f32, 0x1p-24, std::numeric_limits<float>::max(), -149}};

// What an answer is compared with, of the matrix and right-hand side over 2^power.
struct Truth {
  enum class Expect : std::uint8_t { answer, refusal, either } expect = Expect::answer;
  Exact x = {};  // answer, or singular values or eigenvalues
  small_truth::Scaled det = {};
  bool full_rank = true;
  double condition = 1;  // by how much the answer may change more than the matrix, relative to each
};
using Errors = std::vector<double>;  // one per measure of a function

inline Exact over(const Numbers& v, int power) {
  Exact out;
  for (const double x : v) out.push_back(DoubleDouble(std::ldexp(x, -power)));
  return out;
}
inline bool representable(const Exact& x, int power, const Type& t) {
  return std::all_of(x.begin(), x.end(), [&](const DoubleDouble& v) {
    return std::fabs(std::ldexp(static_cast<long double>(v.high()), power)) <= static_cast<long double>(t.most);
  });
}
// The largest |got − x|, beyond what rounding to the least denormal number does `times` over, over a scale.
inline double apart(const Exact& got, const Exact& x, double scale, const Type& t, int power, double times = 1) {
  DoubleDouble worst;
  for (std::size_t e = 0; e < x.size(); ++e) {
    const DoubleDouble by = abs(got[e] - x[e]);
    if (!std::isfinite(by.high())) return kNone;
    if (by > worst) worst = by;
  }
  const double beyond = worst.high() - times * std::ldexp(0.5, t.least - power);
  return beyond <= 0 ? 0 : beyond / scale;
}
inline double apart(const Numbers& got, const Exact& x, const Type& t, int power) {
  return apart(over(got, power), x, small_truth::largest(x), t, power);
}
// Column by column.
inline double columns_apart(int columns, const Numbers& got, const Exact& x, const Type& t, int power) {
  double worst = 0;
  for (int c = 0; c < columns; ++c) {
    Numbers one;
    Exact truth;
    for (std::size_t e = static_cast<std::size_t>(c); e < x.size(); e += static_cast<std::size_t>(columns))
      one.push_back(got[e]), truth.push_back(x[e]);
    worst = std::max(worst, apart(one, truth, t, power));
  }
  return worst;
}
// The largest element of QᵀQ − 1 of Q, m × k.
inline double from_orthogonal(int m, int k, const Exact& q, const Type& t) {
  return apart(small_truth::product(k, m, k, small_truth::turned(m, k, q), q), small_truth::identity(k), 1, t, 0);
}
// U diag(s) Vᵀ from U, m × k, and Vᵀ, k × n.
inline Exact product_of(int m, int k, int n, Exact u, const Exact& s, const Exact& vh) {
  for (std::size_t e = 0; e < u.size(); ++e) u[e] *= s[e % static_cast<std::size_t>(k)];
  return small_truth::product(m, k, n, u, vh);
}

inline std::optional<Truth> answer(Exact x, int power, const Type& t) {
  if (!representable(x, power, t)) return {};
  return Truth{.x = std::move(x)};
}
// A⁻¹ B. Beyond 1/(16 u) of double's u there need not be an answer, of a singular matrix there must not be one.
inline std::optional<Truth> solved(const Problem& p, int columns, const Exact& b, int power, const Type& t) {
  if (p.singular) return Truth{.expect = Truth::Expect::refusal};
  const Exact a = over(p.a, p.power);
  const Exact inverse = small_truth::solve(p.n, p.n, a, small_truth::identity(p.n)).x;
  if (inverse.empty() && p.n > 0) return Truth{.expect = Truth::Expect::refusal};  // rounding to the dtype made it so
  std::optional<Truth> out = answer(small_truth::product(p.n, p.n, columns, inverse, b), power, t);
  if (!out) return out;
  out->condition = small_truth::norm1(p.n, a) * small_truth::norm1(p.n, inverse);
  if (16 * kTypes[0].u * out->condition > 1) out->expect = Truth::Expect::either;
  return out;
}
// A⁺, by the singular values above the limit of rank. None: it is open which those are.
inline std::optional<Truth> pseudo_inverse(const Problem& p, const Type& t) {
  const bool wide = p.n > p.m;
  const int m = std::max(p.m, p.n), n = std::min(p.m, p.n);
  const Exact a = over(p.a, p.power);
  const small_truth::Singular f = small_truth::svd(m, n, wide ? small_truth::turned(p.m, p.n, a) : a);
  const double least = 2 * t.u * m * f.s[0].high();
  constexpr double open = 8;
  Truth out;
  for (const DoubleDouble& s : f.s) {
    if (s.high() > least / open && s.high() < least * open) return {};
    out.full_rank = out.full_rank && s.high() > least;
    if (s.high() > least) out.condition = f.s[0].high() / s.high();
  }
  out.x = small_truth::pseudo_inverse(m, n, f, least);
  if (wide) out.x = small_truth::turned(n, m, out.x);
  return out;
}
// A⁺ B. Beside σ₁/σ_r, what B leaves over counts by its square (Wedin 1973).
inline std::optional<Truth> least_squares(const Problem& p, const Type& t) {
  std::optional<Truth> out = pseudo_inverse(p, t);
  if (!out) return out;
  const Exact a = over(p.a, p.power), b = over(p.b, p.power);
  const Exact x = small_truth::product(p.n, p.m, p.columns, out->x, b),
              fit = small_truth::product(p.m, p.n, p.columns, a, x);
  const double kappa = out->condition, norm = small_truth::norm1(p.n, a);
  for (int c = 0; c < p.columns; ++c) {
    double rest = 0, size = 0;
    for (int i = 0; i < p.m; ++i)
      rest = std::max(rest, std::fabs((b[at(i, c, p.columns)] - fit[at(i, c, p.columns)]).high()));
    for (int j = 0; j < p.n; ++j) size = std::max(size, std::fabs(x[at(j, c, p.columns)].high()));
    if (size > 0) out->condition = std::max(out->condition, kappa * (1 + kappa * rest / (norm * size)));
  }
  out->x = x;
  return out;
}
inline Exact singular_values(const Problem& p) {
  const bool wide = p.n > p.m;
  const Exact a = over(p.a, p.power);
  return small_truth::svd(std::max(p.m, p.n), std::min(p.m, p.n), wide ? small_truth::turned(p.m, p.n, a) : a).s;
}

// eᴬ, and by how much more it changes when elements do by 2⁻³⁰ of the largest, in some direction; at least ‖A‖
// (Higham 2008, §10.2).
inline std::optional<Truth> exponential(const Problem& p, const Type& t) {
  const Exact a = over(p.a, 0), x = small_truth::exponential(p.n, a);
  const double step = 0x1p-30 * small_truth::largest(a);
  Exact near = a;
  for (std::size_t e = 0; e < near.size(); ++e) near[e] += DoubleDouble(e * e % 7 < 3 ? step : -step);
  const Exact other = small_truth::exponential(p.n, near);
  double change = 0;
  for (std::size_t e = 0; e < x.size(); ++e) change = std::max(change, std::fabs((other[e] - x[e]).high()));
  std::optional<Truth> out = answer(x, 0, t);
  if (out) out->condition = std::max({1.0, small_truth::norm1(p.n, a), 0x1p30 * change / small_truth::largest(x)});
  return out;
}

// log|det|; 1 for the 0 of |det| = 1, from which errors are as they are.
inline long double log_of(const small_truth::Scaled& det) {
  const long double mantissa = std::fabs(static_cast<long double>(det.mantissa.high())),
                    low = det.mantissa.high() < 0 ? -det.mantissa.low() : det.mantissa.low();
  const bool twice = mantissa < M_SQRT1_2;
  const long double by = twice ? 2 : 1;
  return std::log1p((by * mantissa - 1) + by * low) +
         static_cast<long double>(det.exponent - (twice ? 1 : 0)) * 0.693147180559945309417232121458176568L;
}
inline long double size_of_log(const small_truth::Scaled& det) {
  const long double log = std::fabs(log_of(det));
  return log > 0 ? log : 1;
}
inline std::optional<Truth> determinant(const Problem& p, const Type& t, bool log) {
  if (p.singular) return Truth{.x = {0.0}, .det = {.mantissa = 0}};
  const Exact a = over(p.a, p.power);
  const small_truth::Solved inverse = small_truth::solve(p.n, p.n, a, small_truth::identity(p.n));
  Truth out{.det = inverse.determinant};
  if (!inverse.x.empty()) out.condition = small_truth::norm1(p.n, a) * small_truth::norm1(p.n, inverse.x);
  out.det.exponent += p.n * p.power;
  if (log) out.condition /= std::min(1.0, static_cast<double>(size_of_log(out.det)));
  if (!log && out.det.exponent > std::ilogb(t.most)) return {};
  return out;
}
inline Errors determinant_error(const Problem&, const Truth& w, const Outputs& got, const Type& t) {
  const double value = got[0][0];
  if (w.det.mantissa.high() == 0) return {value == 0 ? 0 : kNone};
  return {
      apart(over({value}, w.det.exponent), {w.det.mantissa}, std::fabs(w.det.mantissa.high()), t, w.det.exponent)};
}
inline Errors log_determinant_error(const Problem&, const Truth& w, const Outputs& got, const Type&) {
  const double sign = got[0][0], log = got[1][0], mantissa = w.det.mantissa.high();
  if (mantissa == 0) return {sign == 0 && log == -kNone ? 0 : kNone};
  if (!std::isfinite(log) || sign != (mantissa > 0 ? 1 : -1)) return {kNone};
  return {static_cast<double>(std::fabs(log - log_of(w.det)) / size_of_log(w.det))};
}

inline Errors factor_error(const Problem& p, const Truth&, const Outputs& got, const Type& t) {  // A[P] − L U
  const int k = std::min(p.m, p.n);
  const Exact a = over(p.a, p.power);
  Exact ordered;
  for (const double row : got[0])
    for (int j = 0; j < p.n; ++j) ordered.push_back(a[at(static_cast<int>(row), j, p.n)]);
  const Exact product = small_truth::product(p.m, k, p.n, over(got[1], 0), over(got[2], p.power));
  return {apart(product, ordered, small_truth::largest(a), t, p.power, k)};
}
inline Errors cholesky_error(const Problem& p, const Truth&, const Outputs& got, const Type& t) {  // A − L Lᵀ
  const Exact l = over(got[0], p.power / 2), a = over(p.a, p.power);
  return {apart(small_truth::product(p.n, p.n, p.n, l, small_truth::turned(p.n, p.n, l)), a, small_truth::largest(a),
                t, p.power)};
}
inline Errors qr_error(const Problem& p, const Truth&, const Outputs& got, const Type& t) {  // A − Q R
  const int k = std::min(p.m, p.n);
  const Exact a = over(p.a, p.power), q = over(got[0], 0);
  double scale = 0;  // the longest column
  for (int j = 0; j < p.n; ++j) {
    double sum = 0;
    for (int i = 0; i < p.m; ++i) sum += a[at(i, j, p.n)].high() * a[at(i, j, p.n)].high();
    scale = std::max(scale, std::sqrt(sum));
  }
  return {apart(small_truth::product(p.m, k, p.n, q, over(got[1], p.power)), a, scale, t, p.power, k),
          from_orthogonal(p.m, k, q, t)};
}
inline Errors svd_error(const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
  const int k = std::min(p.m, p.n);
  const Exact u = over(got[0], 0), s = over(got[1], p.power), vh = over(got[2], 0);
  return {apart(product_of(p.m, k, p.n, u, s, vh), over(p.a, p.power), small_truth::largest(w.x), t, p.power, k),
          std::max(from_orthogonal(p.m, k, u, t), from_orthogonal(p.n, k, small_truth::turned(k, p.n, vh), t)),
          apart(got[1], w.x, t, p.power)};
}
inline Errors eigh_error(const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
  const Exact v = over(got[1], 0);
  const Exact product = product_of(p.n, p.n, p.n, v, over(got[0], p.power), small_truth::turned(p.n, p.n, v));
  return {apart(product, over(p.a, p.power), small_truth::largest(w.x), t, p.power, p.n),
          from_orthogonal(p.n, p.n, v, t), apart(got[0], w.x, t, p.power)};
}

}  // namespace small_measures
