#include <gtest/gtest.h>

#include "factors.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

template <class T>
class TriangularKernels : public testing::Test {};
TYPED_TEST_SUITE(TriangularKernels, Types);

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

TYPED_TEST(TriangularKernels, SolveBackwardStablyElementByElement) {
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

TYPED_TEST(TriangularKernels, InvertAndKeepTheOtherTriangle) {
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

}  // namespace
