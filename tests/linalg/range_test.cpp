// Factors of matrices whose elements lie far apart: nothing is lost beside large ones, or it is told. Products are
// formed in exact rationals.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "rationals.hpp"
#include "tensors.hpp"

namespace {

using namespace wp;
namespace la = wp::linalg;
using la::Status;
using matrices::told;
using rationals::Rational;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// An exact matrix, row-major.
struct Exact {
  std::int64_t m, n;
  std::vector<Rational> data;
  Exact(std::int64_t rows, std::int64_t columns) : m(rows), n(columns), data(at(m * n)) {}
  explicit Exact(const Tensor& t) : Exact(t.shape(0), t.shape(1)) {
    const auto values = astype(t, f64).to_vector<double>();
    for (std::size_t e = 0; e < data.size(); ++e)
      if (values[e] != 0) data[e] = Rational(values[e]);
  }
  Rational& operator()(std::int64_t i, std::int64_t j) { return data[at(i * n + j)]; }
  const Rational& operator()(std::int64_t i, std::int64_t j) const { return data[at(i * n + j)]; }
  Exact sizes() const {
    Exact out(*this);
    for (Rational& v : out.data) v = v.size();
    return out;
  }
  Exact turned() const {
    Exact out(n, m);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) out(j, i) = (*this)(i, j);
    return out;
  }
  Exact rows(const Tensor& order) const {
    Exact out(m, n);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) out(i, j) = (*this)(order.at(i).item<std::int64_t>(), j);
    return out;
  }
  friend Exact operator*(const Exact& a, const Exact& b) {
    Exact out(a.m, b.n);
    const Rational zero;
    for (std::int64_t i = 0; i < a.m; ++i)
      for (std::int64_t k = 0; k < a.n; ++k) {
        if (a(i, k) == zero) continue;
        for (std::int64_t j = 0; j < b.n; ++j) out(i, j) += a(i, k) * b(k, j);
      }
    return out;
  }
};
// The largest element of A − B C over |B||C| or, off the diagonal, over the largest element of its row or column of
// A, whichever is less.
double lost(const Exact& a, const Exact& b, const Exact& c) {
  const Exact product = b * c, sizes = b.sizes() * c.sizes();
  const Rational zero;
  double worst = 0;
  for (std::int64_t i = 0; i < a.m; ++i)
    for (std::int64_t j = 0; j < a.n; ++j) {
      const Rational off = (a(i, j) - product(i, j)).size();
      if (off == zero) continue;
      Rational beside = sizes(i, j), row, column;
      for (std::int64_t k = 0; k < a.n; ++k) row = row < a(i, k).size() ? a(i, k).size() : row;
      for (std::int64_t k = 0; k < a.m; ++k) column = column < a(k, j).size() ? a(k, j).size() : column;
      if (const Rational less = row < column ? row : column; i != j && beside < less) beside = less;
      worst = std::max(worst, beside == zero ? 1.0 : (off / beside).value());
    }
  return worst;
}
// The largest element of A − B C over the largest one of its column of A.
double lost_of_columns(const Exact& a, const Exact& b, const Exact& c) {
  const Exact product = b * c;
  double worst = 0;
  for (std::int64_t j = 0; j < a.n; ++j) {
    Rational most, off;
    for (std::int64_t i = 0; i < a.m; ++i) {
      most = most < a(i, j).size() ? a(i, j).size() : most;
      const Rational here = (a(i, j) - product(i, j)).size();
      off = off < here ? here : off;
    }
    if (Rational() < most) worst = std::max(worst, (off / most).value());
  }
  return worst;
}

double unit(DType dtype) {
  return dtype == f32 ? 0x1p-24 : 0x1p-53;
}

// 10^rows[i] · (noise, 4 on the diagonal) · 10^columns[j].
Tensor graded(const std::vector<double>& rows, const std::vector<double>& columns, unsigned seed, DType dtype = f64,
              bool symmetric = false) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<double> d(-1, 1);
  const auto m = static_cast<std::int64_t>(rows.size()), n = static_cast<std::int64_t>(columns.size());
  std::vector<double> a(at(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a[at(i * n + j)] = i == j ? 4 * std::pow(10, rows[at(i)] + columns[at(j)])
                                : d(g) * std::pow(10, rows[at(i)]) * std::pow(10, columns[at(j)]);
  for (std::int64_t i = 0; i < m && symmetric; ++i)
    for (std::int64_t j = 0; j < i; ++j) a[at(i * n + j)] = a[at(j * n + i)];
  return astype(Tensor::from(a, {m, n}), dtype);
}
Tensor diagonal_of(const std::vector<double>& exponents, DType dtype = f64) {
  const auto n = static_cast<std::int64_t>(exponents.size());
  std::vector<double> a(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) a[at(i * n + i)] = std::pow(10, exponents[at(i)]);
  return astype(Tensor::from(a, {n, n}), dtype);
}
// That many exponents from `first` to `last`.
std::vector<double> steps(std::int64_t n, double first, double last) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(n == 1 ? first
                         : std::round(first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1)));
  return out;
}

void expect_lu(const Tensor& a) {
  const auto [f, d] = la::diagnosed::lu(a);
  EXPECT_EQ(d.status(), Status::ok) << d;
  const double n = static_cast<double>(std::max(a.shape(0), a.shape(1)));
  EXPECT_LE(lost(Exact(a).rows(f.P), Exact(f.L), Exact(f.U)), 8 * n * unit(a.dtype())) << a;
}
void expect_qr(const Tensor& a) {
  const auto [f, d] = la::diagnosed::qr(a);
  EXPECT_EQ(d.status(), Status::ok) << d;
  const double n = static_cast<double>(std::max(a.shape(0), a.shape(1)));
  EXPECT_LE(lost_of_columns(Exact(a), Exact(f.Q), Exact(f.R)), 32 * n * unit(a.dtype())) << a;
  const auto gap = max(abs(matmul(matrix_transpose(f.Q), f.Q) - eye(f.Q.shape(1)))).item<double>();
  EXPECT_LE(gap, 16 * n * unit(a.dtype()));
  const auto [p, of_p] = la::diagnosed::qr_pivoted(a);
  EXPECT_EQ(of_p.status(), Status::ok) << of_p;
  Exact ordered = Exact(a).turned().rows(p.P).turned();
  EXPECT_LE(lost_of_columns(ordered, Exact(p.Q), Exact(p.R)), 32 * n * unit(a.dtype())) << a;
  const std::int64_t k = std::min(a.shape(0), a.shape(1));
  for (std::int64_t i = 0; i + 1 < k; ++i)
    EXPECT_GE(std::fabs(matrices::at(p.R, i, i)) * (1 + 1e-5), std::fabs(matrices::at(p.R, i + 1, i + 1))) << i;
}
void expect_ldl(const Tensor& a) {
  const auto [f, d] = la::diagnosed::ldl(a);
  EXPECT_EQ(d.status(), Status::ok) << d;
  const double n = static_cast<double>(a.shape(0));
  const Exact l(f.L), given = Exact(a).rows(f.P).turned().rows(f.P);
  EXPECT_LE(lost(given, l * Exact(f.D), l.turned()), 16 * n * unit(a.dtype())) << a;
}

TEST(Range, DiagonalsOfAnyRangeAreTheirOwnFactors) {
  for (const DType dtype : {f64, f32})
    for (const double e : dtype == f64 ? std::vector<double>{150, 200, 300} : std::vector<double>{30, 37})
      for (const std::int64_t n : {2, 3, 7, 40}) {
        const std::vector<double> down = steps(n, e, -e), up = steps(n, -e, e);
        for (const Tensor& a : {diagonal_of(down, dtype), diagonal_of(up, dtype)}) {
          SCOPED_TRACE(testing::Message() << n << " 1e±" << e);
          const auto [lu, d] = la::diagnosed::lu(a);
          EXPECT_EQ(d.status(), Status::ok) << d;
          EXPECT_TRUE(all(equal(lu.U, a)).item<bool>()) << lu.U;
          const auto [ldl, of_ldl] = la::diagnosed::ldl(a);
          EXPECT_EQ(of_ldl.status(), Status::ok) << of_ldl;
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t from = ldl.P.at(i).item<std::int64_t>();
            EXPECT_EQ(matrices::at(ldl.D, i, i), matrices::at(a, from, from));
          }
          const auto [qr, of_qr] = la::diagnosed::qr(a);
          EXPECT_EQ(of_qr.status(), Status::ok) << of_qr;
          EXPECT_TRUE(all(equal(abs(qr.R), a)).item<bool>()) << qr.R;
          const auto [pivoted, of_pivoted] = la::diagnosed::qr_pivoted(a);
          EXPECT_EQ(of_pivoted.status(), Status::ok);
          std::vector<double> falling;
          for (std::int64_t i = 0; i < n; ++i) falling.push_back(matrices::at(a, i, i));
          std::sort(falling.rbegin(), falling.rend());
          for (std::int64_t i = 0; i < n; ++i)
            EXPECT_NEAR(std::fabs(matrices::at(pivoted.R, i, i)) / falling[at(i)], 1, 4 * unit(dtype)) << i;
          const auto schur = la::schur(a);
          EXPECT_TRUE(all(equal(schur.T, a)).item<bool>());
        }
      }
}

TEST(Range, GradedColumnsAndRowsKeepTheirDigits) {
  for (const std::int64_t n : {2, 3, 6, 36})
    for (const double e : {150.0, 200.0, 300.0})
      for (unsigned seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(testing::Message() << n << " 1e±" << e << " " << seed);
        const std::vector<double> none(at(n), 0.0);
        for (const auto& columns : {steps(n, e, -e), steps(n, -e, e)}) {
          expect_lu(graded(none, columns, seed));
          expect_qr(graded(none, columns, seed));
        }
        expect_lu(graded(steps(n, e / 2, -e / 2), none, seed));  // L has elements down to 10^-e
        expect_lu(graded(steps(n, e / 4, -e / 4), steps(n, -e / 4, e / 4), seed));
        expect_ldl(graded(steps(n, e / 2, -e / 2), steps(n, e / 2, -e / 2), seed, f64, true));
        expect_ldl(graded(steps(n, -e / 2, e / 4), steps(n, -e / 2, e / 4), seed, f64, true));
      }
}
TEST(Range, GradedMatricesKeepTheirDigitsInSinglePrecision) {
  for (const std::int64_t n : {2, 3, 6, 36})
    for (const double e : {15.0, 30.0})
      for (unsigned seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(testing::Message() << n << " 1e±" << e << " " << seed);
        const std::vector<double> none(at(n), 0.0);
        expect_lu(graded(none, steps(n, e, -e), seed, f32));
        expect_qr(graded(none, steps(n, -e, e), seed, f32));
        expect_lu(graded(steps(n, e / 2, -e / 2), none, seed, f32));
        expect_ldl(graded(steps(n, e / 2, -e / 2), steps(n, e / 2, -e / 2), seed, f32, true));
      }
}

TEST(Range, RectanglesAndComplexMatricesKeepTheirDigits) {
  expect_lu(graded(steps(5, 0, 0), steps(3, 250, -250), 1));
  expect_lu(graded(steps(3, 0, 0), steps(5, -250, 250), 1));
  expect_qr(graded(steps(5, 0, 0), steps(3, 250, -250), 1));
  expect_qr(graded(steps(40, 0, 0), steps(7, -250, 250), 1));
  const Tensor a = astype(diagonal_of({200, -200, 0}), c128) * complex128(0, 1);
  const auto [f, d] = la::diagnosed::lu(a);
  EXPECT_EQ(d.status(), Status::ok);
  EXPECT_TRUE(all(equal(f.U, a)).item<bool>()) << f.U;
  const auto [q, of_q] = la::diagnosed::qr(a);
  EXPECT_EQ(of_q.status(), Status::ok);
  EXPECT_TRUE(all(equal(abs(q.R), abs(a))).item<bool>()) << q.R;
}

// One finding, WP-LIN-007, and fewer digits than a good answer has.
void expect_told(const std::function<la::Diagnosis()>& run, const std::function<void()>& plain) {
  const la::Diagnosis d = run();
  EXPECT_EQ(d.status(), Status::overflow) << d;
  EXPECT_LT(d[0].digits, 6) << d;
  EXPECT_GT(d[0].backward_error, 1e-6) << d;
  EXPECT_NE(d[0].message.find("below the range of "), std::string::npos) << d[0].message;
  const auto findings = told(plain);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "WP-LIN-007");
}
void expect_lu_told(const Tensor& a) {
  expect_told([&] { return la::diagnosed::lu(a).diagnosis; }, [&] { la::lu(a); });
}
void expect_ldl_told(const Tensor& a) {
  expect_told([&] { return la::diagnosed::ldl(a).diagnosis; }, [&] { la::ldl(a); });
}

TEST(Range, FactorsThatTheDtypeDoesNotHoldAreTold) {
  // L has 1e-400, which is all that is left of the second row.
  expect_lu_told(Tensor{{1e200, 1e200}, {1e-200, 1e-300}});
  expect_lu_told(Tensor{{1e30f, 1e30f}, {1e-30f, 1e-35f}});
  // The last pivot is −1e-400.
  expect_lu_told(Tensor{{1.0, 1e-200}, {1e-200, 0.0}});
  expect_lu_told(Tensor{{1.0f, 1e-30f}, {1e-30f, 0.0f}});
  expect_ldl_told(Tensor{{1.0, 1e-200}, {1e-200, 0.0}});
  expect_ldl_told(Tensor{{1.0f, 1e-30f}, {1e-30f, 0.0f}});
  expect_ldl_told(Tensor{{1e300, 1e-300}, {1e-300, 1e-308}});
  // Three digits are left of an element.
  expect_lu_told(Tensor{{3.0, 1e-320}, {1.0, 1e-320}});
  // Beyond lanes, and one member of a stack.
  std::vector<double> large(at(40 * 40));
  for (std::int64_t i = 0; i < 40; ++i) large[at(i * 41)] = 1;
  large[1] = large[40] = 1e-200;
  large[41] = 0;
  expect_lu_told(Tensor::from(large, {40, 40}));
  expect_ldl_told(Tensor::from(large, {40, 40}));
  std::vector<double> stack;
  for (int i = 0; i < 9; ++i)
    for (const double v : {1.0, i == 4 ? 1e-200 : 0.5, i == 4 ? 1e-200 : 0.5, 0.0}) stack.push_back(v);
  const la::Diagnosis d = la::diagnosed::lu(Tensor::from(stack, {9, 2, 2})).diagnosis;
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(d.status(i), i == 4 ? Status::overflow : Status::ok) << i;
}

TEST(Range, WhatIsFarBelowRoundingIsNoMatter) {
  for (const std::int64_t n : {6, 40}) {
    std::vector<double> a;  // a Gaussian kernel, down to denormal numbers and 0
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) a.push_back(std::exp(-30 * static_cast<double>((i - j) * (i - j))));
    for (const DType dtype : {f64, f32}) {
      const Tensor t = astype(Tensor::from(a, {n, n}), dtype);
      EXPECT_TRUE(told([&] {
                    la::lu(t);
                    la::ldl(t);
                    la::qr(t);
                    la::qr_pivoted(t);
                    la::schur(t);
                    la::svd(t);
                    la::eigh(t);
                  }).empty());
    }
  }
  for (const Tensor& a : {Tensor{{1.0, 1.0}, {1e-310, 1e-310}}, Tensor{{1.0, 2.0}, {1.0, 2.0}}, zeros({3, 3}),
                          Tensor{{1e-310, 0.0}, {0.0, 1.0}}, Tensor{{1.0, 1e-300}, {1e-300, 1.0}},
                          Tensor{{1.0f, 1e-40f}, {1e-40f, 1.0f}}, Tensor{{0.0, 1e-200}, {1e200, 0.0}}}) {
    EXPECT_TRUE(la::diagnosed::lu(a).diagnosis.ok()) << a << la::diagnosed::lu(a).diagnosis;
    EXPECT_TRUE(la::diagnosed::qr(a).diagnosis.ok()) << a;
    EXPECT_TRUE(la::diagnosed::ldl(a, {.uplo = "lower"}).diagnosis.ok()) << a;
  }
}

TEST(Range, ARowThatIsAddedToASmallFactorIsNotLost) {
  const Tensor l{{1e200, 0.0}, {0.0, 3e-200}}, x{0.0, 4e-200};
  EXPECT_NEAR(matrices::at(la::chol_update(l, x), 1, 1) / 5e-200, 1, 1e-15);
  EXPECT_EQ(matrices::at(la::chol_update(l, x), 0, 0), 1e200);
}

}  // namespace
