// Exponentials of small matrices go through lanes; their errors beside those of the way of larger ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/batched/exponential.hpp"
#include "linalg/exponential.hpp"
#include "long_tests.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;

std::vector<Quad> times(int n, const std::vector<Quad>& a, const std::vector<Quad>& b) {
  std::vector<Quad> c(a.size());
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * n + k)] * b[static_cast<std::size_t>(k * n + j)];
  return c;
}
// By 22 terms of Taylor's series where the norm is below 1/4, in 113 bits.
std::vector<Quad> exact_exponential(int n, const std::vector<double>& a) {
  double norm = 0;
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += std::fabs(a[static_cast<std::size_t>(i * n + j)]);
    norm = std::max(norm, sum);
  }
  const int halvings = std::max(0, std::ilogb(std::max(norm, 1e-300)) + 3);
  std::vector<Quad> scaled, term(a.size()), sum(a.size());
  for (const double v : a) scaled.push_back(Quad(v) / Quad(std::ldexp(1.0, halvings)));
  for (int i = 0; i < n; ++i)
    term[static_cast<std::size_t>(i * n + i)] = sum[static_cast<std::size_t>(i * n + i)] = 1;
  for (int k = 1; k <= 22; ++k) {
    term = times(n, term, scaled);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += term[e] /= k;
  }
  for (int k = 0; k < halvings; ++k) sum = times(n, sum, sum);
  return sum;
}

std::vector<double> of_kind(const std::string& kind, int n, std::mt19937_64& g) {
  std::vector<double> a = draw(n, n, kind == "decaying" ? Want::definite : Want::any, g);
  const auto at = [&](int i, int j) -> double& { return a[static_cast<std::size_t>(i * n + j)]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (kind == "small") at(i, j) *= 0.05;
      if (kind == "large") at(i, j) *= 20.0 / n;
      if (kind == "decaying") at(i, j) *= -1;
      if (kind == "graded") at(i, j) = std::ldexp(at(i, j), -4 * std::max(i, j));
      if (kind == "rotation" && j <= i) at(i, j) = i == j ? 0 : -(at(j, i) *= 5);
      if (kind == "denormal") at(i, j) = std::ldexp(at(i, j), -1030);
      if (kind == "near overflow") at(i, j) += i == j ? 690 : 0;
      if (kind == "far from normal" && j > i) at(i, j) *= 1e3;
    }
  return a;
}
double quantile(std::vector<double> errors, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(errors.size() - 1));
  std::nth_element(errors.begin(), errors.begin() + at, errors.end());
  return errors[static_cast<std::size_t>(at)];
}

TEST(SmallStacks, ExponentialsAreAtMostTwiceAsWrongAsOneByOne) {
  for (const char* const kind :
       {"random", "small", "large", "decaying", "graded", "rotation", "denormal", "near overflow", "far from normal"})
    for (const int n : {1, 2, 3, 4, 8, 16}) {
      if (n == 1 && std::string(kind) == "rotation") continue;  // 0
      const int count = n > 8 ? 40 : n > 4 ? 300 : long_tests() ? 100000 : 10000;
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind(kind, n, g));
      const Tensor x = linalg::diagnosed::expm(stack_of(n, n, members, f64)).value;
      const double* const got = reinterpret_cast<const double*>(x.node()->data);
      std::vector<double> ours, theirs;
      for (int i = 0; i < count; ++i) {
        const std::vector<double>& a = members[static_cast<std::size_t>(i)];
        const std::vector<Quad> exact = exact_exponential(n, a);
        const Quad most = static_cast<Quad>(std::numeric_limits<double>::max());
        if (std::any_of(exact.begin(), exact.end(), [&](Quad v) { return v > most || v < -most; })) continue;
        ours.push_back(error_of(exact, got + i * n * n));
        theirs.push_back(error_of(exact, linalg::exponential<double>({n, n, {a.data(), n, 1}}).value.data.data()));
      }
      ASSERT_GT(ours.size(), static_cast<std::size_t>(count) / 4) << kind << " " << n;
      for (const double share : {0.5, 0.9, 0.99, 0.999})
        EXPECT_LE(quantile(ours, share), std::max(2 * quantile(theirs, share), 0x1p-52))
            << kind << " " << n << " " << share;
    }
}

TEST(SmallStacks, ExponentialsOfF32AreRightToF32) {
  std::mt19937_64 g(2);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 500; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (double& v : members.back()) v = static_cast<double>(static_cast<float>(3 * v));
  }
  const Tensor x = astype(linalg::expm(stack_of(4, 4, members, f32)), f64);
  for (int i = 0; i < 500; ++i)
    EXPECT_LT(error_of(exact_exponential(4, members[static_cast<std::size_t>(i)]),
                       reinterpret_cast<const double*>(x.node()->data) + 16 * i),
              6e-8);
}

// Norms of 20 to 400 from elements of very different sizes, whose errors a few directions decide: the claim holds in
// 99.9 % of them, and is not far above what happens.
TEST(SmallStacks, ErrorsOfExponentialsOfLargeNormAreAsTold) {
  std::mt19937_64 g(5);
  const std::size_t count = long_tests() ? 10000 : 2000;
  for (const bool lanes : {true, false}) {
    std::vector<double> pessimism;
    std::size_t beyond = 0;
    for (const int n : {2, 3, 4}) {
      std::vector<std::vector<double>> members;
      while (members.size() < count) {
        std::vector<double> a = draw(n, n, Want::any, g);
        for (double& v : a) v = std::ldexp(v, static_cast<int>(g() % 16) - 8);
        const double norm = linalg::Dense<double>(n, n, {a.data(), n, 1}).norm1();
        if (norm > 20 && norm < 400) members.push_back(a);
      }
      const auto [x, d] = linalg::diagnosed::expm(stack_of(n, n, members, f64));
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto member = static_cast<std::int64_t>(i);
        if (d[member].status != linalg::Status::ok) continue;
        const linalg::Dense<double> m(n, n, {members[i].data(), n, 1});
        const auto careful = linalg::exponential(m);
        const double error = error_of(exact_exponential(n, members[i]),
                                      lanes ? reinterpret_cast<const double*>(x.node()->data) + member * n * n
                                            : careful.value.data.data()),
                     told = lanes ? d[member].forward_error : careful.error;
        beyond += error > told;
        pessimism.push_back(told / std::max(error, 0x1p-53));
      }
    }
    RecordProperty(lanes ? "median_pessimism_of_lanes" : "median_pessimism",
                   std::to_string(quantile(pessimism, 0.5)));
    EXPECT_LE(beyond, pessimism.size() / 1000) << (lanes ? "in lanes" : "one by one");
    EXPECT_LE(quantile(pessimism, 0.5), 80);  // 65 in lanes, 58 one by one
  }
}

// What is asked about a member is answered as for a matrix alone, whichever way it went.
TEST(SmallStacks, ExponentialsHaveTheDiagnosisOfTheCarefulWay) {
  const Tensor a = Tensor::from(
      std::vector<double>{0.1, 0.2, 0.2, 0.3, 1, 2, 3, 4, 800, 1, 1, 1, 1, 1e5, 1e-9, 1, std::nan(""), 0, 0, 1},
      {5, 2, 2});
  const auto [x, d] = linalg::diagnosed::expm(a);
  for (const std::int64_t i : {0, 1, 3}) {
    const Tensor one = a[{i}];
    const linalg::Dense<double> m(2, 2, {reinterpret_cast<const double*>(one.node()->data), 2, 1});
    EXPECT_DOUBLE_EQ(d[i].forward_error, linalg::exponential(m).error) << i;
    EXPECT_EQ(d[i].status, linalg::Status::ok);
  }
  EXPECT_EQ(d[0].structure, "symmetric");
  EXPECT_EQ(d[1].structure, "general");
  EXPECT_EQ(d[4].status, linalg::Status::nonfinite_input);
  EXPECT_TRUE(std::isnan(x[{4, 0, 0}].item<double>()));
  EXPECT_GT(d[1].digits, 13);
}

// Above and below; a rotation by so much that no digit of the angle is known has neither.
TEST(SmallStacks, ExponentialsBeyondTheRangeAreToldAsThat) {
  std::mt19937_64 g(7);
  const auto told = [](const std::vector<double>& a, int n, DType dtype) {
    return linalg::diagnosed::expm(stack_of(n, n, {a}, dtype)).diagnosis[0];
  };
  for (const DType dtype : {f64, f32})
    for (const int n : {1, 2, 3, 4, 8, 9, 32})
      for (const double size : {1e3, 3e4, 1e10, 1e30}) {
        std::vector<double> above = draw(n, n, Want::any, g), below = draw(n, n, Want::definite, g);
        for (double& v : above) v *= size / n;
        for (double& v : below) v *= -50 * size;
        for (int i = 0; i < n; ++i) above[static_cast<std::size_t>(i * n + i)] += size;
        EXPECT_EQ(told(above, n, dtype).status, linalg::Status::overflow) << name(dtype) << " " << n << " " << size;
        EXPECT_EQ(told(below, n, dtype).status, linalg::Status::overflow) << name(dtype) << " " << n << " " << size;
        if (n != 2 || size < 1e20) continue;
        EXPECT_EQ(told({0, size, -size, 0}, 2, dtype).status, linalg::Status::singular) << name(dtype) << " " << size;
      }
}
// Lanes know that, up to norms of 2²⁰: a stack in which many are beyond is no slower for it.
TEST(SmallStacks, ExponentialsBeyondTheRangeStayInLanes) {
  std::mt19937_64 g(8);
  const auto check = [&]<class T>(T, double size) {
    constexpr std::int64_t members = 37;
    for (const int n : {1, 2, 4, 8, 9, 32}) {
      std::vector<T> a, x(static_cast<std::size_t>(members * n * n));
      for (std::int64_t i = 0; i < members; ++i) {
        const std::vector<double> one = draw(n, n, Want::any, g);
        for (int e = 0; e < n * n; ++e)
          a.push_back(static_cast<T>(one[static_cast<std::size_t>(e)] / n + (e % (n + 1) == 0 && i % 3 ? size : 0)));
      }
      std::vector<std::uint8_t> marks(members);
      kernels::batched::exponential<T>(n, {a.data(), n * n, n, 1}, {0, members}, x.data(), {.redo = marks.data()});
      for (std::int64_t i = 0; i < members; ++i)
        EXPECT_EQ(marks[static_cast<std::size_t>(i)], i % 3 ? 2 : 0) << n << " member " << i;
    }
  };
  check(double{}, 1e3);
  check(double{}, 5e5);
  check(float{}, 200);
  check(float{}, 650);
  check(float{}, 1e4);
}

}  // namespace
