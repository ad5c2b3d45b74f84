// Residuals in doubled precision against rationals.
#include "kernels/residual.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "products.hpp"
#include "rationals.hpp"
#include "simd/isa.hpp"
#include "wellposed/threads.hpp"

namespace {
using rationals::Rational;
using wp::kernels::View;

template <class T>
class Residual : public testing::Test {};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Residual, Types);

template <class T>
struct System {
  using R = typename wp::kernels::RealOf<T>::type;
  std::int64_t m, n, k;
  std::vector<T> a, x, l, b;
  std::vector<T> r;
  std::vector<R> sizes;

  // B is A·X rounded: the residual is nothing but cancellation.
  System(std::int64_t rows, std::int64_t columns, std::int64_t sides, unsigned seed, bool low)
      : m(rows),
        n(columns),
        k(sides),
        a(products::random_values<T>(m * n, seed)),
        x(products::random_values<T>(n * k, seed + 1)),
        r(static_cast<std::size_t>(m * k)),
        sizes(r.size()) {
    if (low)
      for (const T v : x) l.push_back(v * std::numeric_limits<R>::epsilon() * R(0.3));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t c = 0; c < k; ++c) {
        T sum(0);
        for (std::int64_t j = 0; j < n; ++j) sum += at(a, i * n + j) * at(x, j * k + c);
        b.push_back(sum);
      }
  }
  static const T& at(const std::vector<T>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; }
  View<T> low() const { return {l.empty() ? nullptr : l.data(), k, 1}; }
  void run(View<T> view, bool sized = true) {
    wp::kernels::residual<T>(m, n, k, view, {x.data(), k, 1}, low(), {b.data(), k, 1}, r.data(),
                             sized ? sizes.data() : nullptr);
  }
  static Rational part(const T& v, int p) { return Rational(static_cast<double>(reinterpret_cast<const R*>(&v)[p])); }
  // |error| ≤ u|r| + γ² S + 8 N η, part by part.
  void check() const {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t c = 0; c < k; ++c)
        for (int p = 0; p < rationals::parts<T>; ++p) check(i, c, p);
  }
  void check(std::int64_t i, std::int64_t c, int p) const {
    Rational exact = part(at(b, i * k + c), p), size = exact.size();
    const auto term = [&](const Rational& t) { exact -= t, size += t.size(); };
    for (const std::vector<T>* v : {&x, &l})
      for (std::int64_t j = 0; !v->empty() && j < n; ++j) {
        const T &f = at(a, i * n + j), &y = at(*v, j * k + c);
        if constexpr (rationals::parts<T> == 1) {
          term(part(f, 0) * part(y, 0));
        } else {
          term(part(f, 0) * part(y, p));
          term(part(f, 1) * part(y, 1 - p) * Rational(p ? 1.0 : -1.0));
        }
      }
    const double u = std::numeric_limits<R>::epsilon() / 2;
    const double terms = static_cast<double>(n * rationals::parts<T> * (l.empty() ? 1 : 2) + 1);
    const double many = 2 * terms + wp::kernels::kResidualTerms;
    const double gamma = many * u / (1 - many * u);
    const double second = sizeof(R) == 8 ? gamma * gamma : (terms + wp::kernels::kResidualTerms) * 0x1p-53;
    const Rational bound = Rational(u) * exact.size() + Rational(second * 1.0001) * size +
                           Rational(8 * terms * static_cast<double>(std::numeric_limits<R>::denorm_min()));
    EXPECT_LE((part(at(r, i * k + c), p) - exact).size(), bound) << i << " " << c << " " << p << " n " << n;
  }
};

TYPED_TEST(Residual, IsRightToWorkingPrecisionAfterCancellation) {
  using T = TypeParam;
  for (const int isa : {0, 1, 2}) {
    if (!wp::simd::supported(static_cast<wp::simd::Isa>(isa))) continue;
    const wp::simd::Isa before = wp::simd::isa();
    wp::simd::set_isa(static_cast<wp::simd::Isa>(isa));
    for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 33, 100})
      for (const std::int64_t k : {1, 3})
        for (const bool low : {false, true}) {
          System<T> s(5, n, k, static_cast<unsigned>(n + 7), low);
          s.run({s.a.data(), n, 1});
          s.check();
        }
    wp::simd::set_isa(before);
  }
}

TYPED_TEST(Residual, HasTheSameBitsForEveryLayoutInstructionSetAndThreadCount) {
  using T = TypeParam;
  System<T> s(70, 90, 2, 3, true);
  s.run({s.a.data(), s.n, 1});
  const std::vector<T> want = s.r;
  std::vector<T> turned(s.a.size()), spread(3 * s.a.size());
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      turned[static_cast<std::size_t>(j * s.m + i)] = System<T>::at(s.a, i * s.n + j);
      spread[static_cast<std::size_t>(3 * (i * s.n + s.n - 1 - j))] = System<T>::at(s.a, i * s.n + j);
    }
  const int threads = wp::threads();
  const wp::simd::Isa before = wp::simd::isa();
  for (int isa = 0; isa < wp::simd::kIsas; ++isa) {
    if (!wp::simd::supported(static_cast<wp::simd::Isa>(isa))) continue;
    wp::simd::set_isa(static_cast<wp::simd::Isa>(isa));
    for (const int count : {1, 3}) {
      wp::set_threads(count);
      for (const View<T> view : {View<T>{s.a.data(), s.n, 1}, View<T>{turned.data(), 1, s.m},
                                 View<T>{spread.data() + 3 * (s.n - 1), 3 * s.n, -3}}) {
        s.run(view, count == 1);
        EXPECT_EQ(std::memcmp(s.r.data(), want.data(), want.size() * sizeof(T)), 0) << isa << " " << count;
      }
    }
  }
  wp::simd::set_isa(before);
  wp::set_threads(threads);
}

TYPED_TEST(Residual, SizesAreSumsOfAbsoluteValues) {
  using T = TypeParam;
  System<T> s(4, 37, 2, 9, true);
  s.run({s.a.data(), s.n, 1});
  const auto size = [](const T& v) {
    Rational sum;
    for (int p = 0; p < rationals::parts<T>; ++p) sum += System<T>::part(v, p).size();
    return sum;
  };
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t c = 0; c < s.k; ++c) {
      Rational want = size(System<T>::at(s.b, i * s.k + c));
      for (std::int64_t j = 0; j < s.n; ++j)
        want += size(System<T>::at(s.a, i * s.n + j)) *
                (size(System<T>::at(s.x, j * s.k + c)) + size(System<T>::at(s.l, j * s.k + c)));
      const double got = static_cast<double>(s.sizes[static_cast<std::size_t>(i * s.k + c)]);
      EXPECT_NEAR(got / want.value(), 1, 200 * std::numeric_limits<typename System<T>::R>::epsilon());
    }
}

TEST(ResidualOfHugeNumbers, SurvivesWhereSplittingOverflows) {
  const std::vector<double> a{0x1.23456789abcdep1000, -0x1p1000}, x{0x1.fedcba9876543p-3, 0x1.1p-3}, b{0};
  const wp::simd::Isa before = wp::simd::isa();
  double r = 0;
  wp::simd::set_isa(wp::simd::Isa::baseline);
  wp::kernels::residual<double>(1, 2, 1, {a.data(), 2, 1}, {x.data(), 1, 1}, {}, {b.data(), 1, 1}, &r, nullptr);
  wp::simd::set_isa(before);
  const Rational exact = Rational() - Rational(a[0]) * Rational(x[0]) - Rational(a[1]) * Rational(x[1]);
  EXPECT_LE((Rational(r) - exact).size(), exact.size() * Rational(0x1p-53));
}

TEST(ResidualOfNonFinite, IsNonFinite) {
  const std::vector<double> a{1, NAN, 2, INFINITY}, x{1, 1}, b{1, 1};
  double r[2] = {};
  wp::kernels::residual<double>(2, 2, 1, {a.data(), 2, 1}, {x.data(), 1, 1}, {}, {b.data(), 1, 1}, r, nullptr);
  EXPECT_FALSE(std::isfinite(r[0]) || std::isfinite(r[1]));
}

}  // namespace
