// Roots, exponentials, logarithms and powers of matrices: identities in long double, over matrices that are hard in
// different ways.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tensors.hpp"

namespace wp {
namespace {

using namespace matrices;
namespace la = linalg;
using C = std::complex<double>;

template <class T>
Matrix<T> shifted(Matrix<T> a, double by) {
  for (Size i = 0; i < a.n; ++i) a(i, i) += T(by);
  return a;
}

// ‖X² − A‖ / (n u ‖X‖²): the Schur method's own bound (Higham 2008, §6.2).
template <class T>
void expect_root(const Matrix<T>& a, const std::string& what) {
  const auto r = la::diagnosed::sqrtm(tensor(a));
  const auto status = r.diagnosis.status();
  const Matrix<T> x = matrix<T>(r.value);
  if (status > la::Status::ill_conditioned) {
    EXPECT_TRUE(a.n == 0 || any_nan(x)) << what;
    return;
  }
  const auto w = wide(x);
  const long double size = std::max(norm(w) * norm(w), norm(wide(a)));
  if (r.diagnosis[0].forward_error < 1e-3) {
    EXPECT_LT(ratio<T>(w * w - wide(a), size, a.n), kRight) << what;
  }
}

TEST(Sqrtm, OfComplexMatricesSquaresToTheMatrixOrSaysWhyNot) {
  for_kinds([&](Kind kind) {
    for (const Size n : kSizes) expect_root(make<C>(kind, n, n), name(kind) + " " + std::to_string(n));
  });
}

TEST(Sqrtm, OfRealMatricesSquaresToTheMatrixOrSaysWhyNot) {
  for_kinds([&](Kind kind) {
    for (const Size n : kSizes) {
      expect_root(make<double>(kind, n, n), name(kind) + " " + std::to_string(n));
      expect_root(shifted(make<double>(kind, n, n), 2 * static_cast<double>(n)), name(kind) + " shifted");
      expect_root(make_hermitian<double>(kind, n), name(kind) + " symmetric");
    }
  });
}

TEST(Sqrtm, OfPositiveDefiniteMatricesIsSymmetricToTheBit) {
  for (const Size n : kSizes) {
    const Tensor a = tensor(shifted(make_hermitian<double>(Kind::random, n), 2 * static_cast<double>(n)));
    const Tensor x = la::sqrtm(a);
    EXPECT_TRUE(same_bits(x, matrix_transpose(x))) << n;
  }
}

TEST(Sqrtm, ScalesExactlyWithPowersOfFour) {
  const Tensor a = tensor(shifted(make<double>(Kind::random, 5, 5), 10));
  for (const int k : {-250, -3, 1, 200})
    EXPECT_TRUE(same_bits(la::sqrtm(a * std::ldexp(1.0, 2 * k)), la::sqrtm(a) * std::ldexp(1.0, k))) << k;
}

TEST(Sqrtm, OfARealMatrixWithANegativeEigenvalueIsRefusedWithTheEigenvalue) {
  const Tensor a{{1.0, 2.0}, {2.0, 1.0}};
  try {
    la::sqrtm(a);
    FAIL() << "accepted";
  } catch (const LinalgError& e) {
    EXPECT_EQ(e.finding().code, "WP-LIN-008");
    EXPECT_NE(e.finding().message.find("-1"), std::string::npos) << e.what();
    EXPECT_EQ(e.diagnosis().status(), la::Status::undefined);
  }
  EXPECT_NO_THROW(la::sqrtm(astype(a, c128)));
  EXPECT_NO_THROW(la::sqrtm(Tensor{{1.0, 1.0}, {1.0, 1.0}}));
}

TEST(Sqrtm, BesideTheCutIsOnItsOwnSide) {
  const auto root = [](C v) { return la::sqrtm(Tensor::from(std::vector<C>{v}, {1, 1})).to_vector<complex128>()[0]; };
  EXPECT_NEAR(root({-4, -1e-20}).imag(), -2, 1e-15);
  EXPECT_NEAR(root({-4, 1e-20}).imag(), 2, 1e-15);
  EXPECT_NEAR(root({-4, 0}).imag(), 2, 1e-15);
}

TEST(Sqrtm, OfARealMatrixAsComplexTakesTheUpperSideWithoutAlarm) {
  const Tensor a = astype(Tensor{{-1.0, 3.0, 0.5}, {0.25, -7.0, 1.0}, {2.0, -1.0, -5.0}}, c128);
  Tensor x;
  EXPECT_TRUE(told([&] { x = la::sqrtm(a); }).empty());
  EXPECT_LT(max(abs(matmul(x, x) - a)).item<double>(), 1e-13);
  const Tensor turned = a * exp(Tensor{C(0, 1e-17)});  // complex by rounding only
  EXPECT_EQ(told([&] { la::sqrtm(turned); }).size(), 1U);
}

TEST(Sqrtm, OfATriangularMatrixIsJudgedByItsElements) {
  const Tensor a{{3.0, 1e6, 2e5}, {0.0, 4.0, -3e6}, {0.0, 0.0, 5.0}};
  EXPECT_TRUE(told([&] { la::sqrtm(a); }).empty());
  EXPECT_TRUE(told([&] { la::logm(a); }).empty());
}

TEST(Sqrtm, OfABadMemberLeavesTheOthersAsTheyAreAlone) {
  const Tensor good = tensor(shifted(make<double>(Kind::random, 3, 3), 6)), bad = good * -1.0;
  const auto r = la::diagnosed::sqrtm(stack({good, bad, good}));
  EXPECT_TRUE(same_bits(r.value[{0}], la::sqrtm(good)));
  EXPECT_TRUE(same_bits(r.value[{2}], la::sqrtm(good)));
  EXPECT_EQ(r.diagnosis.status(1), la::Status::undefined);
}

TEST(Sqrtm, OfADefectiveZeroIsNotVouchedFor) {
  const Tensor a{{-3.0, 1.0}, {-9.0, 3.0}};  // its square is zero: no root exists
  EXPECT_NE(la::diagnosed::sqrtm(a).diagnosis.status(), la::Status::ok);
  EXPECT_NE(la::diagnosed::sqrtm(astype(a, c128)).diagnosis.status(), la::Status::ok);
}

// exp in long double: Taylor's series of A/2^s, squared s times.
template <class T>
Matrix<Wide<T>> wide_exp(const Matrix<Wide<T>>& a) {
  int s = 0;
  while (std::ldexp(norm(a), -s) > 0.01L) ++s;
  const auto small = a * std::ldexp(1.0L, -s);
  auto sum = identity<Wide<T>>(a.n), term = sum;
  for (int k = 1; k < 14; ++k) {
    term = (term * small) * (1.0L / k);
    sum = sum + term;
  }
  for (; s > 0; --s) sum = sum * sum;
  return sum;
}

TEST(Expm, IsAsExactAsItsEstimateSays) {
  for_kinds([&](Kind kind) {
    for (const Size n : {1, 2, 3, 5, 10, 50})
      for (const double size : {1e-4, 0.1, 1.0, 5.0, 40.0}) {
        if (kind == Kind::huge || kind == Kind::scaled_up) continue;
        Matrix<double> a = make<double>(kind, n, n);
        for (double& v : a.data) v *= size;
        const auto r = la::diagnosed::expm(tensor(a));
        const auto want = wide_exp<double>(wide(a));
        const double error = static_cast<double>(norm(wide(matrix<double>(r.value)) - want) / norm(want));
        const double claimed = r.diagnosis[0].forward_error;
        EXPECT_LE(error, 20 * claimed + 10 * static_cast<double>(n) * 0x1p-53) << name(kind) << n << " " << size;
        if (kind != Kind::jordan) {
          EXPECT_LE(claimed, 1e-9) << name(kind) << n << " " << size;
        }
      }
  });
}

TEST(Expm, OfANilpotentMatrixIsItsPolynomialAtAnySize) {
  for (const double v : {1e-300, 1.0, 1e100, 1e300}) {
    const Tensor x = la::expm(Tensor{{0.0, v}, {0.0, 0.0}});
    EXPECT_EQ(at(x, 0, 1), v);
    EXPECT_EQ(at(x, 0, 0), 1);
  }
}

TEST(Expm, BeyondTheRangeIsAFinding) {
  const auto found = told([] { la::expm(Tensor{{800.0, 1.0}, {0.0, 1.0}}); });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "WP-LIN-007");
}

TEST(Expm, OfASymmetricMatrixIsSymmetricToTheBit) {
  const Tensor x = la::expm(tensor(make_hermitian<double>(Kind::random, 20)));
  EXPECT_TRUE(same_bits(x, matrix_transpose(x)));
}

template <class T>
void expect_log_of_exp(double size) {
  for (const Size n : {1, 2, 3, 5, 10, 50}) {
    Matrix<T> b = make<T>(Kind::random, n, n);
    for (T& v : b.data) v *= size / static_cast<double>(n);
    const auto power = wide_exp<T>(wide(b));
    Matrix<T> a(n, n, 0);
    for (std::size_t i = 0; i < a.data.size() - 1; ++i) a.data[i] = T(power.data[i]);
    const auto r = la::diagnosed::logm(tensor(a));
    const long double scale = std::max(norm(wide(b)), 1.0L);
    EXPECT_LT(ratio<T>(wide(matrix<T>(r.value)) - wide(b), scale, n), 10 * kRight) << n << " " << size;
    EXPECT_EQ(r.diagnosis.status(), la::Status::ok) << n << " " << size << r.diagnosis.text();
  }
}
TEST(Logm, UndoesTheExponential) {
  for (const double size : {0.5, 2.0}) {
    expect_log_of_exp<double>(size);
    expect_log_of_exp<C>(size);
  }
}

TEST(Logm, ExponentiatesToTheMatrix) {
  for_kinds([&](Kind kind) {
    for (const Size n : {1, 2, 3, 5, 10, 50}) {
      const Matrix<C> a = make<C>(kind, n, n);
      const auto r = la::diagnosed::logm(tensor(a));
      if (r.diagnosis.status() > la::Status::ill_conditioned || kind == Kind::huge || kind == Kind::denormal ||
          kind == Kind::scaled_up || kind == Kind::scaled_down)
        continue;
      const auto back = wide_exp<C>(wide(matrix<C>(r.value)));
      const double again = la::diagnosed::expm(r.value).diagnosis[0].forward_error;
      const double claimed = std::max(r.diagnosis[0].forward_error + again, 0x1p-53) * static_cast<double>(n);
      EXPECT_LE(static_cast<double>(norm(back - wide(a)) / norm(wide(a))), 1000 * claimed) << name(kind) << n;
    }
  });
}

TEST(MatrixPower, WithWholeExponentsIsTheProduct) {
  const Tensor a{{1.0, 2.0}, {3.0, 4.0}};
  EXPECT_TRUE(same_bits(la::matrix_power(a, 3), matmul(a, matmul(a, a))));
  EXPECT_TRUE(same_bits(la::matrix_power(a, 0), eye(2)));
  EXPECT_TRUE(same_bits(la::matrix_power(a, 1), a));
  EXPECT_TRUE(same_bits(la::matrix_power(Tensor{{0.0, 1.0}, {0.0, 0.0}}, 7), zeros({2, 2})));
  EXPECT_TRUE(same_bits(la::matrix_power(Tensor{{2.0, 0.0}, {0.0, 0.5}}, -1000),
                        Tensor{{std::ldexp(1.0, -1000), 0.0}, {0.0, std::ldexp(1.0, 1000)}}));
}

TEST(MatrixPower, WithFractionsMultipliesToTheMatrix) {
  for (const Size n : {1, 2, 3, 5, 10, 50})
    for (const int k : {2, 3, 5}) {
      const Matrix<double> a = shifted(make<double>(Kind::random, n, n), 2 * static_cast<double>(n));
      const auto x = wide(matrix<double>(la::matrix_power(tensor(a), 1.0 / k)));
      auto back = x;
      for (int i = 1; i < k; ++i) back = back * x;
      EXPECT_LT(ratio<double>(back - wide(a), norm(wide(a)), n), 10 * kRight) << n << " 1/" << k;
    }
}

TEST(MatrixPower, OfAHalfIsTheRoot) {
  const Tensor a = tensor(shifted(make<double>(Kind::random, 10, 10), 20));
  EXPECT_LT((max(abs(la::matrix_power(a, 0.5) - la::sqrtm(a))).item<double>()), 1e-14);
}

// A = V D V⁻¹ of whole numbers V with det V = 1 and D of powers of 4: all elements, and those of A^p = V D^p V⁻¹ for
// p = k/2, are exact; V⁻¹ is of whole numbers too.
TEST(MatrixPower, OfFractionsBeyondOneIsRightOrTold) {
  std::mt19937 g(13);
  int right = 0, told = 0;
  for (int t = 0; t < 400; ++t) {
    const Size n = 2 + t % 4;
    const auto draw = [&](int most) { return static_cast<int>(g() % static_cast<unsigned>(2 * most + 1)) - most; };
    Matrix<long double> v(n, n, 0), inverse(n, n, 0);
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < n; ++j) v(i, j) = inverse(i, j) = i == j;
    for (int step = 0; step < 2 * n; ++step) {  // row i += f row j; of the inverse, column j −= f column i
      const auto i = static_cast<Size>(g() % static_cast<unsigned>(n)), j = (i + 1) % n;
      const int f = draw(2);
      for (Size c = 0; c < n; ++c) v(i, c) += f * v(j, c);
      for (Size r = 0; r < n; ++r) inverse(r, j) -= f * inverse(r, i);
    }
    std::vector<int> roots;  // √D = diag(2^roots)
    for (Size i = 0; i < n; ++i) roots.push_back(draw(t % 2 ? 2 : 8));
    const auto power = [&](int halves) {
      Matrix<long double> scaled = v;
      for (Size i = 0; i < n; ++i)
        for (Size j = 0; j < n; ++j) scaled(i, j) = std::ldexp(v(i, j), halves * roots[static_cast<std::size_t>(j)]);
      return scaled * inverse;
    };
    const auto rounded = [&](const Matrix<long double>& a) {
      Matrix<double> out(n, n, 0);
      for (Size i = 0; i < n; ++i)
        for (Size j = 0; j < n; ++j) out(i, j) = static_cast<double>(a(i, j));
      return out;
    };
    const Matrix<double> a = rounded(power(2));
    if (norm(wide(a) - power(2)) > 0) continue;  // does not fit into double
    for (const int halves : {-7, -3, 5, 7}) {
      const auto [x, d] = la::diagnosed::matrix_power(tensor(a), halves / 2.0);
      if (d.status() > la::Status::ill_conditioned) continue;
      const Matrix<long double> exact = power(halves);
      const auto wrong = static_cast<double>(norm(wide(matrix<double>(x)) - exact) / norm(exact));
      EXPECT_LE(wrong, 100 * d[0].forward_error) << t << " " << halves << "/2 " << d;
      (d.ok() ? right : told) += 1;
    }
  }
  EXPECT_GT(right, 4 * told);
}

template <class T>
void expect_polar() {
  for_kinds([&](Kind kind) {
    for (const Shape s : kShapes) {
      const Matrix<T> a = make<T>(kind, s.m, s.n);
      const auto r = la::diagnosed::polar(tensor(a)).value;
      const auto u = wide(matrix<T>(r.U)), p = wide(matrix<T>(r.P));
      const auto& tall = s.m >= s.n ? u : adjoint(u);
      const Size n = std::max(s.m, s.n);
      if (tall.n > 0) {
        EXPECT_LT(ratio<T>(identity<Wide<T>>(tall.n) - adjoint(tall) * tall, 1, n), kRight) << name(kind);
      }
      EXPECT_LT(ratio<T>(u * p - wide(a), norm(wide(a)), n), kRight) << name(kind) << s.m << "x" << s.n;
    }
  });
}
TEST(Polar, GivesOrthonormalColumnsAndTheProduct) {
  expect_polar<double>();
  expect_polar<C>();
}

TEST(Polar, OfAMatrixWithoutRankSaysThatUIsNotDetermined) {
  EXPECT_EQ(told([] { la::polar(ones({3, 3})); }).size(), 1U);
  EXPECT_TRUE(told([] { la::polar(Tensor{{1.0, 2.0}, {3.0, 4.0}}); }).empty());
}

}  // namespace
}  // namespace wp
