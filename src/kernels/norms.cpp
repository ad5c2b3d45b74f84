#include "kernels/norms.hpp"

#include "kernels/each_float.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels {
namespace {

template <class T>
double powers(const T* x, std::int64_t n, double m, double p) {
  if (n > 128) return powers(x, n / 2, m, p) + powers(x + n / 2, n - n / 2, m, p);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::pow(magnitude(x[i]) / m, p);
  return sum;
}

}  // namespace

template <class T>
typename RealPart<T>::type norm_p(const T* x, std::int64_t n, double p) {
  using R = typename RealPart<T>::type;
  if (n == 0) return p > 0 ? R(0) : std::numeric_limits<R>::infinity();
  double m = magnitude(x[0]);
  for (std::int64_t i = 1; i < n; ++i) {
    const double size = magnitude(x[i]);
    m = size != size || (p > 0 ? size > m : size < m) ? size : m;
  }
  if (m == 0 || !std::isfinite(m)) return static_cast<R>(m);
  return static_cast<R>(m * std::pow(powers(x, n, m, p), 1 / p));
}

#define WP_INSTANTIATE(T) template typename RealPart<T>::type norm_p(const T*, std::int64_t, double);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
