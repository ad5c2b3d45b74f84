// Errors of stacks of small matrices beside those of a loop over LAPACK.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/lapack.hpp"
#include "long_tests.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;

extern "C" {
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
}

// Sums of squares would be those of the few worst conditions: what is compared is how errors are spread.
TEST(SmallStacks, InversesAreAtMostTwiceAsWrongAsThoseOfLapack) {
  for (const char* const kind : {"random", "graded", "repeated spectrum", "least normal numbers", "near overflow"})
    for (const int n : {2, 3, 4, 8}) {
      const int count = long_tests() && n <= 4 ? 1000000 : 10000;
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind(kind, n, n, g));
      const auto [x, d] = linalg::diagnosed::inv(stack_of(n, n, members, f64));
      const double* const got = reinterpret_cast<const double*>(x.node()->data);
      std::vector<double> ours, theirs;
      for (int i = 0; i < count; ++i) {
        std::vector<double> a = members[static_cast<std::size_t>(i)];
        const std::vector<Quad> exact = exact_inverse(n, a);
        const Quad most = static_cast<Quad>(std::numeric_limits<double>::max());
        if (std::any_of(exact.begin(), exact.end(), [&](Quad v) { return v > most || v < -most; })) continue;
        ours.push_back(error_of(exact, got + i * n * n));
        std::vector<int> pivots(static_cast<std::size_t>(n));
        std::vector<double> work(static_cast<std::size_t>(64 * n));
        const int length = 64 * n;
        int info = 0;
        dgetrf_(&n, &n, a.data(), &n, pivots.data(), &info);  // of the transpose: so is the inverse
        dgetri_(&n, a.data(), &n, pivots.data(), work.data(), &length, &info);
        theirs.push_back(error_of(exact, a.data()));
      }
      ASSERT_GT(ours.size(), static_cast<std::size_t>(count) / 2) << kind << " " << n;
      for (const double share : {0.5, 0.9, 0.99, 0.999})
        EXPECT_LE(quantile(ours, share), 2 * quantile(theirs, share)) << kind << " " << n << " " << share;
    }
}

TEST(SmallStacks, SolutionsAreRightToTheLastDigit) {
  std::mt19937_64 g(3);
  const int count = long_tests() ? 50000 : 1000;
  for (const int n : {1, 2, 3, 4, 6, 8, 12, 32}) {
    const int of_this = n > 8 ? count / 20 : count;
    std::vector<std::vector<double>> members, sides;
    for (int i = 0; i < of_this; ++i) {
      members.push_back(draw(n, n, Want::any, g));
      sides.push_back(draw(n, 1, Want::any, g));
    }
    const Tensor x = linalg::solve(stack_of(n, n, members, f64), stack_of(n, 1, sides, f64));
    double worst = 0;
    for (int i = 0; i < of_this; ++i) {
      const std::vector<Quad> inverse = exact_inverse(n, members[static_cast<std::size_t>(i)]);
      std::vector<Quad> exact(static_cast<std::size_t>(n));
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
          exact[static_cast<std::size_t>(r)] += inverse[static_cast<std::size_t>(r * n + c)] *
                                                Quad(sides[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)]);
      worst = std::max(worst, error_of(exact, reinterpret_cast<const double*>(x.node()->data) + i * n));
    }
    EXPECT_LE(worst, 2.3e-16) << n;
  }
}

// ‖A − V diag(λ) Vᵀ‖ and ‖VᵀV − I‖ over those of LAPACK.
struct Residuals {
  double product = 0, orthogonality = 0;
};
Residuals residuals(int m, int n, const double* a, const double* left, const double* values, const double* right,
                    bool right_by_rows) {
  const int k = std::min(m, n);
  Residuals out;
  long double largest = 0;
  for (int e = 0; e < m * n; ++e) largest = std::max<long double>(largest, std::fabs(a[e]));
  const auto r = [&](int i, int c) { return right_by_rows ? right[c * n + i] : right[i * k + c]; };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      long double sum = -static_cast<long double>(a[i * n + j]);
      for (int c = 0; c < k; ++c) sum += static_cast<long double>(left[i * k + c]) * values[c] * r(j, c);
      out.product = std::max(out.product, static_cast<double>(std::fabs(sum) / largest));
    }
  for (int p = 0; p < k; ++p)
    for (int q = 0; q < k; ++q) {
      long double u = p == q ? -1 : 0, v = u;
      for (int i = 0; i < m; ++i) u += static_cast<long double>(left[i * k + p]) * left[i * k + q];
      for (int i = 0; i < n; ++i) v += static_cast<long double>(r(i, p)) * r(i, q);
      out.orthogonality =
          std::max({out.orthogonality, static_cast<double>(std::fabs(u)), static_cast<double>(std::fabs(v))});
    }
  return out;
}

TEST(SmallStacks, DecompositionsAreAtMostTwiceAsWrongAsThoseOfLapack) {
  const int count = long_tests() ? 1000000 : 10000;
  for (const char* const kind : {"random", "graded", "repeated spectrum", "singular", "denormal", "near overflow"})
    for (const int n : {2, 3, 4, 8, 16}) {
      const int of_this = n > 8 ? 1000 : n > 4 ? 10000 : count;
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < of_this; ++i) {
        members.push_back(of_kind(kind, n, n, g));
        auto& a = members.back();
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < r; ++c) a[static_cast<std::size_t>(r * n + c)] = a[static_cast<std::size_t>(c * n + r)];
      }
      const Tensor a = stack_of(n, n, members, f64);
      const auto e = linalg::eigh(a);
      const auto s = linalg::svd(a);
      const auto data = [](const Tensor& t) { return reinterpret_cast<const double*>(t.node()->data); };
      Residuals eigh, svd, their_eigh, their_svd;
      const auto take = [](Residuals& to, const Residuals& r) {
        to.product += r.product * r.product;
        to.orthogonality += r.orthogonality * r.orthogonality;
      };
      const bool tiny = std::string(kind) == "denormal";  // LAPACK's own product is as coarse as the numbers
      for (int i = 0; i < of_this; ++i) {
        const double* const m = members[static_cast<std::size_t>(i)].data();
        take(eigh, residuals(n, n, m, data(e.eigenvectors) + i * n * n, data(e.eigenvalues) + i * n,
                             data(e.eigenvectors) + i * n * n, false));
        take(svd, residuals(n, n, m, data(s.U) + i * n * n, data(s.S) + i * n, data(s.Vh) + i * n * n, true));
        std::vector<double> w(static_cast<std::size_t>(n)), u(static_cast<std::size_t>(n * n)), v(u), z(u);
        ASSERT_EQ(lapack::eigh<double>(lapack::Triangle::lower, n, m, n, w.data(), z.data(), n), 0);
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < n; ++c) u[static_cast<std::size_t>(c * n + r)] = z[static_cast<std::size_t>(r * n + c)];
        take(their_eigh, residuals(n, n, m, u.data(), w.data(), u.data(), false));
        ASSERT_EQ(lapack::svd<double>(lapack::Vectors::thin, n, n, m, n, w.data(), v.data(), n, z.data(), n), 0);
        // Row-major memory is the transpose: U and V change places, and rows are columns.
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < n; ++c) u[static_cast<std::size_t>(r * n + c)] = z[static_cast<std::size_t>(r * n + c)];
        take(their_svd, residuals(n, n, m, u.data(), w.data(), v.data(), true));
      }
      const auto compare = [&](const Residuals& ours, const Residuals& theirs, const char* what) {
        EXPECT_LE(std::sqrt(ours.orthogonality), 2 * std::sqrt(theirs.orthogonality))
            << what << " " << kind << " " << n;
        if (tiny) return;
        EXPECT_LE(std::sqrt(ours.product), 2 * std::sqrt(theirs.product)) << what << " " << kind << " " << n;
      };
      compare(eigh, their_eigh, "eigh");
      compare(svd, their_svd, "svd");
    }
}

}  // namespace
