#include "linalg/lost_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "kernels/exponents.hpp"
#include "linalg/explain.hpp"
#include "linalg/judgement.hpp"
#include "linalg/stack.hpp"

namespace wp::linalg {
namespace {

template <class W>
W times(const W& a, const W& b) {
  if constexpr (std::is_floating_point_v<W>)
    return a * b;
  else
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
// |re| + |im|.
template <class W>
auto size_of(const W& v) {
  return std::fabs(std::real(v)) + std::fabs(std::imag(v));
}

}  // namespace

template <class T>
Wide<T> as_held(T v, DType dtype) {
  const auto part = [&](auto x) {
    return real_of(dtype) == DType::f32 ? static_cast<decltype(x)>(static_cast<float>(x)) : x;
  };
  if constexpr (kernels::RealOf<T>::parts == 2)
    return {part(v.real()), part(v.imag())};
  else
    return part(v);
}

int room_of(DType dtype) {
  return real_of(dtype) == DType::f64 ? kernels::kRoom<double> : kernels::kRoom<float>;
}
int least_exponent_with_digits(DType dtype) {
  const auto of = []<class R>(R) { return std::numeric_limits<R>::min_exponent + std::numeric_limits<R>::digits; };
  return real_of(dtype) == DType::f64 ? of(double{}) : of(float{});
}

template <class W>
double lost_in_product(std::int64_t m, std::int64_t n, std::int64_t k, const std::vector<W>& a,
                       const std::vector<W>& b, const std::vector<W>& c) {
  using R = decltype(size_of(W()));
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<R> rows(at(m), R(0)), columns(at(n), R(0)), sizes(at(n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const R size = size_of(a[at(i * n + j)]);
      rows[at(i)] = std::max(rows[at(i)], size);
      columns[at(j)] = std::max(columns[at(j)], size);
    }
  R worst = 0;
  std::vector<W> rest(at(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::copy_n(a.begin() + i * n, n, rest.begin());
    std::fill(sizes.begin(), sizes.end(), R(0));
    for (std::int64_t p = 0; p < k; ++p) {
      const W& f = b[at(i * k + p)];
      if (f == W(0)) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        const W& g = c[at(p * n + j)];
        rest[at(j)] -= times(f, g);
        sizes[at(j)] += size_of(f) * size_of(g);
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const R lost = size_of(rest[at(j)]),
              beside = i == j ? sizes[at(j)] : std::max(sizes[at(j)], std::min(rows[at(i)], columns[at(j)]));
      if (lost > 0 && std::isfinite(lost)) worst = std::max(worst, beside > 0 ? std::min(lost / beside, R(1)) : R(1));
    }
  }
  return static_cast<double>(worst);
}

void tell_lost(double lost, DType dtype, std::string_view of, Verdict& v) {
  const double u = round_off(dtype), digits = digits_of(lost, u);
  if (v.status != Status::ok || status_of(digits, -1, u) == Status::ok) return;
  v.status = Status::overflow;
  v.backward_error = lost;
  v.digits = std::fabs(digits);  // −0 of nothing left
  v.reason = say("has factors with numbers below the range of ", dtype, ": an element of ", of, " is off by ",
                 few_digits(lost), " of the largest beside it.");
}

#define WP_INSTANTIATE(T)                                                                                         \
  template Wide<T> as_held(T, DType);                                                                             \
  template double lost_in_product<Wide<T>>(std::int64_t, std::int64_t, std::int64_t, const std::vector<Wide<T>>&, \
                                           const std::vector<Wide<T>>&, const std::vector<Wide<T>>&);
WP_INSTANTIATE(double)
WP_INSTANTIATE(float)
WP_INSTANTIATE(complex64)
WP_INSTANTIATE(complex128)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
