// Errors of stacks of small matrices beside those of a loop over LAPACK in the same dtype: every function that has a
// kernel in lanes, for every kind of matrix and many sizes. What is right is known from small_truth.hpp.
#include <gtest/gtest.h>

#include <functional>

#include "long_tests.hpp"
#include "small_measures.hpp"

namespace {

using namespace wp;
using namespace small_measures;

// A function: what it takes, ours and LAPACK's answers, what is right, and errors as they are measured.
struct Row {
  const char* name;
  Want want;
  bool square;
  bool slow;    // to know what is right
  int columns;  // of the right-hand side; −1: n
  Homogeneous how;
  std::vector<std::pair<const char*, double>> measures;  // and the floor of each, in u: rounding of the answer itself
  std::function<Tensors(const Tensor& a, const Tensor& b)> ours;
  std::function<Outputs(const Problem&, const Truth&, DType)> theirs;
  std::function<std::optional<Truth>(const Problem&, const Type&)> truth;  // none: not a number of the dtype
  std::function<Errors(const Problem&, const Truth&, const Outputs&, const Type&)> errors;
};

template <Outputs (*single)(const Problem&), Outputs (*twice)(const Problem&)>
Outputs loop(const Problem& p, const Truth&, DType dtype) {
  return dtype == f32 ? single(p) : twice(p);
}
#define WP_LOOP(name) loop<small_lapack::name<float>, small_lapack::name<double>>

// Floors: a number that is rounded is wrong by u; two factors that are, by 2 u of Σ|l||u| ≤ k·growth of elements
// (lu), or of lengths ≤ 1 (Q, L over the diagonal); three, by 3 u σ₁.
const std::vector<Row>& rows() {
  using namespace linalg::diagnosed;
  using H = Homogeneous;
  const auto spectrum = [](const Problem& p, const Type& t) {
    return answer(small_truth::eigenvalues(p.n, over(p.a, p.power)), p.power, t);
  };
  const auto singular = [](const Problem& p, const Type& t) { return answer(singular_values(p), p.power, t); };
  const auto any_answer = [](const Problem&, const Type&) { return std::optional(Truth{}); };
  static const std::vector<Row> all = {
      {"inv",
       Want::any,
       true,
       false,
       0,
       H::inverse,
       {{"error", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{inv(a).value}; },
       WP_LOOP(inv),
       [](const Problem& p, const Type& t) { return solved(p, p.n, small_truth::identity(p.n), -p.power, t); },
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, -p.power)};
       }},
      {"solve",
       Want::any,
       true,
       false,
       2,
       H::quotient,
       {{"error", 1}},
       [](const Tensor& a, const Tensor& b) { return Tensors{solve(a, b).value}; },
       WP_LOOP(solve),
       [](const Problem& p, const Type& t) { return solved(p, p.columns, over(p.b, p.power), 0, t); },
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{columns_apart(p.columns, got[0], w.x, t, 0)};
       }},
      {"det",
       Want::any,
       true,
       false,
       0,
       H::power,
       {{"error", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{det(a).value}; },
       WP_LOOP(det),
       [](const Problem& p, const Type& t) { return determinant(p, t, false); },
       determinant_error},
      {"slogdet",
       Want::any,
       true,
       false,
       0,
       H::as_given,
       {{"error", 1}},
       [](const Tensor& a, const Tensor&) {
         const auto s = slogdet(a).value;
         return Tensors{s.sign, s.logabsdet};
       },
       WP_LOOP(slogdet),
       [](const Problem& p, const Type& t) { return determinant(p, t, true); },
       log_determinant_error},
      {"cholesky",
       Want::definite,
       true,
       false,
       0,
       H::as_given,
       {{"residual", 2}},
       [](const Tensor& a, const Tensor&) { return Tensors{cholesky(a).value}; },
       WP_LOOP(cholesky),
       [](const Problem& p, const Type&) {
         const bool positive = !p.singular && small_truth::positive_definite(p.n, over(p.a, p.power));
         return std::optional(Truth{.expect = positive ? Truth::Expect::answer : Truth::Expect::refusal});
       },
       cholesky_error},
      {"lu",
       Want::any,
       false,
       false,
       0,
       H::as_given,
       {{"residual", 2}},
       [](const Tensor& a, const Tensor&) {
         const auto f = lu(a).value;
         return Tensors{f.P, f.L, f.U};
       },
       WP_LOOP(lu),
       any_answer,
       factor_error},
      {"qr",
       Want::any,
       false,
       false,
       0,
       H::as_given,
       {{"residual", 2}, {"orthogonality", 2}},
       [](const Tensor& a, const Tensor&) {
         const auto f = qr(a).value;
         return Tensors{f.Q, f.R};
       },
       WP_LOOP(qr),
       any_answer,
       qr_error},
      {"svd",
       Want::any,
       false,
       true,
       0,
       H::as_given,
       {{"residual", 3}, {"orthogonality", 2}, {"values", 1}},
       [](const Tensor& a, const Tensor&) {
         const auto f = svd(a, {.full_matrices = false}).value;
         return Tensors{f.U, f.S, f.Vh};
       },
       WP_LOOP(svd),
       singular,
       svd_error},
      {"svdvals",
       Want::any,
       false,
       true,
       0,
       H::as_given,
       {{"values", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{svdvals(a).value}; },
       WP_LOOP(svdvals),
       singular,
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, p.power)};
       }},
      {"eigh",
       Want::symmetric,
       true,
       true,
       0,
       H::as_given,
       {{"residual", 3}, {"orthogonality", 2}, {"values", 1}},
       [](const Tensor& a, const Tensor&) {
         const auto e = eigh(a).value;
         return Tensors{e.eigenvalues, e.eigenvectors};
       },
       WP_LOOP(eigh),
       spectrum,
       eigh_error},
      {"eigvalsh",
       Want::symmetric,
       true,
       true,
       0,
       H::as_given,
       {{"values", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{eigvalsh(a).value}; },
       WP_LOOP(eigvalsh),
       spectrum,
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, p.power)};
       }},
      {"lstsq",
       Want::any,
       false,
       true,
       2,
       H::quotient,
       {{"error", 1}},
       [](const Tensor& a, const Tensor& b) { return Tensors{lstsq(a, b).value}; },
       [](const Problem& p, const Truth& w, DType dtype) {
         return dtype == f32 ? small_lapack::lstsq<float>(p, w.full_rank)
                             : small_lapack::lstsq<double>(p, w.full_rank);
       },
       least_squares,
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{columns_apart(p.columns, got[0], w.x, t, 0)};
       }},
      {"pinv",
       Want::any,
       false,
       true,
       0,
       H::inverse,
       {{"error", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{pinv(a).value}; },
       WP_LOOP(pinv),
       [](const Problem& p, const Type& t) {
         std::optional<Truth> out = pseudo_inverse(p, t);
         if (out && !representable(out->x, -p.power, t)) out.reset();
         return out;
       },
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, -p.power)};
       }},
      {"expm",
       Want::any,
       true,
       true,
       0,
       H::not_at_all,
       {{"error", 1}},
       [](const Tensor& a, const Tensor&) { return Tensors{expm(a).value}; },
       WP_LOOP(expm),
       exponential,
       [](const Problem&, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, 0)};
       }},
      {"matmul",
       Want::any,
       false,
       false,
       -1,
       H::square,
       {{"error", 1}},
       [](const Tensor& a, const Tensor& b) { return Tensors{matmul(a, b)}; },
       WP_LOOP(matmul),
       [](const Problem& p, const Type& t) {
         return answer(small_truth::product(p.m, p.n, p.columns, over(p.a, p.power), over(p.b, p.power)), 2 * p.power,
                       t);
       },
       [](const Problem& p, const Truth& w, const Outputs& got, const Type& t) {
         return Errors{apart(got[0], w.x, t, 2 * p.power)};
       }},
  };
  return all;
}

// Numbers of member i of a result.
Numbers member_of(const Tensor& t, std::int64_t i) {
  const std::int64_t each = t.size() / t.shape(0);
  Numbers out;
  for (std::int64_t e = i * each; e < (i + 1) * each; ++e)
    out.push_back(t.dtype() == f64   ? reinterpret_cast<const double*>(t.node()->data)[e]
                  : t.dtype() == f32 ? static_cast<double>(reinterpret_cast<const float*>(t.node()->data)[e])
                                     : static_cast<double>(reinterpret_cast<const std::int64_t*>(t.node()->data)[e]));
  return out;
}
bool any_nan(const Outputs& of) {
  return std::any_of(of.begin(), of.end(), [](const Numbers& v) {
    return std::any_of(v.begin(), v.end(), [](double x) { return std::isnan(x); });
  });
}

struct Shape {
  int m, n, count;
};
// 10⁴ of every kind in f64; in the long form 10⁶ of up to four rows. Jacobi's way to what is right takes long.
std::vector<Shape> shapes(const Row& row) {
  std::vector<Shape> out =
      row.slow
          ? std::vector<Shape>{{1, 1, 700}, {2, 2, 2600}, {3, 3, 2600}, {4, 4, 2400}, {5, 5, 1250}, {8, 8, 300}}
          : std::vector<Shape>{{1, 1, 500}, {2, 2, 2000}, {3, 3, 2000}, {4, 4, 2000}, {5, 5, 1000}, {8, 8, 1000}};
  const std::vector<Shape> more =
      row.slow ? std::vector<Shape>{{6, 6, 300},   {7, 7, 300},  {9, 9, 80},   {11, 11, 300}, {12, 12, 80},
                                    {13, 13, 300}, {16, 16, 50}, {20, 20, 40}, {31, 31, 60},  {32, 32, 20}}
               : std::vector<Shape>{{6, 6, 1000},  {7, 7, 1000},  {9, 9, 500},   {11, 11, 400}, {12, 12, 500},
                                    {13, 13, 400}, {16, 16, 400}, {20, 20, 200}, {31, 31, 150}, {32, 32, 200}};
  out.insert(out.end(), more.begin(), more.end());
  if (!row.square)
    for (const Shape& s :
         {Shape{5, 3, 300}, {2, 4, 300}, {8, 5, 200}, {3, 12, 200}, {32, 4, 60}, {9, 20, 20}, {31, 32, 10}})
      out.push_back(s);
  for (Shape& s : out) {
    if (long_tests() && s.m <= 4 && s.n <= 4) s.count = 250000;
  }
  return out;
}

struct Compared {
  std::vector<std::vector<double>> ours, theirs;  // [measure][member]
  std::vector<double> conditions;
  int to_refuse = 0, accepted = 0;  // of matrices without an answer
};
// Errors of `count` members.
void measure(const Row& row, Kind kind, const Shape& s, const Type& t, int count, Draws& draws, Compared& to) {
  std::vector<Problem> problems;
  std::vector<std::vector<double>> a, b;
  const int columns = row.columns < 0 ? s.n : row.columns;
  for (int i = 0; i < count; ++i) {
    problems.push_back(draws.next(kind, row.want, row.how, s.m, s.n, columns));
    a.push_back(problems.back().a);
    b.push_back(problems.back().b);
  }
  const Tensors got =
      row.ours(small_stacks::stack_of(s.m, s.n, a, t.dtype),
               small_stacks::stack_of(row.how == Homogeneous::square ? s.n : s.m, std::max(columns, 1), b, t.dtype));
  for (int i = 0; i < count; ++i) {
    const Problem& p = problems[static_cast<std::size_t>(i)];
    const std::optional<Truth> truth = row.truth(p, t);
    if (!truth) continue;
    Outputs ours;
    for (const Tensor& x : got) ours.push_back(member_of(x, i));
    const bool refused = any_nan(ours);
    if (refused && truth->expect == Truth::Expect::either) continue;
    if (truth->expect == Truth::Expect::refusal) {
      ++to.to_refuse;
      to.accepted += !refused;
      continue;
    }
    Errors mine(row.measures.size(), kNone), theirs = mine;
    const Outputs other = row.theirs(p, *truth, t.dtype);
    if (!refused) mine = row.errors(p, *truth, ours, t);
    if (!any_nan(other)) theirs = row.errors(p, *truth, other, t);
    for (std::size_t k = 0; k < mine.size(); ++k) {
      to.ours[k].push_back(mine[k]);
      to.theirs[k].push_back(theirs[k]);
    }
    to.conditions.push_back(truth->condition);
  }
}

// A share of errors below some size is compared if at least five are above it. What those few are is chance: an error
// is the condition times a backward error, times a number up to 1 that depends on where the rounding errors point,
// and conditions of random matrices have no mean (P(κ > x) ~ 1/x, Edelman 1988), so that the worst error is that of
// one member, for which LAPACK may have been lucky. The worst are therefore compared over their conditions: what is
// left is the backward error, of which there are no outliers.
void compare(const Row& row, const std::string& what, double u, const Compared& found) {
  EXPECT_EQ(found.accepted, 0) << row.name << ", " << what << ": of " << found.to_refuse << " without an answer";
  const double members = static_cast<double>(found.conditions.size());
  for (std::size_t k = 0; k < row.measures.size() && members > 0; ++k) {
    const auto [name, floor] = row.measures[k];
    std::vector<double> ours = found.ours[k], theirs = found.theirs[k];
    const auto check = [&](double share) {
      const double mine = small_stacks::quantile(ours, share), other = small_stacks::quantile(theirs, share);
      EXPECT_LE(mine, 2 * other + floor * u)
          << row.name << ", " << what << ": " << name << " of a share of " << share;
    };
    for (const double share : {0.5, 0.9, 0.99, 0.999})
      if (members * (1 - share) >= 5) check(share);
    for (std::size_t i = 0; i < ours.size(); ++i) ours[i] /= found.conditions[i], theirs[i] /= found.conditions[i];
    check(1);
  }
}

class SmallTable : public testing::TestWithParam<std::size_t> {};

TEST_P(SmallTable, ErrorsAreAtMostTwiceThoseOfLapack) {
  const Row& row = rows()[GetParam()];
  for (const Type& t : kTypes)
    for (const Kind kind : kKinds)
      for (const Shape& s : shapes(row)) {
        Draws draws(t.dtype, static_cast<unsigned>(1000 * s.m + s.n));
        Compared found{std::vector<std::vector<double>>(row.measures.size()),
                       std::vector<std::vector<double>>(row.measures.size()),
                       {}};
        constexpr int kAtOnce = 5000;
        for (int i = 0; i < s.count; i += kAtOnce)
          measure(row, kind, s, t, std::min(kAtOnce, s.count - i), draws, found);
        compare(row,
                std::string(small_kinds::name(kind)) + " " + std::to_string(s.m) + "x" + std::to_string(s.n) +
                    " in " + std::string(wp::name(t.dtype)),
                t.u, found);
      }
}
INSTANTIATE_TEST_SUITE_P(Small, SmallTable, testing::Range<std::size_t>(0, rows().size()),
                         [](const auto& which) { return std::string(rows()[which.param].name); });

}  // namespace
