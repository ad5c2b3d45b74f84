#include "linalg/determinant.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/quad.hpp"

namespace wp::linalg {

namespace {

// log(|m| · 2^exponent), 1/2 ≤ |m| < √2.
double log_of(std::complex<long double> m, std::int64_t exponent) {
  constexpr long double kLn2 = 0.693147180559945309417232121458176568L;
  long double size = std::abs(m);
  if (size < M_SQRT1_2) size *= 2, --exponent;
  return static_cast<double>(std::log1p(size - 1) + static_cast<long double>(exponent) * kLn2);
}

template <class Scaled>
void take(const Scaled& from, Determinant& to) {
  to.mantissa = std::complex<double>(from.mantissa);
  to.exponent = from.exponent;
  to.log = log_of(from.mantissa, from.exponent);
}

}  // namespace

void judge_log(double log, double u, Verdict& v) {
  if (v.exactly_singular || std::isnan(v.forward_error)) return;
  const double size = std::fabs(log), off = v.forward_error < 1 ? v.forward_error / (1 - v.forward_error) : HUGE_VAL;
  const double beside_one = off < HUGE_VAL ? off / std::max(size, 1.0) : 1;
  v.status = std::max(v.status == Status::ill_conditioned ? Status::ok : v.status,
                      status_of(digits_of(beside_one, kUnit<double>), -1, kUnit<double>));
  if (v.forward_error > 0)  // beside the exact one, which may be as much smaller
    v.forward_error =
        (off < size ? std::max(kUnit<double>, off / (size - off)) : HUGE_VAL) + (u > kUnit<double> ? u : 0);
  v.digits = digits_of(v.forward_error, kUnit<double>);
}

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
  take(system.determinant(), d);
  // The pivots of a triangle have no error, their product that of long double.
  const double each = d.verdict.method == Method::substitution ? 0x1p-63 : d.verdict.forward_error;
  double error = std::min(1.0, static_cast<double>(std::max<std::int64_t>(n, 1)) * each);
  if (d.verdict.exactly_singular) {
    d.mantissa = 0;
    d.exponent = 0;
    d.log = -HUGE_VAL;
    error = 0;
  } else if (error > 1e-9 && n <= kQuadLargest) {
    const QuadLu<T> lu(n, a);
    take(lu.determinant(), d);
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
