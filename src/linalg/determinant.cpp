#include "linalg/determinant.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/quad.hpp"

namespace wp::linalg {

template <class T>
Determinant determinant(std::int64_t n, kernels::View<T> a, const System<T>* factored) {
  static const Options plain = [] {
    Options o;
    o.refine = Options::Refine::never;
    return o;
  }();
  const bool there = factored && factored->verdict().status != Status::not_spd;
  if (!there) {
    const System<T> fresh(n, a, plain);
    return determinant(n, a, &fresh);
  }
  const System<T>& system = *factored;
  Determinant d;
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
  } else if (error > 1e-9 && n <= kQuadLargest) {
    const QuadLu<T> lu(n, a);
    const auto exact = lu.determinant();
    d.mantissa = exact.mantissa;
    d.exponent = exact.exponent;
    error = lu.error();
  }
  d.verdict.forward_error = std::clamp(error, 0.0, 1.0);
  d.verdict.digits = digits_of(error, System<T>::u);
  d.verdict.status =
      status_of(d.verdict.digits, -1, System<T>::u) == Status::ok ? Status::ok : Status::ill_conditioned;
  return d;
}

template Determinant determinant(std::int64_t, kernels::View<float>, const System<float>*);
template Determinant determinant(std::int64_t, kernels::View<double>, const System<double>*);
template Determinant determinant(std::int64_t, kernels::View<complex64>, const System<complex64>*);
template Determinant determinant(std::int64_t, kernels::View<complex128>, const System<complex128>*);

}  // namespace wp::linalg
