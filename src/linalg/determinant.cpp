#include "linalg/determinant.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/system.hpp"

namespace wp::linalg {
namespace {

using Quad = __float128;  // 113 bits
constexpr double kQuadRoundOff = 0x1p-113;
constexpr std::int64_t kLargest = 200;  // rows: a few hundred milliseconds

struct Wide {  // a complex number
  Quad re = 0, im = 0;
  Wide operator*(const Wide& b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Wide operator-(const Wide& b) const { return {re - b.re, im - b.im}; }
  Quad square() const { return re * re + im * im; }
  Wide operator/(const Wide& b) const {
    const Quad s = b.square();
    return {(re * b.re + im * b.im) / s, (im * b.re - re * b.im) / s};
  }
};

// Gaussian elimination with partial pivoting.
template <class T>
Determinant eliminated(std::int64_t n, kernels::View<T> a, Determinant d) {
  std::vector<std::vector<Wide>> m(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::complex<double> v(a.data[i * a.rows + j * a.columns]);
      m[static_cast<std::size_t>(i)].push_back({v.real(), v.imag()});
    }
  d.mantissa = 1;
  d.exponent = 0;
  for (std::size_t k = 0; k < m.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < m.size(); ++i)
      if (m[i][k].square() > m[pivot][k].square()) pivot = i;
    if (pivot != k) {
      std::swap(m[k], m[pivot]);
      d.mantissa = -d.mantissa;
    }
    if (m[k][k].square() == 0) continue;
    for (std::size_t i = k + 1; i < m.size(); ++i) {
      const Wide factor = m[i][k] / m[k][k];
      for (std::size_t j = k + 1; j < m.size(); ++j) m[i][j] = m[i][j] - factor * m[k][j];
    }
    d.mantissa *= std::complex<double>(static_cast<double>(m[k][k].re), static_cast<double>(m[k][k].im));
    int e = 0;
    std::frexp(std::max(std::fabs(d.mantissa.real()), std::fabs(d.mantissa.imag())), &e);
    d.mantissa = {std::ldexp(d.mantissa.real(), -e), std::ldexp(d.mantissa.imag(), -e)};
    d.exponent += e;
  }
  return d;
}

}  // namespace

template <class T>
Determinant determinant(std::int64_t n, kernels::View<T> a) {
  static const Options plain = [] {
    Options o;
    o.refine = Options::Refine::never;
    return o;
  }();
  Determinant d;
  const System<T> system(n, a, plain);
  d.verdict = system.verdict();
  if (d.verdict.status == Status::nonfinite_input) return d;
  const auto scaled = system.determinant();
  d.mantissa = scaled.mantissa;
  d.exponent = scaled.exponent;
  double error = std::min(1.0, static_cast<double>(std::max<std::int64_t>(n, 1)) * d.verdict.forward_error);
  if (d.verdict.exactly_singular) {
    d.mantissa = 0;
    d.exponent = 0;
    error = 0;
  } else if ((error > 1e-9 || d.verdict.method == Method::qr) && n <= kLargest) {
    d = eliminated(n, a, d);
    error =
        static_cast<double>(n) * kQuadRoundOff * std::max(1.0, d.verdict.growth) / std::max(d.verdict.rcond, 1e-300);
  }
  d.verdict.forward_error = std::clamp(error, 0.0, 1.0);
  d.verdict.digits = digits_of(error, System<T>::u);
  d.verdict.status =
      status_of(d.verdict.digits, -1, System<T>::u) == Status::ok ? Status::ok : Status::ill_conditioned;
  return d;
}

template Determinant determinant(std::int64_t, kernels::View<float>);
template Determinant determinant(std::int64_t, kernels::View<double>);
template Determinant determinant(std::int64_t, kernels::View<complex64>);
template Determinant determinant(std::int64_t, kernels::View<complex128>);

}  // namespace wp::linalg
