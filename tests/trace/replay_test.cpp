#include "wellposed/replay.hpp"

#include <gtest/gtest.h>

#include <functional>

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

TEST(Replay, IsNotSeenByTheWindow) {
  const wp::Trace trace;
  wp::softmax(Tensor{1.0F, 2.0F});
  const std::size_t before = trace.calls();
  const wp::Replay r = wp::replay();
  EXPECT_EQ(trace.calls(), before);
  EXPECT_EQ(r.plain, (std::vector<std::string>{"softmax"}));
  EXPECT_NE(r.json().find("\"plain\": [\"softmax\"]"), std::string::npos);
}

TEST(Replay, WithoutATraceIsRefused) {
  EXPECT_THROW(wp::replay(), wp::ArgumentError);
}

}  // namespace
