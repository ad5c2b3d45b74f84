#include "wellposed/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;

// Programs with one planted cancellation, and the op that loses the digits.
struct Planted {
  const char* name;
  const char* op;
  std::function<int(wp::DType)> run;  // gives the line of the cancellation
};

Tensor of(wp::DType d, std::vector<double> v) {
  const auto n = static_cast<std::int64_t>(v.size());
  return wp::astype(Tensor::from(v, {n}), d);
}

const std::vector<Planted>& programs() {
  static const std::vector<Planted> all = {
      {"variance as a difference of squares", "subtract",
       [](wp::DType d) {
         const Tensor x = of(d, {1000.1, 1000.2, 1000.3, 1000.4});
         const Tensor v = wp::subtract(wp::mean(wp::square(x)), wp::square(wp::mean(x)));
         const int line = __LINE__ - 1;
         wp::sqrt(wp::abs(v));
         return line;
       }},
      {"a root of a quadratic", "subtract",
       [](wp::DType d) {
         const Tensor b = of(d, {1234.5}), c = of(d, {0.321});
         const Tensor root = wp::sqrt(wp::subtract(wp::square(b), wp::multiply(c, 4.0)));
         wp::divide(wp::subtract(b, root), 2.0);
         return __LINE__ - 1;
       }},
      {"one minus a cosine", "subtract",
       [](wp::DType d) {
         const Tensor x = of(d, {0.0011, 0.0023});
         wp::divide(wp::subtract(1.0, wp::cos(x)), wp::square(x));
         return __LINE__ - 1;
       }},
      {"a small exponential less one", "subtract",
       [](wp::DType d) {
         const Tensor x = of(d, {1.23e-4, 3.1e-5});
         wp::divide(wp::subtract(wp::exp(x), 1.0), x);
         return __LINE__ - 1;
       }},
      {"a sum that is added in the wrong order", "subtract",
       [](wp::DType d) {
         const Tensor big = of(d, {1e5}), small = of(d, {0.0123});
         wp::multiply(wp::subtract(wp::add(big, small), big), 3.0);
         return __LINE__ - 1;
       }},
  };
  return all;
}

TEST(Replay, RanksThePlantedCancellationFirst) {
  for (const wp::DType d : {wp::f32, wp::f64})
    for (const Planted& p : programs()) {
      const wp::Trace trace;
      const int line = p.run(d);
      const wp::Replay r = wp::replay();
      ASSERT_FALSE(r.calls.empty()) << p.name << " " << wp::name(d);
      EXPECT_EQ(r.calls[0].op, p.op) << p.name << " " << wp::name(d) << "\n" << r.text();
      EXPECT_GT(r.calls[0].digits, 1.5) << p.name;
      EXPECT_NE(r.calls[0].place.text().find("replay_test.cpp"), std::string::npos);
      EXPECT_EQ(r.calls[0].place.line, static_cast<unsigned>(line)) << p.name;
    }
}

TEST(Replay, InF64FindsTheSameInProgramsInF32) {
  for (const Planted& p : programs()) {
    const wp::Trace trace;
    const int line = p.run(wp::f32);
    const wp::Replay r = wp::replay({.precision = "f64"});
    ASSERT_FALSE(r.calls.empty()) << p.name;
    EXPECT_EQ(r.calls[0].op, p.op) << p.name;
    EXPECT_EQ(r.calls[0].place.line, static_cast<unsigned>(line)) << p.name;
    EXPECT_FALSE(r.plain.empty()) << "all of it was computed in f64";
  }
  const wp::Trace trace;
  EXPECT_THROW(wp::replay({.precision = "quad"}), wp::ArgumentError);
}

TEST(Replay, AHealthyProgramLosesNothing) {
  const wp::Trace trace;
  wp::random::Generator g(5);
  const Tensor x = g.normal({16, 8}, {.dtype = wp::f32}), w = g.normal({8, 4}, {.dtype = wp::f32});
  wp::mean(wp::square(wp::tanh(wp::matmul(x, w))));
  const wp::Replay r = wp::replay();
  EXPECT_EQ(r.replayed, 4) << "draws are what was meant";
  for (const wp::LostDigits& l : r.calls) EXPECT_LT(l.digits, 1) << r.text();
}

TEST(Replay, OverflowIsToldApartFromLostDigits) {
  const wp::Trace trace;
  const Tensor x = of(wp::f32, {0.0011}), large = of(wp::f32, {1.0, 90.0});
  wp::divide(wp::subtract(1.0, wp::cos(x)), wp::square(x));
  wp::sum(wp::exp(large));
  const int line = __LINE__ - 1;
  const wp::Replay r = wp::replay();
  ASSERT_FALSE(r.calls.empty());
  EXPECT_EQ(r.calls[0].op, "subtract") << r.text();
  for (const wp::LostDigits& l : r.calls) EXPECT_TRUE(std::isfinite(l.digits)) << r.text();
  ASSERT_EQ(r.overflowed.size(), 1U) << "what follows has it from there\n" << r.text();
  EXPECT_EQ(r.overflowed[0].op, "exp");
  EXPECT_EQ(r.overflowed[0].element, wp::Dims{1});
  EXPECT_EQ(r.overflowed[0].value, "inf");
  EXPECT_EQ(r.overflowed[0].exact.substr(0, 6), "1.2204");
  EXPECT_EQ(r.overflowed[0].place.line, static_cast<unsigned>(line));
  EXPECT_NE(r.text().find("Not finite, though the exact result is:\n  exp[1]: inf instead of 1.2204"),
            std::string::npos)
      << r.text();
  const auto parsed = nlohmann::json::parse(r.json());
  EXPECT_EQ(parsed["overflowed"][0]["error"], "inf");
  EXPECT_GT(parsed["calls"][0]["digits"].get<double>(), 1);
}

// Sums and products of matrices cancel too.
TEST(Replay, RanksACancellationInsideOfASumOrAProductFirst) {
  struct Inside {
    const char* op;
    std::function<void(const Tensor&, const Tensor&)> run;
  };
  const std::vector<Inside> all = {
      {"sum", [](const Tensor& x, const Tensor& y) { wp::multiply(wp::sum(wp::multiply(x, y)), 2.0); }},
      {"matmul", [](const Tensor& x, const Tensor& y) {
         wp::multiply(wp::matmul(wp::multiply(x, y), wp::divide(y, y)), 2.0);
       }}};
  for (const wp::DType d : {wp::f32, wp::f64})
    for (const Inside& p : all) {
      // 0.1·Σ a_k − 0.1·(Σ a_k − 1), where 0.1·a_k has more digits than the dtype. (Both ops round
      // once: it is the rounding of their operands that they lay bare.)
      const double scale = d == wp::f32 ? 1e4 : 1e12;
      std::vector<double> x, y(9, 0.1);
      double sum = 0;
      for (int k = 0; k < 8; ++k) sum += x.emplace_back(scale + 3 * k);
      x.push_back(1 - sum);
      const wp::Trace trace;
      p.run(of(d, x), of(d, y));
      const wp::Replay r = wp::replay();
      ASSERT_FALSE(r.calls.empty()) << p.op << " " << wp::name(d);
      EXPECT_EQ(r.calls[0].op, p.op) << wp::name(d) << "\n" << r.text();
      EXPECT_GT(r.calls[0].digits, 1.5) << r.text();
    }
}

// The same sum in every op that adds. The products 0.1·a_k are rounded; without that it would be 0.1.
TEST(Replay, KnowsTheExactSumInEveryOpThatAdds) {
  using Adds = std::function<Tensor(const Tensor& x)>;
  const std::vector<std::pair<const char*, Adds>> all = {
      {"sum", [](const Tensor& x) { return wp::sum(x); }},
      {"mean", [](const Tensor& x) { return wp::mean(x); }},
      {"cumulative_sum", [](const Tensor& x) { return wp::cumulative_sum(x)[x.size() - 1]; }},
      {"matmul", [](const Tensor& x) { return wp::matmul(x, wp::ones({x.size()})); }},
      {"vecdot", [](const Tensor& x) { return wp::vecdot(x, wp::ones({x.size()})); }},
      {"tensordot", [](const Tensor& x) { return wp::tensordot(x, wp::ones({x.size()}), {.axes = 1}); }},
      {"einsum",
       [](const Tensor& x) {
         return wp::einsum("i,i", {x, wp::ones({x.size()})});
       }},
      {"trace", [](const Tensor& x) { return wp::linalg::trace(x * wp::eye(x.size())); }},
      {"diff",
       [](const Tensor& x) {
         const Tensor half = wp::sum(x[wp::slice(0, 8)]);
         return wp::diff(wp::stack({-x[8], half}));
       }},
  };
  std::vector<double> a;
  double sum = 0;
  for (int k = 0; k < 8; ++k) sum += a.emplace_back(1e12 + 3 * k);
  a.push_back(1 - sum);
  for (const auto& [op, add] : all) {
    const wp::Trace trace;
    (void)add(of(wp::f64, a) * 0.1);
    const wp::Replay r = wp::replay();
    EXPECT_TRUE(r.plain.empty()) << r.plain[0] << " was computed in f64";
    const auto told = std::find_if(r.calls.begin(), r.calls.end(), [&](const auto& l) { return l.op == op; });
    const auto alone = std::find_if(r.elements.begin(), r.elements.end(), [&](const auto& l) { return l.op == op; });
    ASSERT_TRUE(told != r.calls.end() || alone != r.elements.end()) << op << "\n" << r.text();
    const wp::LostDigits& l = told != r.calls.end() ? *told : *alone;
    EXPECT_GT(l.digits, 8) << op << "\n" << r.text();
    EXPECT_NEAR(std::stod(l.exact), std::string_view(op) == "mean" ? 0.1 / 9 : 0.1, 1e-15) << op;
  }
}

TEST(Replay, OfMomentsAndOfWhatIsMadeOfExponentialsIsWideAndFindsThemGood) {
  const wp::Trace trace;
  wp::random::Generator g(11);
  const Tensor x = g.normal({6, 20});
  for (const std::int64_t axis : {0, 1}) {
    (void)wp::softmax(x, {.axis = axis});
    (void)wp::log_softmax(x, {.axis = axis});
    (void)wp::logsumexp(x, {.axis = wp::Dims{axis}});
    (void)wp::var(x, {.axis = wp::Dims{axis}, .correction = 1});
    (void)wp::std(x, {.axis = wp::Dims{axis}});
    (void)wp::prod(x, {.axis = wp::Dims{axis}});
    (void)wp::cumulative_prod(x, {.axis = axis, .include_initial = true});
  }
  (void)wp::logaddexp(x, x + 1.0);
  (void)wp::clip(x, -1.0, Tensor());
  (void)wp::einsum("ij,kj->ik", {x, x});
  const wp::Replay r = wp::replay();
  EXPECT_EQ(r.replayed, 18);
  EXPECT_TRUE(r.plain.empty()) << r.plain[0] << " was computed in f64";
  for (const wp::LostDigits& l : r.calls) EXPECT_LT(l.digits, 1.5) << r.text();
  EXPECT_TRUE(r.elements.empty()) << r.text();
}

// The norm of the result does not show it: the other elements are large and right.
TEST(Replay, NamesASmallElementThatLostItsDigits) {
  for (const wp::DType d : {wp::f32, wp::f64}) {
    const wp::Trace trace;
    const double small = d == wp::f32 ? 1e-3 : 1e-7;
    (void)wp::sqrt(wp::subtract(1.0, wp::cos(of(d, {1.0, small, 2.0}))));
    const wp::Replay r = wp::replay();
    ASSERT_FALSE(r.elements.empty()) << r.text();
    EXPECT_EQ(r.elements[0].op, "subtract");
    EXPECT_EQ(r.elements[0].element, wp::Dims{1});
    EXPECT_GT(r.elements[0].digits, d == wp::f32 ? 3.5 : 7.5);
    EXPECT_EQ(r.elements.size(), 1U) << "what follows has it from there\n" << r.text();
    EXPECT_NE(r.text().find("Single elements that lost half of their digits"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(r.json())["elements"][0]["op"], "subtract");
  }
}

TEST(Replay, GivenNanAndInfAreNotCalledOverflowAndDoNotHideTheRest) {
  constexpr double inf = HUGE_VAL;
  const wp::Trace trace;
  const Tensor data = of(wp::f32, {1.0, NAN, -2.0});
  (void)wp::maximum(wp::relu(data * 2.0F), 0.5F);
  (void)wp::minimum(data, 0.5F);
  const Tensor mask = of(wp::f32, {0.0, -inf}), x = of(wp::f32, {1.1e-3, 0.5});
  (void)wp::subtract(1.0F, wp::add(wp::cos(x), mask));
  const wp::Replay r = wp::replay();
  EXPECT_TRUE(r.overflowed.empty()) << r.text();
  ASSERT_FALSE(r.calls.empty());
  EXPECT_EQ(r.calls[0].op, "subtract") << r.text();
}

TEST(Replay, SaysWhatItCannotSee) {
  const wp::Trace trace;
  (void)wp::gelu(Tensor{0.5, 1.0});
  (void)wp::gelu(of(wp::f32, {0.5, 1.0}));
  (void)(Tensor{wp::complex128(1, 2)} * 2.0);
  const wp::Replay r = wp::replay();
  EXPECT_EQ(r.blind, std::vector<std::string>{"gelu"});
  EXPECT_NE(r.text().find("what they lose themselves is not seen: gelu."), std::string::npos) << r.text();
  EXPECT_EQ(r.missing, "1 call of complex numbers was taken as recorded.");
}

TEST(Replay, OfProductsOfBatchesAndVectorsIsWide) {
  const wp::Trace trace;
  wp::random::Generator g(7);
  const Tensor a = g.normal({3, 1, 4, 5}), b = g.normal({2, 5, 6}), v = g.normal({5});
  for (const auto& [x, y] : {std::pair(a, b), {a, v}, {v, b}, {v, v}}) (void)wp::matmul(x, y);
  const wp::Replay r = wp::replay();
  EXPECT_EQ(r.replayed, 4);
  EXPECT_TRUE(r.plain.empty()) << r.plain[0] << " was computed in f64";
  for (const wp::LostDigits& l : r.calls) EXPECT_LT(l.digits, 1) << "the same product: " << r.text();
}

TEST(Replay, IsNotSeenByTheWindow) {
  const wp::Trace trace;
  wp::gelu(Tensor{1.0F, 2.0F});
  const std::size_t before = trace.calls();
  const wp::Replay r = wp::replay();
  EXPECT_EQ(trace.calls(), before);
  EXPECT_EQ(r.plain, (std::vector<std::string>{"gelu"}));
  EXPECT_TRUE(r.blind.empty()) << "f64 is exact enough for f32";
  EXPECT_NE(r.json().find("\"plain\": [\"gelu\"]"), std::string::npos);
}

TEST(Replay, WithoutATraceIsRefused) {
  EXPECT_THROW(wp::replay(), wp::ArgumentError);
}

}  // namespace
