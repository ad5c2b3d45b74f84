// Stacks of small matrices for tests.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "double_double.hpp"
#include "wellposed/wellposed.hpp"

namespace small_stacks {

using namespace wp;

enum class Want : std::uint8_t { any, symmetric, definite };

inline std::vector<double> draw(std::int64_t m, std::int64_t n, Want want, std::mt19937_64& g) {
  std::normal_distribution<double> normal;
  std::vector<double> a(static_cast<std::size_t>(m * n));
  for (double& v : a) v = normal(g);
  if (want == Want::any) return a;
  std::vector<double> out(a);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < n && want == Want::definite; ++k)
        sum += a[static_cast<std::size_t>(i * n + k)] * a[static_cast<std::size_t>(j * n + k)];
      const auto ij = static_cast<std::size_t>(i * n + j), ji = static_cast<std::size_t>(j * n + i);
      out[ij] = want == Want::definite ? sum + (i == j ? 0.5 : 0) : (a[ij] + a[ji]) / 2;
    }
  return out;
}

inline Tensor stack_of(std::int64_t m, std::int64_t n, const std::vector<std::vector<double>>& members, DType dtype) {
  std::vector<double> all;
  for (const auto& x : members) all.insert(all.end(), x.begin(), x.end());
  return astype(Tensor::from(all, {static_cast<std::int64_t>(members.size()), m, n}), dtype);
}

// Σ bₖ vₖ vₖᵀ of `count` vectors of integers, n × n: exact in the dtype.
inline std::vector<double> integer_squares(int n, int count, bool positive, DType dtype, std::mt19937_64& g) {
  const int most = dtype == f32 ? 15 : 1023;
  const auto integer = [&](int limit) {
    return static_cast<double>(std::uniform_int_distribution(-limit, limit)(g));
  };
  std::vector<double> a(static_cast<std::size_t>(n * n)), v(static_cast<std::size_t>(n));
  for (int k = 0; k < count; ++k) {
    for (double& x : v) x = integer(most);
    const double b = positive ? 1 + std::fabs(integer(7)) : integer(7);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        a[static_cast<std::size_t>(i * n + j)] += b * v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)];
  }
  return a;
}
// c·1 + Σ bₖ vₖ vₖᵀ of r vectors has the eigenvalue c at least n − r times, exactly. Rows in another order leave the
// singular values as they are; so do rows of zeros.
inline std::vector<double> repeated_spectrum(int m, int n, Want want, DType dtype, std::mt19937_64& g) {
  const int k = std::min(m, n), vectors = std::uniform_int_distribution(0, std::max(1, k - 2))(g);
  std::vector<double> square = integer_squares(k, vectors, want == Want::definite, dtype, g);
  const double c = dtype == f32 ? 37 : 54321;
  for (int i = 0; i < k; ++i) square[static_cast<std::size_t>(i * k + i)] += c;
  if (want != Want::any) return square;
  std::vector<double> out(static_cast<std::size_t>(m * n));
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j)
      out[static_cast<std::size_t>(((i + 1) % k) * n + j)] = square[static_cast<std::size_t>(i * k + j)];
  return out;
}
// Exactly singular: of rank one and more, or with a row (column, if there are more rows) that is twice another.
inline std::vector<double> singular(int m, int n, Want want, DType dtype, std::mt19937_64& g) {
  const int k = std::min(m, n);
  std::vector<double> a = draw(m, n, Want::any, g);
  if (k == 1) return std::vector<double>(a.size(), 0.0);
  if (want != Want::any)
    return integer_squares(k, std::uniform_int_distribution(1, k - 1)(g), want == Want::definite, dtype, g);
  if (m == n && std::uniform_int_distribution(0, 1)(g) == 0)
    return integer_squares(n, std::uniform_int_distribution(1, n - 1)(g), false, dtype, g);
  for (double& v : a) v = static_cast<double>(static_cast<float>(v));
  for (int l = 0; l < std::max(m, n); ++l)
    if (m > n)
      a[static_cast<std::size_t>(l * n + n - 1)] = 2 * a[static_cast<std::size_t>(l * n)];
    else
      a[static_cast<std::size_t>((m - 1) * n + l)] = 2 * a[static_cast<std::size_t>(l)];
  return a;
}

// A kind of matrix that is hard in its own way, of numbers that the dtype has.
inline std::vector<double> of_kind(std::string_view kind, int m, int n, std::mt19937_64& g, Want want = Want::any,
                                   DType dtype = f64) {
  if (kind == "repeated spectrum") return repeated_spectrum(m, n, want, dtype, g);
  if (kind == "singular") return singular(m, n, want, dtype, g);
  std::vector<double> a = draw(m, n, want, g);
  const int span = dtype == f32 ? 12 : 40;  // beyond it f32 has no rank that is certain
  const int least = dtype == f32 ? -126 : -1022, most = dtype == f32 ? 118 : 1000, steps = std::max({m, n, 2}) - 1;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double& v = a[static_cast<std::size_t>(i * n + j)];
      const int down =
          want == Want::definite ? span * i / 2 / steps + span * j / 2 / steps : span * std::max(i, j) / steps;
      if (kind == "graded") v = std::ldexp(v, -down);
      if (kind == "clustered spectrum") v = (i == j ? 2 : 0) + 1e-3 * v;
      if (kind == "denormal") v = std::ldexp(v, least - 8);
      if (kind == "least normal numbers") v = std::ldexp(v, least + 2);
      if (kind == "near overflow") v = std::ldexp(v, most);
      if (dtype == f32) v = static_cast<double>(static_cast<float>(v));
    }
  return a;
}

// The error below which a share of all is.
inline double quantile(std::vector<double> errors, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(errors.size() - 1));
  std::nth_element(errors.begin(), errors.begin() + at, errors.end());
  return errors[static_cast<std::size_t>(at)];
}

// The largest error over the largest element.
inline double error_of(const double_double::Matrix& exact, const double* got) {
  double worst = 0;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const double off = std::fabs(static_cast<double>(exact[e] - double_double::DD(got[e])));
    if (!(off <= worst)) worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
  }
  const double size = double_double::largest(exact);
  return worst == 0 ? 0 : size == 0 ? std::numeric_limits<double>::infinity() : worst / size;
}
inline double_double::Matrix widened(const std::vector<double>& a) {
  return {a.begin(), a.end()};
}

}  // namespace small_stacks
