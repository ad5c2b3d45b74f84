// Matrices that are hard in different ways, and residuals of their factors in units of rounding, as LAPACK's own
// tests judge them: below 30 is right. Products are formed in long double.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace matrices {

using Size = std::int64_t;
inline constexpr double kRight = 30;

template <class T>
struct Traits {
  using Real = T;
  using Wide = long double;
};
template <class R>
struct Traits<std::complex<R>> {
  using Real = R;
  using Wide = std::complex<long double>;
};
template <class T>
using Real = typename Traits<T>::Real;
template <class T>
using Wide = typename Traits<T>::Wide;
template <class T>
constexpr double unit = std::numeric_limits<Real<T>>::epsilon() / 2;

// Column-major; `ld` leaves room below the columns, which nobody may touch.
template <class T>
struct Matrix {
  Size m = 0, n = 0, ld = 1;
  std::vector<T> data;
  Matrix() = default;
  Matrix(Size rows, Size columns, Size room = 3)
      : m(rows), n(columns), ld(rows + std::max<Size>(room, rows ? 0 : 1)), data(ld * columns + 1, T(7)) {}
  T& operator()(Size i, Size j) { return data[i + j * ld]; }
  const T& operator()(Size i, Size j) const { return data[i + j * ld]; }
  bool room_is_untouched() const {
    for (Size j = 0; j < n; ++j)
      for (Size i = m; i < ld; ++i)
        if (data[i + j * ld] != T(7)) return false;
    return true;
  }
};

template <class V>
V conjugate(V x) {
  if constexpr (std::is_arithmetic_v<V>)
    return x;
  else
    return std::conj(x);
}
template <class T>
Matrix<Wide<T>> wide(const Matrix<T>& a) {
  Matrix<Wide<T>> b(a.m, a.n, 0);
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) b(i, j) = Wide<T>(a(i, j));
  return b;
}
template <class W>
Matrix<W> adjoint(const Matrix<W>& a) {
  Matrix<W> b(a.n, a.m, 0);
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) b(j, i) = conjugate(a(i, j));
  return b;
}
template <class W>
Matrix<W> operator*(const Matrix<W>& a, const Matrix<W>& b) {
  Matrix<W> c(a.m, b.n, 0);
  std::fill(c.data.begin(), c.data.end(), W(0));
  for (Size j = 0; j < b.n; ++j)
    for (Size k = 0; k < a.n; ++k) {
      const W f = b(k, j);
      if (f == W(0)) continue;
      for (Size i = 0; i < a.m; ++i) c(i, j) += a(i, k) * f;
    }
  return c;
}
template <class W>
Matrix<W> operator-(Matrix<W> a, const Matrix<W>& b) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) a(i, j) -= b(i, j);
  return a;
}
template <class W>
Matrix<W> identity(Size n) {
  Matrix<W> a(n, n, 0);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i) a(i, j) = W(i == j ? 1 : 0);
  return a;
}
// Columns times values.
template <class W, class V>
Matrix<W> scaled(Matrix<W> a, const std::vector<V>& s) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) a(i, j) *= W(s[j]);
  return a;
}
// The largest column sum. NaN counts as infinite.
template <class W>
long double norm(const Matrix<W>& a) {
  long double most = 0;
  for (Size j = 0; j < a.n; ++j) {
    long double sum = 0;
    for (Size i = 0; i < a.m; ++i) sum += std::abs(a(i, j));
    if (!(sum <= most)) most = sum;
    if (std::isnan(most)) return std::numeric_limits<long double>::infinity();
  }
  return most;
}

// ‖difference‖ / (n u size), where no difference of denormal granularity counts.
template <class T>
double ratio(const Matrix<Wide<T>>& difference, long double size, Size n) {
  const long double grain =
      static_cast<long double>(n) * static_cast<long double>(std::numeric_limits<Real<T>>::denorm_min());
  const long double error = std::max<long double>(norm(difference) - kRight * grain, 0);
  return error == 0 ? 0
                    : static_cast<double>(error / (static_cast<long double>(std::max<Size>(n, 1)) * unit<T> * size));
}
// ‖I − QᴴQ‖ / (n u) for the columns of Q.
template <class T>
double unorthogonality(const Matrix<T>& q) {
  const auto w = wide(q);
  return ratio<T>(identity<Wide<T>>(q.n) - adjoint(w) * w, 1, q.m);
}

// ---- kinds
enum class Kind {
  random,
  rank_deficient,
  zero,
  identity,
  hilbert,
  graded,
  clustered,
  repeated,
  scaled_up,
  scaled_down,
  triangular,
  jordan,
  denormal,
  huge,
  kinds
};
inline std::string name(Kind kind) {
  static const char* const names[] = {"random",     "rank deficient", "zero",     "identity",  "hilbert",
                                      "graded",     "clustered",      "repeated", "scaled up", "scaled down",
                                      "triangular", "jordan",         "denormal", "huge"};
  return names[static_cast<int>(kind)];
}

template <class T, class G>
T draw(G& generator) {
  std::uniform_real_distribution<double> d(-1, 1);
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(d(generator));
  else
    return T(static_cast<Real<T>>(d(generator)), static_cast<Real<T>>(d(generator)));
}
template <class T>
Matrix<T> random(Size m, Size n, unsigned seed) {
  std::mt19937_64 generator(seed);
  Matrix<T> a(m, n);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) a(i, j) = draw<T>(generator);
  return a;
}
// (I − 2vvᴴ)·diag(s)·(I − 2wwᴴ)
template <class T>
Matrix<T> with_values(Size m, Size n, const std::vector<double>& s, unsigned seed) {
  const auto reflect = [&](Size k, unsigned from) {
    auto v = wide(random<T>(k, 1, from));
    long double sum = 0;
    for (Size i = 0; i < k; ++i) sum += std::norm(v(i, 0));
    for (Size i = 0; i < k; ++i) v(i, 0) *= std::sqrt(2 / sum);
    return identity<Wide<T>>(k) - v * adjoint(v);
  };
  auto middle = wide(Matrix<T>(m, n));
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) middle(i, j) = Wide<T>(i == j ? s[static_cast<std::size_t>(i)] : 0);
  const auto product = reflect(m, seed) * middle * reflect(n, seed + 1);
  Matrix<T> a(m, n);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) a(i, j) = T(product(i, j));
  return a;
}
template <class T>
Matrix<T> make(Kind kind, Size m, Size n) {
  const auto seed = static_cast<unsigned>(1000 * m + n);
  const Size k = std::min(m, n);
  const int far = sizeof(Real<T>) == 4 ? 60 : 300;
  Matrix<T> a = random<T>(m, n, seed);
  const auto each = [&](auto f) {
    for (Size j = 0; j < n; ++j)
      for (Size i = 0; i < m; ++i) a(i, j) = T(f(i, j));
  };
  const auto times = [&](Real<T> f) { each([&](Size i, Size j) { return a(i, j) * f; }); };
  std::vector<double> values(static_cast<std::size_t>(k), 1.0);
  const auto tenth = [&](Size i, Size of) {
    return std::pow(10.0, -15.0 * static_cast<double>(i) / static_cast<double>(std::max<Size>(1, of - 1)));
  };
  switch (kind) {
    case Kind::random: break;
    case Kind::rank_deficient:
      each([&](Size i, Size j) { return j < (k + 1) / 2 ? a(i, j) : a(i, j % ((k + 1) / 2)) * Real<T>(2); });
      break;
    case Kind::zero: each([](Size, Size) { return T(0); }); break;
    case Kind::identity: each([](Size i, Size j) { return T(i == j ? 1 : 0); }); break;
    case Kind::hilbert:
      each([](Size i, Size j) { return static_cast<Real<T>>(1.0 / static_cast<double>(i + j + 1)); });
      break;
    case Kind::graded:
      each([&](Size i, Size j) { return a(i, j) * static_cast<Real<T>>(tenth(i, m) * tenth(j, n)); });
      break;
    case Kind::clustered:
      for (Size i = 0; i < k; ++i) values[i] = (i % 3 ? 1 : 1e-3) * (1 + 4 * unit<T> * static_cast<double>(i));
      return with_values<T>(m, n, values, seed);
    case Kind::repeated: return with_values<T>(m, n, values, seed);
    case Kind::scaled_up: times(std::ldexp(Real<T>(1), far)); break;
    case Kind::scaled_down: times(std::ldexp(Real<T>(1), -far)); break;
    case Kind::triangular: each([&](Size i, Size j) { return i <= j ? a(i, j) : T(0); }); break;
    case Kind::jordan: each([](Size i, Size j) { return T(i + 1 == j ? 1 : 0); }); break;
    case Kind::denormal: times(std::ldexp(Real<T>(1), std::numeric_limits<Real<T>>::min_exponent - 8)); break;
    case Kind::huge: times(std::ldexp(Real<T>(1), std::numeric_limits<Real<T>>::max_exponent - 12)); break;
    case Kind::kinds: break;
  }
  return a;
}
// (A + Aᴴ)/2 of it.
template <class T>
Matrix<T> make_hermitian(Kind kind, Size n) {
  Matrix<T> a = make<T>(kind, n, n);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i <= j; ++i) {
      const T mean = a(i, j) * Real<T>(0.5) + conjugate(a(j, i)) * Real<T>(0.5);
      a(i, j) = i == j ? T(std::real(mean)) : mean;
      a(j, i) = conjugate(a(i, j));
    }
  return a;
}
template <class F>
void for_kinds(F&& f) {
  for (int k = 0; k < static_cast<int>(Kind::kinds); ++k) f(static_cast<Kind>(k));
}
inline constexpr Size kSizes[] = {0, 1, 2, 3, 5, 10, 50, 130};
struct Shape {
  Size m, n;
};
inline constexpr Shape kShapes[] = {{0, 0}, {0, 3},   {3, 0},   {1, 1},     {2, 2},    {3, 3},
                                    {5, 5}, {10, 10}, {50, 50}, {130, 130}, {1, 7},    {7, 1},
                                    {5, 3}, {3, 5},   {50, 10}, {10, 50},   {130, 20}, {20, 130}};

}  // namespace matrices
