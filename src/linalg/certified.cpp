#include "linalg/certified.hpp"

#include <cmath>

#include "kernels/certify.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

namespace {

// An approximate inverse of S in double.
template <class T>
std::optional<std::vector<kernels::Wide<T>>> inverse_of(std::int64_t n, kernels::View<T> s) {
  using Wide = kernels::Wide<T>;
  std::vector<Wide> wide;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) wide.push_back(static_cast<Wide>(s.data[i * s.rows + j * s.columns]));
  const Options plain;
  const System<Wide> system(n, {wide.data(), n, 1}, plain);
  if (!system.usable()) return std::nullopt;
  std::vector<Wide> r(static_cast<std::size_t>(std::max<std::int64_t>(n * n, 1)));
  system.inverse(r.data(), n);
  return r;
}

// errors[i * k + j] ≥ |x_ij − X_ij| of S x = B.
template <class T>
bool bound(std::int64_t n, std::int64_t k, kernels::View<T> s, kernels::View<T> b, kernels::View<T> x,
           std::vector<double>& errors) {
  const auto r = inverse_of<T>(n, s);
  if (!r) return false;
  const kernels::View<kernels::Wide<T>> inverse{r->data(), n, 1};
  const auto g = kernels::contraction<T>(n, s, inverse);
  return g && kernels::certified_errors<T>(n, k, s, inverse, *g, x, {}, b, errors.data());
}

// The error of rows first … first + count − 1 of X, in the scaled frame S = 2^rows A 2^columns where that is exact:
// S y = 2^rows B, x = 2^columns y.
template <class T>
std::optional<double> proved(std::int64_t n, std::int64_t k, kernels::View<T> a, kernels::View<T> b,
                             kernels::View<T> x, std::int64_t first, std::int64_t count) {
  kernels::Equilibration e = kernels::equilibrate<T>(n, n, a);
  std::vector<int> none(static_cast<std::size_t>(k), 0), back(e.columns);
  for (int& v : back) v = -v;
  std::vector<T> s(static_cast<std::size_t>(n * n)), right(static_cast<std::size_t>(n * k)), y(right.size());
  const bool exact = kernels::scale<T, T>(n, n, a, e.rows.data(), e.columns.data(), s.data()) &&
                     kernels::scale<T, T>(n, k, b, e.rows.data(), none.data(), right.data()) &&
                     kernels::scale<T, T>(n, k, x, back.data(), none.data(), y.data());
  if (!exact) std::fill(e.columns.begin(), e.columns.end(), 0);
  std::vector<double> errors(static_cast<std::size_t>(n * k));
  const bool shown = exact ? bound<T>(n, k, {s.data(), n, 1}, {right.data(), k, 1}, {y.data(), k, 1}, errors)
                           : bound<T>(n, k, a, b, x, errors);
  if (!shown) return std::nullopt;
  double most = 0;
  for (std::int64_t j = 0; j < k; ++j) {
    double error = 0, largest = 0;
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::complex<double> v(x.data[i * x.rows + j * x.columns]);
      error = std::max(
          error, std::ldexp(errors[static_cast<std::size_t>(i * k + j)], e.columns[static_cast<std::size_t>(i)]));
      largest = std::max({largest, std::fabs(v.real()), std::fabs(v.imag())});
    }
    if (largest < 0x1p-1000 && error > 0) return std::nullopt;  // among the denormals
    if (error > 0) most = std::max(most, error / largest);
  }
  if (!std::isfinite(most)) return std::nullopt;
  return most * (1 + 0x1p-50) + 0x1p-70;  // the division and the scaling were rounded
}

}  // namespace

template <class T>
std::optional<double> certified_error(std::int64_t n, std::int64_t k, kernels::View<T> a, kernels::View<T> b,
                                      kernels::View<T> x) {
  return proved<T>(n, k, a, b, x, 0, n);
}

// [α A; Aᴴ −λ/α] [r/α; x] = [b; 0], or, of a wide A without a ridge, [α Aᴴ; A 0] [x/α; −y] = [0; b/α] (Björck 1967):
// α, a power of two near the least singular value, makes the condition that of A, not its square. What stands beside
// x need not be exact: a bound of its error is part of the proof.
template <class T>
std::optional<double> certified_least_squares(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a,
                                              kernels::View<T> b, kernels::View<T> x, double ridge, double least) {
  using W = kernels::Wide<T>;
  constexpr std::int64_t kMost = 1000;  // rows of the system
  const std::int64_t size = m + n;
  const double middle = std::hypot(least, std::sqrt(ridge));
  if (size > kMost || !(middle > 0x1p-400) || !(middle < 0x1p400)) return std::nullopt;
  const int e = std::ilogb(middle);
  const bool wide = m < n && ridge == 0;
  const std::int64_t top = wide ? n : m, low = size - top;  // rows of the two parts
  std::vector<W> s(static_cast<std::size_t>(size * size), W(0)), right(static_cast<std::size_t>(size * k), W(0)),
      z(right.size(), W(0));
  const auto at = [&](std::vector<W>& v, std::int64_t i, std::int64_t j, std::int64_t columns) -> W& {
    return v[static_cast<std::size_t>(i * columns + j)];
  };
  for (std::int64_t i = 0; i < top; ++i) at(s, i, i, size) = W(std::ldexp(1.0, e));
  for (std::int64_t i = 0; i < low; ++i) at(s, top + i, top + i, size) = W(-std::ldexp(ridge, -e));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const W v(a.data[i * a.rows + j * a.columns]);
      const std::int64_t r = wide ? j : i, c = top + (wide ? i : j);
      at(s, r, c, size) = wide ? conjugate(v) : v;
      at(s, c, r, size) = wide ? v : conjugate(v);
    }
  bool exact = std::ldexp(std::ldexp(ridge, -e), e) == ridge;
  const auto shifted = [&](W v) {  // by the power of two, where that loses nothing
    const W out = wide ? times_power(v, -e) : v;
    exact = exact && (!wide || times_power(out, e) == v);
    return out;
  };
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      const W v(b.data[i * b.rows + j * b.columns]);
      at(right, wide ? top + i : i, j, k) = shifted(v);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const W v(x.data[i * x.rows + j * x.columns]);
      at(z, wide ? i : top + i, j, k) = shifted(v);
    }
  }
  const kernels::View<W> matrix{s.data(), size, 1}, sides{right.data(), k, 1}, answer{z.data(), k, 1};
  const auto inverse = inverse_of<W>(size, matrix);
  if (!exact || !inverse) return std::nullopt;
  kernels::Buffer<W> rest(std::max<std::int64_t>(size * k, 1)), change(std::max<std::int64_t>(size * k, 1));
  const std::int64_t first = wide ? 0 : top, other = wide ? top : 0, others = wide ? low : top;
  for (int round = 0; round < 3; ++round) {  // the part beside x
    kernels::residual<W>(size, size, k, matrix, answer, {nullptr, 1, 1}, sides, rest.data(), nullptr);
    kernels::gemm<W>(size, k, size, {inverse->data(), size, 1}, {rest.data(), k, 1}, {change.data(), k, 1});
    for (std::int64_t i = other; i < other + others; ++i)
      for (std::int64_t j = 0; j < k; ++j) at(z, i, j, k) += change.data()[i * k + j];
  }
  return proved<W>(size, k, matrix, sides, answer, first, n);
}

#define WP_INSTANTIATE(T)                                                                                            \
  template std::optional<double> certified_error(std::int64_t, std::int64_t, kernels::View<T>, kernels::View<T>,     \
                                                 kernels::View<T>);                                                  \
  template std::optional<double> certified_least_squares(std::int64_t, std::int64_t, std::int64_t, kernels::View<T>, \
                                                         kernels::View<T>, kernels::View<T>, double, double);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
