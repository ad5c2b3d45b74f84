#include "linalg/certified.hpp"

#include <cmath>

#include "kernels/certify.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

template <class T>
std::optional<double> certified_error(std::int64_t n, std::int64_t k, kernels::View<T> a, kernels::View<T> b,
                                      kernels::View<T> x) {
  using Wide = kernels::Wide<T>;
  std::vector<Wide> wide;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) wide.push_back(static_cast<Wide>(a.data[i * a.rows + j * a.columns]));
  const Options plain;
  System<Wide> system(n, {wide.data(), n, 1}, plain);
  if (!system.usable()) return std::nullopt;
  kernels::Buffer<Wide> r(std::max<std::int64_t>(n * n, 1));
  system.inverse(r.data(), n);
  const kernels::View<Wide> inverse{r.data(), n, 1};
  const auto g = kernels::contraction<T>(n, a, inverse);
  std::vector<double> errors(static_cast<std::size_t>(n * k));
  if (!g || !kernels::certified_errors<T>(n, k, a, inverse, *g, x, {}, b, errors.data())) return std::nullopt;
  double most = 0;
  for (std::int64_t j = 0; j < k; ++j) {
    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::complex<double> v(x.data[i * x.rows + j * x.columns]);
      error = std::max(error, errors[static_cast<std::size_t>(i * k + j)]);
      largest = std::max({largest, std::fabs(v.real()), std::fabs(v.imag())});
    }
    if (error > 0) most = std::max(most, error / largest);
  }
  if (!std::isfinite(most)) return std::nullopt;
  return most * (1 + 0x1p-50);  // the division was rounded
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
