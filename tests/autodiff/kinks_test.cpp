// Where derivatives do not exist, or not to second order: kinks, poles, and zeros that choices make.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;
using Function = std::function<Tensor(const Tensor&)>;

std::vector<double> numbers(const Tensor& x) {
  return reshape(x, {x.size()}).to_vector<double>();
}
using Numbers = std::vector<double>;

std::vector<std::string> codes(const Function& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  (void)tape.gradient(f(x), x);
  std::vector<std::string> all;
  for (const Finding& found : tape.findings()) all.emplace_back(found.code);
  return all;
}
const std::vector<std::string> kKink{"WP-GRD-009"};

// ---- zeros that choices make ----
TEST(Masks, KeepWhatADifferenceRestsOn) {
  const Function f = [](const Tensor& x) { return Tensor(diff(log(x))[{0}]); };
  const Tensor x{2.0, 1.0, 0.0};
  EXPECT_EQ(numbers(gradient_by(f, x)), (Numbers{-0.5, 1, 0}));
  EXPECT_EQ(numbers(hessian_product(f, x, ones({3}))), (Numbers{0.25, -1, 0}));
}
TEST(Masks, OfBoundsAnnihilateInfiniteSlopesInBothModes) {
  const Tensor x{-1.0, 4.0}, v{1.0, 1.0};
  const std::vector<std::pair<const char*, Function>> all{
      {"maximum", [](const Tensor& t) { return sum(sqrt(maximum(t, 0.0))); }},
      {"maximum, scalar first", [](const Tensor& t) { return sum(sqrt(maximum(0.0, t))); }},
      {"minimum", [](const Tensor& t) { return sum(sqrt(negative(minimum(negative(t), 0.0)))); }},
      {"clip below", [](const Tensor& t) { return sum(sqrt(clip(t, 0.0, std::nullopt))); }},
      {"clip", [](const Tensor& t) { return sum(sqrt(clip(t, 0.0, 9.0))); }},
      {"relu", [](const Tensor& t) { return sum(sqrt(relu(t))); }},
      {"where", [](const Tensor& t) { return sum(sqrt(where(greater(t, 0), t, 0))); }}};
  for (const auto& [name, f] : all) {
    EXPECT_EQ(numbers(gradient_by(f, x)), (Numbers{0, 0.25})) << name;
    EXPECT_EQ(jvp(f, x, v).tangent.item<double>(), 0.25) << name;
  }
}
TEST(Masks, OfABroadcastBoundAreThoseOfItsElements) {
  const Tensor x{{-1.0}, {4.0}};
  const auto f = [](const Tensor& t) { return sum(sqrt(maximum(t, zeros({1, 2})))); };
  EXPECT_EQ(numbers(gradient_by(f, x)), (Numbers{0, 0.5}));
}

// ---- kinks, differentiated again ----
TEST(Kinks, OfNormsHaveNoSecondDerivativeThatIsWrong) {
  const Tensor zero = zeros({3}), some{0.0, 1.0, 0.0}, c = astype(some, c128) * complex128(0.6, 0.8);
  const Tensor v = ones({3}), vc = astype(v, c128);
  const auto refused = [](const char* name, const Function& f, const Tensor& x, const Tensor& along) {
    EXPECT_NO_THROW((void)gradient_by(f, x)) << name;
    EXPECT_THROW((void)hessian_product(f, x, along), Error) << name;
  };
  refused(
      "|x|^2", [](const Tensor& x) { return sum(square(abs(x))); }, some, v);
  refused(
      "|z|^2", [](const Tensor& x) { return sum(square(abs(x))); }, c, vc);
  refused(
      "norm^2", [](const Tensor& x) { return square(linalg::vector_norm(x)); }, zero, v);
  refused(
      "norm", [](const Tensor& x) { return linalg::vector_norm(x); }, zero, v);
  refused(
      "norm of order 3", [](const Tensor& x) { return pow(linalg::vector_norm(x, {.ord = 3}), 3); }, zero, v);
  refused(
      "Frobenius norm^2",
      [](const Tensor& x) {
        return square(linalg::matrix_norm(reshape(x, {1, 3})));
      },
      zero, v);
  refused(
      "hypot^2", [](const Tensor& x) { return sum(square(hypot(x, x))); }, zero, v);
  refused(
      "std^2", [](const Tensor& x) { return square(wp::std(x)); }, ones({3}), Tensor{1.0, 2.0, 3.0});
}
TEST(Kinks, ThatAreFlatOrMaskedHaveTheSecondDerivativeZero) {
  const Tensor x{0.0, 1.0}, v = ones({2});
  EXPECT_EQ(numbers(hessian_product([](const Tensor& t) { return sum(abs(t) * t * t); }, Tensor{-1.0, 1.0}, v)),
            (Numbers{6, 6}));
  const auto product = [&](const Function& f) {
    GradientTape outer, inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor g = inner.gradient(f(x), x);
    return numbers(outer.gradient(sum(g * v), x, {.unconnected = "zero"}));
  };
  EXPECT_EQ(product([](const Tensor& t) { return sum(abs(t)); }), (Numbers{0, 0}));
  EXPECT_EQ(product([](const Tensor& t) { return sum(where(greater(t, 0), square(abs(t)), 0)); }), (Numbers{0, 2}));
  EXPECT_EQ(product([](const Tensor& t) { return sum(square(t)); }), (Numbers{2, 2}));
}
TEST(Kinks, OfANormAtZeroAreFoundWhereItsValueIsUsed) {
  const Tensor zero = zeros({2, 2}), away{{1.0, 0.0}, {0.0, 0.5}};
  const Function norm = [](const Tensor& x) { return linalg::vector_norm(x); };
  const Function frobenius = [](const Tensor& x) { return linalg::matrix_norm(x); };
  for (const Function& f : {norm, frobenius}) {
    EXPECT_EQ(codes(f, zero), kKink);
    EXPECT_TRUE(codes([&](const Tensor& x) { return square(f(x)); }, zero).empty());
    EXPECT_TRUE(codes(f, away).empty());
  }
}
TEST(Kinks, OfSumsAndElementsThatTieAreFound) {
  const Tensor tied{{1.0, -1.0}, {1.0, 1.0}}, apart{{1.0, -1.0}, {1.0, 2.0}};
  for (const Setting& ord : {Setting(1), Setting(-1), Setting(std::numeric_limits<double>::infinity())}) {
    const Function f = [&](const Tensor& x) { return linalg::matrix_norm(x, {.ord = ord}); };
    EXPECT_EQ(codes(f, tied), kKink);
    EXPECT_TRUE(codes(f, apart).empty());
  }
  const Function most = [](const Tensor& x) {
    return linalg::vector_norm(x, {.ord = std::numeric_limits<double>::infinity()});
  };
  EXPECT_EQ(codes(most, tied), kKink);
  EXPECT_TRUE(codes(most, apart).empty());
}
TEST(Kinks, OfTheNearestDefiniteMatrixAreFoundWhereAnEigenvalueIsZero) {
  const Function f = [](const Tensor& x) { return sum(Tensor{{1.0, 2.0}, {2.0, 5.0}} * linalg::nearest_spd(x)); };
  EXPECT_EQ(codes(f, Tensor{{1.0, 1.0}, {1.0, 1.0}}), kKink);
  EXPECT_TRUE(codes(f, Tensor{{1.0, 2.0}, {2.0, 1.0}}).empty());
  EXPECT_TRUE(codes(f, Tensor{{2.0, 1.0}, {1.0, 2.0}}).empty());
}
// ---- poles ----
TEST(Poles, AtVanishingSingularValuesAreRefused) {
  Draw d(21);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : {std::vector<double>{3, 0, 0}, {3, 2, 0}}) {
      const Tensor A = d.with_values(3, 3, s, dtype), W = d.normal({3, 3}, dtype);
      EXPECT_THROW((void)codes([](const Tensor& x) { return sum(log(linalg::svd(x).S)); }, A), Error);
      EXPECT_THROW((void)codes([](const Tensor& x) { return sum(1 / linalg::svd(x).S); }, A), Error);
      EXPECT_THROW((void)codes([](const Tensor& x) { return sum(sqrt(linalg::svd(x).S)); }, A), Error);
      EXPECT_THROW((void)codes(
                       [&](const Tensor& x) {
                         const auto f = linalg::svd(x);
                         return against(W, matmul(adjoint(f.Vh) * row(1 / f.S), adjoint(f.U)));
                       },
                       A),
                   Error);
      EXPECT_TRUE(codes(
                      [&](const Tensor& x) {
                        const auto f = linalg::svd(x);
                        return against(W, matmul(f.U * row(f.S * f.S * f.S), f.Vh));
                      },
                      A)
                      .empty());
    }
}
TEST(Poles, BesideVanishingValuesAreFound) {
  Draw d(22);
  const Tensor A = d.with_values(3, 3, {3, 2, 1e-13}), W = d.normal({3, 3});
  const Tensor H = d.with_eigenvalues({3, 2, 1e-13}), Z = d.with_eigenvalues({3, 2, 0});
  const Function inverse = [&](const Tensor& x) {
    const auto f = linalg::svd(x);
    return sum(W * matmul(adjoint(f.Vh) * row(1 / f.S), adjoint(f.U)));
  };
  const auto of_eigenvalues = [&](Tensor (*g)(const Tensor&)) {
    return [&W, g](const Tensor& x) {
      const auto e = linalg::eigh(x);
      return sum(W * matmul(e.eigenvectors * row(g(e.eigenvalues)), adjoint(e.eigenvectors)));
    };
  };
  const auto reciprocals = of_eigenvalues([](const Tensor& l) { return 1 / l; });
  const auto cubes = of_eigenvalues([](const Tensor& l) { return l * l * l; });
  EXPECT_FALSE(codes(inverse, A).empty());
  EXPECT_FALSE(codes(reciprocals, H).empty());
  EXPECT_FALSE(codes(reciprocals, Z).empty());
  EXPECT_FALSE(codes([](const Tensor& x) { return sum(log(abs(linalg::eigvalsh(x)))); }, Z).empty());
  for (const Tensor& x : {H, Z}) EXPECT_TRUE(codes(cubes, x).empty());
}

// ---- digits ----
TEST(QrGradient, TellsOfAnIllConditionedRWithoutSmallPivots) {
  const auto told = [](std::int64_t n) {
    const Tensor R = eye(n) - triu(ones({n, n}), {.k = 1}), W = normal({n, n}, 3);
    GradientTape tape;
    tape.watch(R);
    const auto f = linalg::qr(R);
    const Tensor g = tape.gradient(sum(W * matmul(f.Q, f.R)), R);
    EXPECT_TRUE(relative(g, W) < 1e-9 || !tape.findings().empty()) << n << ": " << relative(g, W);
    return !tape.findings().empty() && tape.findings()[0].code == "WP-GRD-012";
  };
  EXPECT_FALSE(told(10));
  EXPECT_TRUE(told(40));
  EXPECT_TRUE(told(50));
}
// What follows a decomposition is known to its rule also where its vectors, or some of them, leave a checkpoint.
std::vector<Tensor> factors(const std::vector<Tensor>& x) {
  const auto f = linalg::svd(x[0]);
  return {f.U, f.S, f.Vh};
}
Tensor cubed(const Tensor& W, const std::vector<Tensor>& f) {
  return sum(W * matmul(f[0] * row(f[1] * f[1] * f[1]), f[2]));
}
Tensor slope_of_cube(const Tensor& W, const Tensor& A) {
  return times(W, adjoint(A), A) + times(A, adjoint(W), A) + times(A, adjoint(A), W);
}
TEST(Checkpoint, OfADecompositionIsRightAtEveryGap) {
  Draw d(23);
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-11, 1e-12, 1e-13, 1e-14, 0.0}) {
    const Tensor A = d.with_values(3, 3, {2, 2 - gap, 1}), W = d.normal({3, 3});
    const std::vector<std::pair<const char*, Function>> all{
        {"factors", [&](const Tensor& x) { return cubed(W, checkpoint(factors, {x})); }},
        {"a view of a factor",
         [&](const Tensor& x) {
           const std::vector<Tensor> f = checkpoint(
               [](const std::vector<Tensor>& t) {
                 const auto r = linalg::svd(t[0]);
                 return std::vector<Tensor>{matrix_transpose(r.U), r.S, r.Vh};
               },
               {x});
           return cubed(W, {matrix_transpose(f[0]), f[1], f[2]});
         }},
        {"and the matrix is used again", [&](const Tensor& x) {
           const std::vector<Tensor> f = checkpoint(factors, {x});
           const Tensor s = linalg::diagonal(times(adjoint(f[0]), x, adjoint(f[2])));
           return sum(W * matmul(f[0] * row(s * f[1] * f[1]), f[2]));
         }}};
    for (const auto& [name, f] : all) {
      GradientTape tape;
      tape.watch(A);
      EXPECT_LT(relative(tape.gradient(f(A), A), slope_of_cube(W, A)), 1e-10) << name << " " << gap;
    }
    EXPECT_TRUE(codes(all[0].second, A).empty()) << gap;
  }
}
// Cotangents that the caller gives to a pullback do not vary: beside a tie the series of the limit is not theirs.
TEST(Pullback, OfADecompositionIsRightOrToldBesideTies) {
  Draw d(25);
  static int told = 0;
  const FindingHandler before = on_finding([](const Finding&) { ++told; });
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-11, 1e-12, 1e-13, 1e-14, 0.0}) {
    const Tensor A = d.with_values(3, 3, {2, 2 - gap, 1}), W = d.normal({3, 3});
    const VjpResults all = vjp(factors, {A});
    GradientTape tape;
    tape.watch(all.values);
    const std::vector<Tensor> g = tape.gradient(cubed(W, all.values), all.values);
    told = 0;
    try {
      const double off = relative(all.pullback(g)[0], slope_of_cube(W, A));
      EXPECT_TRUE(off < 1e-8 || told > 0) << gap << ": " << off;
      EXPECT_LT(off, 1e-15 / gap + 1e-10) << gap;
    } catch (const GaugeError&) {
      EXPECT_LT(gap, 1e-13);
    }
  }
  on_finding(before);
}
TEST(Checkpoint, MayFollowADecompositionWithTies) {
  Draw d(24);
  for (const std::vector<double>& s : {std::vector<double>{2, 2, 1}, {2, 0, 0}, {2, 2 - 1e-9, 1}, {3, 2, 1}}) {
    const Tensor A = d.with_values(3, 3, s), W = d.normal({3, 3});
    const auto loss = [&](const Tensor& x) {
      const auto f = linalg::svd(x);
      return checkpoint(
          [&](const std::vector<Tensor>& t) {
            return std::vector<Tensor>{sum(W * matmul(t[0] * row(t[1] * t[1] * t[1]), t[2]))};
          },
          {f.U, f.S, f.Vh})[0];
    };
    const Tensor exact = times(W, adjoint(A), A) + times(A, adjoint(W), A) + times(A, adjoint(A), W);
    EXPECT_LT(relative(gradient_by(loss, A), exact), 1e-9) << Tensor::from(s, {3});
  }
}
// Beside a tie the gradient of a member has lost digits, but not to another member.
TEST(BatchJacobian, OfADecompositionBesideATieIsThatOfItsMembers) {
  Draw d(26);
  const Tensor near = d.with_values(3, 3, {2, 2 - 1e-5, 1}), other = d.with_values(3, 3, {3, 2, 1}),
               W = d.normal({3, 3});
  const Tensor A = stack({near, other});
  GradientTape tape;
  tape.watch(A);
  const auto f = linalg::svd(A);
  const Tensor y = sum(W * matmul(f.U * row(f.S * f.S * f.S), f.Vh), {.axis = {-2, -1}});
  const Tensor J = tape.batch_jacobian(reshape(y, {2, 1}), A);
  EXPECT_LT(relative(Tensor(J[{0, 0}]), slope_of_cube(W, near)), 1e-9);
  EXPECT_LT(relative(Tensor(J[{1, 0}]), slope_of_cube(W, other)), 1e-12);
}
// Derivatives of x³ beyond the third are 0, not 0 x⁻⁵, which overflows.
TEST(Powers, WithWholeExponentsEndInZeros) {
  const Tensor x = astype(Tensor{1e-9, 2.0}, f32);
  std::vector<std::unique_ptr<GradientTape>> tapes;
  for (int k = 0; k < 5; ++k) {
    tapes.push_back(std::make_unique<GradientTape>());
    tapes.back()->watch(x);
  }
  Tensor g = pow(x, 3);
  for (int k = 0; k < 5; ++k) {
    g = tapes.back()->gradient(sum(g), x, {.unconnected = "zero"});
    tapes.pop_back();
  }
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{0, 0}));
  Draw d(27);
  const Tensor A = d.with_values(3, 3, {2, 0, 0}, f32), W = d.normal({3, 3}, f32);
  const Function cube = [&](const Tensor& t) {
    const auto f = linalg::svd(t);
    return sum(W * matmul(f.U * row(pow(f.S, 3)), f.Vh));
  };
  const Function twice = [&](const Tensor& t) { return cube(t) + cube(t); };
  EXPECT_LT(relative(gradient_by(twice, A), 2 * slope_of_cube(W, A)), 1e-3);
}
// Each sample has ties, zeros and gaps of its own.
TEST(PerSampleGradients, AreRightAtTies) {
  for (const DType dtype : {f32, f64, c64, c128}) {
    Draw d(28);
    const bool narrow = real_of(dtype) == f32;
    const DType wide = is_complex(dtype) ? c128 : f64;
    const Tensor W = d.normal({3, 3}, dtype), one = eye(3, {.dtype = dtype});
    std::vector<Tensor> samples;
    for (const std::vector<double>& s :
         {std::vector<double>{2, 2, 1}, {2, 2, 2}, {2, 0, 0}, {0, 0, 0}, {2, 2 - 1e-9, 1}, {3, 2, 1}})
      samples.push_back(d.with_values(3, 3, s, dtype));
    const auto loss = [&](const std::vector<Tensor>& p, const std::vector<Tensor>& x) {
      const auto f = linalg::svd(matmul(p[0], x[0]));
      return against(W, matmul(f.U * row(f.S * f.S * f.S), f.Vh));
    };
    const Tensor all = per_sample_gradients(loss, {one}, {stack(Tensors(samples.begin(), samples.end()))})[0];
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const Tensor A = astype(samples[k], wide), exact = matmul(slope_of_cube(astype(W, wide), A), adjoint(A));
      const Tensor off = wp::max(wp::abs(astype(Tensor(all[{static_cast<std::int64_t>(k)}]), wide) - exact));
      EXPECT_LT(off.item<double>(), narrow ? 2e-3 : 1e-9) << k << name(dtype);
    }
  }
}
}  // namespace
