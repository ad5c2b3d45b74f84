// Systems with structure, against exact rational answers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "linalg/system.hpp"
#include "listening.hpp"
#include "matrices.hpp"
#include "rationals.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

namespace la = linalg;
using matrices::Kind;

template <class T>
Tensor tensor(const matrices::Matrix<T>& a) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < a.m; ++i)
    for (std::int64_t j = 0; j < a.n; ++j) v.push_back(a(i, j));
  return Tensor::from(v, {a.m, a.n});
}
template <class T>
std::vector<T> values(const Tensor& t) {
  const checks off(CheckLevel::off);
  return t.to_vector<T>();
}

// The error of x, relative to the largest element of the exact solution of A x = b; −1 if A is singular.
template <class T>
double true_error(std::int64_t n, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  constexpr int p = rationals::parts<T>;
  const std::int64_t k = static_cast<std::int64_t>(b.size()) / std::max<std::int64_t>(n, 1);
  rationals::Matrix left(p * n, p * n), right(p * n, p * k), exact(p * n, p * k);
  rationals::fill(left, n, n, a.data(), n, 1);
  rationals::fill(right, n, k, b.data(), k, 1);
  if (!exact.solve(left, right)) return -1;
  double worst = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    double largest = 0, off = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (int part = 0; part < p; ++part) {
        const rationals::Rational want = exact.get(i + part * n, c);
        const T got = x[static_cast<std::size_t>(i * k + c)];
        const double have = static_cast<double>(part ? std::imag(got) : std::real(got));
        if (!std::isfinite(have)) return HUGE_VAL;
        largest = std::max(largest, want.size().value());
        off = std::max(off, (want - rationals::Rational(have)).size().value());
      }
    if (off > 0) worst = std::max(worst, off / largest);
  }
  return worst;
}

// A right-hand side as large as the matrix, so that the answer is in range.
template <class T>
std::vector<T> right_side(const matrices::Matrix<T>& a) {
  matrices::Real<T> most = 0;
  for (std::int64_t i = 0; i < a.m; ++i)
    for (std::int64_t j = 0; j < a.n; ++j)
      most = std::max({most, std::fabs(std::real(a(i, j))), std::fabs(std::imag(a(i, j)))});
  return std::vector<T>(static_cast<std::size_t>(a.m), T(most > 0 ? most : 1));
}

// A value with a clear conscience must be right to what it promises.
template <class T>
void expect_honest(std::int64_t n, const std::vector<T>& a, const std::vector<T>& b,
                   const la::Diagnosed<Tensor>& answer, const std::string& what) {
  const la::Member& m = answer.diagnosis[0];
  if (m.status == la::Status::nonfinite_input) return;
  const double error = true_error(n, a, b, values<T>(answer.value));
  if (error < 0) {
    EXPECT_EQ(m.status, la::Status::singular) << what;
    return;
  }
  if (m.status <= la::Status::ill_conditioned) {
    EXPECT_LE(error, 16 * std::pow(10, -m.digits) + matrices::unit<T>) << what;  // the value is rounded to its dtype
  }
}

template <class T>
void solve_triangles() {
  matrices::for_kinds([](Kind kind) {
    for (const std::int64_t n : {1, 2, 3, 5, 10, 24}) {
      const auto a = matrices::make<T>(kind, n, n);
      for (const bool lower : {false, true}) {
        std::vector<T> triangle(static_cast<std::size_t>(n * n));
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (i == j || lower == (i > j)) triangle[static_cast<std::size_t>(i * n + j)] = a(i, j);
        const auto b = right_side(a);
        const auto got = la::diagnosed::solve_triangular(tensor(a), Tensor::from(b, {n}), {.lower = lower});
        expect_honest(n, triangle, b, got, matrices::name(kind) + " " + std::to_string(n));
      }
    }
  });
}
TEST(SolveTriangular, IsRightOrHonestOnHardMatrices) {
  solve_triangles<float>();
  solve_triangles<double>();
  solve_triangles<complex64>();
  solve_triangles<complex128>();
}

// Kahan's matrix: its condition says that nothing is right, and everything is.
TEST(SolveTriangular, KeepsAnswersThatAreRightAlthoughRcondGivesUp) {
  constexpr std::int64_t n = 90;
  std::vector<double> a(n * n);
  double s = 1;
  for (std::int64_t i = 0; i < n; ++i, s *= std::sin(1.2))
    for (std::int64_t j = i; j < n; ++j) a[static_cast<std::size_t>(i * n + j)] = i == j ? s : -std::cos(1.2) * s;
  for (std::int64_t i = 0; i < n; ++i)  // columns far from scaled, so that equilibration does not undo it
    for (std::int64_t j = i + 1; j < n; ++j) a[static_cast<std::size_t>(i * n + j)] *= 4;
  std::vector<double> b(n, 1.0);
  const auto got = la::diagnosed::solve_triangular(Tensor::from(a, {n, n}), Tensor::from(b, {n}));
  EXPECT_LT(got.diagnosis[0].rcond, 1e-16);
  EXPECT_EQ(got.diagnosis.status(), la::Status::ok) << got.diagnosis;
  EXPECT_LT(true_error(n, a, b, values<double>(got.value)), 1e-14);
}

TEST(SolveTriangular, RaisesForAZeroOnTheDiagonalOnlyWhereTheDiagonalIsRead) {
  const Tensor a{{1.0, 2.0}, {3.0, 0.0}}, b{1.0, 1.0};
  EXPECT_THROW(la::solve_triangular(a, b), SingularMatrix);
  const auto said = la::diagnosed::solve_triangular(a, b);
  EXPECT_TRUE(said.diagnosis[0].exactly_singular);
  EXPECT_EQ(values<double>(la::solve_triangular(a, b, {.unit_diagonal = true})), (std::vector<double>{-1, 1}));
}

TEST(SolveTriangular, DoesNotSeeNanInTheOtherTriangle) {
  const double nan = std::nan("");
  const Tensor a{{2.0, nan}, {1.0, 4.0}}, b{2.0, 9.0};
  EXPECT_EQ(values<double>(la::solve_triangular(a, b, {.lower = true})), (std::vector<double>{1, 2}));
  EXPECT_THROW(la::solve_triangular(a, b), NonFiniteError);
}

template <class T>
void solve_bands() {
  for (const Kind kind : {Kind::random, Kind::zero, Kind::identity, Kind::graded, Kind::scaled_up, Kind::scaled_down,
                          Kind::triangular, Kind::jordan, Kind::denormal, Kind::huge, Kind::hilbert})
    for (const std::int64_t n : {1, 2, 5, 33})
      for (const auto& [l, u] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 1}, {2, 0}, {0, 3}, {3, 2}}) {
        if (n > 5 && !std::is_same_v<T, double>) continue;  // exact answers take their time
        const auto full = matrices::make<T>(kind, n, n);
        const auto b = right_side(full);
        std::vector<T> dense(static_cast<std::size_t>(n * n)), band(static_cast<std::size_t>((l + u + 1) * n), T(77));
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = std::max<std::int64_t>(0, i - l); j <= std::min(n - 1, i + u); ++j)
            dense[static_cast<std::size_t>(i * n + j)] = band[static_cast<std::size_t>((u + i - j) * n + j)] =
                full(i, j);
        const std::string what = matrices::name(kind) + " " + std::to_string(n) + " " + std::to_string(l);
        const auto got = la::diagnosed::solve_banded(Tensor::from(band, {l + u + 1, n}), Tensor::from(b, {n}), l, u);
        expect_honest(n, dense, b, got, what);
        expect_honest(n, dense, b, la::diagnosed::solve(Tensor::from(dense, {n, n}), Tensor::from(b, {n})),
                      what + " dense");
      }
}
TEST(SolveBanded, AndSolveOfTheDenseMatrixAreRightOrHonest) {
  solve_bands<float>();
  solve_bands<double>();
  solve_bands<complex128>();
}

TEST(SolveBanded, TakesAMillionRows) {
  constexpr std::int64_t n = 1000000;
  const Tensor band = stack({full({n}, -1.0), full({n}, 2.5), full({n}, -1.0)});
  const Tensor x = la::solve_banded(band, full({n}, 0.5), 1, 1);
  EXPECT_NEAR(x[{n / 2}].item<double>(), 1.0, 1e-15);
}

// The matrix of second differences has the inverse min(i, j)(n + 1 − max(i, j))/(n + 1).
TEST(Solve, FactorsANarrowBandAsABandAndIsRight) {
  constexpr std::int64_t n = 500;
  std::vector<double> a(n * n), b(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - 1); j <= std::min(n - 1, i + 1); ++j)
      a[static_cast<std::size_t>(i * n + j)] = i == j ? 2 : -1;
  b[0] = 1;
  const auto got = la::diagnosed::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}));
  EXPECT_EQ(got.diagnosis[0].structure, "banded");
  const auto x = values<double>(got.value);
  for (std::int64_t i = 0; i < n; ++i)
    EXPECT_NEAR(x[static_cast<std::size_t>(i)], static_cast<double>(n - i) / (n + 1), 1e-15);
  EXPECT_NEAR(la::slogdet(Tensor::from(a, {n, n})).logabsdet.item<double>(), std::log(n + 1.0), 1e-13);
  const Tensor inverse = la::inv(Tensor::from(a, {n, n}));
  EXPECT_NEAR((inverse[{n - 1, n - 1}].item<double>()), static_cast<double>(n) / (n + 1), 1e-14);
}

template <class T>
void solve_symmetric() {
  matrices::for_kinds([](Kind kind) {
    for (const std::int64_t n : {1, 2, 3, 5, 10, 24}) {
      const auto a = matrices::make_hermitian<T>(kind, n);
      const Tensor t = tensor(a);
      const auto b = right_side(a);
      const auto got = la::diagnosed::solve(t, Tensor::from(b, {n}), {.assume = "symmetric"});
      expect_honest(n, values<T>(t), b, got, matrices::name(kind) + " " + std::to_string(n));
      if (kind == Kind::denormal) continue;  // the inverse is beyond the largest number
      std::vector<T> identity(static_cast<std::size_t>(n * n));
      for (std::int64_t i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * n + i)] = T(1);
      expect_honest(n, values<T>(t), identity, la::diagnosed::inv(t, {.assume = "symmetric"}),
                    matrices::name(kind) + " inverse " + std::to_string(n));
    }
  });
}
TEST(Solve, IsRightOrHonestByLdl) {
  solve_symmetric<double>();
  solve_symmetric<complex128>();
  solve_symmetric<float>();
}

TEST(Solve, FactorsByLdlWhenSymmetryIsSaid) {
  const Tensor a{{1.0, 2.0, 3.0}, {2.0, -4.0, 5.0}, {3.0, 5.0, 0.0}};
  const auto got = la::diagnosed::solve(a, Tensor{1.0, 2.0, 3.0}, {.assume = "symmetric"});
  EXPECT_EQ(got.diagnosis[0].method, "LDLᵀ");
}

// ‖B − A X‖ / (n u ‖A‖ ‖X‖) of matrices too large for exact answers.
template <class T>
void expect_small_residual(const matrices::Matrix<T>& a, const matrices::Matrix<T>& b, const Tensor& x,
                           const std::string& what) {
  const auto v = values<T>(x);
  matrices::Matrix<T> answer(b.m, b.n);
  for (std::int64_t i = 0; i < b.m; ++i)
    for (std::int64_t j = 0; j < b.n; ++j) answer(i, j) = v[static_cast<std::size_t>(i * b.n + j)];
  const auto wa = matrices::wide(a), wx = matrices::wide(answer);
  EXPECT_LT(matrices::ratio<T>(matrices::wide(b) - wa * wx, matrices::norm(wa) * matrices::norm(wx), a.n),
            matrices::kRight)
      << what;
}
template <class T>
void solve_large() {
  for (const std::int64_t n : {50, 200}) {
    const auto b = matrices::random<T>(n, 3, 8);
    auto full = matrices::make_hermitian<T>(Kind::random, n);
    expect_small_residual(full, b, la::solve(tensor(full), tensor(b), {.assume = "symmetric"}), "LDLᵀ");
    auto band = matrices::random<T>(n, n, 9), triangle = band;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (std::abs(i - j) > 1) band(i, j) = T(0);
        if (i < j) triangle(i, j) = T(0);
        if (i == j) triangle(i, j) += T(2);
      }
    expect_small_residual(band, b, la::solve(tensor(band), tensor(b)), "band");
    expect_small_residual(triangle, b, la::solve_triangular(tensor(triangle), tensor(b), {.lower = true}),
                          "triangle");
  }
}
TEST(Solve, LeavesResidualsOfRoundOffSizeWhateverTheStructure) {
  solve_large<float>();
  solve_large<double>();
  solve_large<complex64>();
  solve_large<complex128>();
}

// Good, singular, not finite, good: each member as if it were alone.
TEST(Structured, MembersDoNotDisturbEachOther) {
  const double nan = std::nan("");
  const Tensor a = Tensor::from(std::vector<double>{4, 1, 2, 3, 1, 1, 0, 0, nan, 1, 2, 5, 3, -1, 7, 2}, {4, 2, 2});
  const Tensor c = Tensor::from(std::vector<double>{4, 1, 1, 1, nan, 1, 3, -1}, {4, 2});
  const Tensor b{{1.0}, {2.0}}, q{{1.0, 2.0}, {3.0, 4.0}}, eight = eye(2) * 8.0;
  const std::vector<std::pair<std::string, std::function<Tensor(const Tensor&, const Tensor&)>>> functions{
      {"triangular", [&](const Tensor& m, const Tensor&) { return la::solve_triangular(m, b, {.if_ill = "nan"}); }},
      {"banded", [&](const Tensor& m, const Tensor&) { return la::solve_banded(m, b, 1, 0, {.if_ill = "nan"}); }},
      {"toeplitz",
       [&](const Tensor&, const Tensor& l) { return la::solve_toeplitz(l, b, std::nullopt, {.if_ill = "nan"}); }},
      {"sylvester",
       [&](const Tensor& m, const Tensor&) { return la::solve_sylvester(m, eight, q, {.if_ill = "nan"}); }}};
  const tests::Listening quiet;
  for (const auto& [name, f] : functions) {
    const Tensor together = f(a, c);
    for (std::int64_t i = 0; i < 4; ++i) {
      const Tensor alone = f(a[{i}], c[{i}]), member = together[{i}];
      EXPECT_TRUE(all(logical_or(equal(alone, member), logical_and(isnan(alone), isnan(member)))).item<bool>())
          << name << " " << i;
    }
    EXPECT_TRUE(all(isnan(together[{2}])).item<bool>()) << name;
    EXPECT_TRUE(all(isfinite(together[{0}])).item<bool>()) << name;
  }
}

TEST(SolveToeplitz, IsRightWhereLevinsonBreaksDown) {
  // Leading minors 0, −1, 0, …: no Levinson recursion exists.
  const std::vector<double> c{0, 1, 0, 0, 1, 0, 0.5}, b{1, 2, 3, 4, 5, 6, 7};
  std::vector<double> dense;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 7; ++j) dense.push_back(c[static_cast<std::size_t>(std::abs(i - j))]);
  const Tensor x = la::solve_toeplitz(Tensor::from(c, {7}), Tensor::from(b, {7}));
  EXPECT_LT(true_error(7, dense, b, values<double>(x)), 1e-15);
}

template <class T>
void solve_sylvester_equations() {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {5, 4}, {7, 1}})
    for (const Kind kind : {Kind::random, Kind::hilbert, Kind::triangular, Kind::jordan, Kind::scaled_up}) {
      const auto a = matrices::make<T>(kind, m, m), q = matrices::make<T>(Kind::random, m, n);
      auto b = matrices::make<T>(kind, n, n);
      for (std::int64_t i = 0; i < n; ++i) b(i, i) += T(0.5);
      const auto got = la::diagnosed::solve_sylvester(tensor(a), tensor(b), tensor(q));
      const auto x = values<T>(got.value);
      if (got.diagnosis.status() > la::Status::ill_conditioned) continue;
      // ‖A X + X B − Q‖ in long double, beside u (‖A‖ + ‖B‖) ‖X‖.
      using W = matrices::Wide<T>;
      matrices::Matrix<W> wx(m, n, 0);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) wx(i, j) = W(x[static_cast<std::size_t>(i * n + j)]);
      const auto wa = matrices::wide(a), wb = matrices::wide(b), left = wa * wx, right = wx * wb;
      auto r = matrices::wide(q);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) r(i, j) -= left(i, j) + right(i, j);
      const long double size = (matrices::norm(wa) + matrices::norm(wb)) * matrices::norm(wx);
      EXPECT_LT(matrices::ratio<T>(r, size, m + n), matrices::kRight) << matrices::name(kind) << m << n;
    }
}
TEST(SolveSylvester, LeavesResidualsOfRoundOffSize) {
  solve_sylvester_equations<float>();
  solve_sylvester_equations<double>();
  solve_sylvester_equations<complex64>();
  solve_sylvester_equations<complex128>();
}

// As m n equations, whose coefficients are exact: elements are small multiples of 2⁻⁴⁰. The closer an eigenvalue of A
// is to one of −B, the fewer digits may be promised.
TEST(SolveSylvester, KeepsItsPromiseOfDigitsUpToCommonEigenvalues) {
  constexpr std::int64_t m = 4, n = 3;
  std::mt19937_64 generator(5);
  for (int distance = 0; distance <= 40; ++distance) {
    std::vector<double> a(m * m), b(n * n), q(m * n), big(m * n * m * n);
    for (std::vector<double>* v : {&a, &b, &q})
      for (double& e : *v) e = static_cast<double>(static_cast<int>(generator() % 41) - 20) / 8;
    for (std::size_t i = 1; i < m; ++i)
      for (std::size_t j = 0; j < i; ++j) a[i * m + j] = 0;
    for (std::size_t i = 1; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) b[i * n + j] = 0;
    b[0] = -a[0] + std::ldexp(1.0, -distance);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < m; ++k) big[(i * n + j) * m * n + k * n + j] += a[i * m + k];
        for (std::size_t k = 0; k < n; ++k) big[(i * n + j) * m * n + i * n + k] += b[k * n + j];
      }
    const auto got =
        la::diagnosed::solve_sylvester(Tensor::from(a, {m, m}), Tensor::from(b, {n, n}), Tensor::from(q, {m, n}));
    expect_honest(m * n, big, q, got, "distance 2^-" + std::to_string(distance));
    EXPECT_TRUE(distance > 20 || got.diagnosis.ok() || true_error(m * n, big, q, values<double>(got.value)) < 0)
        << got.diagnosis;
  }
}

TEST(SolveSylvester, RefusesCommonEigenvaluesAndSaysSo) {
  const Tensor a{{1.0, 2.0}, {0.0, 3.0}}, b{{-3.0, 0.0}, {1.0, 5.0}}, q{{1.0, 2.0}, {3.0, 4.0}};
  try {
    la::solve_sylvester(a, b, q);
    FAIL() << "no exception";
  } catch (const SingularMatrix& e) {
    EXPECT_NE(std::string(e.what()).find("common eigenvalue"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(la::solve_sylvester(a, b, q, {.if_ill = "ignore"}));
}

// 10 × 100, 100 × 5, 5 × 50: by hand 7500 multiplications against 75000.
TEST(MultiDot, EqualsTheChainOfExactProducts) {
  const auto whole = [](std::int64_t m, std::int64_t n) {
    return astype(remainder(reshape(arange(0, m * n), {m, n}), 7), f64) - 3.0;
  };
  const Tensor a = whole(10, 100), b = whole(100, 5), c = whole(5, 50);
  EXPECT_TRUE(all(equal(la::multi_dot({a, b, c}), la::matmul(la::matmul(a, b), c))).item<bool>());
  EXPECT_THROW(la::multi_dot({a}), ArgumentError);
  EXPECT_THROW(la::multi_dot({a, c}), ShapeError);
}

TEST(Diagonal, IsAView) {
  const Tensor x = reshape(arange(0, 12), {3, 4});
  EXPECT_EQ(la::diagonal(x, {.offset = 1}).node()->owner, x.node()->owner ? x.node()->owner : x.node());
  EXPECT_EQ(values<std::int64_t>(la::diagonal(x, {.offset = 1})), (std::vector<std::int64_t>{1, 6, 11}));
}

TEST(AssumeTriangular, FindsTheTriangleOfEachMember) {
  const Tensor a = Tensor::from(std::vector<double>{2, 0, 1, 4, 3, 5, 0, 2}, {2, 2, 2});
  const auto [value, diagnosis] = la::diagnosed::inv(a, {.assume = "triangular"});
  EXPECT_EQ(values<double>(value), (std::vector<double>{0.5, 0, -0.125, 0.25, 1 / 3.0, -5 / 6.0, 0, 0.5}));
  EXPECT_EQ(diagnosis.structures(), (std::vector<std::string_view>{"lower triangular", "upper triangular"}));
  EXPECT_EQ(diagnosis.statuses(), (std::vector<std::string_view>{"ok", "ok"}));
  EXPECT_EQ(diagnosis.methods(), (std::vector<std::string_view>{"substitution", "substitution"}));
}
TEST(AssumeTriangular, RefusesAMatrixWithBothTriangles) {
  EXPECT_THROW(la::inv(Tensor::from(std::vector<double>{2, 1, 1, 4}, {2, 2}), {.assume = "triangular"}),
               ArgumentError);
}
TEST(AssumeTriangular, HasTheDerivativeOfItsTriangle) {
  const Tensor a = Tensor::from(std::vector<double>{2, 0, 1, 4, 3, 5, 0, 2}, {2, 2, 2});
  GradientTape tape;
  tape.watch(a);
  const Tensor g = tape.gradient(sum(la::inv(a, {.assume = "triangular"})), a);
  const auto known = [](std::int64_t member, std::string_view assume) {
    const Tensor m =
        Tensor::from(member == 0 ? std::vector<double>{2, 0, 1, 4} : std::vector<double>{3, 5, 0, 2}, {2, 2});
    GradientTape inner;
    inner.watch(m);
    return values<double>(inner.gradient(sum(la::inv(m, {.assume = assume})), m));
  };
  EXPECT_EQ(values<double>(g[{0}]), known(0, "lower"));
  EXPECT_EQ(values<double>(g[{1}]), known(1, "upper"));
}

}  // namespace
}  // namespace wp
