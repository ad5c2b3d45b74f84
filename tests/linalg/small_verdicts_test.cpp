// Stacks of small matrices: verdicts beside those of the way that larger matrices take. lstsq and pinv:
// small_least_squares_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "rationals.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;
using linalg::Status;
using rationals::Rational;
using Matrix = std::vector<double>;

std::size_t at(int i, int j, int n) {
  return static_cast<std::size_t>(i * n + j);
}

struct Function {
  const char* name;
  Want want;
  std::function<linalg::Diagnosis(const Tensor&)> judge;
};
const std::vector<Function>& functions() {
  namespace d = linalg::diagnosed;
  static const std::vector<Function> all = {
      {"inv", Want::any, [](const Tensor& a) { return d::inv(a).diagnosis; }},
      {"solve", Want::any,
       [](const Tensor& a) {
         return d::solve(a, ones({a.shape()[1], 1})).diagnosis;
       }},
      {"det", Want::any, [](const Tensor& a) { return d::det(a).diagnosis; }},
      {"slogdet", Want::any, [](const Tensor& a) { return d::slogdet(a).diagnosis; }},
      {"cholesky", Want::definite, [](const Tensor& a) { return d::cholesky(a).diagnosis; }},
      {"lu", Want::any, [](const Tensor& a) { return d::lu(a).diagnosis; }},
      {"qr", Want::any, [](const Tensor& a) { return d::qr(a).diagnosis; }},
      {"svd", Want::any, [](const Tensor& a) { return d::svd(a).diagnosis; }},
      {"eigh", Want::symmetric, [](const Tensor& a) { return d::eigh(a).diagnosis; }}};
  return all;
}

// As larger matrices, complex ones go the careful way: what is said of the same numbers must be the same.
TEST(SmallStacks, AreJudgedAsTheCarefulWayJudgesThem) {
  std::mt19937_64 g(31);
  for (const Function& f : functions())
    for (const char* const kind : {"random", "graded", "repeated spectrum", "singular", "denormal", "near overflow"})
      for (const int n : {2, 3, 4, 8, 12}) {
        constexpr int count = 60;
        std::vector<Matrix> members;
        for (int i = 0; i < count; ++i) {
          Matrix a = of_kind(kind, n, n, g);
          for (int l = 0; i % 3 == 1 && l < n; ++l) a[at(n - 1, l, n)] = a[at(0, l, n)] * (1 + std::ldexp(l, -i));
          if (i % 3 == 2 && f.want == Want::any)  // other units
            for (int l = 0; l < n; ++l) a[at(l, 0, n)] *= std::ldexp(1.0, std::string(kind) == "random" ? i : 0);
          if (f.want != Want::any)
            for (int r = 0; r < n; ++r)
              for (int c = 0; c < r; ++c) a[at(r, c, n)] = a[at(c, r, n)];
          for (int r = 0; f.want == Want::definite && i % 2 == 0 && r < n; ++r) {  // rows that are dominated
            double sum = 0;
            for (int c = 0; c < n; ++c) sum += std::fabs(a[at(r, c, n)]);
            a[at(r, r, n)] = sum;
          }
          members.push_back(std::move(a));
        }
        members[7][0] = std::nan("");
        members[8].assign(members[8].size(), 0.0);
        const Tensor a = stack_of(n, n, members, f64);
        const linalg::Diagnosis lanes = f.judge(a), careful = f.judge(astype(a, c128));
        for (int i = 0; i < count; ++i) {
          const linalg::Member &one = lanes[i], &other = careful[i];
          if (std::max(one.status, other.status) <= Status::ill_conditioned) continue;
          // Singular is what has rcond < 4 u: an estimate of it there may be on either side, and both are right.
          const auto at_limit = [](const linalg::Member& m) { return std::fabs(m.rcond / 0x1p-51 - 1) < 0.1; };
          if (at_limit(one) && at_limit(other)) continue;
          EXPECT_EQ(one.status, other.status) << f.name << " " << kind << " " << n << " member " << i << "\n"
                                              << one.message << "\n"
                                              << other.message;
        }
      }
}

// In rational numbers.
bool definite(int n, const Matrix& a) {
  std::vector<Rational> m;
  for (const double v : a) m.emplace_back(v);
  return rationals::below(std::move(m), n, Rational()) == 0;
}

// A Aᵀ where A is nearly singular: whether its last pivot is positive in floating point is chance, and which chance
// depends on the order of additions. What is positive definite as it is given is never refused, in any order.
TEST(SmallStacks, OfNearlySingularProductsAreRefusedOnlyWhereTheyAreNotPositiveDefinite) {
  std::mt19937_64 g(32);
  for (const int n : {2, 3, 5, 12, 20}) {
    const int count = n > 8 ? 60 : 200;
    std::vector<Matrix> members;
    for (int i = 0; i < count; ++i) {
      Matrix b = draw(n, n, Want::any, g), a(at(n, 0, n));
      for (int l = 0; l < n; ++l) b[at(n - 1, l, n)] = b[at(0, l, n)] + std::ldexp(b[at(n - 1, l, n)], -24 - i % 6);
      for (int r = 0; r < n; ++r)
        for (int c = 0; c <= r; ++c) {
          for (int l = 0; l < n; ++l) a[at(r, c, n)] += b[at(r, l, n)] * b[at(c, l, n)];
          a[at(c, r, n)] = a[at(r, c, n)];
        }
      members.push_back(std::move(a));
    }
    const Tensor a = stack_of(n, n, members, f64);
    const auto lanes = linalg::diagnosed::cholesky(a), careful = linalg::diagnosed::cholesky(astype(a, c128));
    const Tensor apart = max(abs(matmul(lanes.value, matrix_transpose(lanes.value)) - a), {.axis = {1, 2}});
    int positive = 0;
    for (int i = 0; i < count; ++i) {
      const bool is = definite(n, members[static_cast<std::size_t>(i)]);
      positive += is;
      EXPECT_EQ(lanes.diagnosis[i].status == Status::ok, is) << n << " member " << i << lanes.diagnosis[i].message;
      EXPECT_EQ(careful.diagnosis[i].status == Status::ok, is)
          << n << " member " << i << careful.diagnosis[i].message;
      if (is) {
        EXPECT_LE(apart[{i}].item<double>(), 1e-13 * max(a[{i}]).item<double>()) << n << " member " << i;
      }
    }
    EXPECT_GE(positive, count / 4);
    EXPECT_LT(positive, count);
  }
}

}  // namespace
