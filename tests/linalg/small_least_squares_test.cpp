// lu, lstsq and pinv of stacks of small matrices: verdicts beside those of the way that larger matrices take.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;
using linalg::Status;

struct Shape {
  int m, n;
};
using Matrix = std::vector<double>;

std::size_t at(int i, int j, int columns) {
  return static_cast<std::size_t>(i * columns + j);
}
const double* data(const Tensor& t) {
  return reinterpret_cast<const double*>(t.node()->data);
}

std::string text(const char* what, const char* kind, const Shape& s) {
  return std::string(what) + " " + kind + " " + std::to_string(s.m) + "x" + std::to_string(s.n);
}

// As larger matrices, complex ones go the careful way: what is said of the same numbers must be the same.
TEST(SmallStacks, LeastSquaresAreJudgedAsTheCarefulWayJudgesThem) {
  std::mt19937_64 g(21);
  for (const char* const kind : {"random", "graded", "repeated spectrum", "singular", "denormal", "near overflow"})
    for (const Shape& s : {Shape{2, 2}, {5, 3}, {3, 5}, {8, 8}})
      for (const int columns : {1, 6}) {
        std::vector<Matrix> members, sides;
        for (int i = 0; i < 60; ++i) {
          members.push_back(of_kind(kind, s.m, s.n, g));
          Matrix& a = members.back();
          for (int l = 0; i % 3 == 1 && l < s.n; ++l)  // a row that is nearly another
            a[at(s.m - 1, l, s.n)] = a[at(0, l, s.n)] * (1 + std::ldexp(l, -i));
          for (int l = 0; i % 3 == 2 && l < s.m; ++l) a[at(l, 0, s.n)] *= std::ldexp(1.0, i);  // other units
          sides.push_back(draw(s.m, columns, Want::any, g));
        }
        members[7][0] = std::nan("");
        members[8].assign(members[8].size(), 0.0);
        sides[9].assign(sides[9].size(), 0.0);
        sides[10][0] = HUGE_VAL;
        const Tensor a = stack_of(s.m, s.n, members, f64), b = stack_of(s.m, columns, sides, f64);
        // `digits`: that lanes vouch for at least, corrected or not.
        const auto compare = [&](const auto& lanes, const auto& careful, const char* what, double digits) {
          for (int i = 0; i < 60; ++i) {
            const linalg::Member &one = lanes.diagnosis[i], &other = careful.diagnosis[i];
            const auto told = [&] {
              return text(what, kind, s) + " member " + std::to_string(i) + "\n" + one.message + "\n" + other.message;
            };
            if (one.rank != other.rank) {  // both must say that it is not clear
              EXPECT_FALSE(one.rank_doubt.empty() || other.rank_doubt.empty()) << told();
              continue;
            }
            // Where both have an answer, what they vouch for is compared below.
            if (std::max(one.status, other.status) > Status::ill_conditioned) {
              ASSERT_EQ(one.status, other.status) << told();
            }
            EXPECT_EQ(std::isnan(one.rcond), std::isnan(other.rcond)) << text(what, kind, s) << " member " << i;
            if (!std::isnan(one.rcond)) {
              EXPECT_NEAR(one.rcond, other.rcond, 1e-6 * other.rcond + 1e-15) << text(what, kind, s) << " " << i;
            }
            if (one.status > Status::ill_conditioned) continue;
            EXPECT_GE(one.digits, std::min(other.digits, digits) - 1) << text(what, kind, s) << " member " << i;
            const Tensor x = lanes.value[{i}], y = real(careful.value[{i}]);
            // What is told leaves out the number of steps.
            EXPECT_LE(max(abs(x - y)).item<double>(),
                      8 * std::max(s.m, s.n) * (one.forward_error + other.forward_error) * max(abs(y)).item<double>())
                << text(what, kind, s) << " member " << i;
          }
        };
        compare(linalg::diagnosed::lstsq(a, b), linalg::diagnosed::lstsq(astype(a, c128), astype(b, c128)), "lstsq",
                columns == 1 ? 15 : 9);
        if (columns == 1)
          compare(linalg::diagnosed::pinv(a), linalg::diagnosed::pinv(astype(a, c128)), "pinv", s.m <= 4 ? 15 : 9);
      }
}

// rtol and atol decide what counts, at the value itself too.
TEST(SmallStacks, SingularValuesUpToALimitDoNotCount) {
  const Tensor a = Tensor::from(Matrix{1, 0, 0, 0.25, 4, 0, 0, 1, 2, 0, 0, 1.5, 3, 0, 0, 1e-9}, {4, 2, 2});
  const auto rank = [&](const linalg::PinvOptions& o) {
    const Tensor p = linalg::diagnosed::pinv(a, o).value;
    std::vector<int> out;
    for (int i = 0; i < 4; ++i) out.push_back(data(p)[4 * i + 3] == 0 ? 1 : 2);
    const Tensor x = linalg::diagnosed::lstsq(a, Tensor{1.0, 1.0}, {.rtol = o.rtol, .atol = o.atol}).value;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(data(x)[2 * i + 1] == 0 ? 1 : 2, out[static_cast<std::size_t>(i)]);
    return out;
  };
  EXPECT_EQ(rank({}), (std::vector{2, 2, 2, 2}));
  EXPECT_EQ(rank({.rtol = 0.25}), (std::vector{1, 1, 2, 1}));
  EXPECT_EQ(rank({.atol = 1}), (std::vector{1, 1, 2, 1}));
  EXPECT_EQ(rank({.rtol = 0.2499}), (std::vector{2, 2, 2, 1}));
}

// The careful way is for the few: of random members next to none takes it.
TEST(SmallStacks, RandomLeastSquaresDoNotTakeTheCarefulWay) {
  std::mt19937_64 g(22);
  for (const Shape& s : {Shape{2, 2}, {4, 4}, {8, 8}, {32, 32}, {8, 3}, {3, 8}, {32, 4}}) {
    const int count = s.n > 8 ? 500 : 5000;
    std::vector<Matrix> members, sides;
    for (int i = 0; i < count; ++i) {
      members.push_back(draw(s.m, s.n, Want::any, g));
      sides.push_back(draw(s.m, 1, Want::any, g));
    }
    const auto share = [&](const linalg::Diagnosis& d) {
      const auto methods = d.methods();
      return static_cast<double>(std::count(methods.begin(), methods.end(), "SVD")) / count;
    };
    // f32 has ranks in doubt sooner.
    for (const auto& [dtype, most] : {std::pair{f64, 0.002}, std::pair{f32, 0.01}}) {
      const Tensor a = stack_of(s.m, s.n, members, dtype), b = stack_of(s.m, 1, sides, dtype);
      EXPECT_LE(share(linalg::diagnosed::lstsq(a, b).diagnosis), most) << s.m << "x" << s.n;
      EXPECT_LE(share(linalg::diagnosed::pinv(a).diagnosis), most) << s.m << "x" << s.n;
    }
  }
}

TEST(SmallStacks, GrowthOfLuIsThatOfTheMember) {
  // Wilkinson's: pivots double in every step.
  Matrix w(64);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) w[at(i, j, 8)] = i == j || j == 7 ? 1 : i > j ? -1 : 0;
  Matrix one(64);
  for (int i = 0; i < 8; ++i) one[at(i, i, 8)] = 1;
  const auto d = linalg::diagnosed::lu(stack_of(8, 8, {one, w}, f64)).diagnosis;
  EXPECT_EQ(d[0].growth, 1);
  EXPECT_EQ(d[1].growth, 128);
  EXPECT_EQ(d[1].method, "LU");
}

}  // namespace
