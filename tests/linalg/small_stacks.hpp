// Stacks of small matrices for tests, and their exact inverses.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

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

// A kind of matrix that is hard in its own way.
inline std::vector<double> of_kind(std::string_view kind, int m, int n, std::mt19937_64& g) {
  std::vector<double> a = draw(m, n, Want::any, g);
  const std::vector<double> first(a.begin(), a.begin() + n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double& v = a[static_cast<std::size_t>(i * n + j)];
      if (kind == "graded") v = std::ldexp(v, -4 * std::max(i, j));
      if (kind == "repeated spectrum") v = (i == j ? 2 : 0) + 1e-3 * v;
      if (kind == "singular") v = first[static_cast<std::size_t>(i % n)] * first[static_cast<std::size_t>(j)];
      if (kind == "denormal") v = std::ldexp(v, -1030);
      if (kind == "least normal numbers") v = std::ldexp(v, -1020);
      if (kind == "near overflow") v = std::ldexp(v, 1000);
    }
  return a;
}

// The error below which a share of all is.
inline double quantile(std::vector<double> errors, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(errors.size() - 1));
  std::nth_element(errors.begin(), errors.begin() + at, errors.end());
  return errors[static_cast<std::size_t>(at)];
}

using Quad = __float128;

// By elimination in 113 bits, of numbers in 53 or in 113.
template <class Number = double>
std::vector<Quad> exact_inverse(int n, const std::vector<Number>& a) {
  std::vector<Quad> m(static_cast<std::size_t>(n * 2 * n));
  const auto at = [&](int i, int j) -> Quad& { return m[static_cast<std::size_t>(i * 2 * n + j)]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) at(i, j) = a[static_cast<std::size_t>(i * n + j)], at(i, n + j) = i == j;
  const auto size = [](Quad v) { return v < 0 ? -v : v; };
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (size(at(i, k)) > size(at(pivot, k))) pivot = i;
    for (int j = 0; j < 2 * n; ++j) std::swap(at(k, j), at(pivot, j));
    for (int j = 2 * n; j-- > k;) at(k, j) /= at(k, k);
    for (int i = 0; i < n; ++i)
      if (i != k)
        for (int j = 2 * n; j-- > k;) at(i, j) -= at(i, k) * at(k, j);
  }
  std::vector<Quad> out;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) out.push_back(at(i, n + j));
  return out;
}
// log|det A| of a matrix near 1, by elimination in 113 bits: Σ log(1 + x) over its pivots.
inline Quad log_near_one(int n, const std::vector<double>& a) {
  std::vector<Quad> m(a.begin(), a.end());
  const auto at = [&](int i, int j) -> Quad& { return m[static_cast<std::size_t>(i * n + j)]; };
  Quad sum = 0;
  for (int k = 0; k < n; ++k) {
    Quad x = at(k, k) - 1, power = x;
    for (int e = 1; e < 12; ++e, power *= -x) sum += power / e;
    for (int i = k + 1; i < n; ++i)
      for (int j = n; j-- > k;) at(i, j) -= at(i, k) / at(k, k) * at(k, j);
  }
  return sum;
}
// The largest error over the largest element.
inline double error_of(const std::vector<Quad>& exact, const double* got) {
  Quad worst = 0, largest = 0;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const Quad off = exact[e] - Quad(got[e]), size = exact[e];
    worst = std::max(worst, off < 0 ? -off : off);
    largest = std::max(largest, size < 0 ? -size : size);
  }
  return static_cast<double>(worst / largest);
}

}  // namespace small_stacks
