// GradientTape: what it records, what it gives, and what it says when there is nothing to give.
#include <gtest/gtest.h>

#include <thread>

#include "ops/witness.hpp"
#include "said.hpp"

namespace {
using namespace wp;
using said::message;
using said::values;

TEST(Tape, DifferentiatesASumOfSquares) {
  const Tensor x{1.0, -2.0, 3.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(x));
  EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{2, -4, 6}));
}
TEST(Tape, AddsWhatSeveralUsesOfATensorBring) {
  const Tensor x{2.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x + x * 3 + x;
  EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{8}));
}
TEST(Tape, SumsBroadcastAxes) {
  const Tensor x{1.0, 2.0}, m{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(values(tape.gradient(sum(x * m), x)), (std::vector<double>{9, 12}));
}
TEST(Tape, BringsGradientsToTheDtypeOfTheirTensor) {
  const Tensor x = astype(Tensor{1.0, 2.0}, f32), z = Tensor{1.0, 3.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor g = tape.gradient(sum(x * z), x);
  EXPECT_EQ(g.dtype(), f32);
  EXPECT_EQ(values(g), (std::vector<double>{1, 3}));
}
TEST(Tape, NestedTapesGiveSecondAndThirdDerivatives) {
  const Tensor x{1.5};
  GradientTape third, second, first;
  for (GradientTape* t : {&third, &second, &first}) t->watch(x);
  const Tensor y = x * x * x * x;
  const Tensor g = first.gradient(y, x);
  const Tensor h = second.gradient(g, x);
  const Tensor k = third.gradient(h, x);
  EXPECT_DOUBLE_EQ(values(g)[0], 4 * 1.5 * 1.5 * 1.5);
  EXPECT_DOUBLE_EQ(values(h)[0], 12 * 1.5 * 1.5);
  EXPECT_DOUBLE_EQ(values(k)[0], 24 * 1.5);
}
TEST(Tape, NestsTwentyDeep) {
  const Tensor x{1.0};
  std::vector<GradientTape> tapes(20);
  for (GradientTape& t : tapes) t.watch(x);
  Tensor y = exp(x * 0.5);
  for (std::size_t k = tapes.size(); k-- > 0;) y = tapes[k].gradient(y, x);
  EXPECT_NEAR(values(y)[0], std::exp(0.5) * std::pow(0.5, 20), 1e-17);
}
TEST(Tape, APersistentTapeGivesSeveralGradientsAndRecordsItsOwn) {
  const Tensor x{3.0};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = exp(x);
  const Tensor g = tape.gradient(y, x);
  EXPECT_EQ(values(g), (std::vector<double>{6}));
  EXPECT_DOUBLE_EQ(values(tape.gradient(z, x))[0], std::exp(3.0));
  EXPECT_EQ(values(tape.gradient(g, x)), (std::vector<double>{2}));
}
TEST(Tape, ATapeThatIsUsedUpSaysSo) {
  const Tensor x{3.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  (void)tape.gradient(y, x);
  EXPECT_NE(message([&] { (void)tape.gradient(y, x); }).find("persistent"), std::string::npos);
}
TEST(Tape, ATensorThatWasNotWatchedIsAnErrorWithWords) {
  const Tensor x{3.0}, z{1.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_NE(message([&] { (void)tape.gradient(y, z); }).find("not watched"), std::string::npos);
}
TEST(Tape, UnconnectedTensorsGiveNothingOrZeros) {
  const Tensor x{3.0}, z{1.0, 2.0};
  for (const char* const how : {"none", "zero"}) {
    GradientTape tape;
    tape.watch({x, z});
    const Tensor y = x * x;
    const Tensor g = tape.gradient(y, z, {.unconnected = how});
    if (std::string_view(how) == "none")
      EXPECT_FALSE(g.defined());
    else
      EXPECT_EQ(values(g), (std::vector<double>{0, 0}));
  }
}
TEST(Tape, AWayThroughAnIndexStatesWhyThereIsNoDerivative) {
  const Tensor x{3.0, 5.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = astype(argmax(x), f64);
  const std::string text = message([&] { (void)tape.gradient(y, x); });
  EXPECT_NE(text.find("argmax"), std::string::npos) << text;
  EXPECT_NE(text.find("index"), std::string::npos) << text;
}
TEST(Tape, NamesTheConversionToIntegersThatBlocksTheWay) {
  const Tensor x{1.5, -2.5};
  for (const DType d : {i64, DType::boolean}) {
    const auto g = [&](bool constant) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = astype(astype(x, d), f64);
      return tape.gradient(sum(constant ? stop_gradient(y) : y), x);
    };
    const std::string text = message([&] { (void)g(false); });
    EXPECT_NE(text.find("astype"), std::string::npos) << text;
    EXPECT_NE(text.find(std::string("its result is ") + std::string(name(d))), std::string::npos) << text;
    EXPECT_FALSE(g(true).defined());
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor part = sum(astype(astype(x, i64), f64) * x);
  EXPECT_EQ(values(tape.gradient(part, x)), (std::vector<double>{1, -2}));  // the other way is open
}
TEST(Tape, OutputGradientsWeighTheTargets) {
  const Tensor x{1.0, 2.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(values(tape.gradient(y, x, {.output_gradients = {Tensor{10.0, 1.0}}})), (std::vector<double>{20, 4}));
}
TEST(Tape, ThereIsOneOutputGradientPerTargetAndAnUndefinedOneIsOnes) {
  const Tensor x{1.0, 2.0};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> y{x * x, x * 3}, sources{x};
  EXPECT_EQ(values(tape.gradient(y, sources, {.output_gradients = {Tensor(), Tensor{10.0, 1.0}}})[0]),
            (std::vector<double>{32, 7}));
  for (const std::size_t n : {1U, 3U}) {
    const std::string said = message([&] {
      (void)tape.gradient(y, sources, {.output_gradients = std::vector<Tensor>(n, Tensor{1.0, 1.0})});
    });
    EXPECT_NE(said.find("got " + std::to_string(n) + " for 2 targets"), std::string::npos) << said;
  }
}
TEST(Tape, AComplexCotangentOfARealTensorIsRefusedAtTheLineThatAskedForTheGradient) {
  const Tensor x{1.0, 2.0}, wide{complex128(0, 1), complex128(1, 0)};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = sum(y * 2);
  const auto at = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const DtypeError& e) {
      return e.finding().place.text();
    }
    return std::string("not refused");
  };
  const auto line = [](std::uint32_t n) { return "tape_test.cpp:" + std::to_string(n); };
  EXPECT_EQ(at([&] { (void)tape.gradient(y, x, {.output_gradients = {wide}}); }), line(__LINE__));
  tape.hook(y, [&](const Tensor&) { return wide; });
  EXPECT_EQ(at([&] { (void)tape.gradient(z, x); }), line(__LINE__));
}
TEST(Tape, IntegersCannotBeWatched) {
  GradientTape tape;
  EXPECT_THROW(tape.watch(Tensor{1, 2}), DtypeError);
}
TEST(Tape, AComplexTargetNeedsARealLoss) {
  const Tensor x{complex128(1, 2)};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW((void)tape.gradient(y, x), DtypeError);
}
TEST(Tape, MaskedBranchesDoNotPoisonGradients) {
  const Tensor x{0.0, 1.0, -1.0, 4.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(where(greater(x, 0), log(x), 0));
  EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{0, 1, 0, 0.25}));
}
TEST(Tape, AZeroThatIsMerelyAValueDoesNotAnnihilate) {
  const Tensor x{0.0, 1.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(log(x) * Tensor{0.0, 1.0});
  EXPECT_THROW((void)tape.gradient(y, x), NonFiniteError);
}
TEST(Tape, MaskedRowsOfGivenNaNDoNotPoisonWeights) {
  const Tensor data{{1.0, 2.0}, {NAN, INFINITY}}, keep{{true}, {false}}, w{{0.5}, {0.25}};
  GradientTape tape;
  tape.watch(w);
  const Tensor y = sum(where(keep, matmul(data, w), 0));
  EXPECT_EQ(values(tape.gradient(y, w)), (std::vector<double>{1, 2}));
}
TEST(Tape, ANonFiniteGradientNamesItsSourceAndItsScope) {
  const Tensor x{0.0, 1.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = [&] {
    const scope outer("model");
    const scope inner("layer2");
    return sum(log(x + 0));
  }();
  const scope elsewhere("training");
  const std::string text = message([&] { (void)tape.gradient(y, x); });
  EXPECT_NE(text.find("log"), std::string::npos) << text;
  EXPECT_NE(text.find("tape_test.cpp"), std::string::npos) << text;
  EXPECT_NE(text.find("scope model/layer2"), std::string::npos) << text;
}
// Sees every call of a way back.
class Behalf : public Witness {
 public:
  Behalf() { attend(*this); }
  ~Behalf() override { dismiss(*this); }
  void after(const Call& c) noexcept override { seen.push_back({c.op.name, c.place().line, current_scope()}); }
  struct Seen {
    std::string_view op;
    std::uint32_t line;
    std::string scope;
  };
  std::vector<Seen> seen;
};
TEST(Tape, CallsOfARuleHaveTheLineAndTheScopeOfTheForwardCall) {
  const Tensor x{1.0, 2.0}, M{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape;
  tape.watch(x);
  std::uint32_t first = 0, second = 0;
  const Tensor y = [&] {
    const scope here("encoder");
    first = __LINE__ + 1;
    return matmul(M, x);
  }();
  const Tensor z = [&] {
    const scope here("decoder");
    second = __LINE__ + 1;
    return linalg::vector_norm(y);
  }();
  const scope elsewhere("training");
  const Behalf witness;
  (void)tape.gradient(z, x);
  int of_first = 0, of_second = 0;
  for (const Behalf::Seen& s : witness.seen) {
    EXPECT_EQ(s.line == first, s.scope == "encoder") << s.op << " at " << s.line << " in " << s.scope;
    EXPECT_EQ(s.line == second, s.scope == "decoder") << s.op << " at " << s.line << " in " << s.scope;
    of_first += s.line == first;
    of_second += s.line == second;
  }
  EXPECT_GT(of_first, 0);
  EXPECT_GT(of_second, 0);
}
TEST(Tape, FindingsAndRefusalsOfAWayBackHaveTheLineAndTheScopeOfTheirForwardCall) {
  const Tensor a{{2.0, 0.0}, {0.0, 2.0}}, bad{{1.0, 1.0}, {1.0, 1.0 + 1e-10}};
  GradientTape tape({.persistent = true});
  tape.watch({a, bad});
  const std::uint32_t line = __LINE__;
  const auto [kink, gauge, lost] = [&] {
    const scope here("decompose");
    const auto f = linalg::svd(a);
    const Tensor inverse = linalg::inv(bad);
    return std::tuple{f.S[{0}] * 1.0, sum(f.U * Tensor{{1.0, 2.0}, {3.0, 5.0}}), sum(inverse)};
  }();
  const scope elsewhere("training");
  (void)tape.gradient(kink, a);
  (void)tape.gradient(lost, bad);
  ASSERT_EQ(tape.findings().size(), 2U);
  for (const Finding& f : tape.findings()) {
    EXPECT_EQ(f.scope, "decompose") << f.text();
    EXPECT_EQ(f.place.line, f.op == "svd" ? line + 3 : line + 4) << f.text();
  }
  try {
    (void)tape.gradient(gauge, a);
    FAIL();
  } catch (const GaugeError& e) {
    EXPECT_EQ(e.finding().op, "svd") << e.what();
    EXPECT_EQ(e.finding().scope, "decompose") << e.what();
    EXPECT_EQ(e.finding().place.line, line + 3) << e.what();
  }
}
TEST(Tape, NothingIsRecordedWhileItIsStopped) {
  const Tensor x{2.0};
  GradientTape tape;
  tape.watch(x);
  Tensor factor;
  {
    const auto stopped = tape.stop_recording();
    factor = x * 10;
  }
  EXPECT_EQ(values(tape.gradient(x * factor, x)), (std::vector<double>{20}));
}
TEST(Tape, NothingPassesAStoppedGradient) {
  const Tensor x{2.0, 3.0};
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(values(tape.gradient(sum(x * stop_gradient(x)), x)), (std::vector<double>{2, 3}));
}
TEST(Tape, ConstantsInTheShapeOfATensorDoNotStandInTheWay) {
  const Tensor x{2.0, 3.0};
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(values(tape.gradient(sum(x * ones_like(x) + zeros_like(x)), x)), (std::vector<double>{1, 1}));
}
TEST(Tape, HooksSeeAndChangeGradientsOnTheirWay) {
  const Tensor x{2.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * 3, z = y * y;
  tape.hook(y, [](const Tensor& g) { return minimum(g, 1.0); });
  EXPECT_EQ(values(tape.gradient(z, x)), (std::vector<double>{3}));
}
TEST(Tape, BorrowedMemoryThatChangesIsNoticedOrWasCopied) {
  std::vector<double> small{1, 2}, large(100000, 1.0);
  {
    const Tensor x = Tensor::borrow(small.data(), f64, {2});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(x * x);
    small[0] = 100;
    EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{2, 4}));
  }
  const Tensor x = Tensor::borrow(large.data(), f64, {100000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x * x);
  large[7] = 100;
  EXPECT_THROW((void)tape.gradient(y, x), GradientError);
}
TEST(Tape, TapesOfSeveralThreadsShareATensor) {
  const Tensor x{1.0, 2.0, 3.0};
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> got(8);
  for (std::size_t k = 0; k < got.size(); ++k)
    threads.emplace_back([&, k] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        GradientTape tape;
        tape.watch(x);
        got[k] = values(tape.gradient(sum(x * x * static_cast<double>(k)), x));
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_DOUBLE_EQ(got[k][2], 6.0 * static_cast<double>(k));
}

// A derivative that overflows early on a long way back must not cost more than the way itself, again and again.
TEST(Tape, AnInfiniteDerivativeOnALongWayEndsInLinearTime) {
  const wp::checks off("off");
  const Tensor x = wp::full({4096}, 3.0, {.dtype = wp::f32});
  wp::GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int k = 0; k < 2000; ++k) y = y * 2.0F;
  EXPECT_TRUE(std::isinf(tape.gradient(wp::sum(y), x)[{0}].item<float>()));
}
}  // namespace
