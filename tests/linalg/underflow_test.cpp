// Answers so small that their dtype has few digits for them, or none.
#include <gtest/gtest.h>

#include <cmath>

#include "rationals.hpp"
#include "tensors.hpp"

namespace {
using namespace wp;
namespace la = wp::linalg;
using la::Status;
using matrices::told;
using rationals::Rational;

// Small integers, and log|det| of them and the sign.
struct Integers {
  std::int64_t n;
  std::vector<double> values;
  double sign = 0, log = 0;
  Integers(std::int64_t size, unsigned seed) : n(size) {
    std::mt19937 g(seed);
    std::uniform_int_distribution<int> d(-9, 9);
    while (sign == 0) {
      values.clear();
      for (std::int64_t e = 0; e < n * n; ++e) values.push_back(d(g));
      const double det = exact();
      sign = (det > 0) - (det < 0);
      log = std::log(std::fabs(det));
    }
  }
  double exact() const {
    fmpq_mat_t a;
    fmpq_mat_init(a, n, n);
    for (std::int64_t e = 0; e < n * n; ++e)
      fmpq_set_si(fmpq_mat_entry(a, e / n, e % n), static_cast<slong>(values[static_cast<std::size_t>(e)]), 1);
    Rational det;
    fmpq_mat_det(det.raw(), a);
    fmpq_mat_clear(a);
    return det.value();
  }
  template <class T>
  std::vector<T> times_power(int e) const {
    std::vector<T> out;
    for (const double v : values) out.push_back(std::ldexp(static_cast<T>(v), e));
    return out;
  }
};

template <class T>
void expect_logs(const std::vector<int>& exponents, double tolerance) {
  for (std::int64_t n = 1; n <= 33; n += n < 9 ? 1 : 8)
    for (const int e : exponents) {
      std::vector<T> all;
      std::vector<Integers> members;
      for (unsigned seed = 0; seed < 11; ++seed) {
        members.emplace_back(n, 100 * static_cast<unsigned>(n) + seed);
        const std::vector<T> own = members.back().template times_power<T>(e);
        all.insert(all.end(), own.begin(), own.end());
      }
      const auto found = la::slogdet(Tensor::from(all, {11, n, n}));
      const Tensor sign = astype(found.sign, f64), log = astype(found.logabsdet, f64);
      for (std::int64_t i = 0; i < 11; ++i) {
        const Integers& m = members[static_cast<std::size_t>(i)];
        const double exact = m.log + static_cast<double>(n) * e * M_LN2;
        EXPECT_EQ(sign.at(i).item<double>(), m.sign) << n << " " << e;
        EXPECT_NEAR(log.at(i).item<double>(), exact, tolerance * std::max(1.0, std::fabs(exact))) << n << " 2^" << e;
      }
    }
}

TEST(Underflow, LogarithmsOfDeterminantsAreRightAmongTheDenormals) {
  EXPECT_NEAR(la::slogdet(Tensor{{1e-308}}).logabsdet.item<double>(), std::log(1e-308), 1e-12);
  expect_logs<double>({-1074, -1073, -1030, -1022, -1001, -905, -700, 0, 700, 1015}, 1e-14);
  expect_logs<float>({-149, -130, -126, -60, 0, 60, 120}, 1e-6);
}

TEST(Underflow, LogarithmsOfComplexDeterminantsAreRightAmongTheDenormals) {
  for (const std::int64_t n : {1, 2, 3, 5, 8})
    for (const int e : {-1074, -1030, -900, 1000}) {
      const Integers m(n, 7);
      std::vector<complex128> values;
      for (const double v : m.times_power<double>(e)) values.push_back({0, v});  // det(i A) = iⁿ det A
      const auto [sign, log] = la::slogdet(Tensor::from(values, {n, n}));
      const complex128 turns[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      const double exact = m.log + static_cast<double>(n) * e * M_LN2;
      EXPECT_NEAR(log.item<double>(), exact, 1e-14 * std::fabs(exact)) << n << " " << e;
      EXPECT_LT(std::abs(sign.item<complex128>() - m.sign * turns[n % 4]), 1e-14) << n;
    }
}

TEST(Underflow, ADeterminantThatLosesDigitsIsToldAndOneThatDoesNotIsNot) {
  const auto status = [](const Tensor& a) { return la::diagnosed::det(a).diagnosis.status(); };
  EXPECT_EQ(status(Tensor{{1e-155, 0.0}, {0.0, 1.1e-155}}), Status::overflow);  // 13 digits
  EXPECT_EQ(status(Tensor{{1e-200, 0.0}, {0.0, 1e-200}}), Status::overflow);    // 0
  EXPECT_EQ(status(Tensor{{1e-310}}), Status::ok);                              // as it is
  EXPECT_EQ(status(Tensor{{0x1p-540, 0.0}, {0.0, 0x1p-500}}), Status::ok);      // exactly
  EXPECT_EQ(status(Tensor{{1e-150, 0.0}, {0.0, 1e-150}}), Status::ok);
  EXPECT_EQ(status(Tensor{{1e-200, 1e-200}, {1e-200, 1e-200}}), Status::ok);  // exactly 0
  EXPECT_EQ(status(Tensor{{1e-20f, 0.0f}, {0.0f, 1.1e-20f}}), Status::overflow);
  EXPECT_EQ(status(Tensor{{1e-18f, 0.0f}, {0.0f, 1.1e-18f}}), Status::ok);
  const la::Member m = la::diagnosed::det(Tensor{{1e-155, 0.0}, {0.0, 1.1e-155}}).diagnosis[0];
  EXPECT_NE(m.message.find("below the range of f64"), std::string::npos) << m.message;
  EXPECT_GT(m.forward_error, 1e-15);
  EXPECT_LT(m.forward_error, 1e-12);
  const auto findings = told([] { la::det(Tensor{{1e-200, 0.0}, {0.0, 1e-200}}); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "WP-LIN-007");
  EXPECT_TRUE(told([] { la::det(Tensor{{1e-150, 0.0}, {0.0, 1e-150}}); }).empty());
}

// What is said of one answer, of a stack of small ones and of a large one with the same numbers on its diagonal.
void expect_status(Status wanted, const std::function<la::Diagnosis(const Tensor&)>& run, double scale, DType dtype) {
  for (const std::int64_t n : {1, 2, 5, 12, 40}) {
    const Tensor a = astype(eye(n) * scale, dtype);
    const la::Diagnosis d = run(a);
    EXPECT_EQ(la::name(d.status()), la::name(wanted)) << n << ": " << d.text();
  }
}

TEST(Underflow, SolutionsBelowTheRangeAreTold) {
  const auto with = [](double b) {
    return
        [b](const Tensor& a) { return la::diagnosed::solve(a, astype(full({a.shape(0)}, b), a.dtype())).diagnosis; };
  };
  expect_status(Status::overflow, with(1e-150), 1e200, f64);
  expect_status(Status::overflow, with(1e-120), 1e200, f64);  // 1e-320: three digits
  expect_status(Status::ok, with(1e-110), 1e200, f64);        // 1e-310: 13 digits
  expect_status(Status::ok, with(1e-100), 1e200, f64);
  expect_status(Status::ok, with(0), 1e200, f64);
  expect_status(Status::overflow, with(1e-20), 1e30, f32);
  expect_status(Status::overflow, with(1e-14), 1e30, f32);  // 1e-44
  expect_status(Status::ok, with(1e-5), 1e30, f32);
  expect_status(Status::overflow, with(1e-20), 1e30, c64);
  const auto few = la::diagnosed::solve(Tensor{{1e200}}, Tensor{1.1e-110}).diagnosis[0];
  EXPECT_LT(few.digits, 14);
  EXPECT_GT(few.digits, 12);
}

TEST(Underflow, IsNoMatterBesideLargerElementsOfTheSameColumn) {
  EXPECT_TRUE(la::diagnosed::solve(Tensor{{1e200, 0.0}, {0.0, 1.0}}, Tensor{1e-150, 1.0}).diagnosis.ok());
  EXPECT_TRUE(la::diagnosed::inv(Tensor{{1.0, 1e-320}, {0.0, 1.0}}).diagnosis.ok());
  EXPECT_TRUE(la::diagnosed::expm(Tensor{{0.0, 0.0}, {0.0, -800.0}}).diagnosis.ok());
  EXPECT_TRUE(la::diagnosed::pinv(Tensor{{1.0}, {1e-320}}).diagnosis.ok());
  const Tensor two{{1e-150, 1.0}, {1e-150, 2.0}};  // but columns are answers of their own
  EXPECT_EQ(la::diagnosed::solve(Tensor{{1e200, 0.0}, {0.0, 1e200}}, two).diagnosis.status(), Status::overflow);
}

TEST(Underflow, OneMemberOfAStackIsNamed) {
  std::vector<double> b(20, 1.0);
  b[7] = 1e-300;
  const Tensor a = full({20, 1, 1}, 1e100), right = Tensor::from(b, {20, 1, 1});
  const auto findings = told([&] { la::solve(a, right); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "WP-LIN-007");
  EXPECT_EQ(findings[0].members, std::vector<std::int64_t>{7});
  EXPECT_NE(findings[0].message.find("matrix 7 of 20"), std::string::npos) << findings[0].message;
  const la::Diagnosis d = la::diagnosed::solve(a, right).diagnosis;
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(d.status(i), i == 7 ? Status::overflow : Status::ok) << i;
}

TEST(Underflow, IsToldByInversesLeastSquaresAndFunctionsOfMatrices) {
  const auto inv = [](const Tensor& a) { return la::diagnosed::inv(a).diagnosis; };
  const auto pinv = [](const Tensor& a) { return la::diagnosed::pinv(a).diagnosis; };
  expect_status(Status::ok, inv, 1.7e308, f64);  // 6e-309: all but a digit
  expect_status(Status::ok, inv, 3e38, f32);
  expect_status(Status::ok, pinv, 1.7e308, f64);
  const auto least = [](double b) {
    return
        [b](const Tensor& a) { return la::diagnosed::lstsq(a, astype(full({a.shape(0)}, b), a.dtype())).diagnosis; };
  };
  expect_status(Status::overflow, least(1e-150), 1e200, f64);
  expect_status(Status::overflow, least(1e-20), 1e30, f32);
  expect_status(Status::ok, least(1e-100), 1e200, f64);
  expect_status(Status::ok, least(0), 1e200, f64);
  EXPECT_TRUE(la::diagnosed::lstsq(Tensor{{1.0}, {1.0}}, Tensor{1.0, -1.0}).diagnosis.ok());  // 0 is the answer
  const auto expm = [](const Tensor& a) { return la::diagnosed::expm(a).diagnosis; };
  expect_status(Status::overflow, expm, -800, f64);
  expect_status(Status::overflow, expm, -100, f32);
  expect_status(Status::ok, expm, -600, f64);
  const auto square = [](const Tensor& a) { return la::diagnosed::matrix_power(a, 2).diagnosis; };
  expect_status(Status::overflow, square, 1e-200, f64);
  expect_status(Status::ok, square, 1e-140, f64);
  EXPECT_TRUE(square(Tensor{{0.0, 1e-200}, {0.0, 0.0}}).ok());  // exactly 0
}

TEST(Underflow, ZeroAsTheSolutionOfSylvestersEquationIsTold) {
  const auto solved = [](double a, double q, DType dtype) {
    const auto one = [&](double v) { return astype(Tensor{{v, 0.0}, {0.0, v}}, dtype); };
    return la::diagnosed::solve_sylvester(one(a), one(a), one(q)).diagnosis.status();
  };
  EXPECT_EQ(solved(1e200, 1e-150, f64), Status::overflow);
  EXPECT_EQ(solved(1e200, 1e-120, f64), Status::overflow);
  EXPECT_EQ(solved(1e200, 1e-100, f64), Status::ok);
  EXPECT_EQ(solved(1e200, 0, f64), Status::ok);
  EXPECT_EQ(solved(1e30, 1e-20, f32), Status::overflow);
  EXPECT_EQ(solved(1e30, 1e-5, f32), Status::ok);
  const Tensor a{{1e200}}, q{{1e-200}};
  const auto findings = told([&] { la::solve_sylvester(a, a, q); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "WP-LIN-007");
}

TEST(Underflow, CovariancesBelowTheRangeAreTold) {
  const auto status = [](const Tensor& x) { return la::diagnosed::covariance(x).diagnosis.status(); };
  EXPECT_EQ(status(Tensor{{1e-200}, {2e-200}, {4e-200}}), Status::overflow);
  EXPECT_EQ(status(Tensor{{1e-25f}, {2e-25f}, {4e-25f}}), Status::overflow);
  EXPECT_EQ(status(Tensor{{1e-140}, {2e-140}, {4e-140}}), Status::ok);
  EXPECT_EQ(status(Tensor{{1e-200}, {1e-200}, {1e-200}}), Status::ok);  // exactly 0
}

// Values of members one by one, and of stacks, which go through lanes.
template <class T>
void expect_values_told(T tiny, T fine) {
  const auto stack_of = [](T scale) {
    std::vector<T> all;
    for (int i = 0; i < 9; ++i)
      for (const T v : {T(4), T(1), T(2), T(1), T(3), T(0), T(2), T(0), T(5)}) all.push_back(i == 4 ? scale * v : v);
    return Tensor::from(all, {9, 3, 3});
  };
  for (const T scale : {tiny, fine}) {
    const Tensor a = stack_of(scale);
    const la::Diagnosis found[] = {la::diagnosed::svdvals(a).diagnosis, la::diagnosed::svd(a).diagnosis,
                                   la::diagnosed::eigvalsh(a).diagnosis, la::diagnosed::eigh(a).diagnosis};
    for (const la::Diagnosis& d : found)
      for (std::int64_t i = 0; i < 9; ++i)
        EXPECT_EQ(d.status(i), i == 4 && scale == tiny ? Status::overflow : Status::ok) << scale << " " << i;
    EXPECT_EQ(told([&] { la::svdvals(a); }).size(), scale == tiny ? 1u : 0u);
    EXPECT_EQ(told([&] { la::eigvalsh(a); }).size(), scale == tiny ? 1u : 0u);
    EXPECT_EQ(la::diagnosed::svdvals(a[{4}]).diagnosis.status(), scale == tiny ? Status::overflow : Status::ok);
  }
  EXPECT_TRUE(told([&] { la::svdvals(zeros({9, 3, 3}, {.dtype = dtype_v<T>})); }).empty());
}
TEST(Underflow, SingularValuesAndEigenvaluesOfFewDigitsAreToldInStacksToo) {
  expect_values_told<float>(1e-44f, 1e-30f);
  expect_values_told<double>(1e-322, 1e-290);
}

// Singular values of 2^e·A are those of A, times 2^e, rounded.
template <class T>
void expect_denormal_values_bounded(int least) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Integers m(3, seed);
    const auto exact = la::svdvals(Tensor::from(m.values, {3, 3})).to_vector<double>();
    const int e = least + static_cast<int>(seed % 12);
    const auto [value, d] = la::diagnosed::svdvals(Tensor::from(m.times_power<T>(e), {1, 3, 3}));
    if (d.status() != Status::ok) continue;
    const auto got = astype(value, f64).template to_vector<double>(),
               bound = d[0].value_error.template to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) {  // over 2^e, where differences of denormal numbers are numbers
      const double off = std::fabs(std::ldexp(got[i], -e) - exact[i]);
      EXPECT_LE(off, std::ldexp(bound[i], -e) * (1 + 1e-12)) << seed << " " << i;
    }
  }
}
TEST(Underflow, ErrorsOfSingularValuesCountWhatIsRoundedAmongTheDenormals) {
  expect_denormal_values_bounded<float>(-142);
  expect_denormal_values_bounded<double>(-1062);
}

// x = A⁻¹ b with A and b near the ends of the range, against exact rationals.
TEST(Underflow, AnswersInRangeAreRightWhateverTheScaleOfTheirMatrix) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 9, 17, 33})
    for (const int e : {-1070, -1022, -990, -910, 600, 900, 1010}) {
      const Integers m(n, 31);
      rationals::Matrix a(n, n), b(n, 1), x(n, 1);
      std::vector<double> right;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) a.set(i, j, m.values[static_cast<std::size_t>(i * n + j)]);
        b.set(i, 0, static_cast<double>(i + 1));
        right.push_back(std::ldexp(static_cast<double>(i + 1), std::min(e + 900, 1000)));
      }
      ASSERT_TRUE(x.solve(a, b));
      const Tensor matrix = Tensor::from(m.times_power<double>(e), {n, n});
      const int back = std::min(e + 900, 1000) - e;
      double most = 0, wrong = 0, wrong_inverse = 0, most_inverse = 0;
      const Tensor got = la::solve(matrix, Tensor::from(right, {n})),
                   ls = la::lstsq(matrix, Tensor::from(right, {n}));
      double wrong_ls = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double exact = x.get(i, 0).value();
        most = std::max(most, std::fabs(exact));
        wrong = std::max(wrong, std::fabs(std::ldexp(got.at(i).item<double>(), -back) - exact));
        wrong_ls = std::max(wrong_ls, std::fabs(std::ldexp(ls.at(i).item<double>(), -back) - exact));
      }
      EXPECT_LE(wrong, 1e-13 * most) << n << " 2^" << e;
      EXPECT_LE(wrong_ls, 1e-13 * most) << n << " 2^" << e;
      if (e < -1000) continue;
      rationals::Matrix one(n, n), inverse(n, n);
      for (std::int64_t i = 0; i < n; ++i) one.set(i, i, 1.0);
      ASSERT_TRUE(inverse.solve(a, one));
      const Tensor y = la::inv(matrix);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const double exact = inverse.get(i, j).value();
          most_inverse = std::max(most_inverse, std::fabs(exact));
          wrong_inverse = std::max(wrong_inverse, std::fabs(std::ldexp(y[{i, j}].item<double>(), e) - exact));
        }
      EXPECT_LE(wrong_inverse, 1e-11 * most_inverse) << n << " 2^" << e;
    }
}

}  // namespace
