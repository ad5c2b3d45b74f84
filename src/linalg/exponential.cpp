#include "linalg/exponential.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/mix.hpp"
#include "kernels/condition.hpp"

namespace wp::linalg {
namespace {

// ‖A·B‖₁ from below, from a few products with vectors.
template <class T>
double norm_of_product(const Dense<T>& a, const Dense<T>& b) {
  const std::int64_t n = a.n;
  std::vector<T> y(static_cast<std::size_t>(n));
  const auto times_vector = [&](const Dense<T>& m, T* x, bool adjoint) {
    const kernels::View<T> v = adjoint ? m.view().transposed() : m.view();
    kernels::gemv<T>(n, n, v, x, 1, y.data(), adjoint && kernels::RealOf<T>::parts == 2);
    std::copy(y.begin(), y.end(), x);
  };
  const auto plain = [&](T* x) {
    times_vector(b, x, false);
    times_vector(a, x, false);
  };
  const auto adjoint = [&](T* x) {
    times_vector(a, x, true);
    times_vector(b, x, true);
  };
  return kernels::inverse_norm<T>(n, plain, adjoint).estimate;
}

// ‖|A|^p‖₁ = ‖|Aᵀ|^p·1‖∞ as mantissa and exponent of two: log₂.
template <class T>
double log2_of_power(const Dense<T>& a, int p) {
  std::vector<double> x(static_cast<std::size_t>(a.n), 1.0), y(x.size());
  double exponent = 0;
  for (int k = 0; k < p; ++k) {
    std::fill(y.begin(), y.end(), 0.0);
    for (std::int64_t i = 0; i < a.n; ++i)
      for (std::int64_t j = 0; j < a.n; ++j)
        y[static_cast<std::size_t>(j)] += std::abs(a(i, j)) * x[static_cast<std::size_t>(i)];
    const double most = *std::max_element(y.begin(), y.end());
    if (most == 0) return -HUGE_VAL;
    int e = 0;
    std::frexp(most, &e);
    for (std::size_t j = 0; j < y.size(); ++j) x[j] = std::ldexp(y[j], -e);
    exponent += e;
  }
  return exponent + std::log2(*std::max_element(x.begin(), x.end()));
}

constexpr std::array<double, 5> kTheta{1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1,
                                       2.097847961257068, 4.25};
constexpr std::array<int, 5> kDegrees{3, 5, 7, 9, 13};
// Coefficients of the numerators of the [m/m] approximants to exp.
constexpr std::array<std::array<double, 14>, 5> kPade{
    {{120, 60, 12, 1},
     {30240, 15120, 3360, 420, 30, 1},
     {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1},
     {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1},
     {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
      670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}}};

// How many more halvings rounding asks for: the backward error of the approximant is at most
// c ‖|A|^(2m+1)‖/‖A‖ with 1/c = C(2m, m)·(2m + 1)!.
template <class T>
int more_halvings(const Dense<T>& a, double norm, int exponent, int m) {
  double inverse = 1;  // 1/c; lgamma would write to a global
  for (int k = 1; k <= m; ++k) inverse *= static_cast<double>(m + k) / k;
  for (int k = 2; k <= 2 * m + 1; ++k) inverse *= k;
  const double power = log2_of_power(a, 2 * m + 1) + 2.0 * m * exponent;
  const double needed = (power - std::log2(norm) - std::log2(inverse) + 53) / (2 * m);
  return needed > 0 ? static_cast<int>(std::ceil(std::min(needed, 4000.0))) : 0;
}

// B = 2^−exponent·A has norm about 1; degree and number of halvings for A.
struct Plan {
  std::size_t choice;
  int halvings;
};
template <class T>
struct Powers {
  Dense<T> a, a2, a4, a6;
};
template <class T>
Plan plan(const Powers<T>& p, int exponent) {
  const double norm = p.a.norm1();
  const double d4 = std::pow(p.a4.norm1(), 0.25), d6 = std::pow(p.a6.norm1(), 1.0 / 6);
  const auto small = [&](double eta, std::size_t k) {
    return std::ldexp(eta, exponent) <= kTheta[k] && more_halvings(p.a, norm, exponent, kDegrees[k]) == 0;
  };
  const double first = std::max(d4, d6);
  if (small(first, 0)) return {0, 0};
  if (small(first, 1)) return {1, 0};
  const double d8 = std::pow(norm_of_product(p.a4, p.a4), 0.125), third = std::max(d6, d8);
  if (small(third, 2)) return {2, 0};
  if (small(third, 3)) return {3, 0};
  const double d10 = std::pow(norm_of_product(p.a4, p.a6), 0.1), eta = std::min(third, std::max(d8, d10));
  const double over = eta > 0 ? std::log2(eta / kTheta[4]) + exponent : 0;
  const int halvings = over > 0 ? static_cast<int>(std::ceil(over)) : 0;
  return {4, halvings + more_halvings(p.a, norm, exponent - halvings, kDegrees[4])};
}

// r_m(A) = I + 2 (V − U)⁻¹ U with U odd and V even in A.
template <class T>
Dense<T> approximant(const Powers<T>& p, std::size_t choice) {
  using R = typename Dense<T>::Real;
  const std::int64_t n = p.a.n;
  const auto& b = kPade[choice];
  const int m = kDegrees[choice];
  const double unit = b[0];  // divided out: coefficients of f32 stay in range
  const auto sum = [&](int first, int last, int shift) {
    Dense<T> out(n, n);
    for (int k = first; k <= last; k += 2) {
      const auto f = static_cast<R>(b[static_cast<std::size_t>(k)] / unit);
      const int power = (k - shift) & ~1;
      if (power == 0)
        for (std::int64_t i = 0; i < n; ++i) out(i, i) += f;
      else
        out.add(f, power == 2 ? p.a2 : power == 4 ? p.a4 : p.a6);
    }
    return out;
  };
  Dense<T> odd = sum(1, std::min(m, 7), 0), even = sum(0, std::min(m, 7) - 1, 0);
  if (m == 9) {
    const Dense<T> a8 = p.a4 * p.a4;
    odd.add(static_cast<R>(b[9] / unit), a8);
    even.add(static_cast<R>(b[8] / unit), a8);
  } else if (m == 13) {
    odd += p.a6 * sum(9, 13, 6);
    even += p.a6 * sum(8, 12, 6);
  }
  Dense<T> u = p.a * odd;
  even -= u;
  if (!solve_in_place(even, u)) return Dense<T>(n, n);
  u *= R(2);
  for (std::int64_t i = 0; i < n; ++i) u(i, i) += R(1);
  return u;
}

// (f(y) − f(x))/(y − x) for f = exp.
template <class T>
T exp_difference(T x, T y) {
  const T half = (y - x) / typename Dense<T>::Real(2);
  if (std::abs(half) >= 1) return (std::exp(y) - std::exp(x)) / (y - x);
  return std::exp((x + y) / typename Dense<T>::Real(2)) * (half == T(0) ? T(1) : std::sinh(half) / half);
}

// x = exp(2^−k·A) for upper triangular A: the diagonal and the one above it.
template <class T>
void exact_diagonals(const Dense<T>& a, int k, Dense<T>& x) {
  for (std::int64_t i = 0; i < a.n; ++i) {
    const T here = times_power(a(i, i), -k);
    x(i, i) = std::exp(here);
    if (i + 1 < a.n)
      x(i, i + 1) = times(times_power(a(i, i + 1), -k), exp_difference(here, times_power(a(i + 1, i + 1), -k)));
  }
}

// Rounding errors, followed to first order through the squarings: D ← X D + D X + rounding of X², with signs that are
// drawn once and for all (splitmix64). What squarings leave of one draw cancels as it happens, to a hundredth in one
// of a hundred: few rows have several.
template <class T>
class Followed {
 public:
  static int draws(std::int64_t n) { return n <= 8 ? 8 : n <= 64 ? 4 : 2; }
  Followed(const Dense<T>& x, const Dense<T>& a, int halvings, int draw) : state_(static_cast<std::uint64_t>(draw)) {
    Dense<T> input = a;
    input.shift(-halvings);
    for (T& v : input.data) v *= static_cast<R>(sign() * Dense<T>::u);
    d_ = x * input;
    d_ += input * x;
    d_ *= R(0.5);
    round(x, 1);
  }
  void square(const Dense<T>& x) {
    Dense<T> next = x * d_;
    next += d_ * x;
    d_ = std::move(next);
    round(x, 0);
  }
  double relative_to(const Dense<T>& x) const { return 4 * d_.frobenius() / x.frobenius(); }

 private:
  using R = typename Dense<T>::Real;
  int sign() {
    state_ += kMixStep;
    return mixed(state_) & 1 ? 1 : -1;
  }
  // |rounding of (X²)_ij| ≲ u ‖row i‖ ‖column j‖; of a given X: u |x_ij|.
  void round(const Dense<T>& x, int given) {
    std::vector<double> rows(static_cast<std::size_t>(x.n)), columns(rows.size());
    for (std::int64_t i = 0; i < x.n; ++i)
      for (std::int64_t j = 0; j < x.n; ++j) {
        const double square = std::norm(std::complex<double>(x(i, j)));
        rows[static_cast<std::size_t>(i)] += square;
        columns[static_cast<std::size_t>(j)] += square;
      }
    for (std::int64_t i = 0; i < x.n; ++i)
      for (std::int64_t j = 0; j < x.n; ++j) {
        const double size =
            given ? std::abs(x(i, j)) * 4
                  : std::sqrt(rows[static_cast<std::size_t>(i)]) * std::sqrt(columns[static_cast<std::size_t>(j)]);
        d_(i, j) += T(static_cast<R>(sign() * Dense<T>::u * size));
      }
  }
  Dense<T> d_;
  std::uint64_t state_;
};

// How wrong x is, relative to its size: from above, by how much more than it must every squaring loses.
template <class T>
class BoundedByNorms {
 public:
  explicit BoundedByNorms(std::int64_t n) : each_(static_cast<double>(n) * Dense<T>::u), error_(8 * each_) {}
  double now(const Dense<T>& x) {
    const double next = x.norm1();
    if (norm_ > 0) error_ = (2 * error_ + each_) * (norm_ / next) * norm_;
    norm_ = next;
    return error_;
  }
  void square(const Dense<T>&) {}

 private:
  double each_, error_, norm_ = 0;
};
// Or as several draws say.
template <class T>
class Drawn {
 public:
  Drawn(const Dense<T>& x, const Dense<T>& a, int halvings) {
    for (int k = 0; k < Followed<T>::draws(a.n); ++k) all_.emplace_back(x, a, halvings, k);
  }
  double now(const Dense<T>& x) const {
    double error = 0;
    for (const Followed<T>& e : all_)
      if (const double one = e.relative_to(x); !std::isnan(one)) error = std::hypot(error, one);
    return error;
  }
  void square(const Dense<T>& x) {
    for (Followed<T>& e : all_) e.square(x);
  }

 private:
  std::vector<Followed<T>> all_;
};

// x^(2^halvings) by square(x, k), k falling to 0, and how wrong it is: 1 where that is more than `most`, on the way
// or when it leaves the range of T. It is beyond that also where it is so small that it vanishes.
template <class T, class Square, class Errors>
Exponential<T> squared(Dense<T> x, int halvings, Square&& square, Errors errors, double most) {
  constexpr int kVanishes = 4 * (1 - std::numeric_limits<typename Dense<T>::Real>::min_exponent);
  bool above = false;
  for (int k = halvings; k-- > 0;) {
    if (!above) {
      if (!(errors.now(x) <= most)) return {std::move(x), 1};
      if (x.norm1() <= 0.5 && std::ldexp(1.0, k) >= kVanishes) return {Dense<T>(x.n, x.n), 0, true};
      errors.square(x);
    }
    square(x, k);
    above = above || !x.finite();
    const auto left = [](const T& v) { return v != T(0) && std::isfinite(std::abs(v)); };
    if (above && std::none_of(x.data.begin(), x.data.end(), left)) break;
  }
  if (above) return {std::move(x), 0, true};
  const double error = errors.now(x);
  return {std::move(x), error};
}

}  // namespace

template <class T>
Exponential<T> exponential(const Dense<T>& a) {
  if (a.n == 0) return {a, 0};
  if (!a.upper() && a.transposed().upper()) {
    Exponential<T> e = exponential(a.transposed());
    e.value = e.value.transposed();
    return e;
  }
  Powers<T> p{a, {}, {}, {}};
  const int exponent = -scaling_exponent(a);
  p.a.shift(-exponent);
  p.a2 = p.a * p.a;
  p.a4 = p.a2 * p.a2;
  p.a6 = p.a4 * p.a2;
  const Plan chosen = a.largest() > 0 ? plan(p, exponent) : Plan{0, 0};
  const int shift = exponent - chosen.halvings;
  p.a.shift(shift);
  p.a2.shift(2 * shift);
  p.a4.shift(4 * shift);
  p.a6.shift(6 * shift);
  Dense<T> x = approximant(p, chosen.choice);
  const bool triangular = a.upper();
  if (triangular) exact_diagonals(a, chosen.halvings, x);
  const auto square = [&](Dense<T>& y, int k) {
    y = y * y;
    if (triangular) exact_diagonals(a, k, y);
  };
  // What is squared often is mostly beyond the range, and following its errors takes most of the time.
  constexpr int kOften = 8;
  constexpr double kKnown = 1e-3;
  const double no_digit = triangular ? HUGE_VAL : 1;  // exact diagonals bring digits back
  if (chosen.halvings >= kOften)
    if (Exponential<T> e = squared(x, chosen.halvings, square, BoundedByNorms<T>(a.n), kKnown); e.beyond) return e;
  const Drawn<T> draws(x, a, chosen.halvings);
  Exponential<T> e = squared(std::move(x), chosen.halvings, square, draws, no_digit);
  if (e.beyond) return e;
  if (a.hermitian())
    for (std::int64_t i = 0; i < a.n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        e.value(i, j) = (e.value(i, j) + conjugate(e.value(j, i))) / typename Dense<T>::Real(2);
        e.value(j, i) = conjugate(e.value(i, j));
      }
  // The condition of exp is at least the norm (Higham 2008, §10.2), as far as it is squared; 8 as roundings add up.
  if (!triangular) e.error += 8 * Dense<T>::u * std::min(a.norm1(), std::ldexp(4 * kTheta.back(), chosen.halvings));
  return e;
}

template Exponential<float> exponential(const Dense<float>&);
template Exponential<double> exponential(const Dense<double>&);
template Exponential<complex64> exponential(const Dense<complex64>&);
template Exponential<complex128> exponential(const Dense<complex128>&);

}  // namespace wp::linalg
