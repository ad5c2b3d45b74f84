// lu, lstsq and pinv of stacks of small matrices: errors beside those of a loop over LAPACK, and verdicts beside
// those of the way that larger matrices take.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/lapack.hpp"
#include "long_tests.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;
using linalg::Status;

extern "C" {
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgels_(const char*, const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
            const int*, int*);
}

struct Shape {
  int m, n;
};
using Matrix = std::vector<double>;

std::size_t at(int i, int j, int columns) {
  return static_cast<std::size_t>(i * columns + j);
}
Matrix turned(int m, int n, const double* a) {
  Matrix out(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out[at(j, i, m)] = a[i * n + j];
  return out;
}
const double* data(const Tensor& t) {
  return reinterpret_cast<const double*>(t.node()->data);
}

// (AᵀA)⁻¹Aᵀ B, or Aᵀ(A Aᵀ)⁻¹ B of a wide A, in 113 bits.
std::vector<Quad> exact_least_squares(const Shape& s, int columns, const Matrix& a, const Matrix& b) {
  const bool wide = s.n > s.m;
  const int k = std::min(s.m, s.n), inner = std::max(s.m, s.n);
  const auto element = [&](int i, int l) { return Quad(wide ? a[at(i, l, s.n)] : a[at(l, i, s.n)]); };
  std::vector<Quad> system(at(k, 0, k + columns)), out(at(s.n, 0, columns));
  const int width = k + columns;
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < k; ++j)
      for (int l = 0; l < inner; ++l) system[at(i, j, width)] += element(i, l) * element(j, l);
    for (int c = 0; c < columns; ++c)
      for (int l = wide ? i : 0; l < (wide ? i + 1 : s.m); ++l)
        system[at(i, k + c, width)] += (wide ? Quad(1) : element(i, l)) * Quad(b[at(l, c, columns)]);
  }
  for (int p = 0; p < k; ++p)  // positive definite: no pivoting
    for (int i = 0; i < k; ++i) {
      if (i == p) continue;
      const Quad factor = system[at(i, p, width)] / system[at(p, p, width)];
      for (int j = p; j < width; ++j) system[at(i, j, width)] -= factor * system[at(p, j, width)];
    }
  for (int i = 0; i < k; ++i)
    for (int c = 0; c < columns; ++c) {
      const Quad y = system[at(i, k + c, width)] / system[at(i, i, width)];
      if (!wide) out[at(i, c, columns)] = y;
      for (int j = 0; wide && j < s.n; ++j) out[at(j, c, columns)] += element(i, j) * y;
    }
  return out;
}
bool representable(const std::vector<Quad>& v) {
  const Quad most = static_cast<Quad>(std::numeric_limits<double>::max());
  return std::all_of(v.begin(), v.end(), [&](Quad x) { return x <= most && x >= -most; });
}

Matrix lapack_least_squares(const Shape& s, int columns, const Matrix& a, const Matrix& b) {
  Matrix m = turned(s.m, s.n, a.data());
  const int rows = std::max(s.m, s.n), length = 64 * rows;
  Matrix x(static_cast<std::size_t>(rows * columns)), work(static_cast<std::size_t>(length)), out;
  for (int i = 0; i < s.m; ++i)
    for (int c = 0; c < columns; ++c) x[at(c, i, rows)] = b[at(i, c, columns)];
  int info = 0;
  dgels_("N", &s.m, &s.n, &columns, m.data(), &s.m, x.data(), &rows, work.data(), &length, &info);
  EXPECT_EQ(info, 0);
  for (int i = 0; i < s.n; ++i)
    for (int c = 0; c < columns; ++c) out.push_back(x[at(c, i, rows)]);
  return out;
}
// V Σ⁻¹ Uᵀ.
Matrix lapack_pinv(const Shape& s, const Matrix& a) {
  const int k = std::min(s.m, s.n);
  const auto size = [](int rows, int columns) { return static_cast<std::size_t>(rows * columns); };
  Matrix sigma(static_cast<std::size_t>(k)), v(size(s.n, k)), ut(size(k, s.m)), out(size(s.n, s.m));
  // Row-major memory is Aᵀ = V Σ Uᵀ to LAPACK.
  EXPECT_EQ(
      lapack::svd<double>(lapack::Vectors::thin, s.n, s.m, a.data(), s.n, sigma.data(), v.data(), s.n, ut.data(), k),
      0);
  for (int i = 0; i < s.n; ++i)
    for (int j = 0; j < s.m; ++j)
      for (int c = 0; c < k; ++c)
        out[at(i, j, s.m)] += v[at(c, i, s.n)] / sigma[static_cast<std::size_t>(c)] * ut[at(j, c, k)];
  return out;
}

struct Errors {
  std::vector<double> ours, theirs;
  // Sums of squares would be those of the few worst conditions: what is compared is how errors are spread.
  void compare(const std::string& what) const {
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
      if (static_cast<double>(ours.size()) * (1 - share) < 5) continue;  // the few worst are chance
      // Nobody can do better than to round the exact answer.
      const double theirs_at = std::max(quantile(theirs, share), 0x1p-54);
      EXPECT_LE(quantile(ours, share), 2 * theirs_at) << what << " " << share;
    }
  }
};
std::string text(const char* what, const char* kind, const Shape& s) {
  return std::string(what) + " " + kind + " " + std::to_string(s.m) + "x" + std::to_string(s.n);
}

TEST(SmallStacks, FactorsOfLuAreAtMostTwiceAsWrongAsThoseOfLapack) {
  for (const char* const kind : {"random", "graded", "repeated spectrum", "singular", "denormal", "near overflow"})
    for (const Shape& s : {Shape{2, 2}, {3, 3}, {4, 4}, {8, 8}, {16, 16}, {6, 3}, {3, 7}}) {
      const int count = s.n > 8 ? 1000 : long_tests() && s.n <= 4 ? 1000000 : 10000, k = std::min(s.m, s.n);
      std::mt19937_64 g(static_cast<unsigned>(s.n));
      std::vector<Matrix> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind(kind, s.m, s.n, g));
      const auto [p, l, u] = linalg::lu(stack_of(s.m, s.n, members, f64));
      const auto product_error = [&](const Matrix& a, const std::int64_t* order, const double* left,
                                     const double* right) {
        long double worst = 0, largest = 0;
        for (int i = 0; i < s.m; ++i)
          for (int j = 0; j < s.n; ++j) {
            const double v = a[at(static_cast<int>(order[i]), j, s.n)];
            long double sum = -static_cast<long double>(v);
            for (int c = 0; c < k; ++c) sum += static_cast<long double>(left[i * k + c]) * right[c * s.n + j];
            worst = std::max(worst, std::fabs(sum));
            largest = std::max<long double>(largest, std::fabs(v));
          }
        return static_cast<double>(worst / largest);
      };
      const bool tiny = std::string(kind) == "denormal";  // products are as coarse as the numbers
      Errors errors;
      for (int i = 0; i < count; ++i) {
        const Matrix& a = members[static_cast<std::size_t>(i)];
        const double *const left = data(l) + i * s.m * k, *const right = data(u) + i * k * s.n;
        errors.ours.push_back(
            product_error(a, reinterpret_cast<const std::int64_t*>(p.node()->data) + i * s.m, left, right));
        for (int e = 0; e < s.m * k; ++e) ASSERT_LE(std::fabs(left[e]), 1 + 1e-15);
        Matrix f = turned(s.m, s.n, a.data()), their_l(static_cast<std::size_t>(s.m * k)),
               their_u(static_cast<std::size_t>(k * s.n));
        std::vector<int> pivots(static_cast<std::size_t>(k));
        std::vector<std::int64_t> order(static_cast<std::size_t>(s.m));
        int info = 0;
        dgetrf_(&s.m, &s.n, f.data(), &s.m, pivots.data(), &info);
        for (std::size_t r = 0; r < order.size(); ++r) order[r] = static_cast<std::int64_t>(r);
        for (std::size_t r = 0; r < pivots.size(); ++r)
          std::swap(order[r], order[static_cast<std::size_t>(pivots[r] - 1)]);
        for (int r = 0; r < s.m; ++r)
          for (int c = 0; c < k; ++c) their_l[at(r, c, k)] = r == c ? 1 : r > c ? f[at(c, r, s.m)] : 0;
        for (int r = 0; r < k; ++r)
          for (int c = r; c < s.n; ++c) their_u[at(r, c, s.n)] = f[at(c, r, s.m)];
        errors.theirs.push_back(product_error(a, order.data(), their_l.data(), their_u.data()));
      }
      if (!tiny) errors.compare(text("lu", kind, s));
    }
}

constexpr const char* kFullRank[] = {"random",   "graded",        "repeated spectrum",
                                     "denormal", "near overflow", "least normal numbers"};
constexpr Shape kShapes[] = {{1, 1}, {4, 2}, {2, 5}, {3, 3}, {8, 4}, {8, 8}, {16, 5}, {5, 16}};
int count_of(const Shape& s) {
  return s.m * s.n > 10 ? 1000 : long_tests() ? 1000000 : 10000;
}

TEST(SmallStacks, LeastSquaresAreAtMostTwiceAsWrongAsThoseOfLapack) {
  for (const char* const kind : kFullRank)
    for (const Shape& s : kShapes)
      for (const int columns : {1, 6}) {
        const int count = count_of(s);
        std::mt19937_64 g(static_cast<unsigned>(s.n));
        std::vector<Matrix> members, sides;
        for (int i = 0; i < count; ++i) {
          members.push_back(of_kind(kind, s.m, s.n, g));
          sides.push_back(draw(s.m, columns, Want::any, g));
        }
        const bool tiny = std::string(kind) == "denormal" || std::string(kind) == "least normal numbers";
        for (Matrix& b : sides)
          for (double& v : b) v = std::ldexp(v, tiny ? -1000 : 0);
        const Tensor x =
            linalg::diagnosed::lstsq(stack_of(s.m, s.n, members, f64), stack_of(s.m, columns, sides, f64)).value;
        Errors errors;
        for (int i = 0; i < count; ++i) {
          const auto &a = members[static_cast<std::size_t>(i)], &b = sides[static_cast<std::size_t>(i)];
          const std::vector<Quad> exact = exact_least_squares(s, columns, a, b);
          if (!representable(exact)) continue;
          errors.ours.push_back(error_of(exact, data(x) + i * s.n * columns));
          errors.theirs.push_back(error_of(exact, lapack_least_squares(s, columns, a, b).data()));
        }
        ASSERT_GT(errors.ours.size(), static_cast<std::size_t>(count) / 2) << kind;
        errors.compare(text("lstsq", kind, s) + " with " + std::to_string(columns));
      }
}

TEST(SmallStacks, PseudoInversesAreAtMostTwiceAsWrongAsThoseOfLapack) {
  for (const char* const kind : {"random", "graded", "repeated spectrum", "near overflow", "least normal numbers"})
    for (const Shape& s : kShapes) {
      const int count = count_of(s);
      std::mt19937_64 g(static_cast<unsigned>(s.n));
      std::vector<Matrix> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind(kind, s.m, s.n, g));
      const Tensor x = linalg::diagnosed::pinv(stack_of(s.m, s.n, members, f64)).value;
      Matrix one(static_cast<std::size_t>(s.m * s.m));
      for (int i = 0; i < s.m; ++i) one[at(i, i, s.m)] = 1;
      Errors errors;
      for (int i = 0; i < count; ++i) {
        const Matrix& a = members[static_cast<std::size_t>(i)];
        const std::vector<Quad> exact = exact_least_squares(s, s.m, a, one);
        if (!representable(exact)) continue;
        errors.ours.push_back(error_of(exact, data(x) + i * s.n * s.m));
        errors.theirs.push_back(error_of(exact, lapack_pinv(s, a).data()));
      }
      ASSERT_GT(errors.ours.size(), static_cast<std::size_t>(count) / 2) << kind;
      errors.compare(text("pinv", kind, s));
    }
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
            ASSERT_EQ(one.status, other.status) << text(what, kind, s) << " member " << i << "\n"
                                                << one.message << "\n"
                                                << other.message;
            EXPECT_EQ(one.rank, other.rank);
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
