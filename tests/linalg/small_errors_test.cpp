// Errors of stacks of small matrices beside those of a loop over LAPACK: every function, on every kind of matrix and
// every instruction set, against references of 106 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "linalg/exponential.hpp"
#include "long_tests.hpp"
#include "simd/isa.hpp"
#include "small_references.hpp"

namespace {

using namespace small_references;

// ---- the table
constexpr const char* kAll[] = {"random",   "graded",   "repeated spectrum", "clustered spectrum",
                                "singular", "denormal", "near overflow",     "least normal numbers"};
constexpr const char* kInvertible[] = {"random",   "graded",        "repeated spectrum",   "clustered spectrum",
                                       "denormal", "near overflow", "least normal numbers"};
// The inverse of a denormal matrix is beyond the range.
constexpr const char* kInverse[] = {
    "random", "graded", "repeated spectrum", "clustered spectrum", "near overflow", "least normal numbers"};
constexpr const char* kPseudo[] = {"random",   "graded",        "repeated spectrum",   "clustered spectrum",
                                   "singular", "near overflow", "least normal numbers"};
constexpr const char* kSingular[] = {"singular"};
constexpr const char* kScaled[] = {"random", "graded", "repeated spectrum", "clustered spectrum"};
constexpr const char* kExponents[] = {"random",   "small",    "large",         "decaying",       "graded",
                                      "rotation", "denormal", "near overflow", "far from normal"};

struct Row {
  const char* name;
  Want want;
  bool square;
  int columns;  // of right-hand sides, if any
  std::span<const char* const> kinds;
  std::vector<const char*> measures;  // names of the errors; "": there is none in this place
  Tensors (*ours)(const Tensor& a, const Tensor& b);
  Answer (*theirs)(const Given<double>&);
  Answer (*theirs_in_f32)(const Given<float>&);  // null: only f64
  Exact (*exact)(const Member&);
  Errors (*errors)(const Member&, const Exact&, const Answer&);
};
struct CarefulExponential {
  static Answer of(const Given<double>& g) {
    const linalg::Dense<double> a(g.n, g.n, {g.a.data(), g.n, 1});
    return {linalg::exponential<double>(a).value.data};
  }
};

const std::vector<Row>& rows() {
  namespace d = linalg::diagnosed;
  namespace t = small_twins;
  const auto row = []<class Twin>(Twin, const char* name, Want want, bool square, int columns,
                                  std::span<const char* const> kinds, std::vector<const char*> measures, auto ours,
                                  auto exact, auto errors) {
    return Row{name,
               want,
               square,
               columns,
               kinds,
               std::move(measures),
               ours,
               Twin::template of<double>,
               Twin::template of<float>,
               exact,
               errors};
  };
  using T = const Tensor&;
  static const std::vector<Row> all = {
      row(
          t::Inv{}, "inv", Want::any, true, 0, kInverse, {"X"}, [](T a, T) { return Tensors{d::inv(a).value}; },
          exact_inverse, first_output<up>),
      row(
          t::Solve{}, "solve", Want::any, true, 1, kInvertible, {"x"},
          [](T a, T b) { return Tensors{d::solve(a, b).value}; }, exact_solution, first_output<level>),
      row(
          t::Solve{}, "solve_many", Want::any, true, 6, kInvertible, {"X"},
          [](T a, T b) { return Tensors{d::solve(a, b).value}; }, exact_solution, first_output<level>),
      row(
          t::Det{}, "det", Want::any, true, 0, kScaled, {"det"}, [](T a, T) { return Tensors{d::det(a).value}; },
          exact_determinant, first_output<down_all>),
      row(
          t::Slogdet{}, "slogdet", Want::any, true, 0, kInvertible, {"log"},
          [](T a, T) {
            const auto s = d::slogdet(a).value;
            return Tensors{s.sign, s.logabsdet};
          },
          exact_logarithm, logarithm),
      row(
          t::Cholesky{}, "cholesky", Want::definite, true, 0, kInvertible, {"L"},
          [](T a, T) { return Tensors{d::cholesky(a).value}; }, exact_cholesky, first_output<down_half>),
      row(
          t::Lu{}, "lu", Want::any, false, 0, kAll, {"L U"},
          [](T a, T) {
            const auto f = d::lu(a).value;
            return Tensors{f.P, f.L, f.U};
          },
          nothing, of_lu),
      row(
          t::Qr{}, "qr", Want::any, false, 0, kAll, {"", "Q R", "orthogonality"},
          [](T a, T) {
            const auto f = d::qr(a).value;
            return Tensors{f.Q, f.R};
          },
          nothing, of_qr),
      row(
          t::Eigh<true>{}, "eigh", Want::symmetric, true, 0, kAll, {"values", "product", "orthogonality"},
          [](T a, T) {
            const auto e = d::eigh(a).value;
            return Tensors{e.eigenvalues, e.eigenvectors};
          },
          exact_eigenvalues, of_eigh),
      row(
          t::Eigh<false>{}, "eigvalsh", Want::symmetric, true, 0, kAll, {"values"},
          [](T a, T) { return Tensors{d::eigvalsh(a).value}; }, exact_eigenvalues, first_output<down>),
      row(
          t::Svd<true>{}, "svd", Want::any, false, 0, kAll, {"values", "product", "orthogonality"},
          [](T a, T) {
            const auto s = d::svd(a, {.full_matrices = false}).value;
            return Tensors{s.U, s.S, s.Vh};
          },
          exact_singular_values, of_svd),
      row(
          t::Svd<false>{}, "svdvals", Want::any, false, 0, kAll, {"values"},
          [](T a, T) { return Tensors{d::svdvals(a).value}; }, exact_singular_values, first_output<down>),
      row(
          t::Lstsq<false>{}, "lstsq", Want::any, false, 1, kInvertible, {"x"},
          [](T a, T b) { return Tensors{d::lstsq(a, b).value}; }, exact_least_squares, first_output<level>),
      row(
          t::Lstsq<false>{}, "lstsq_many", Want::any, false, 6, kInvertible, {"X"},
          [](T a, T b) { return Tensors{d::lstsq(a, b).value}; }, exact_least_squares, first_output<level>),
      row(
          t::Lstsq<true>{}, "lstsq_deficient", Want::any, false, 1, kSingular, {"x"},
          [](T a, T b) { return Tensors{d::lstsq(a, b).value}; }, exact_least_squares, first_output<level>),
      row(
          t::Pinv{}, "pinv", Want::any, false, 0, kPseudo, {"X"}, [](T a, T) { return Tensors{d::pinv(a).value}; },
          exact_pseudo_inverse, first_output<up>),
      {"expm",
       Want::any,
       true,
       0,
       kExponents,
       {"X"},
       [](T a, T) { return Tensors{d::expm(a).value}; },
       CarefulExponential::of,
       nullptr,
       exact_exponential,
       first_output<level>},
  };
  return all;
}

// ---- members
std::vector<double> of_exponent(std::string_view kind, int n, std::mt19937_64& g) {
  std::vector<double> a = draw(n, n, kind == "decaying" ? Want::definite : Want::any, g);
  const auto e = [&](int i, int j) -> double& { return a[at(i, j, n)]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (kind == "small") e(i, j) *= 0.05;
      if (kind == "large") e(i, j) *= 20.0 / n;
      if (kind == "decaying") e(i, j) *= -1;
      if (kind == "graded") e(i, j) = std::ldexp(e(i, j), -40 * std::max(i, j) / std::max(1, n - 1));
      if (kind == "rotation" && j <= i) e(i, j) = i == j ? 0 : -(e(j, i) *= 5);
      if (kind == "denormal") e(i, j) = std::ldexp(e(i, j), -1030);
      if (kind == "near overflow") e(i, j) += i == j ? 690 : 0;
      if (kind == "far from normal" && j > i) e(i, j) *= 1e3;
    }
  return a;
}
Member member(const Row& row, std::string_view kind, int m, int n, DType dtype, std::mt19937_64& g) {
  const bool exponent = row.kinds.data() == kExponents;
  Member p{m, n, row.columns, 0, dtype, {}, {}, {}, {}};
  p.a = exponent ? of_exponent(kind, n, g) : of_kind(kind, m, n, g, row.want, dtype);
  double most = 0;
  for (const double v : p.a) most = std::max(most, std::fabs(v));
  p.down = most == 0 || exponent ? 0 : std::ilogb(most) / 2 * 2;  // even: roots are exact
  if (row.columns > 0) p.b = draw(m, row.columns, Want::any, g);
  for (double& v : p.b) {
    v = std::ldexp(v, p.down);
    if (dtype == f32) v = static_cast<double>(static_cast<float>(v));
  }
  p.A = times_power(p.a, -p.down);
  p.B = times_power(p.b, -p.down);
  return p;
}
template <class T>
Answer answer_of_lapack(const Member& p, Answer (*twin)(const Given<T>&)) {
  const auto in = [](const std::vector<double>& v) {
    std::vector<T> out;
    for (const double x : v) out.push_back(static_cast<T>(x));
    return out;
  };
  return twin({p.m, p.n, p.columns, in(p.a), in(p.b)});
}
Answer answer_of_stack(const Tensors& outputs, std::size_t member, std::size_t members) {
  Answer out;
  for (const Tensor& t : outputs) {
    const auto each = static_cast<std::size_t>(t.size()) / members;
    std::vector<double>& to = out.emplace_back();
    for (std::size_t e = member * each; e < (member + 1) * each; ++e)
      to.push_back(t.dtype() == i64   ? static_cast<double>(reinterpret_cast<const std::int64_t*>(t.node()->data)[e])
                   : t.dtype() == f32 ? static_cast<double>(reinterpret_cast<const float*>(t.node()->data)[e])
                                      : reinterpret_cast<const double*>(t.node()->data)[e]);
  }
  return out;
}
bool same_bits(const Tensors& x, const Tensors& y) {
  for (std::size_t k = 0; k < x.size(); ++k)
    if (std::memcmp(x[k].node()->data, y[k].node()->data, x[k].nbytes()) != 0) return false;
  return true;
}

// ---- what is compared
// Errors, and what they are beside the condition. Nobody can do better than to round the exact answer: that changes
// elements by u/2 of the largest, products and QᵀQ by up to u.
struct Spread {
  std::array<std::vector<double>, kMeasures> errors, over_condition;
  void take(const Errors& e, double condition, double unit) {
    for (std::size_t k = 0; k < kMeasures; ++k) {
      errors[k].push_back(std::max(e[k], k == 0 ? unit / 2 : unit));
      over_condition[k].push_back(errors[k].back() / condition);
    }
  }
};
struct Compared {
  Spread theirs;
  std::vector<std::pair<std::string, Spread>> ours;  // by instruction set
  std::size_t left_out = 0;
};

// Sums of squares would be those of the few worst conditions: what is compared is how errors are spread. Conditions
// have a heavy tail (P(κ > t) ~ 1/t), so that a quantile beyond which k members lie is known to about 1/√k; errors
// beside their conditions have none. The largest of all is chance: an algorithm that is backward stable stays within
// a few roundings of every element in every step, here 4 n of them.
void judge(const Row& row, const Compared& c, const std::string& what, int n, double unit) {
  const auto quantiles = [&](const auto& ours, const auto& theirs, double beyond, const std::string& where) {
    for (const double share : {0.5, 0.9, 0.99, 0.999})
      if (static_cast<double>(ours.size()) * (1 - share) >= beyond - 1e-6) {
        EXPECT_LE(quantile(ours, share), 2 * quantile(theirs, share)) << where << " " << share;
      }
  };
  const auto worst = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  for (const auto& [isa, ours] : c.ours)
    for (std::size_t k = 0; k < row.measures.size(); ++k) {
      if (!*row.measures[k]) continue;
      const std::string where = what + " " + isa + " " + row.measures[k];
      const auto &over = ours.over_condition[k], &their_over = c.theirs.over_condition[k];
      const bool sensitive = over != ours.errors[k];
      quantiles(ours.errors[k], c.theirs.errors[k], sensitive ? 50 : 10, where);
      if (sensitive) quantiles(over, their_over, 10, where + " beside the condition");
      EXPECT_LE(worst(over), std::max(2 * worst(their_over), 4 * n * unit)) << where;
    }
}

// Up to 10⁴ matrices at a time.
void compare_some(const Row& row, std::string_view kind, int m, int n, DType dtype, int count, std::mt19937_64& g,
                  Compared& c) {
  const double unit = unit_of(dtype);
  std::vector<Member> members;
  std::vector<std::vector<double>> a, b;
  for (int i = 0; i < count; ++i) {
    members.push_back(member(row, kind, m, n, dtype, g));
    a.push_back(members.back().a);
    b.push_back(members.back().b);
  }
  const Tensor A = stack_of(m, n, a, dtype), B = row.columns ? stack_of(m, row.columns, b, dtype) : Tensor();
  std::vector<Tensors> answers;
  const simd::Isa before = simd::isa();
  for (const simd::Isa isa : {simd::Isa::baseline, simd::Isa::avx2, simd::Isa::avx512}) {
    if (!simd::supported(isa)) continue;
    simd::set_isa(isa);
    answers.push_back(row.ours(A, B));
    if (answers.size() > c.ours.size()) c.ours.emplace_back(simd::name(isa), Spread{});
  }
  simd::set_isa(before);
  std::vector<bool> as_before{false};
  for (std::size_t k = 1; k < answers.size(); ++k) as_before.push_back(same_bits(answers[k], answers[k - 1]));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& p = members[i];
    const Exact exact = row.exact(p);
    const Answer first = answer_of_stack(answers[0], i, members.size());
    // A value is given wherever κu < 1e-3, by an estimate of κ.
    const bool refused = std::isnan(first.back()[0]) && exact.condition * unit > 1e-4;
    if (!exact.representable || !exact.certain || refused) {
      ++c.left_out;
      continue;
    }
    c.theirs.take(row.errors(p, exact,
                             dtype == f32 ? answer_of_lapack<float>(p, row.theirs_in_f32)
                                          : answer_of_lapack<double>(p, row.theirs)),
                  exact.condition, unit);
    Errors last = row.errors(p, exact, first);
    c.ours[0].second.take(last, exact.condition, unit);
    for (std::size_t k = 1; k < answers.size(); ++k) {
      if (!as_before[k]) last = row.errors(p, exact, answer_of_stack(answers[k], i, members.size()));
      c.ours[k].second.take(last, exact.condition, unit);
    }
  }
}

// 10⁴ matrices of 2, 3 and 4 rows of each kind, 10⁶ in the long form; a fifth of that of others as small, and of f32.
int count_of(int m, int n, DType dtype) {
  const int longest = std::max(m, n), less = (dtype == f32 ? 5 : 1) * (m * n <= 16 && (m != n || n == 1) ? 5 : 1);
  if (m * n <= 16) return (long_tests() ? 1000000 : 10000) / less;
  return (longest <= 8 ? 600 : longest <= 16 ? 120 : 24) / less * (long_tests() ? 20 : 1);
}

class SmallErrors : public testing::TestWithParam<std::tuple<std::size_t, DType>> {};

TEST_P(SmallErrors, AreAtMostTwiceThoseOfLapack) {
  const auto& [index, dtype] = GetParam();
  const Row& row = rows()[index];
  if (dtype == f32 && !row.theirs_in_f32) return;
  for (const std::string_view kind : row.kinds)
    for (const auto& [m, n] : {std::pair{1, 1},
                               {2, 2},
                               {3, 3},
                               {4, 4},
                               {8, 8},
                               {16, 16},
                               {32, 32},
                               {4, 2},
                               {2, 5},
                               {8, 5},
                               {5, 16},
                               {32, 4}}) {
      if ((row.square && m != n) || (n == 1 && kind == "rotation")) continue;
      std::mt19937_64 g(static_cast<unsigned>(100 * m + n));
      const int count = count_of(m, n, dtype);
      Compared c;
      for (int done = 0; done < count; done += 10000)
        compare_some(row, kind, m, n, dtype, std::min(10000, count - done), g, c);
      const std::string what = std::string(row.name) + " of " + std::string(name(dtype)) + ", " + std::string(kind) +
                               " " + std::to_string(m) + "x" + std::to_string(n);
      if (2 * c.left_out > static_cast<std::size_t>(count)) {
        EXPECT_STREQ(row.name, "det") << what;  // of large graded matrices it is below the range
        continue;
      }
      judge(row, c, what, std::max(m, n), unit_of(dtype));
    }
}
INSTANTIATE_TEST_SUITE_P(Small, SmallErrors,
                         testing::Combine(testing::Range<std::size_t>(0, rows().size()), testing::Values(f64, f32)),
                         [](const auto& which) {
                           return std::string(rows()[std::get<0>(which.param)].name) + "_" +
                                  std::string(name(std::get<1>(which.param)));
                         });

// What has no answer: said of every member, and its value is none.
TEST(SmallStacks, ExactlySingularMembersAreAllFound) {
  for (const DType dtype : {f64, f32})
    for (const int n : {1, 2, 3, 4, 8, 16, 32}) {
      const int count = (n <= 4 ? 1000 : n <= 8 ? 200 : 20) * (long_tests() ? 10 : 1);
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind("singular", n, n, g, Want::any, dtype));
      const Tensor a = stack_of(n, n, members, dtype), b = ones({n}, {.dtype = dtype});
      const auto none = [&](const auto& result, const char* what) {
        EXPECT_TRUE(static_cast<bool>(all(isnan(result.value)))) << what << " " << n;
        const auto all_of = result.diagnosis.statuses();
        EXPECT_EQ(std::count(all_of.begin(), all_of.end(), "singular"), count) << what << " " << n;
      };
      none(linalg::diagnosed::inv(a), "inv");
      none(linalg::diagnosed::solve(a, b), "solve");
      EXPECT_TRUE(static_cast<bool>(all(linalg::diagnosed::det(a).value == 0.0))) << n;
      const auto [sign, log] = linalg::diagnosed::slogdet(a).value;
      EXPECT_TRUE(static_cast<bool>(all(sign == 0.0))) << n;
      EXPECT_TRUE(static_cast<bool>(all(log == -std::numeric_limits<double>::infinity()))) << n;
    }
}

// Refined answers of one right-hand side are those that rounding the exact ones would give, or next to them.
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
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Matrix inverse = double_double::eliminate(n, widened(members[i])).inverse;
      worst = std::max(worst,
                       error_of(double_double::product(n, n, 1, inverse, widened(sides[i])),
                                reinterpret_cast<const double*>(x.node()->data) + i * static_cast<std::size_t>(n)));
    }
    EXPECT_LE(worst, 2.3e-16) << n;
  }
}

}  // namespace
