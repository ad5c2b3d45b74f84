// The first pass over a matrix, its mirror images and substitution with few right-hand sides: against plain loops and
// rationals, on every instruction set of this CPU.
#include "kernels/survey.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/condition.hpp"
#include "kernels/few.hpp"
#include "kernels/mirror.hpp"
#include "kernels/numbers.hpp"
#include "rationals.hpp"
#include "simd/isa.hpp"
#include "wellposed/dtype.hpp"

namespace {
using rationals::number;
using rationals::Rational;
using wp::kernels::Survey;
using wp::kernels::View;
using wp::simd::Isa;

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Passes : public testing::Test {
 protected:
  using R = typename wp::kernels::RealOf<T>::type;
  // f() once per instruction set.
  template <class F>
  static void on_every_isa(F&& f) {
    const Isa before = wp::simd::isa();
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
      if (!wp::simd::supported(isa)) continue;
      SCOPED_TRACE(wp::simd::name(isa));
      wp::simd::set_isa(isa);
      f();
    }
    wp::simd::set_isa(before);
  }
  static std::vector<T> random(std::int64_t count, unsigned seed, int exponent = 0) {
    std::mt19937 g(seed);
    std::normal_distribution<double> d;
    std::vector<T> v;
    for (std::int64_t i = 0; i < count; ++i)
      v.push_back(number<T>(std::ldexp(d(g), exponent), std::ldexp(d(g), exponent)));
    return v;
  }
  // Layouts of the same memory: rows, columns, every second element, backwards.
  static std::vector<View<T>> layouts(std::int64_t m, std::int64_t n, const std::vector<T>& v) {
    return {{v.data(), n, 1},
            {v.data(), 1, m},
            {v.data(), 2 * n, 2},
            View<T>{v.data(), n, 1}.reversed(m, n),
            View<T>{v.data(), n, 1}.conjugated()};
  }
};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Passes, Types);

template <class T>
T at(View<T> a, std::int64_t i, std::int64_t j) {
  return a.data[i * a.rows + j * a.columns];
}

template <class T>
void expect_surveyed(std::int64_t m, std::int64_t n, View<T> a) {
  using R = typename wp::kernels::RealOf<T>::type;
  std::vector<T> copy(static_cast<std::size_t>(m * n) + 1);
  const Survey<T> with(m, n, a, copy.data()), without(m, n, a, nullptr);
  bool finite = true;
  std::vector<R> rows(static_cast<std::size_t>(m)), columns(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = at(a, i, j);
      finite = finite && wp::is_finite(v);
      const R size = static_cast<R>(wp::size_of_number(v));
      rows[static_cast<std::size_t>(i)] = std::max(rows[static_cast<std::size_t>(i)], size);
      columns[static_cast<std::size_t>(j)] = std::max(columns[static_cast<std::size_t>(j)], size);
      const T to = copy[static_cast<std::size_t>(i * n + j)];
      EXPECT_TRUE(to == v || !(v == v)) << i << ' ' << j;
    }
  for (const Survey<T>* s : {&with, &without}) {
    EXPECT_EQ(s->finite(), finite);
    if (!finite) continue;
    for (std::int64_t i = 0; i < m; ++i) EXPECT_EQ(s->rows()[i], rows[static_cast<std::size_t>(i)]);
    for (std::int64_t j = 0; j < n; ++j) EXPECT_EQ(s->columns()[j], columns[static_cast<std::size_t>(j)]);
    if (!s->norms()) continue;
    const wp::kernels::Norms norms = wp::kernels::norms<T>(m, n, {copy.data(), n, 1});
    EXPECT_EQ(s->norms()->one, norms.one);
    EXPECT_EQ(s->norms()->largest, norms.largest);
  }
  EXPECT_EQ(wp::kernels::all_finite<T>(m, n, a), finite);
}

TYPED_TEST(Passes, TellOfEveryLayoutAndSizeWhatPlainLoopsTell) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  this->on_every_isa([&] {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                               {0, 3},
                               {3, 0},
                               {1, 1},
                               {4, 4},
                               {5, 1},
                               {1, 9},
                               {7, 13},
                               {33, 70},
                               {40, 17}})
      for (const int exponent :
           {0, std::numeric_limits<R>::min_exponent - 12, std::numeric_limits<R>::max_exponent - 3}) {
        const std::vector<T> v = this->random(4 * m * n + 1, 3, exponent);
        for (const View<T>& a : this->layouts(m, n, v)) expect_surveyed(m, n, a);
      }
  });
}

TYPED_TEST(Passes, OfLargeMatricesInStripsAreThoseOfSmallOnes) {
  using T = TypeParam;
  const std::int64_t m = 300, n = 1100;
  const std::vector<T> v = this->random(m * n, 4);
  this->on_every_isa([&] {
    expect_surveyed<T>(m, n, {v.data(), n, 1});
    expect_surveyed<T>(m, n, {v.data(), 1, m});
  });
}

TYPED_TEST(Passes, SeeEverythingThatIsNotFiniteWhereverItIs) {
  using T = TypeParam;
  const std::int64_t m = 9, n = 11;
  this->on_every_isa([&] {
    for (const double bad : {inf, -inf, nan})
      for (std::int64_t e = 0; e < m * n; e += 7) {
        std::vector<T> v = this->random(m * n, 5);
        v[static_cast<std::size_t>(e)] = number<T>(e % 2 ? bad : 1, e % 2 && rationals::parts<T> == 2 ? 1 : bad);
        if (rationals::parts<T> == 1) v[static_cast<std::size_t>(e)] = number<T>(bad, 0);
        expect_surveyed<T>(m, n, {v.data(), n, 1});
        expect_surveyed<T>(m, n, {v.data(), 1, m});
      }
    // Sums overflow, elements do not.
    const auto largest = static_cast<double>(std::numeric_limits<typename TestFixture::R>::max());
    const std::vector<T> most(static_cast<std::size_t>(m * n), number<T>(largest, 0));
    expect_surveyed<T>(m, n, {most.data(), n, 1});
  });
}

TYPED_TEST(Passes, FindTheLargestOfEveryPartAndNan) {
  using R = typename TestFixture::R;
  using wp::kernels::Part;
  this->on_every_isa([&] {
    for (std::int64_t n = 0; n < 40; ++n)
      for (const Part part : {Part::all, Part::lower, Part::upper}) {
        const std::int64_t m = 7, row = n + 3;
        std::vector<R> v(static_cast<std::size_t>(m * row), std::numeric_limits<R>::quiet_NaN());
        R most = 0;
        R* inside = nullptr;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = part == Part::upper ? i : 0; j < (part == Part::lower ? std::min(n, i + 1) : n);
               ++j) {
            inside = &v[static_cast<std::size_t>(i * row + j)];
            *inside = static_cast<R>(((i * 11 + j) * 37 % 61) - 30) * std::numeric_limits<R>::denorm_min();
            most = std::max(most, std::fabs(*inside));
          }
        EXPECT_EQ(wp::kernels::largest_of_lines<R>(m, n, v.data(), row, part), most);
        if (!inside) continue;
        *inside = -std::numeric_limits<R>::infinity();
        EXPECT_EQ(wp::kernels::largest_of_lines<R>(m, n, v.data(), row, part), std::numeric_limits<R>::infinity());
        *inside = std::numeric_limits<R>::quiet_NaN();
        EXPECT_TRUE(std::isnan(wp::kernels::largest_of_lines<R>(m, n, v.data(), row, part)));
      }
  });
}

TYPED_TEST(Passes, ScaleExactlyThoseThatEquilibrateFindsUneven) {
  using T = TypeParam;
  const std::int64_t n = 6;
  for (int spread = 0; spread < 8; ++spread)
    for (const bool rows : {false, true}) {
      std::vector<T> v = this->random(n * n, 6);
      for (std::int64_t j = 0; j < n; ++j) {
        T& x = v[static_cast<std::size_t>(rows ? 2 * n + j : j * n + 2)];
        x = wp::times_power(x, -spread);
      }
      const View<T> a{v.data(), n, 1};
      const Survey<T> survey(n, n, a, nullptr);
      const wp::kernels::Equilibration want = wp::kernels::equilibrate<T>(n, n, a),
                                       got = wp::kernels::equilibrate<T>(n, n, a, survey);
      EXPECT_EQ(wp::kernels::needs_scaling<T>(n, n, survey), want.needed);
      EXPECT_EQ(got.needed, want.needed);
      EXPECT_EQ(got.rows, want.rows);
      EXPECT_EQ(got.columns, want.columns);
    }
}

TYPED_TEST(Passes, MirrorImagesAreWhatOneElementAfterTheOtherGives) {
  using T = TypeParam;
  using R = typename TestFixture::R;
  using wp::kernels::Side;
  this->on_every_isa([&] {
    for (const std::int64_t n : {0, 1, 2, 5, 31, 32, 33, 70, 300})
      for (const Side side : {Side::both, Side::lower, Side::upper})
        for (const bool turned : {false, true}) {
          std::vector<T> v = this->random(n * n, 7);
          for (std::int64_t i = 0; i < n; ++i)  // most mirror images are equal
            for (std::int64_t j = 0; j < i; ++j)
              if ((i + j) % 5)
                v[static_cast<std::size_t>(j * n + i)] = wp::conjugate(v[static_cast<std::size_t>(i * n + j)]);
          const View<T> a = turned ? View<T>{v.data(), 1, n} : View<T>{v.data(), n, 1};
          const T mark = number<T>(77, 0);
          std::vector<T> to(static_cast<std::size_t>(n * n), mark);
          const wp::kernels::Mirrored got = wp::kernels::mirror<T>(n, a, side, to.data(), n);
          double largest = 0, apart = 0;
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              const T x = to[static_cast<std::size_t>(i * n + j)];
              if (j > i) {
                EXPECT_EQ(x, mark);
                continue;
              }
              const T below = side == Side::upper ? wp::conjugate(at(a, j, i)) : at(a, i, j);
              const T above = side == Side::lower ? below : wp::conjugate(at(a, j, i));
              T want = below == above ? below : below * R(0.5) + above * R(0.5);
              if (i == j) want = T(std::real(want));
              EXPECT_EQ(x, want) << i << ' ' << j;
              largest = std::max(largest, wp::size_of_number(want));
              if (side == Side::both) apart = std::max(apart, wp::size_of_number(below - want));
            }
          EXPECT_TRUE(got.finite);
          EXPECT_EQ(got.largest, largest);
          EXPECT_EQ(got.apart, apart);
        }
    for (const double bad : {inf, nan}) {
      std::vector<T> v = this->random(36, 8), to(36);
      v[6 * 4 + 1] = number<T>(bad, 0);
      EXPECT_FALSE(wp::kernels::mirror<T>(6, {v.data(), 6, 1}, Side::both, to.data(), 6).finite);
      EXPECT_FALSE(wp::kernels::mirror<T>(6, {v.data(), 6, 1}, Side::lower, to.data(), 6).finite);
      EXPECT_TRUE(wp::kernels::mirror<T>(6, {v.data(), 6, 1}, Side::upper, to.data(), 6).finite);
    }
  });
}

template <class T>
class Substitution : public Passes<T> {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Substitution, Reals);

// |b − T x̂| ≤ γ |T| |x̂| in every element (Higham 2002, theorem 8.5), γ = (n + 4) u / (1 − (n + 4) u).
template <class T>
void expect_solved(wp::kernels::Triangle triangle, std::int64_t n, View<T> a, const T* x, std::int64_t x_row,
                   const T* b) {
  const double u = std::numeric_limits<T>::epsilon() / 2, gamma = static_cast<double>(n + 4) * u * 1.01;
  for (std::int64_t i = 0; i < n; ++i) {
    Rational residual(static_cast<double>(b[i])), size;
    for (std::int64_t j = triangle.upper ? i : 0; j < (triangle.upper ? n : i + 1); ++j) {
      const double element = i == j && triangle.unit ? 1 : static_cast<double>(at(a, i, j));
      const Rational term = Rational(element) * Rational(static_cast<double>(x[j * x_row]));
      residual -= term;
      size += term.size();
    }
    EXPECT_LE(residual.size(), size * Rational(gamma)) << i << " of " << n;
  }
}

TYPED_TEST(Substitution, OfOneOrFourVectorsIsBackwardStableInEveryElementAndLayout) {
  using T = TypeParam;
  this->on_every_isa([&] {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 13, 35, 70})
      for (const bool upper : {false, true})
        for (const bool unit : {false, true})
          for (const bool turned : {false, true}) {
            std::vector<T> v = this->random(n * n, 9);
            for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i * n + i)] += T(3);
            for (T& x : v) x /= T(4);
            const View<T> a = turned ? View<T>{v.data(), 1, n} : View<T>{v.data(), n, 1};
            const std::vector<T> b = this->random(4 * n, 10);
            std::vector<T> four(b.size()), alone(static_cast<std::size_t>(n));
            for (std::int64_t i = 0; i < n; ++i)
              for (std::int64_t c = 0; c < 4; ++c)
                four[static_cast<std::size_t>(4 * i + c)] = b[static_cast<std::size_t>(c * n + i)];
            wp::kernels::solve_few<T>({upper, unit}, n, a, four.data());
            for (std::int64_t c = 0; c < 4; ++c) {
              const T* const right = b.data() + c * n;
              expect_solved<T>({upper, unit}, n, a, four.data() + c, 4, right);
              std::copy_n(right, n, alone.begin());
              wp::kernels::solve_one<T>({upper, unit}, n, a, alone.data());
              expect_solved<T>({upper, unit}, n, a, alone.data(), 1, right);
            }
          }
  });
}

TYPED_TEST(Substitution, OfAVectorDoesNotDependOnThoseBesideIt) {
  using T = TypeParam;
  const std::int64_t n = 37;
  this->on_every_isa([&] {
    std::vector<T> a = this->random(n * n, 11);
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] += T(9);
    const std::vector<T> b = this->random(4 * n, 12);
    for (std::int64_t c = 0; c < 4; ++c) {
      std::vector<T> all = b, one(b.size(), std::numeric_limits<T>::quiet_NaN());
      for (std::int64_t i = 0; i < n; ++i)
        one[static_cast<std::size_t>(4 * i + c)] = b[static_cast<std::size_t>(4 * i + c)];
      wp::kernels::solve_few<T>({false, false}, n, {a.data(), n, 1}, all.data());
      wp::kernels::solve_few<T>({false, false}, n, {a.data(), n, 1}, one.data());
      for (std::int64_t i = 0; i < n; ++i)
        EXPECT_EQ(all[static_cast<std::size_t>(4 * i + c)], one[static_cast<std::size_t>(4 * i + c)]);
    }
  });
}

}  // namespace
