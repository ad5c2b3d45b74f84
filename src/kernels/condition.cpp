#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wp::kernels {
namespace {

template <class T>
double part_of(T v, int k) {
  if constexpr (RealOf<T>::parts == 2)
    return static_cast<double>(k ? v.imag() : v.real());
  else
    return static_cast<double>(v);
}

// Visits a matrix along its smaller stride: body(lines, length, line stride, stride inside a line, lines are rows). A
// stride of 1 is a constant, so that loops vectorise.
template <class T, class Body>
void along(std::int64_t m, std::int64_t n, View<T> a, Body&& body) {
  const bool rows = std::abs(a.columns) <= std::abs(a.rows);
  if (!rows) {
    std::swap(m, n);
    std::swap(a.rows, a.columns);
  }
  if (a.columns == 1)
    body(m, n, a.rows, std::integral_constant<std::int64_t, 1>{}, rows);
  else
    body(m, n, a.rows, a.columns, rows);
}
constexpr std::int64_t kLanes = 8;
// body(j, lane) for j in [0, length), lanes in turn.
template <class Body>
[[gnu::always_inline]] inline void by_lanes(std::int64_t length, const Body& body) {
  std::int64_t j = 0;
  for (; j + kLanes <= length; j += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k) body(j + k, k);
  for (std::int64_t k = 0; j + k < length; ++k) body(j + k, k);
}

// max(|re|, |im|); NaN if there is one.
template <class T>
double largest_part(std::int64_t m, std::int64_t n, View<T> a) {
  double largest = 0;
  along(m, n, a, [&](std::int64_t lines, std::int64_t length, std::int64_t line, auto step, bool) {
    for (std::int64_t i = 0; i < lines; ++i) {
      double most[kLanes] = {};
      const T* const at = a.data + i * line;
      by_lanes(
          length, [&](std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            for (int p = 0; p < RealOf<T>::parts; ++p) {
              const double v = std::fabs(part_of(at[j * step], p));
              most[k] = (v > most[k]) | (v != v) ? v : most[k];
            }
          });
      for (const double v : most) largest = (v > largest) | (v != v) ? v : largest;
    }
  });
  return largest;
}

int exponent_of(double v) {
  int e = 0;
  std::frexp(v, &e);
  return e;
}

// 2^e · v in two factors, as 2^e itself may be out of range.
struct Power {
  double first, second;
  explicit Power(int e) : first(std::ldexp(1.0, e / 2)), second(std::ldexp(1.0, e - e / 2)) {}
  double times(double v) const { return v * first * second; }
};

template <class T>
double modulus(T v, const Power& scale) {
  if constexpr (RealOf<T>::parts == 2) {
    const double re = scale.times(part_of(v, 0)), im = scale.times(part_of(v, 1));
    return std::sqrt(re * re + im * im);
  } else {
    return std::fabs(scale.times(static_cast<double>(v)));
  }
}

}  // namespace

template <class T>
Norms norms(std::int64_t m, std::int64_t n, View<T> a) {
  Norms result;
  const double top = largest_part(m, n, a);
  if (!(top > 0) || std::isinf(top)) return {top, top, top, top};
  const int e = exponent_of(top);
  const Power scale(-e);
  along(m, n, a, [&](std::int64_t lines, std::int64_t length, std::int64_t line, auto step, bool rows) {
    std::vector<double> across(static_cast<std::size_t>(length));
    double* const __restrict sums = across.data();
    double squares = 0, along_lines = 0;
    for (std::int64_t i = 0; i < lines; ++i) {
      double sum[kLanes] = {}, square[kLanes] = {}, most[kLanes] = {};
      const T* const at = a.data + i * line;
      by_lanes(
          length, [&](std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            const double v = modulus(at[j * step], scale);
            sums[j] += v;
            sum[k] += v;
            square[k] += v * v;
            most[k] = v > most[k] ? v : most[k];
          });
      result.largest = std::max(result.largest, *std::max_element(most, most + kLanes));
      for (std::int64_t k = 1; k < kLanes; ++k) sum[0] += sum[k], square[0] += square[k];
      along_lines = std::max(along_lines, sum[0]);
      squares += square[0];
    }
    const double other = across.empty() ? 0 : *std::max_element(across.begin(), across.end());
    result.infinity = rows ? along_lines : other;
    result.one = rows ? other : along_lines;
    result.frobenius = std::sqrt(squares);
  });
  for (double* v : {&result.one, &result.infinity, &result.largest, &result.frobenius}) *v = std::ldexp(*v, e);
  return result;
}

template <class T>
void inverse_norm_starts(std::int64_t n, T* constant, T* alternating, std::int64_t stride) {
  using R = typename RealOf<T>::type;
  for (std::int64_t i = 0; i < n; ++i) {
    const R v = n > 1 ? R(1) + static_cast<R>(i) / static_cast<R>(n - 1) : R(1);
    constant[i * stride] = T(R(1) / static_cast<R>(n));
    alternating[i * stride] = T(i % 2 ? -v : v);
  }
}

namespace {

template <class T>
class Estimator {
  using R = typename RealOf<T>::type;

 public:
  Estimator(std::int64_t n, Apply<T> apply, void* state, const Starts<T>& solved, double enough)
      : n_(static_cast<std::size_t>(n)),
        apply_(apply),
        state_(state),
        solved_(solved),
        enough_(enough),
        x_(n_),
        signs_(n_) {}

  InverseNorm<T> run() {
    if (n_ == 0) return result_;
    start(solved_.constant, x_.data(), signs_.data());
    keep(size());
    if (n_ == 1) return finish();
    take_signs();
    solve(true);
    std::size_t at = largest();
    for (int k = 2; k <= kSteps; ++k) {
      std::fill(x_.begin(), x_.end(), T(0));
      x_[at] = T(1);
      solve(false);
      const R now = size();
      const bool grew = !(now <= result_.estimate);
      if (grew) keep(now);
      if (static_cast<double>(result_.estimate) <= enough_ || !take_signs() || !grew) break;
      solve(true);
      const std::size_t next = largest();
      if (std::abs(x_[next]) == std::abs(x_[at])) break;
      at = next;
    }
    return alternating();
  }

 private:
  static constexpr int kSteps = 5;

  // A⁻¹ times one of the vectors of inverse_norm_starts, which is x.
  void start(const T* solved, T* constant, T* alternating) {
    if (solved) {
      ++result_.solves;
      for (std::size_t i = 0; i < n_; ++i) x_[i] = solved[static_cast<std::int64_t>(i) * solved_.stride];
      return;
    }
    inverse_norm_starts<T>(static_cast<std::int64_t>(n_), constant, alternating, 1);
    solve(false);
  }
  void solve(bool transposed) {
    apply_(state_, x_.data(), transposed);
    ++result_.solves;
  }
  R size() const {
    R sum = 0;
    for (const T v : x_) sum += std::abs(v);
    return sum;
  }
  void keep(R estimate) {
    result_.estimate = estimate;
    result_.vector = x_;
  }
  // x ← x / |x|, 1 for 0. Returns whether a sign changed (complex: always true).
  bool take_signs() {
    bool changed = RealOf<T>::parts == 2;
    for (std::size_t i = 0; i < n_; ++i) {
      const R v = std::abs(x_[i]);
      x_[i] = v > std::numeric_limits<R>::min() ? x_[i] / v : T(1);
      changed |= x_[i] != signs_[i];
      signs_[i] = x_[i];
    }
    return changed;
  }
  std::size_t largest() const {
    std::size_t at = 0;
    for (std::size_t i = 1; i < n_; ++i)
      if (std::abs(x_[i]) > std::abs(x_[at])) at = i;
    return at;
  }
  // The last try: a vector that no cancellation in A⁻¹ is likely to annihilate (Higham 1988, (4.5)).
  InverseNorm<T> alternating() {
    start(solved_.alternating, signs_.data(), x_.data());
    const R other = 2 * (size() / (3 * static_cast<R>(n_)));
    if (!(other <= result_.estimate)) keep(other);
    return finish();
  }
  InverseNorm<T> finish() {
    if (std::isnan(result_.estimate)) result_.estimate = std::numeric_limits<R>::infinity();
    return std::move(result_);
  }

  std::size_t n_;
  Apply<T> apply_;
  void* state_;
  const Starts<T>& solved_;
  const double enough_;
  std::vector<T> x_, signs_;
  InverseNorm<T> result_;
};

}  // namespace

template <class T>
InverseNorm<T> estimate_inverse_norm(std::int64_t n, Apply<T> apply, void* state, const Starts<T>& solved,
                                     double enough) {
  return Estimator<T>(n, apply, state, solved, enough).run();
}

#define WP_INSTANTIATE(T)                                                \
  template Norms norms(std::int64_t, std::int64_t, View<T>);             \
  template void inverse_norm_starts(std::int64_t, T*, T*, std::int64_t); \
  template InverseNorm<T> estimate_inverse_norm(std::int64_t, Apply<T>, void*, const Starts<T>&, double);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
