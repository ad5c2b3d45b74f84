// Matrices factored once: what is answered with kept factors is what solve, inv, det, lstsq and pinv answer.
#include "wellposed/factored.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/text.hpp"
#include "ops/dispatch.hpp"
#include "rationals.hpp"
#include "tensors.hpp"

namespace wp {
namespace {

namespace la = linalg;
using matrices::same_bits;

Tensor random(const Dims& shape, DType d, std::int64_t seed = 1) {
  if (!is_floating(d)) return astype(random::normal(shape, seed, 0, {.std = 40}), d);
  if (!is_complex(d)) return astype(random::normal(shape, seed, 0), d);
  return astype(random::normal(shape, seed, 0) + random::normal(shape, seed + 1, 0) * Scalar(complex128(0, 1)), d);
}
Tensor adjoint(const Tensor& a) {
  return is_complex(a.dtype()) ? conj(matrix_transpose(a)) : matrix_transpose(a);
}
Tensor definite(std::int64_t n, DType d) {
  const Tensor a = random({n, n}, d, 7);
  return matmul(a, adjoint(a)) + eye(n, {.dtype = d});
}
Tensor tridiagonal(std::int64_t n) {
  return tril(triu(random({n, n}, f64), {.k = -1}), {.k = 1}) + eye(n) * 3.0;
}

struct Case {
  std::string name;
  Tensor a;
  la::FactoredOptions options = {};
};

template <class Options>
Options same_options(const la::FactoredOptions& o) {
  return {.if_ill = o.if_ill,
          .ridge = o.ridge,
          .noise = o.noise,
          .shift = o.shift,
          .assume = o.assume,
          .refine = o.refine,
          .certify = o.certify,
          .min_digits = o.min_digits,
          .names = o.names,
          .accuracy = o.accuracy,
          .method = o.method};
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const DType d : {f16, bf16, f32, f64, c64, c128, i32})
    for (const std::int64_t n : {0, 1, 2, 3, 17, 70}) out.push_back({say("random ", n), random({n, n}, d)});
  out.push_back({"f32 beyond what is widened", random({260, 260}, f32)});
  out.push_back({"positive definite", definite(40, f64)});
  out.push_back({"positive definite, complex", definite(40, c128)});
  out.push_back({"lower", tril(random({20, 20}, f64))});
  out.push_back({"diagonal", tril(triu(random({20, 20}, f64)))});
  out.push_back({"a band", tridiagonal(100)});
  out.push_back({"strided", random({30, 60}, f64)[{slice(), slice(none, none, 2)}]});
  out.push_back({"badly scaled", definite(12, f64) * Tensor{1e200, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1e-200}});
  for (const std::string_view method : {"auto", "lu", "cholesky", "ldl", "qr"})
    for (const DType d : {f32, f64, c128}) out.push_back({say(method), definite(20, d), {.method = method}});
  for (const std::string_view assume : {"general", "symmetric", "spd", "lower", "upper", "diagonal"})
    out.push_back({say("assume ", assume), definite(9, f64), {.assume = assume}});
  out.push_back({"shift", definite(9, f32), {.shift = 0.3}});
  out.push_back({"not refined", random({30, 30}, f64), {.refine = false}});
  out.push_back({"certified", random({30, 30}, f64), {.certify = true}});
  const Tensor rows = astype(arange(12), f64), hilbert = 1.0 / (expand_dims(rows, {.axis = 1}) + rows + 1.0);
  out.push_back({"ill-conditioned", hilbert, {.if_ill = "warn"}});
  out.push_back({"high accuracy", hilbert, {.accuracy = "high"}});
  out.push_back({"a ridge", random({9, 9}, f64), {.ridge = Setting(0.1)}});
  out.push_back({"a ridge by a rule", random({9, 9}, f64), {.ridge = Setting("gcv")}});
  Tensor stack = random({3, 2, 6, 6}, f64);
  stack[{1, 1, 3}] = stack[{1, 1, 4}];
  stack[{2, 0, 0, 0}] = HUGE_VAL;
  for (const std::string_view policy : {"warn", "nan", "pinv", "ridge", "ignore"})
    out.push_back({say("a stack with bad members: ", policy), stack, {.if_ill = policy}});
  return out;
}

TEST(Factored, AnswersAreBitForBitThoseOfTheFunctionsThatFactorThemselves) {
  const checks off(CheckLevel::off);
  const wp::tests::Listening quiet;
  for (const Case& c : cases()) {
    SCOPED_TRACE(say(c.name, " ", c.a.dtype(), " ", c.a.shape()));
    const std::int64_t n = c.a.shape().back();
    const la::Factored f = la::factored(c.a, c.options);
    const la::SolveOptions o = same_options<la::SolveOptions>(c.options);
    const std::vector<Tensor> right = {random({n}, c.a.dtype(), 3), random({n, 5}, c.a.dtype(), 4),
                                       random({2, n, 9}, f64, 5), random({n, 2}, c128, 6)};
    for (const Tensor& b : right) {
      EXPECT_TRUE(same_bits(f.solve(b), la::solve(c.a, b, o)));
      const auto kept = f.diagnosed_solve(b), fresh = la::diagnosed::solve(c.a, b, o);
      EXPECT_TRUE(same_bits(kept.value, fresh.value));
      EXPECT_EQ(kept.diagnosis.json(), fresh.diagnosis.json());
    }
    EXPECT_TRUE(same_bits(f.inv(), la::inv(c.a, same_options<la::InvOptions>(c.options))));
    if (c.options.assume != "detect" || c.options.method != "auto" || c.options.shift != 0) continue;
    if (c.options.if_ill == "pinv" || c.options.if_ill == "ridge") continue;  // not what det does
    EXPECT_TRUE(same_bits(f.det(), la::det(c.a, {.if_ill = c.options.if_ill})));
    EXPECT_TRUE(same_bits(f.slogdet().logabsdet, la::slogdet(c.a, {.if_ill = c.options.if_ill}).logabsdet));
    EXPECT_TRUE(same_bits(f.pinv(), la::pinv(c.a, {.if_ill = c.options.if_ill})));
    const Tensor b = random({n, 3}, f64, 8);
    EXPECT_TRUE(same_bits(f.lstsq(b), la::lstsq(c.a, b, {.ridge = c.options.ridge, .if_ill = c.options.if_ill})));
  }
}

TEST(Factored, ABadMemberRaisesWhatSolveRaises) {
  const Tensor a = {{1, 2}, {2, 4}}, b = {1.0, 1.0};
  const la::Factored f = la::factored(a, {.names = {{"left", "right"}}});
  EXPECT_EQ(f.diagnosis().status(), la::Status::singular);
  std::string said, wanted;
  try {
    f.solve(b);
  } catch (const SingularMatrix& e) {
    said = e.what();
    EXPECT_EQ(e.diagnosis()[0].rank, 1);
  }
  try {
    la::solve(a, b, {.names = {{"left", "right"}}});
  } catch (const SingularMatrix& e) {
    wanted = e.what();
  }
  EXPECT_EQ(said.substr(0, said.find("\n  at")), wanted.substr(0, wanted.find("\n  at")));
  EXPECT_FALSE(said.empty());
  EXPECT_THROW(f.inv(), SingularMatrix);
  EXPECT_EQ(f.det().item<double>(), 0);
  EXPECT_THROW(la::factored({{1, 2}, {2, 1}}, {.method = "cholesky"}).solve(b), NotPositiveDefinite);
  EXPECT_THROW(la::factored({{1.0, HUGE_VAL}, {2.0, 1.0}}).solve(b), NonFiniteError);
}

TEST(Factored, EveryMatrixIsDecomposedOnce) {
  const Tensor a = random({4, 40, 40}, f64);
  const la::Factored f = la::factored(a);
  EXPECT_EQ(f.decompositions(), 4);
  for (int i = 0; i < 5; ++i) {
    f.solve(random({40}, f64, i));
    f.solve(random({3, 1, 40, 2}, f64, i));  // broadcasts: still the same four
    f.solve(random({40}, f64, i), {.adjoint = true});
    f.inv();
    f.det();
    f.slogdet();
  }
  EXPECT_EQ(f.decompositions(), 4);
  for (int i = 0; i < 3; ++i) f.solve(random({40}, c128, i));  // complex arithmetic needs complex factors
  EXPECT_EQ(f.decompositions(), 8);
  for (int i = 0; i < 3; ++i) f.lstsq(random({40}, f64, i)), f.pinv();
  EXPECT_EQ(f.decompositions(), 16) << "singular values, and the same after columns were brought together";
  const la::Factored tall = la::factored(random({40, 4}, f64));
  tall.solve(random({40}, f64));
  tall.lstsq(random({40, 2}, f64));
  tall.inv();
  EXPECT_EQ(tall.decompositions(), 2);
  const la::Factored small = la::factored(random({4, 8, 8}, f64));
  small.lstsq(random({8}, f64)), small.pinv();
  EXPECT_EQ(small.decompositions(), 4) << "through lanes, without singular values";
  const la::Factored bad = la::factored({{1, 2}, {2, 4}}, {.if_ill = "pinv"});
  for (int i = 0; i < 3; ++i) bad.solve(random({2}, f64, i));
  EXPECT_EQ(bad.decompositions(), 2) << "LU, and singular values for the pseudo-inverse";
}

TEST(Factored, AMatrixThatChangesAfterwardsChangesNothing) {
  std::vector<double> memory = {4, 1, 2, 3};
  const Tensor a = Tensor::borrow(memory.data(), f64, {2, 2}), b = {1.0, 2.0};
  const la::Factored f = la::factored(a);
  const Tensor x = f.solve(b), inverse = f.inv();
  const Tensor least = f.lstsq(b), pseudo = f.pinv();
  memory = {0, 0, 0, 0};
  EXPECT_TRUE(same_bits(f.solve(b), x));
  EXPECT_TRUE(same_bits(f.inv(), inverse));
  EXPECT_TRUE(same_bits(f.lstsq(b), least));
  EXPECT_TRUE(same_bits(f.pinv(), pseudo));
  Tensor own = random({5, 5}, f64), right = random({5}, f64, 2);
  const la::Factored g = la::factored(own);
  const Tensor y = g.solve(right);
  own[{0, 0}] = 100.0;
  EXPECT_TRUE(same_bits(g.solve(right), y));
}

// |x − x̂| relative to the largest |x|, in exact arithmetic.
template <class T>
double error_of(const Tensor& a, const Tensor& b, const Tensor& x) {
  const std::int64_t n = a.shape().back(), k = b.shape().back();
  constexpr int p = rationals::parts<T>;
  const std::vector<T> va = a.to_vector<T>(), vb = b.to_vector<T>(), vx = x.to_vector<T>();
  rationals::Matrix left(p * n, p * n), right(p * n, p * k), exact(p * n, p * k);
  rationals::fill(left, n, n, va.data(), n, 1);
  rationals::fill(right, n, k, vb.data(), k, 1);
  if (!exact.solve(left, right)) return HUGE_VAL;
  double worst = 0, largest = 0;
  for (std::int64_t e = 0; e < n * k; ++e)
    for (int part = 0; part < p; ++part) {
      const rationals::Rational want = exact.get(e / k + part * n, e % k);
      const T got = vx[static_cast<std::size_t>(e)];
      worst = std::max(worst, (want - rationals::Rational(part ? std::imag(got) : std::real(got))).size().value());
      largest = std::max(largest, want.size().value());
    }
  return worst / largest;
}

TEST(Factored, AdjointAndTransposedSystemsAreSolvedToTheLastDigits) {
  const std::vector<Case> all = {{"general", random({12, 12}, f64)},
                                 {"complex", random({12, 12}, c128)},
                                 {"definite", definite(9, c128)},
                                 {"lower", tril(random({9, 9}, c128))},
                                 {"badly scaled", random({6, 6}, f64) * Tensor{1e100, 1e-100, 1, 1, 1, 1e50}},
                                 {"a band", astype(tridiagonal(60), c128) * Scalar(complex128(1, 2))},
                                 {"ldl", definite(9, c128), {.method = "ldl"}},
                                 {"qr", random({9, 9}, c128), {.method = "qr"}},
                                 {"one triangle", random({9, 9}, f64), {.assume = "upper"}},
                                 {"high", random({9, 9}, c128), {.certify = true, .accuracy = "high"}}};
  for (const Case& c : all) {
    SCOPED_TRACE(c.name);
    const la::Factored f = la::factored(c.a, c.options);
    const Tensor b = random({c.a.shape().back(), 3}, c.a.dtype(), 9);
    const Tensor a = c.options.assume == "upper" ? triu(c.a) : c.a;
    const Tensor turned = matrix_transpose(a), x = f.solve(b, {.adjoint = true}),
                 y = f.solve(b, {.transposed = true});
    const auto error = [](const Tensor& m, const Tensor& r, const Tensor& s) {
      return is_complex(m.dtype()) ? error_of<complex128>(m, r, s) : error_of<double>(m, r, s);
    };
    EXPECT_LT(error(adjoint(a), b, x), 1e-15);
    EXPECT_LT(error(turned, b, y), 1e-15);
  }
  const la::Factored svd = la::factored(random({7, 4}, c128), {.method = "svd"});
  const Tensor b = random({4, 2}, c128, 3), want = la::lstsq(adjoint(svd.matrix()), b);
  EXPECT_LT(max(abs(svd.solve(b, {.adjoint = true}) - want)).item<double>(), 1e-14);
  const la::Factored flat = la::factored(ones({3, 3}), {.if_ill = "pinv"});
  EXPECT_LT(max(abs(flat.solve(Tensor{1.0, 2.0, 3.0}, {.adjoint = true}) - 2.0 / 3)).item<double>(), 1e-15);
}

TEST(Factored, ThePartsMultiplyToTheScaledMatrix) {
  const checks off(CheckLevel::off);
  for (const std::string_view method : {"auto", "lu", "cholesky", "ldl", "qr", "svd"})
    for (const DType d : {f64, c128, f32})
      for (const std::int64_t n : {1, 2, 9, 40}) {
        SCOPED_TRACE(say(method, " ", d, " ", n));
        const bool hermitian = method == "cholesky" || method == "ldl";
        const Tensor scales = expand_dims(astype(exp2(random({n}, f64) * 5.0), real_of(d)), {.axis = 1});
        Tensor a = scales * definite(n, d);
        if (hermitian) a = a * matrix_transpose(scales);
        if (hermitian) a = (a + adjoint(a)) * 0.5 - eye(n, {.dtype = d}) * (method == "ldl" ? 9.0 : 0.0);
        a = stack({a, a});
        const la::FactoredParts p = la::factored(a, {.method = method}).parts();
        Tensor product;
        if (method == "svd") product = matmul(p.U * expand_dims(p.S, {.axis = -2}), p.Vh);
        if (method == "lu" || (method == "auto" && n > 1)) product = matmul(p.P, matmul(p.L, p.U));
        if (method == "auto" && n == 1) product = p.L;
        if (method == "cholesky") product = matmul(p.L, adjoint(p.L));
        if (method == "ldl") product = matmul(matmul(p.P, p.L), matmul(p.D, adjoint(matmul(p.P, p.L))));
        if (method == "qr") product = matmul(p.Q, p.U);
        Tensor want = astype(a, product.dtype());
        if (method != "svd")
          want = expand_dims(p.row_scale, {.axis = -1}) * want * expand_dims(p.column_scale, {.axis = -2});
        EXPECT_LT(max(abs(product - want)).item<double>(),
                  1e-14 * static_cast<double>(n) * max(abs(want)).item<double>());
        EXPECT_TRUE(p.Q.defined() == (method == "qr"));
      }
  EXPECT_THROW(la::factored(tridiagonal(100)).parts(), ArgumentError);
  EXPECT_THROW(la::factored(stack({eye(2), ones({2, 2})})).parts(), ArgumentError);
}

TEST(Factored, ManyThreadsSolveAtTheSameTime) {
  const Tensor a = random({5, 40, 40}, f64), b = random({5, 40, 3}, f64, 2);
  Tensor bad = a;
  bad[{2}] = 0.0;
  const la::Factored f = la::factored(bad, {.if_ill = "pinv"});
  const Tensor want = la::solve(bad, b, {.if_ill = "pinv"}),
               wide = la::solve(bad, astype(b, c128), {.if_ill = "pinv"});
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        right += same_bits(f.diagnosed_solve(b).value, want);
        right += same_bits(f.diagnosed_solve(astype(b, c128)).value, wide);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right.load(), 40);
}

TEST(Factored, ObserversSeeTheOpWithTheMatrixItself) {
  struct Watch : Observer {
    std::vector<std::string> seen;
    const detail::Node* matrix = nullptr;
    void after(Call& c) override {
      seen.emplace_back(c.op.name);
      if (c.op.name == "solve") matrix = c.in[0].node();
    }
  } watch;
  const Tensor a = random({4, 4}, f64);
  const la::Factored f = la::factored(a);
  const Listen listen(watch);
  f.solve(Tensor{1.0, 2.0, 3.0, 4.0});
  f.inv();
  f.det();
  EXPECT_EQ(watch.seen, (std::vector<std::string>{"solve", "inv", "det"}));
  EXPECT_EQ(watch.matrix, a.node());
}

TEST(Factored, MeasuresBelongToTheMatrixThatIsMeant) {
  const Tensor a = {{2.0, 1.0}, {7.0, 3.0}};
  EXPECT_EQ(la::factored(a, {.assume = "lower"}).det().item<double>(), 6);
  EXPECT_EQ(la::factored(a, {.assume = "diagonal"}).det().item<double>(), 6);
  EXPECT_EQ(la::factored(a, {.method = "ldl"}).det().item<double>(), -10);
  EXPECT_NEAR(la::factored(a, {.method = "qr"}).det().item<double>(), -1, 1e-14);
  EXPECT_NEAR(la::factored(a, {.shift = 1.0}).det().item<double>(), 5, 1e-14);
  EXPECT_EQ(la::factored(a).slogdet().sign.item<double>(), -1);
  EXPECT_NEAR(la::factored({{2.0, 1.0}, {1.0, 2.0}}, {.method = "cholesky"}).logdet().item<double>(), std::log(3.0),
              1e-15);
  EXPECT_NEAR(la::factored({{2.0, 1.0}, {1.0, 2.0}}, {.method = "lu"}).logdet().item<double>(), std::log(3.0), 1e-15);
  const la::Factored tall = la::factored({{1.0, 0.0}, {0.0, 0.5}, {0.0, 0.0}});
  EXPECT_EQ(tall.rank().item<std::int64_t>(), 2);
  EXPECT_EQ(tall.cond().item<double>(), 2);
  EXPECT_EQ(tall.solve(Tensor{3.0, 4.0, 5.0}).to_vector<double>(), (std::vector<double>{3, 8}));
  EXPECT_NE(tall.to_string().find("Factored f64 [3, 2] by SVD"), std::string::npos) << tall;
}

// Wilkinson's matrix: pivots of LU grow to 2^(n−1), so that QR factors it. Its determinant is 2^(n−1).
TEST(Factored, TheSignOfADeterminantSurvivesQr) {
  for (const std::int64_t n : {60, 230, 231})
    for (const DType d : {f64, c128}) {
      Tensor w = eye(n) - tril(ones({n, n}), {.k = -1});
      w[{slice(), n - 1}] = 1.0;
      const auto turned = concat({w[{slice(1, n)}], w[{slice(0, 1)}]});  // a cycle of n rows: (−1)^(n−1)
      const double sign = n % 2 ? 1 : -1;
      for (const std::string_view method : {"auto", "qr"}) {
        const la::SlogdetResult r = la::factored(astype(turned, d), {.method = method}).slogdet();
        EXPECT_NEAR(real(r.sign).item<double>(), sign, 1e-12) << n << method;
        EXPECT_NEAR(r.logabsdet.item<double>(), static_cast<double>(n - 1) * M_LN2, 1e-11) << n << method;
      }
    }
}

TEST(Factored, WhatCannotBeMeantIsRefused) {
  const Tensor a = random({3, 3}, f64), tall = random({3, 2}, f64);
  EXPECT_THROW(la::factored(tall, {.method = "lu"}), ShapeError);
  EXPECT_THROW(la::factored(Tensor{1.0, 2.0}), ShapeError);
  EXPECT_THROW(la::factored(a, {.method = "gauss"}), ArgumentError);
  EXPECT_THROW(la::factored(a, {.method = "lu", .assume = "lower"}), ArgumentError);
  EXPECT_THROW(la::factored(a, {.if_ill = "perhaps"}), ArgumentError);
  EXPECT_THROW(la::factored(a, {.rtol = -1.0}), ArgumentError);
  EXPECT_THROW(la::factored(Tensor{{true, false}, {false, true}}), DtypeError);
  EXPECT_THROW(la::factored(a).solve(Tensor{1.0, 2.0}), ShapeError);
  EXPECT_THROW(la::factored(a).solve(Tensor{1.0, 2.0, 3.0}, {.adjoint = true, .transposed = true}), ArgumentError);
  try {
    la::factored(a, {.method = "gauss"});
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("factored"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace wp
