// Properties of derivatives of linear algebra: they scale with the matrix, take every member of a batch for itself,
// and hold where values repeat or a method stood in for another.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "ops/moves.hpp"
#include "table.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

// Fixed weights, different for every element.
Tensor weights(const Tensor& like) {
  const Tensor wave = reshape(sin(astype(arange(like.size()), f64) * 0.7 + 0.3), like.shape());
  return is_complex(like.dtype()) ? wave + astype(wave, c128) * complex128(0, 0.5) : wave;
}
Tensor gradient_of(const Function& f, const Tensor& a) {
  GradientTape tape;
  tape.watch(a);
  const Tensor y = f(a);
  // Members of a batch have the same weights.
  const bool batch = a.ndim() == 3;
  const Tensor w = weights(batch ? y[{0}] : y);
  return tape.gradient(sum(real(conj(w) * y)), a);
}

void expect_near(const Tensor& got, const Tensor& want) {
  EXPECT_LE(max(abs(got - want)).item<double>(), 1e-13 * max(abs(want)).item<double>()) << got << want;
}

struct Homogeneous {
  const char* name;
  double degree;  // f(2ˢ A) = 2^(s·degree) f(A)
  Function f;
};
const Tensor kMatrix{{4.0, 1.0, -2.0}, {0.5, 3.0, 1.0}, {1.5, -1.0, 5.0}};
std::vector<Homogeneous> functions() {
  const auto b = [](const Tensor& a) { return astype(Tensor{1.0, -2.0, 0.5}, a.dtype()); };
  const auto norm = [](Setting ord) { return [ord](const Tensor& a) { return la::matrix_norm(a, {.ord = ord}); }; };
  const auto spd = [](const Tensor& a) { return matmul(a, matrix_transpose(a)); };
  return {
      {"inv", -1, [](const Tensor& a) { return la::inv(a); }},
      {"solve", -1, [b](const Tensor& a) { return la::solve(a, b(a)); }},
      {"lstsq", -1, [b](const Tensor& a) { return la::lstsq(a, b(a)); }},
      {"pinv", -1, [](const Tensor& a) { return la::pinv(a); }},
      {"solve_triangular", -1, [b](const Tensor& a) { return la::solve_triangular(a, b(a)); }},
      {"slogdet", 0, [](const Tensor& a) { return la::slogdet(a).logabsdet; }},
      {"fro", 1, norm("fro")},
      {"nuc", 1, norm("nuc")},
      {"norm 2", 1, norm(2)},
      {"norm 1", 1, norm(1)},
      {"norm inf", 1, norm(HUGE_VAL)},
      {"polar U", 0, [](const Tensor& a) { return la::polar(a).U; }},
      {"polar P", 1, [](const Tensor& a) { return la::polar(a).P; }},
      {"low_rank", 1, [](const Tensor& a) { return la::low_rank(a, 2); }},
      {"projector", 0,
       [](const Tensor& a) {
         return la::projector(a[{ellipsis, slice(0, 2)}]);
       }},
      {"trace", 1, [](const Tensor& a) { return la::trace(a); }},
      {"cond", 0, [](const Tensor& a) { return la::cond(a); }},
      {"lu", 1, [](const Tensor& a) { return la::lu(a).U; }},
      {"cholesky", 1, [spd](const Tensor& a) { return la::cholesky(spd(a)); }},
  };
}

// Those whose last digits differ with the layout or the stack.
std::vector<Homogeneous> all_functions() {
  const auto b = [](const Tensor& a) { return astype(Tensor{1.0, -2.0, 0.5}, a.dtype()); };
  const auto symmetric = [](const Tensor& a) { return a + matrix_transpose(a); };
  const auto like = [](const Tensor& a, const Tensor& x) { return astype(x, a.dtype()); };
  const std::vector<Homogeneous> more = {
      {"cho_solve", -2, [b](const Tensor& a) { return la::cho_solve(a, b(a)); }},
      {"cho_solve upper", -2, [b](const Tensor& a) { return la::cho_solve(a, b(a), {.upper = true}); }},
      {"qr Q", 0, [](const Tensor& a) { return la::qr(a).Q; }},
      {"qr R", 1, [](const Tensor& a) { return la::qr(a).R; }},
      {"qr_pivoted", 1, [](const Tensor& a) { return la::qr_pivoted(a).R; }},
      {"ldl", 0, [symmetric](const Tensor& a) { return la::ldl(symmetric(a)).L; }},
      {"svdvals", 1, [](const Tensor& a) { return la::svdvals(a); }},
      {"eigvalsh", 1, [symmetric](const Tensor& a) { return la::eigvalsh(symmetric(a)); }},
      {"eigh_generalized", 1,
       [symmetric, like](const Tensor& a) {
         return la::eigh_generalized(symmetric(a), like(a, matmul(kMatrix, matrix_transpose(kMatrix)))).eigenvalues;
       }},
      {"schur", 1, [symmetric](const Tensor& a) { return la::schur(symmetric(a)).T; }},
      {"sqrtm", 0.5, [](const Tensor& a) { return la::sqrtm(a); }},
      {"solve_sylvester", -1, [like](const Tensor& a) { return la::solve_sylvester(a, a, like(a, kMatrix)); }},
      {"nearest_spd", 1, [symmetric](const Tensor& a) { return la::nearest_spd(symmetric(a)); }},
  };
  std::vector<Homogeneous> all = functions();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(LinalgGradient, ScalesExactlyWithTheMatrix) {
  for (const DType dtype : {f32, f64}) {
    const Tensor a = astype(kMatrix, dtype);
    for (const Homogeneous& h : all_functions()) {
      const Tensor plain = gradient_of(h.f, a);
      for (const int s : dtype == f32 ? std::array{-30, 30} : std::array{-300, 300}) {
        const Tensor scaled = gradient_of(h.f, a * std::ldexp(1.0, s));
        const Tensor want = plain * std::ldexp(1.0, static_cast<int>((h.degree - 1) * s));
        EXPECT_TRUE(table::same_bits(scaled, want)) << h.name << " " << name(dtype) << " " << s << "\n"
                                                    << scaled << "\n"
                                                    << want;
      }
    }
  }
}
// ∂²/∂A² of Σ w f(A), times v; empty: what is computed on the way is not in range, and an error says so.
std::optional<Tensor> product_of(const Function& f, const Tensor& a, const Tensor& v) {
  GradientTape outer;
  outer.watch(a);
  try {
    return outer.gradient(sum(gradient_of(f, a) * v), a, {.unconnected = "zero"});
  } catch (const NonFiniteError&) {
    return std::nullopt;
  }
}
TEST(LinalgGradient, HessianProductsScaleExactlyWithTheMatrix) {
  for (const DType dtype : {f32, f64}) {
    const Tensor a = astype(kMatrix, dtype), v = astype(weights(kMatrix) * 2.0, dtype);
    for (const Homogeneous& h : all_functions()) {
      const std::optional<Tensor> plain = product_of(h.f, a, v);
      ASSERT_TRUE(plain) << h.name;
      const int most = dtype == f32 ? 30 : 300, range = dtype == f32 ? 100 : 900;
      const int s = std::min(most, static_cast<int>(range / std::max(std::fabs(h.degree - 2), 1.0)) / 2 * 2);
      for (const int e : {-s, s}) {
        const std::optional<Tensor> scaled = product_of(h.f, a * std::ldexp(1.0, e), v);
        ASSERT_TRUE(scaled) << h.name << " " << name(dtype) << " " << e;
        const Tensor want = *plain * std::ldexp(1.0, static_cast<int>((h.degree - 2) * e));
        EXPECT_TRUE(table::same_bits(*scaled, want)) << h.name << " " << name(dtype) << " " << e << "\n"
                                                     << *scaled << "\n"
                                                     << want;
      }
    }
  }
}
TEST(LinalgGradient, OfADeterminantScalesExactlyWhereItIsRepresentable) {
  const Tensor a{{4.0, 1.0}, {2.0, 3.0}};
  const auto f = [](const Tensor& x) { return la::det(x); };
  for (const int s : {-300, 300})
    EXPECT_TRUE(table::same_bits(gradient_of(f, a * std::ldexp(1.0, s)), gradient_of(f, a) * std::ldexp(1.0, s)));
}

TEST(LinalgGradient, OfABatchIsThatOfItsMembers) {
  const Tensor other{{1.0, 5.0, 2.0}, {-3.0, 2.5, 0.25}, {2.0, 1.0, -4.0}};
  const Tensor both = stack({kMatrix, other, kMatrix * 3.0});
  for (const Homogeneous& h : functions()) {
    if (std::string_view(h.name) == "solve" || std::string_view(h.name) == "lstsq") continue;  // see below
    const Tensor g = gradient_of(h.f, both);
    for (const std::int64_t i : {0, 1, 2})
      EXPECT_TRUE(table::same_bits(g[{i}], gradient_of(h.f, contiguous(both[{i}])))) << h.name << " " << i;
  }
}
TEST(LinalgGradient, OfSolutionsWithABatchIsThatOfItsMembers) {
  const Tensor b{{1.0}, {-2.0}, {0.5}}, both = stack({kMatrix, matrix_transpose(kMatrix)});
  const Function solve = [&](const Tensor& a) { return la::solve(a, b); };
  const Function lstsq = [&](const Tensor& a) { return la::lstsq(a, b); };
  for (const Function& f : {solve, lstsq}) {
    const Tensor g = gradient_of(f, both);
    for (const std::int64_t i : {0, 1}) EXPECT_TRUE(table::same_bits(g[{i}], gradient_of(f, contiguous(both[{i}]))));
  }
}
TEST(LinalgGradient, DoesNotDependOnTheLayoutOfTheMatrix) {
  const Tensor view = matrix_transpose(contiguous(matrix_transpose(kMatrix)));
  for (const Homogeneous& h : functions())
    EXPECT_TRUE(table::same_bits(contiguous(gradient_of(h.f, view)), contiguous(gradient_of(h.f, kMatrix))))
        << h.name;
}

// Functions of matrices where eigenvalues or singular values repeat, to second order.
TEST(LinalgGradient, HoldsWhereValuesRepeat) {
  const Tensor tied{{2.0, 1.0, 1.0}, {1.0, 2.0, 1.0}, {1.0, 1.0, 2.0}};
  const Tensor same{{2.0, 0.0}, {0.0, 2.0}}, defective{{2.0, 1.0}, {0.0, 2.0}};
  const Tensor indefinite{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, -1.0}};
  const Function root = [](const Tensor&a) { return la::sqrtm(a); }, log = [](const Tensor&a) { return la::logm(a); },
                 exp = [](const Tensor&a) { return la::expm(a); },
                 power = [](const Tensor&a) { return la::matrix_power(a, -1.5); },
                 polar = [](const Tensor&a) { return la::polar(a).U; },
                 positive = [](const Tensor&a) { return la::nearest_spd(a); },
                 cut = [](const Tensor&a) { return la::pinv(a, {.rtol = 0.3}); },
                 part = [](const Tensor&a) { return la::low_rank(a, 2); },
                 range = [](const Tensor&a) { return la::projector(a, {.rtol = 0.3}); };
  for (const Function& f : {root, log, exp, power, polar})
    for (const Tensor& a : {tied, same, defective}) EXPECT_TRUE(gradcheck(f, a, 2)) << a << gradcheck(f, a, 2);
  EXPECT_TRUE(gradcheck(positive, indefinite, 2)) << gradcheck(positive, indefinite, 2);
  const Tensor dropped{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 0.125}};
  for (const Function& f : {cut, part, range}) EXPECT_TRUE(gradcheck(f, dropped, 2)) << gradcheck(f, dropped, 2);
}

TEST(LinalgGradient, OfAPseudoInverseSeesTheValuesThatTheThresholdDrops) {
  const Tensor a{{1.0, 0.25, 0.5}, {0.3, 0.9, -0.2}, {1.3, 1.15, 0.325}};
  const Function f = [](const Tensor& x) { return la::pinv(x, {.rtol = 0.2}); };
  const GradcheckReport r = gradcheck(f, a, 2);
  EXPECT_TRUE(r) << r;
  EXPECT_LT(r.unjudged, r.entries / 10);
}

TEST(LinalgGradient, TakesEachMemberByTheMethodThatRan) {
  const Tensor a{{{4.0, 1.0}, {2.0, 3.0}}, {{1.0, 1.0}, {1.0, 1.0}}}, b{1.0, 3.0};
  const Function f = [&](const Tensor& x) { return la::solve(x, b, {.if_ill = "pinv"}); };
  const Tensor g = gradient_of(f, a);
  const Function plain = [&](const Tensor& x) { return la::solve(x, b); };
  const Function pseudo = [&](const Tensor& x) { return matmul(la::pinv(x), b); };
  expect_near(g[{0}], gradient_of(plain, contiguous(a[{0}])));
  expect_near(g[{1}], gradient_of(pseudo, contiguous(a[{1}])));
  const Function damped = [&](const Tensor& x) { return la::solve(x, b, {.if_ill = "ridge", .ridge = 1e-2}); };
  const Function ridge = [&](const Tensor& x) { return la::solve(x, b, {.ridge = 1e-2}); };
  const Tensor h = gradient_of(damped, a);
  expect_near(h[{0}], gradient_of(plain, contiguous(a[{0}])));
  expect_near(h[{1}], gradient_of(ridge, contiguous(a[{1}])));
}

TEST(LinalgGradient, OfAnswersFromKeptFactorsIsThatOfTheFunctionsThatFactorThemselves) {
  const Tensor a{{4.0, 1.0, 0.5}, {2.0, 3.0, -1.0}, {0.25, 1.0, 5.0}}, b{1.0, 3.0, -2.0};
  const la::Factored f = la::factored(a);
  const auto same = [&](const Function& kept, const Function& fresh) {
    const Tensor got = gradient_of(kept, a), want = gradient_of(fresh, a);
    EXPECT_EQ(max(abs(got - want)).item<double>(), 0) << got << want;
  };
  same([&](const Tensor&) { return f.solve(b); }, [&](const Tensor& x) { return la::solve(x, b); });
  same([&](const Tensor&) { return f.inv(); }, [](const Tensor& x) { return la::inv(x); });
  same([&](const Tensor&) { return f.det(); }, [](const Tensor& x) { return la::det(x); });
  expect_near(gradient_of([&](const Tensor&) { return f.solve(b, {.adjoint = true}); }, a),
              gradient_of([&](const Tensor& x) { return la::solve(matrix_transpose(x), b); }, a));
}

TEST(LinalgGradient, OfAMethodThatTakesTheHermitianPartIsHermitian) {
  const Tensor a{{4.0, 1.0}, {1.0, 3.0}}, b{1.0, 2.0};
  for (const char* method : {"cholesky", "ldl"}) {
    const Function by = [&](const Tensor& x) { return la::solve(x, b, {.method = method}); };
    const Function part = [&](const Tensor& x) { return la::solve((x + matrix_transpose(x)) * 0.5, b); };
    expect_near(gradient_of(by, a), gradient_of(part, a));
  }
}

TEST(LinalgGradient, OfAProjectorCountsTheValuesThatTheProjectorCounted) {
  const Tensor a{{1.0, 0.0}, {0.0, 0x1p-55}, {0.0, 0.0}};
  const Tensor g = gradient_of([](const Tensor& x) { return la::projector(x, {.rtol = 0}); }, a);
  // dP = (1 − P) dA A⁺ and its adjoint: the small value counts, and its reciprocal with it.
  const Tensor w = weights(eye(3));
  expect_near(g[{2, 1}], (w[{2, 1}] + w[{1, 2}]) * 0x1p55);
}

TEST(LinalgGradient, OfLogDeterminantsOfSingularMatricesIsRefusedWithTheReason) {
  const Tensor a{{1.0, 2.0}, {2.0, 4.0}};
  GradientTape tape;
  tape.watch(a);
  const Tensor y = la::slogdet(a).logabsdet;
  try {
    (void)tape.gradient(y, a);
    ADD_FAILURE() << "no error";
  } catch (const GradientError& e) {
    EXPECT_NE(std::string_view(e.what()).find("singular"), std::string_view::npos) << e.what();
  }
}

}  // namespace
}  // namespace wp
