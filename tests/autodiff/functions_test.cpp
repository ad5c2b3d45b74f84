// Derivatives of functions, functions of the caller's as ops, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "said.hpp"

namespace {
using namespace wp;
using said::expect_says;
using said::values;

const TensorFunction cube_sum = [](const Tensor& x) { return sum(x * x * x); };

TEST(Functions, ForwardAndReverseAgreeWithTheFormula) {
  const Tensor x{1.0, 2.0}, v{10.0, 1.0};
  const JvpResult p = jvp(cube_sum, x, v);
  EXPECT_EQ(values(p.value), (std::vector<double>{9}));
  EXPECT_EQ(values(p.tangent), (std::vector<double>{42}));
  const VjpResult r = vjp([](const Tensor& t) { return t * t; }, x);
  EXPECT_EQ(values(r.pullback(v)), (std::vector<double>{20, 4}));
  EXPECT_EQ(values(r.pullback(Tensor{1.0, 1.0})), (std::vector<double>{2, 4}));
}
TEST(Functions, APullbackTakesOneCotangentPerValueAndAnUndefinedOneIsZero) {
  const Tensor x{1.0, 2.0}, u{10.0, 1.0};
  const VjpResults r = vjp(
      [](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{t[0] * t[0], t[0] * 3};
      },
      {x});
  EXPECT_EQ(values(r.pullback({Tensor(), u})[0]), (std::vector<double>{30, 3}));
  EXPECT_EQ(values(r.pullback({Tensor(), Tensor()})[0]), (std::vector<double>{0, 0}));
  expect_says([&] { (void)r.pullback({u}); }, "got 1 for 2 values");
  expect_says([&] { (void)r.pullback({u, u, u}); }, "got 3 for 2 values");
}
TEST(Functions, AnIntegerHasNoDirection) {
  const auto f = [](const Tensor& x) { return x * 2.0; };
  EXPECT_THROW((void)jvp(f, Tensor{1, 2}, Tensor{1.0, 1.0}), DtypeError);
  const JvpResults p = jvp([](const std::vector<Tensor>& t) { return std::vector<Tensor>{t[0] * t[1]}; },
                           {Tensor{1.0}, Tensor{3}}, {Tensor{1.0}, Tensor()});
  EXPECT_EQ(values(p.tangents[0]), (std::vector<double>{3}));
}
TEST(Functions, ALinearizedFunctionIsRunOnceAndMapsManyDirections) {
  int runs = 0;
  const Linearized l = linearize(
      [&](const Tensor& t) {
        ++runs;
        return exp(t) * t;
      },
      Tensor{0.0, 1.0});
  EXPECT_EQ(values(l.map(Tensor{1.0, 0.0})), (std::vector<double>{1, 0}));
  EXPECT_DOUBLE_EQ(values(l.map(Tensor{0.0, 1.0}))[1], 2 * std::exp(1.0));
  EXPECT_EQ(runs, 1);
}
TEST(Functions, SecondDerivativesOfACube) {
  const Tensor x{1.0, 2.0};
  EXPECT_EQ(values(hessian(cube_sum, x)), (std::vector<double>{6, 0, 0, 12}));
  EXPECT_EQ(values(hvp(cube_sum, x, Tensor{1.0, 1.0})), (std::vector<double>{6, 12}));
  EXPECT_EQ(values(jacobian([](const Tensor& t) { return t * t; }, x)), (std::vector<double>{2, 0, 0, 4}));
}
TEST(Functions, WhatAFunctionCapturesIsConstant) {
  const Tensor x{3.0};
  EXPECT_EQ(values(gradient([&](const Tensor& t) { return t * x; }, x)), (std::vector<double>{3}));
  EXPECT_EQ(values(jvp([&](const Tensor& t) { return t * x; }, x, Tensor{1.0}).tangent), (std::vector<double>{3}));
}
TEST(Functions, PerturbationsOfNestedForwardModesAreKeptApart) {
  // d/dx (x · d/dy (x + y)) = 1 at every x (Siskind & Pearlmutter 2005).
  const Tensor one{1.0};
  const Tensor t =
      jvp([&](const Tensor& x) { return x * jvp([&](const Tensor& y) { return x + y; }, Tensor{1.0}, one).tangent; },
          Tensor{1.0}, one)
          .tangent;
  EXPECT_EQ(values(t), (std::vector<double>{1}));
}
TEST(Functions, EverySampleHasItsOwnGradient) {
  const Tensor w{2.0, 3.0}, data{{1.0, 0.0}, {0.0, 2.0}, {1.0, 1.0}};
  const auto g = per_sample_gradients(
      [](const std::vector<Tensor>& p, const std::vector<Tensor>& s) { return square(sum(p[0] * s[0])); }, {w},
      {data});
  EXPECT_EQ(values(g[0]), (std::vector<double>{4, 0, 0, 24, 10, 10}));
}
TEST(Functions, AllDataHaveTheSameSamples) {
  const auto f = [](const std::vector<Tensor>& p, const std::vector<Tensor>& s) { return sum(p[0] * s[0] * s[1]); };
  const Tensor w{2.0}, two{1.0, 2.0}, three{1.0, 2.0, 3.0};
  for (const auto& data : {std::vector<Tensor>{two, three}, {three, two}, {two, Tensor(1.0)}})
    EXPECT_THROW((void)per_sample_gradients(f, {w}, data), ShapeError);
}
TEST(Checkpoint, KeepsLessAndGivesTheSame) {
  const Tensor x{0.5, 1.5};
  const TensorFunction deep = [](const Tensor& t) {
    Tensor y = t;
    for (int k = 0; k < 20; ++k) y = tanh(y) * 1.1;
    return y;
  };
  GradientTape plain({.persistent = true}), sparse({.persistent = true});
  std::vector<double> want, got;
  {
    GradientTape tape;
    tape.watch(x);
    want = values(tape.gradient(sum(deep(x)), x));
  }
  GradientTape outer, tape;
  outer.watch(x);
  tape.watch(x);
  const Tensor y = sum(checkpoint(deep, x));
  EXPECT_LT(tape.recorded(), 4U);
  const Tensor g = tape.gradient(y, x);
  EXPECT_EQ(values(g), want);
  const Tensor h = outer.gradient(sum(g), x);
  const Tensor direct = hvp([&](const Tensor& t) { return sum(deep(t)); }, x, Tensor{1.0, 1.0});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(values(h)[i], values(direct)[i], 1e-14);
}
// Draws 1.0, 2.0, … as a generator does.
struct Counter {
  double at = 0;
  Tensor draw() { return Tensor{at += 1}; }
};
TEST(Checkpoint, RefusesAFunctionThatGivesSomethingElseWhenItRunsAgain) {
  const Tensor x{3.0};
  const auto slope = [&](const TensorFunction& f) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(checkpoint(f, x), x);
  };
  random::Generator g(1);
  Counter counter;
  expect_says([&] { (void)slope([&](const Tensor& t) { return t * g.normal({1}); }); }, "run again");
  expect_says([&] { (void)slope([&](const Tensor& t) { return t * counter.draw(); }); }, "WP-GRD-003");
  const Tensor drawn = slope([](const Tensor& t) { return t * random::Generator(1).normal({1}); });
  EXPECT_EQ(values(drawn), values(random::Generator(1).normal({1})));
  // What a mask replaces is not another computation.
  const Tensor z{0.0, 1.0, 4.0};
  GradientTape tape;
  tape.watch(z);
  const Tensor y = sum(where(greater(z, 0), checkpoint([](const Tensor& t) { return log(t); }, z), 0));
  EXPECT_EQ(values(tape.gradient(y, z)), (std::vector<double>{0, 1, 0.25}));
}
TEST(Checkpoint, AndFunctionsWithRulesRefuseAWatchedTensorThatIsNotAnArgument) {
  const Tensor x{4.0}, w{2.0};
  GradientTape tape;
  tape.watch({x, w});
  const auto times = [](const Tensor& by) { return [by](const Tensor& t) { return t * by; }; };
  const auto with_rule = [&](const Tensor& by) {
    return custom_gradient(
        [by](const Tensor& t) {
          return VjpResult{t * by, [by](const Tensor& u) { return u * by; }};
        },
        x);
  };
  const auto op = [](const Tensor& by) {
    return custom_op({.name = "times",
                      .forward = [by](const std::vector<Tensor>& t) { return std::vector<Tensor>{t[0] * by}; },
                      .vjp = [by](const auto&, const auto&,
                                  const std::vector<Tensor>& u) { return std::vector<Tensor>{u[0] * by}; }});
  };
  const auto root = [&](const Tensor& by) {
    return implicit_root([by](const Tensor& at, const std::vector<Tensor>& p) { return at * at - p[0] * by; },
                         [by](const std::vector<Tensor>& p) { return sqrt(p[0] * stop_gradient(by)); }, {x});
  };
  const std::string lost = "not among its arguments";
  expect_says([&] { (void)checkpoint(times(w), x); }, lost);
  expect_says([&] { (void)with_rule(w); }, lost);
  expect_says([&] { (void)op(w)({x}); }, lost);
  expect_says([&] { (void)root(w); }, lost);
  expect_says([&] { (void)checkpoint([&](const Tensor& t) { return op(w)({t})[0]; }, x); }, lost);
  // As a constant, in a comparison, or as an argument.
  const Tensor c = stop_gradient(w);
  EXPECT_EQ(values(with_rule(c) + op(c)({x})[0] + root(c)), (std::vector<double>{16 + std::sqrt(8.0)}));
  EXPECT_EQ(values(checkpoint([&](const Tensor& t) { return where(greater(w, 0), t * stop_gradient(w), 0); }, x)),
            (std::vector<double>{8}));
}
TEST(CustomGradient, TakesTheCallersDerivative) {
  const Tensor x{2.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const Tensor& t) {
        return VjpResult{t * t, [](const Tensor& u) { return u * 100; }};
      },
      x);
  EXPECT_EQ(values(y), (std::vector<double>{4}));
  EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{100}));
}
// A gradient is no zero where only an index leads from x to the loss; where a slope is constant it is one.
TEST(Functions, ThatReachTheArgumentThroughIndicesOnlyAreRefused) {
  const Tensor x{1.5, -2.5};
  for (const TensorFunction& f : {TensorFunction([](const Tensor& t) { return astype(argmax(t), f64); }),
                                  TensorFunction([](const Tensor& t) { return sum(astype(astype(t, i64), f64)); })}) {
    const std::string_view advice = "Use a smooth stand-in";
    expect_says([&] { (void)gradient(f, x); }, std::string(advice));
    expect_says([&] { (void)jacobian(f, x); }, std::string(advice));
    expect_says([&] { (void)hessian(f, x); }, std::string(advice));
  }
  const std::vector<double> none{0, 0};
  for (const TensorFunction& straight :
       {TensorFunction([](const Tensor& t) { return sum(relu(t)); }),
        TensorFunction([](const Tensor& t) { return sum(where(t > 0, t, 2 * t)); })}) {
    EXPECT_EQ(values(hvp(straight, x, x)), none);
    EXPECT_EQ(values(gradient([&](const Tensor& t) { return sum(gradient(straight, t)); }, x)), none);
    EXPECT_EQ(values(hessian(straight, x)), (std::vector<double>{0, 0, 0, 0}));
  }
  EXPECT_EQ(values(gradient([](const Tensor&) { return Tensor(1.0); }, x)), none);
  EXPECT_EQ(values(gradient([](const Tensor& t) { return stop_gradient(astype(argmax(t), f64)); }, x)), none);
}
// exp, whose pullback captures what the function computed: in second and third derivatives it varies with x.
TEST(CustomGradient, WhatThePullbackCapturedOfTheFunctionIsDifferentiatedAgain) {
  int runs = 0;
  const TensorFunction f = [&runs](const Tensor& x) {
    return custom_gradient(
        [&runs](const Tensor& t) {
          ++runs;
          const Tensor y = exp(t);
          return VjpResult{y, [y](const Tensor& u) { return u * y; }};
        },
        x);
  };
  const Tensor x{0.5, 1.0};
  const TensorFunction slope = [&](const Tensor& t) {
    return gradient([&](const Tensor& at) { return sum(f(at)); }, t);
  };
  (void)slope(x);
  EXPECT_EQ(runs, 1);  // nobody differentiates the rule
  EXPECT_EQ(values(linalg::diagonal(jacobian(slope, x))), values(exp(x)));
  const std::vector<double> third = values(jacobian([&](const Tensor&t) { return jacobian(slope, t); }, x)),
                            e = values(exp(x));
  EXPECT_EQ(third, (std::vector<double>{e[0], 0, 0, 0, 0, 0, 0, e[1]}));
}
// The product of two, whose rule gives `found(a, b, u)`.
std::vector<Tensor> product_gradient(
    const std::function<std::vector<Tensor>(const Tensor& a, const Tensor& b, const Tensor& u)>& found, bool op) {
  const Tensor a{2.0}, b{5.0};
  GradientTape tape;
  tape.watch({a, b});
  const auto product = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{t[0] * t[1]}; };
  const Tensor y = op ? custom_op({.name = "product",
                                   .forward = product,
                                   .vjp = [&](const auto& in, const auto&,
                                              const auto& u) { return found(in[0], in[1], u[0]); }})({a, b})[0]
                      : custom_gradient(
                            [&](const std::vector<Tensor>& t) {
                              return VjpResults{product(t), [=](const auto& u) { return found(t[0], t[1], u[0]); }};
                            },
                            {a, b})[0];
  return tape.gradient(std::vector<Tensor>{y}, {a, b});
}
TEST(CustomGradient, ARuleGivesOneCotangentForEachInput) {
  for (const bool op : {false, true}) {
    const std::string name = op ? "product" : "custom_gradient";
    for (const std::size_t n : {0U, 1U, 3U})
      expect_says(
          [&] {
            (void)product_gradient(
                [n](const auto&, const auto& b, const auto& u) { return std::vector<Tensor>(n, u * b); }, op);
          },
          name + " gives " + std::to_string(n) + (n == 1 ? " derivative" : " derivatives") + " for 2 inputs");
    const std::vector<Tensor> second = product_gradient(
        [](const auto& a, const auto&, const auto& u) {
          return std::vector<Tensor>{{}, u * a};
        },
        op);
    EXPECT_FALSE(second[0].defined());
    EXPECT_EQ(values(second[1]), (std::vector<double>{2}));
  }
  const TensorsFunction none =
      custom_op({.name = "still",
                 .forward = [](const auto& t) { return t; },
                 .jvp = [](const auto&, const auto&, const auto&) { return std::vector<Tensor>{}; }});
  expect_says([&] { (void)jvp([&](const Tensor& t) { return none({t})[0]; }, Tensor{1.0}, Tensor{1.0}); },
              "still gives 0 derivatives for 1 result");
}
TEST(ImplicitRoot, DifferentiatesASquareRootFoundByNewton) {
  const auto F = [](const Tensor& x, const std::vector<Tensor>& p) { return x * x - p[0]; };
  const auto newton = [](const std::vector<Tensor>& p) {
    Tensor x = Tensor{1.0, 1.0};
    for (int k = 0; k < 40; ++k) x = (x + p[0] / x) * 0.5;
    return x;
  };
  const Tensor a{2.0, 9.0};
  GradientTape outer, tape;
  outer.watch(a);
  tape.watch(a);
  const Tensor x = implicit_root(F, newton, {a});
  const Tensor g = tape.gradient(sum(x), a);
  EXPECT_NEAR(values(g)[0], 0.5 / std::sqrt(2.0), 1e-15);
  const Tensor h = outer.gradient(sum(g), a);
  EXPECT_NEAR(values(h)[1], -0.25 * std::pow(9.0, -1.5), 1e-15);
}

// At a tie a direction has its own basis, and forward rules know only that of the vectors: the way back is taken.
TEST(Jvp, FollowsDirectionsThatSplitATieInAnotherBasis) {
  const Tensor a{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}},
      v{{0.3, 1.0, -0.5}, {1.0, -0.7, 0.2}, {-0.5, 0.2, 0.9}};
  const TensorFunction rebuilt = [](const Tensor& x) {
    const auto f = linalg::svd(x);
    return matmul(f.U * f.S, f.Vh);
  };
  const TensorFunction squared = [](const Tensor& x) {
    const auto f = linalg::eigh(x);
    return matmul(f.eigenvectors * square(f.eigenvalues), matrix_transpose(f.eigenvectors));
  };
  EXPECT_LT(max(abs(jvp(rebuilt, a, v).tangent - v)).item<double>(), 1e-12);
  EXPECT_LT(max(abs(jvp(squared, a, v).tangent - (matmul(a, v) + matmul(v, a)))).item<double>(), 1e-12);
  // Where the function has no derivative the refusal stands: vectors, and the kink of the largest value.
  EXPECT_THROW(jvp([](const Tensor& x) { return linalg::svd(x).U; }, a, v), GradientError);
  EXPECT_THROW(jvp(
                   [](const Tensor& x) {
                     return sum(linalg::svd(x).S[{wp::slice(0, 1)}] * linalg::svd(x).U[{0, 0}]);
                   },
                   a, v),
               GradientError);
}
}  // namespace
