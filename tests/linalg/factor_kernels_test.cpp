#include <gtest/gtest.h>

#include <cstring>

#include "factors.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/lu.hpp"
#include "kernels/triangular.hpp"
#include "simd/isa.hpp"
#include "wellposed/dtype.hpp"
#include "wellposed/threads.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 10, 17, 50, 200, 333};
constexpr double limit = 30;  // of LAPACK's own tests

template <class T>
class Factors : public testing::Test {};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Factors, Types);

template <class T>
struct Lu {
  Matrix<T> lu;
  std::vector<std::int64_t> pivots;
  std::int64_t zero;
  explicit Lu(const Matrix<T>& a) : lu(a), pivots(static_cast<std::size_t>(std::min(a.m, a.n))) {
    zero = lu_factor<T>(a.m, a.n, lu.data.data(), lu.row, pivots.data());
  }
  Matrix<T> lower() const {
    const std::int64_t k = std::min(lu.m, lu.n);
    return made<T>(lu.m, k, [&](std::int64_t i, std::int64_t j) { return j < i ? lu(i, j) : T(j == i ? 1 : 0); });
  }
  Matrix<T> upper() const {
    const std::int64_t k = std::min(lu.m, lu.n);
    return made<T>(k, lu.n, [&](std::int64_t i, std::int64_t j) { return j < i ? T(0) : lu(i, j); });
  }
};

// ‖PA − LU‖ / (n u ‖A‖)
template <class T>
double lu_ratio(const Matrix<T>& a, const Lu<T>& f) {
  Matrix<T> pa = a;
  for (std::size_t i = 0; i < f.pivots.size(); ++i)
    for (std::int64_t j = 0; j < a.n; ++j) std::swap(pa(static_cast<std::int64_t>(i), j), pa(f.pivots[i], j));
  WideMatrix<T> rest = widened(pa);
  subtract_product<T>(a.m, a.n, std::min(a.m, a.n), f.lower(), f.upper(), rest);
  return ratio<T>(norm<T>(rest, a.n), norm(a), a.n);
}

TYPED_TEST(Factors, LuLeavesTheResidualThatLapackAllows) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : sizes) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      for (std::size_t i = 0; i < f.pivots.size(); ++i) {
        ASSERT_GE(f.pivots[i], static_cast<std::int64_t>(i));
        ASSERT_LT(f.pivots[i], n);
      }
      EXPECT_LT(lu_ratio(a, f), limit) << kind << " " << n;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j) {
          const T l = f.lu(i, j);
          if constexpr (is_complex<T>)
            ASSERT_LE(std::abs(l), 1.5);
          else
            ASSERT_LE(std::abs(l), 1);
        }
    }
}

TYPED_TEST(Factors, LuTakesTallAndWideMatricesAndStaysInsideItsRows) {
  using T = TypeParam;
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{0, 5},    {5, 0},   {1, 9},   {9, 1},    {3, 40},
                                                              {40, 3},   {17, 16}, {65, 64}, {64, 65},  {200, 70},
                                                              {70, 200}, {300, 9}, {9, 300}, {129, 257}};
  for (const auto& [m, n] : shapes)
    for (const std::int64_t gap : {std::int64_t{0}, std::int64_t{7}}) {
      const Matrix<T> a = random_matrix<T>(m, n, 5, gap);
      const Lu<T> f(a);
      EXPECT_EQ(f.zero, -1);
      EXPECT_LT(lu_ratio(a, f), limit) << m << "x" << n;
      EXPECT_TRUE(f.lu.gaps_untouched());
    }
}

// Column by column, as in a textbook.
template <class T>
std::vector<std::int64_t> textbook_pivots(Matrix<T> a) {
  std::vector<std::int64_t> pivots;
  const auto size = [](T v) {
    if constexpr (is_complex<T>)
      return std::abs(v.real()) + std::abs(v.imag());
    else
      return std::abs(v);
  };
  for (std::int64_t j = 0; j < std::min(a.m, a.n); ++j) {
    std::int64_t p = j;
    for (std::int64_t i = j + 1; i < a.m; ++i)
      if (size(a(i, j)) > size(a(p, j))) p = i;
    pivots.push_back(p);
    for (std::int64_t c = 0; c < a.n; ++c) std::swap(a(j, c), a(p, c));
    if (a(j, j) == T(0)) continue;
    for (std::int64_t i = j + 1; i < a.m; ++i) {
      a(i, j) /= a(j, j);
      for (std::int64_t c = j + 1; c < a.n; ++c) a(i, c) -= times(a(i, j), a(j, c));
    }
  }
  return pivots;
}

TYPED_TEST(Factors, LuChoosesThePivotsOfATextbookLoop) {
  using T = TypeParam;
  for (const std::string kind : {"random", "graded", "diagonal", "triangular", "Toeplitz"})
    for (const std::int64_t n : {1, 2, 5, 17, 50, 100})
      EXPECT_EQ(Lu<T>(of_kind<T>(kind, n, n)).pivots, textbook_pivots(of_kind<T>(kind, n, n))) << kind << " " << n;
  EXPECT_EQ(Lu<T>(random_matrix<T>(90, 30, 1)).pivots, textbook_pivots(random_matrix<T>(90, 30, 1)));
}

// Ties go to the first row: the integers −1, 0, 1 are eliminated without rounding.
TYPED_TEST(Factors, LuTakesTheFirstOfEqualPivots) {
  using T = TypeParam;
  const auto a =
      made<T>(20, 20, [](std::int64_t i, std::int64_t j) { return T(static_cast<Real<T>>((i * j + i) % 3 - 1)); });
  EXPECT_EQ(Lu<T>(a).pivots[0], textbook_pivots(a)[0]);
  const auto growing = made<T>(24, 24, [](std::int64_t i, std::int64_t j) {
    return T(i == j || j == 23 ? 1 : i > j ? -1 : 0);
  });
  const Lu<T> f(growing);
  EXPECT_EQ(f.pivots, textbook_pivots(growing));
  EXPECT_EQ((lu_growth<T>(24, 24, f.lu.view(), largest<T>(24, 24, growing.view()))),
            std::exp2(23));  // Wilkinson's matrix
}

TYPED_TEST(Factors, LuReportsTheFirstZeroPivotAndGoesOn) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 9, 70, 130}) {
    for (const std::int64_t dead : {std::int64_t{0}, n / 2, n - 1}) {
      Matrix<T> a = random_matrix<T>(n, n, 3);
      for (std::int64_t i = 0; i < n; ++i) a(i, dead) = T(0);
      const Lu<T> f(a);
      EXPECT_EQ(f.zero, dead) << n;
      EXPECT_LT(lu_ratio(a, f), limit);
    }
  }
  EXPECT_EQ(Lu<T>(Matrix<T>(40, 40)).zero, 0);
  EXPECT_EQ(Lu<T>(Matrix<T>(0, 0)).zero, -1);
  const Matrix<T> nothing(3, 3);
  EXPECT_EQ(lu_growth<T>(3, 3, nothing.view(), Real<T>(0)), 1);
}

TYPED_TEST(Factors, LuKeepsItsPivotsInRangeWhateverItIsGiven) {
  using T = TypeParam;
  using L = std::numeric_limits<Real<T>>;
  for (const Real<T> odd : {L::quiet_NaN(), L::infinity(), -L::infinity(), L::denorm_min(), L::max()})
    for (const std::int64_t n : {1, 2, 8, 33, 140})
      for (int fill = 0; fill < 3; ++fill) {
        Matrix<T> a = random_matrix<T>(n, n, 4);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (fill == 0 || (fill == 1 && j == n / 2) || (fill == 2 && (i * 7 + j) % 5 == 0)) a(i, j) = T(odd);
        const Lu<T> f(a);
        for (std::size_t i = 0; i < f.pivots.size(); ++i) {
          ASSERT_GE(f.pivots[i], static_cast<std::int64_t>(i));
          ASSERT_LT(f.pivots[i], n);
        }
      }
}

template <class T>
Matrix<T> turned(const Matrix<T>& a, Form form) {
  if (form == Form::plain) return a;
  return made<T>(a.n, a.m,
                 [&](std::int64_t i, std::int64_t j) { return form == Form::adjoint ? conj_of(a(j, i)) : a(j, i); });
}
// ‖B − A X‖ / (n u ‖A‖ ‖X‖)
template <class T>
double solve_ratio(const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b) {
  WideMatrix<T> rest = widened(b);
  subtract_product<T>(a.m, b.n, a.n, a, x, rest);
  return ratio<T>(norm<T>(rest, b.n), norm(a) * norm(x), a.n);
}
template <class T>
bool finite(const Matrix<T>& a) {
  return std::isfinite(norm(a));
}

TYPED_TEST(Factors, LuSolvesInAllThreeFormsForBothLayouts) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 140}) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      if (f.zero >= 0) continue;
      for (const Form form : {Form::plain, Form::transposed, Form::adjoint})
        for (const std::int64_t columns : {0, 1, 2, 7, 40}) {
          const Matrix<T> b = random_matrix<T>(n, columns, 6, 3), bt = turned(b, Form::transposed);
          Matrix<T> x = b, xt = bt;
          lu_solve<T>(form, n, columns, f.lu.view(), f.pivots.data(), x.view());
          lu_solve<T>(form, n, columns, f.lu.view(), f.pivots.data(), xt.view().transposed());
          EXPECT_TRUE(x.gaps_untouched());
          if (!finite(x)) continue;
          EXPECT_LT(solve_ratio(turned(a, form), x, b), limit) << kind << " " << n << " columns " << columns;
          const Matrix<T> back = turned(xt, Form::transposed);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < columns; ++j) ASSERT_EQ(x(i, j), back(i, j)) << kind << " " << n;
        }
    }
}

template <class T>
Matrix<T> identity(std::int64_t n) {
  return made<T>(n, n, [](std::int64_t i, std::int64_t j) { return T(i == j ? 1 : 0); });
}

// ‖I − X A‖ / (n u ‖A‖ ‖X‖): the residual that the method bounds.
TYPED_TEST(Factors, LuInvertsWithTheResidualThatLapackAllows) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 200}) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      if (f.zero >= 0) continue;
      Matrix<T> x(n, n, 5);
      lu_inverse<T>(n, f.lu.view(), f.pivots.data(), x.data.data(), x.row);
      EXPECT_TRUE(x.gaps_untouched());
      if (!finite(x)) continue;
      EXPECT_LT(solve_ratio(x, a, identity<T>(n)), limit) << kind << " " << n;
    }
}

// |B − A X| ≤ γ |A||X| element by element, with γ = (n + 2) u and a little more for complex numbers (Higham 2002,
// §8.1).
template <class T>
bool solves_elementwise(const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b) {
  const double gamma = static_cast<double>(a.n + 4) * unit_roundoff<T> * (is_complex<T> ? 4 : 1);
  const double tiny = std::numeric_limits<Real<T>>::denorm_min() * static_cast<double>(a.n + 4);
  WideMatrix<T> rest = widened(b);
  subtract_product<T>(a.m, b.n, a.n, a, x, rest);
  for (std::int64_t i = 0; i < a.m; ++i)
    for (std::int64_t j = 0; j < b.n; ++j) {
      WideReal<T> size = 0;
      for (std::int64_t p = 0; p < a.n; ++p) size += std::abs(Wide<T>(a(i, p))) * std::abs(Wide<T>(x(p, j)));
      if (!(std::abs(rest[static_cast<std::size_t>(i * b.n + j)]) <=
            static_cast<WideReal<T>>(gamma) * size + static_cast<WideReal<T>>(tiny)))
        return false;
    }
  return true;
}
template <class T>
Matrix<T> triangle_of(const Matrix<T>& a, Triangle t) {
  return made<T>(a.m, a.n, [&](std::int64_t i, std::int64_t j) {
    return i == j ? (t.unit ? T(1) : a(i, j)) : (j > i) == t.upper ? a(i, j) : T(0);
  });
}
// Triangles whose solutions do not overflow: a large diagonal, or small elements beside a unit one.
template <class T>
Matrix<T> tame(const std::string& kind, std::int64_t n, bool unit) {
  Matrix<T> a = of_kind<T>(kind, n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (a(i, i) == T(0)) a(i, i) = T(1);
    for (std::int64_t j = 0; unit && j < n; ++j)
      if (j != i) a(i, j) *= Real<T>(0.1);
  }
  return a;
}

TYPED_TEST(Factors, TriangularSolvesAreBackwardStableElementByElement) {
  using T = TypeParam;
  for (const std::string kind : {"random", "Hilbert", "graded", "diagonal", "Toeplitz"})
    for (const std::int64_t n : {1, 2, 3, 5, 10, 17, 50, 64, 65, 150})
      for (const bool upper : {false, true})
        for (const bool unit : {false, true})
          for (const Form form : {Form::plain, Form::transposed, Form::adjoint}) {
            const Matrix<T> a = tame<T>(kind, n, unit);
            const View<T> view = form == Form::plain     ? a.view()
                                 : form == Form::adjoint ? a.view().transposed().conjugated()
                                                         : a.view().transposed();
            const Triangle triangle{upper, unit};
            for (const std::int64_t columns : {1, 3, 37}) {
              const Matrix<T> b = random_matrix<T>(n, columns, 8, 2);
              Matrix<T> x = b;
              solve_triangular<T>({form == Form::plain ? upper : !upper, unit}, n, columns, view, x.view());
              EXPECT_TRUE(x.gaps_untouched());
              if (!finite(x)) continue;
              EXPECT_TRUE(solves_elementwise(turned(triangle_of(a, triangle), form), x, b))
                  << kind << " " << n << " upper " << upper << " unit " << unit << " form " << static_cast<int>(form)
                  << " columns " << columns;
            }
          }
}

TYPED_TEST(Factors, TriangularInversesKeepTheOtherTriangle) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 2, 5, 33, 64, 65, 200})
    for (const bool upper : {false, true})
      for (const bool unit : {false, true}) {
        const Matrix<T> a = tame<T>("random", n, true);
        Matrix<T> x = a;
        const Triangle triangle{upper, unit};
        invert_triangular<T>(triangle, n, x.view());
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if ((upper ? j < i : j > i) || (unit && i == j)) {
              ASSERT_EQ(x(i, j), a(i, j));
            }
        if (n == 0 || !finite(x)) continue;
        EXPECT_LT(solve_ratio(triangle_of(a, triangle), triangle_of(x, triangle), identity<T>(n)), limit)
            << n << upper << unit;
      }
}

// K Kᴴ + a shift, exactly Hermitian.
template <class T>
Matrix<T> positive(const std::string& kind, std::int64_t n) {
  const Matrix<T> k = of_kind<T>(kind, n, n);
  WideMatrix<T> product(static_cast<std::size_t>(n * n));
  subtract_product<T>(n, n, n, k, turned(k, Form::adjoint), product);
  double most = 0;
  for (const auto& v : product) most = std::max(most, static_cast<double>(std::abs(v)));
  return made<T>(n, n, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t low = std::max(i, j), high = std::min(i, j);
    const T v = static_cast<T>(-product[static_cast<std::size_t>(low * n + high)]);
    if (i == j) return T(std::real(v) + static_cast<Real<T>>(most > 0 ? most * 1e-3 : 1));
    return i > j ? v : conj_of(v);
  });
}

TYPED_TEST(Factors, CholeskyLeavesTheResidualThatLapackAllowsFromEitherTriangle) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 64, 65, 200}) {
      const Matrix<T> a = positive<T>(kind, n);
      for (const bool upper : {false, true}) {
        Matrix<T> f(n, n, 4);
        const T mark(77);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) f(i, j) = (upper ? j >= i : j <= i) ? a(i, j) : mark;
        ASSERT_EQ(cholesky_factor<T>(n, upper ? f.view().transposed() : f.view()), -1) << kind << " " << n;
        EXPECT_TRUE(f.gaps_untouched());
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (upper ? j < i : j > i) {
              ASSERT_EQ(f(i, j), mark);
            }
        const Matrix<T> l =
            upper ? turned(triangle_of(f, {true, false}), Form::adjoint) : triangle_of(f, {false, false});
        WideMatrix<T> rest = widened(a);
        subtract_product<T>(n, n, n, l, turned(l, Form::adjoint), rest);
        EXPECT_LT(ratio<T>(norm<T>(rest, n), norm(a), n), limit) << kind << " " << n;
      }
    }
}

TYPED_TEST(Factors, CholeskySolvesAndInverts) {
  using T = TypeParam;
  for (const std::string kind : {"random", "Hilbert", "orthogonal", "Wilkinson's W+"})
    for (const std::int64_t n : {0, 1, 2, 5, 17, 64, 130}) {
      const Matrix<T> a = positive<T>(kind, n);
      Matrix<T> l = a;
      ASSERT_EQ(cholesky_factor<T>(n, l.view()), -1);
      for (const std::int64_t columns : {1, 5}) {
        const Matrix<T> b = random_matrix<T>(n, columns, 2);
        Matrix<T> x = b;
        cholesky_solve<T>(n, columns, l.view(), x.view());
        EXPECT_LT(solve_ratio(a, x, b), limit);
      }
      Matrix<T> inverse(n, n, 3);
      cholesky_inverse<T>(n, l.view(), inverse.data.data(), inverse.row);
      EXPECT_TRUE(inverse.gaps_untouched());
      if (n > 0) {
        EXPECT_LT(solve_ratio(a, inverse, identity<T>(n)), limit);
      }
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(inverse(i, j), conj_of(inverse(j, i)));
    }
}

TYPED_TEST(Factors, CholeskyNamesTheFirstPivotThatIsNotPositive) {
  using T = TypeParam;
  using R = Real<T>;
  for (const std::int64_t n : {1, 2, 9, 70, 150})
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
      for (const R bad : {R(-1), R(0), std::numeric_limits<R>::quiet_NaN()}) {
        Matrix<T> a = identity<T>(n);
        a(at, at) = T(bad);
        EXPECT_EQ(cholesky_factor<T>(n, a.view()), at) << n;
      }
}

template <class T>
std::vector<char> bytes(const Matrix<T>& a) {
  std::vector<char> out(a.data.size() * sizeof(T));
  std::memcpy(out.data(), a.data.data(), out.size());
  return out;
}

TYPED_TEST(Factors, HaveTheSameBitsForOneTwoAndThreeThreads) {
  using T = TypeParam;
  const int before = wp::threads();
  const std::int64_t n = 333;
  const Matrix<T> a = random_matrix<T>(n, n, 1), b = random_matrix<T>(n, 130, 2), spd = positive<T>("random", n);
  std::vector<std::vector<char>> want;
  for (const int threads : {1, 2, 3}) {
    wp::set_threads(threads);
    const Lu<T> f(a);
    Matrix<T> x = b, inverse(n, n), l = spd, spd_inverse(n, n), w = f.lu;
    lu_solve<T>(Form::plain, n, 130, f.lu.view(), f.pivots.data(), x.view());
    lu_inverse<T>(n, f.lu.view(), f.pivots.data(), inverse.data.data(), n);
    EXPECT_EQ(cholesky_factor<T>(n, l.view()), -1);
    cholesky_inverse<T>(n, l.view(), spd_inverse.data.data(), n);
    invert_triangular<T>({true, false}, n, w.view());
    const std::vector<std::vector<char>> got = {bytes(f.lu), bytes(x),           bytes(inverse),
                                                bytes(l),    bytes(spd_inverse), bytes(w)};
    if (want.empty()) want = got;
    EXPECT_EQ(got, want) << threads;
  }
  wp::set_threads(before);
}

TYPED_TEST(Factors, AreRightOnEveryInstructionSet) {
  using T = TypeParam;
  using wp::simd::Isa;
  const Isa before = wp::simd::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!wp::simd::supported(isa)) continue;
    wp::simd::set_isa(isa);
    for (const std::int64_t n : {7, 70, 150}) {
      const Matrix<T> a = random_matrix<T>(n, n, 1), b = random_matrix<T>(n, 9, 2), spd = positive<T>("random", n);
      const Lu<T> f(a);
      EXPECT_LT(lu_ratio(a, f), limit);
      Matrix<T> x = b, y = b, l = spd;
      lu_solve<T>(Form::adjoint, n, 9, f.lu.view(), f.pivots.data(), x.view());
      EXPECT_LT(solve_ratio(turned(a, Form::adjoint), x, b), limit);
      EXPECT_EQ(cholesky_factor<T>(n, l.view()), -1);
      cholesky_solve<T>(n, 9, l.view(), y.view());
      EXPECT_LT(solve_ratio(spd, y, b), limit);
    }
  }
  wp::simd::set_isa(before);
}

// ---- products into C
TYPED_TEST(Factors, ProductsSetAddAndSubtractIntoAnyLayoutWithTheSameBits) {
  using T = TypeParam;
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& s : {Size{1, 1, 1}, Size{1, 9, 4}, Size{9, 1, 4}, Size{7, 17, 30}, Size{70, 90, 300},
                        Size{3, 500, 40}, Size{0, 4, 3}, Size{4, 0, 3}, Size{4, 5, 0}}) {
    const Matrix<T> a = random_matrix<T>(s.m, s.k, 1), b = random_matrix<T>(s.k, s.n, 2),
                    old = random_matrix<T>(s.m, s.n, 3, 5);
    for (const Into into : {Into::set, Into::add, Into::subtract}) {
      Matrix<T> c = old, ct = turned(old, Form::transposed), back(s.m, s.n), lower = old;
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), c.view(), into);
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), ct.view().transposed(), into);
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), lower.view(), into, Part::lower);
      EXPECT_TRUE(c.gaps_untouched());
      WideMatrix<T> rest = widened(into == Into::set ? Matrix<T>(s.m, s.n) : old);
      Matrix<T> minus = a;
      for (auto& v : minus.data) v = into == Into::subtract ? v : -v;
      subtract_product<T>(s.m, s.n, s.k, minus, b, rest);
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          ASSERT_EQ(c(i, j), ct(j, i));
          ASSERT_EQ(lower(i, j), j <= i ? c(i, j) : old(i, j));
          const Wide<T> error = rest[static_cast<std::size_t>(i * s.n + j)] - Wide<T>(c(i, j));
          ASSERT_LE(std::abs(error),
                    static_cast<double>(s.k + 2) * unit_roundoff<T> * static_cast<double>(4 * s.k + 4));
        }
      if (s.m * s.n * s.k == 0) continue;  // nothing has no last row
      // Backward rows and columns of C.
      gemm<T>(s.m, s.n, s.k, View<T>(a.view()).reversed(s.m, s.k), View<T>(b.view()).reversed(s.k, s.n),
              back.view().reversed(s.m, s.n));
      if (into == Into::set) {
        EXPECT_LE(std::abs(back(0, 0) - c(0, 0)), static_cast<double>(s.k) * unit_roundoff<T> * 16);
      }
    }
  }
}

}  // namespace
