// What is true of small matrices, in 106 bits, and how far answers are from it.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "small_stacks.hpp"
#include "small_twins.hpp"

namespace small_references {

using namespace wp;
using namespace small_stacks;
using double_double::at;
using double_double::DD;
using double_double::Matrix;
using small_twins::Answer;
using small_twins::Given;

constexpr std::size_t kMeasures = 3;  // of an answer that is unique, of a product, of orthogonality
using Errors = std::array<double, kMeasures>;

// A matrix as it is given, and A = 2^-down of it, b = 2^-down of its right-hand sides: numbers of a moderate size.
struct Member {
  int m, n, columns, down;
  DType dtype;
  std::vector<double> a, b;
  Matrix A, B;
  int k() const { return std::min(m, n); }
};
inline Matrix times_power(const std::vector<double>& values, int power) {
  Matrix out;
  for (const double v : values) out.emplace_back(std::ldexp(v, power));
  return out;
}

// What an answer is compared with. `condition`: how many times larger than a rounding error of A the error of an
// answer may be that is exact for a matrix next to A.
struct Exact {
  Matrix value;
  double condition = 1;
  bool representable = true;  // in the dtype, as a normal number
  bool certain = true;        // no question of rank is left to a limit
};
inline double unit_of(DType dtype) {
  return dtype == f32 ? 0x1p-24 : 0x1p-53;
}
inline bool normal(double size, int power, DType dtype) {
  const int e = size == 0 ? 0 : std::ilogb(size) + power;
  return dtype == f32 ? e >= -126 && e < 127 : e >= -1022 && e < 1023;
}

// ---- references, for A
inline Exact exact_inverse(const Member& p) {
  Exact out{double_double::eliminate(p.n, p.A).inverse};
  out.condition = double_double::norm(p.n, p.n, p.A) * double_double::norm(p.n, p.n, out.value);
  out.representable = normal(double_double::largest(out.value), -p.down, p.dtype);
  return out;
}
inline Exact exact_solution(const Member& p) {
  Exact out = exact_inverse(p);
  out.value = double_double::product(p.n, p.n, p.columns, out.value, p.B);
  out.representable = normal(double_double::largest(out.value), 0, p.dtype);
  return out;
}
// δ det / det = tr(A⁻¹ δA).
inline Exact exact_determinant(const Member& p) {
  const auto [inverse, det] = double_double::eliminate(p.n, p.A);
  const double condition = double_double::norm(p.n, p.n, p.A) * double_double::norm(p.n, p.n, inverse);
  return {{det}, p.n * condition, normal(det.high, p.n * p.down, p.dtype)};
}
inline Exact exact_logarithm(const Member& p) {
  Exact out = exact_determinant(p);
  out.representable = true;
  return out;
}
inline Exact exact_cholesky(const Member& p) {
  Exact out = exact_inverse(p);
  out.value = double_double::cholesky(p.n, p.A);
  out.representable = true;
  return out;
}
inline std::vector<double> rounded(const Matrix& a) {
  std::vector<double> out;
  for (const DD& v : a) out.push_back(v.high);
  return out;
}
inline Exact exact_eigenvalues(const Member& p) {
  const Answer near = small_twins::Eigh<true>::of(Given<double>{p.n, p.n, 0, rounded(p.A), {}});
  return {double_double::eigenvalues(p.n, p.A, widened(near[1]))};
}
// Of A, or of Aᵀ if that is the tall one.
inline double_double::Svd exact_svd(const Member& p) {
  const bool wide = p.n > p.m;
  const int m = std::max(p.m, p.n), n = p.k();
  const Matrix tall = wide ? double_double::transpose(p.m, p.n, p.A) : p.A;
  const Answer near = small_twins::Svd<true>::of(Given<double>{m, n, 0, rounded(tall), {}});
  return double_double::svd(m, n, tall, double_double::transpose(n, n, widened(near[2])));
}
inline Exact exact_singular_values(const Member& p) {
  return {exact_svd(p).values};
}
inline Exact nothing(const Member&) {
  return {};
}
inline Exact exact_pseudo_inverse(const Member& p) {
  const double_double::Svd f = exact_svd(p);
  const int k = p.k(), m = std::max(p.m, p.n);
  Exact out{double_double::zeros(p.n, p.m)};
  for (int c = 0; c < k; ++c) {
    const DD s = f.values[static_cast<std::size_t>(c)];
    if (!(s.high > 1e-20 * f.values[0].high)) break;
    out.condition = (f.values[0] / s).high;
    out.certain = out.condition * m < (p.dtype == f32 ? 0x1p21 : 0x1p50);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < k; ++j)
        out.value[p.n > p.m ? at(i, j, p.m) : at(j, i, p.m)] += f.left[at(i, c, k)] * f.right[at(j, c, k)] / s;
  }
  out.representable = normal(double_double::largest(out.value), -p.down, p.dtype);
  return out;
}
// The condition is κ(1 + κ‖r‖/(‖A‖‖x‖)) (Wedin 1973).
inline Exact exact_least_squares(const Member& p) {
  Exact out = exact_pseudo_inverse(p);
  out.value = double_double::product(p.n, p.m, p.columns, out.value, p.B);
  Matrix r = double_double::product(p.m, p.n, p.columns, p.A, out.value);
  for (std::size_t e = 0; e < r.size(); ++e) r[e] -= p.B[e];
  const double size = double_double::largest(p.A) * double_double::largest(out.value);
  if (size > 0) out.condition *= 1 + out.condition * double_double::largest(r) / size;
  out.representable = normal(double_double::largest(out.value), 0, p.dtype);
  return out;
}
inline Exact exact_exponential(const Member& p) {
  Exact out{double_double::exponential(p.n, widened(p.a))};
  out.condition = std::max(1.0, double_double::norm(p.n, p.n, widened(p.a)));
  out.representable = normal(double_double::largest(out.value), 0, p.dtype);
  return out;
}

// ---- measures
// The largest difference from the reference over its largest element, of the first output times a power of two.
template <int (*kPower)(const Member&)>
inline Errors first_output(const Member& p, const Exact& e, const Answer& x) {
  return {error_of(e.value, rounded(times_power(x[0], kPower(p))).data())};
}
inline int up(const Member& p) {
  return p.down;
}
inline int level(const Member&) {
  return 0;
}
inline int down_all(const Member& p) {
  return -p.n * p.down;
}
inline int down_half(const Member& p) {
  return -p.down / 2;
}
inline int down(const Member& p) {
  return -p.down;
}
inline double not_nan(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
}
// log |det|, relative to 1 and more, and the sign.
inline Errors logarithm(const Member& p, const Exact& e, const Answer& x) {
  const DD det = e.value[0];
  const long double exact = std::log(std::fabs(static_cast<long double>(det.high))) +
                            static_cast<long double>(det.low / det.high) +
                            static_cast<long double>(p.n * p.down) * 0.693147180559945309417232121458L;
  const bool sign = (det.high > 0 ? 1.0 : -1.0) == x[0][0];
  return {sign ? not_nan(static_cast<double>(std::fabs(x[1][0] - exact) / std::max(1.0L, std::fabs(exact))))
               : std::numeric_limits<double>::infinity()};
}
// |X Y − A| over the largest element of A.
inline double product_error(int m, int k, int n, const Matrix& a, const Matrix& x, const Matrix& y) {
  Matrix xy = double_double::product(m, k, n, x, y);
  double worst = 0;
  for (std::size_t e = 0; e < xy.size(); ++e) worst = std::max(worst, not_nan(std::fabs((xy[e] - a[e]).high)));
  const double size = double_double::largest(a);
  return size == 0 ? worst : worst / size;
}
// |QᵀQ − 1| of m × n.
inline double unorthogonality(int m, int n, const Matrix& q) {
  return product_error(n, m, n, double_double::identity(n), double_double::transpose(m, n, q), q);
}
inline Matrix scaled_columns(int m, int n, Matrix a, const Matrix& by) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) a[at(i, j, n)] = a[at(i, j, n)] * by[static_cast<std::size_t>(j)];
  return a;
}
inline Errors of_eigh(const Member& p, const Exact& e, const Answer& x) {
  const Matrix w = times_power(x[0], -p.down), v = widened(x[1]);
  return {error_of(e.value, rounded(w).data()),
          product_error(p.n, p.n, p.n, p.A, scaled_columns(p.n, p.n, v, w), double_double::transpose(p.n, p.n, v)),
          unorthogonality(p.n, p.n, v)};
}
inline Errors of_svd(const Member& p, const Exact& e, const Answer& x) {
  const int k = p.k();
  const Matrix u = widened(x[0]), s = times_power(x[1], -p.down), vh = widened(x[2]);
  return {error_of(e.value, rounded(s).data()), product_error(p.m, k, p.n, p.A, scaled_columns(p.m, k, u, s), vh),
          std::max(unorthogonality(p.m, k, u), unorthogonality(p.n, k, double_double::transpose(k, p.n, vh)))};
}
inline Errors of_qr(const Member& p, const Exact&, const Answer& x) {
  const Matrix q = widened(x[0]);
  return {0, product_error(p.m, p.k(), p.n, p.A, q, times_power(x[1], -p.down)), unorthogonality(p.m, p.k(), q)};
}
inline Errors of_lu(const Member& p, const Exact&, const Answer& x) {
  Matrix rows;
  for (const double i : x[0])
    rows.insert(rows.end(), p.A.begin() + static_cast<int>(i) * p.n, p.A.begin() + static_cast<int>(i + 1) * p.n);
  const bool bounded =
      std::all_of(x[1].begin(), x[1].end(), [&](double l) { return std::fabs(l) <= 1 + 2 * unit_of(p.dtype); });
  return {0, bounded ? product_error(p.m, p.k(), p.n, rows, widened(x[1]), times_power(x[2], -p.down))
                     : std::numeric_limits<double>::infinity()};
}

}  // namespace small_references
