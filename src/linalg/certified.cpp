#include "linalg/certified.hpp"

#include <cmath>

#include "kernels/certify.hpp"
#include "kernels/condition.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

namespace {

// errors[i * k + j] ≥ |x_ij − X_ij| of S x = B.
template <class T>
bool bound(std::int64_t n, std::int64_t k, kernels::View<T> s, kernels::View<T> b, kernels::View<T> x,
           std::vector<double>& errors) {
  using Wide = kernels::Wide<T>;
  std::vector<Wide> wide;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) wide.push_back(static_cast<Wide>(s.data[i * s.rows + j * s.columns]));
  const Options plain;
  const System<Wide> system(n, {wide.data(), n, 1}, plain);
  if (!system.usable()) return false;
  kernels::Buffer<Wide> r(std::max<std::int64_t>(n * n, 1));
  system.inverse(r.data(), n);
  const kernels::View<Wide> inverse{r.data(), n, 1};
  const auto g = kernels::contraction<T>(n, s, inverse);
  return g && kernels::certified_errors<T>(n, k, s, inverse, *g, x, {}, b, errors.data());
}

}  // namespace

// In the scaled frame S = 2^rows A 2^columns, where that is exact: S y = 2^rows B, x = 2^columns y.
template <class T>
std::optional<double> certified_error(std::int64_t n, std::int64_t k, kernels::View<T> a, kernels::View<T> b,
                                      kernels::View<T> x) {
  kernels::Equilibration e = kernels::equilibrate<T>(n, n, a);
  std::vector<int> none(static_cast<std::size_t>(k), 0), back(e.columns);
  for (int& v : back) v = -v;
  std::vector<T> s(static_cast<std::size_t>(n * n)), right(static_cast<std::size_t>(n * k)), y(right.size());
  const bool exact = kernels::scale<T, T>(n, n, a, e.rows.data(), e.columns.data(), s.data()) &&
                     kernels::scale<T, T>(n, k, b, e.rows.data(), none.data(), right.data()) &&
                     kernels::scale<T, T>(n, k, x, back.data(), none.data(), y.data());
  if (!exact) std::fill(e.columns.begin(), e.columns.end(), 0);
  std::vector<double> errors(static_cast<std::size_t>(n * k));
  const bool proved = exact ? bound<T>(n, k, {s.data(), n, 1}, {right.data(), k, 1}, {y.data(), k, 1}, errors)
                            : bound<T>(n, k, a, b, x, errors);
  if (!proved) return std::nullopt;
  double most = 0;
  for (std::int64_t j = 0; j < k; ++j) {
    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
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

template std::optional<double> certified_error(std::int64_t, std::int64_t, kernels::View<float>, kernels::View<float>,
                                               kernels::View<float>);
template std::optional<double> certified_error(std::int64_t, std::int64_t, kernels::View<double>,
                                               kernels::View<double>, kernels::View<double>);
template std::optional<double> certified_error(std::int64_t, std::int64_t, kernels::View<complex64>,
                                               kernels::View<complex64>, kernels::View<complex64>);
template std::optional<double> certified_error(std::int64_t, std::int64_t, kernels::View<complex128>,
                                               kernels::View<complex128>, kernels::View<complex128>);

}  // namespace wp::linalg
