#include <cmath>

#include "base/text.hpp"
#include "ops/random.hpp"

namespace wp {
extern const Op op_random_truncated_normal;
namespace {

struct Plan {
  simd::Sampler sampler;
  double p[4];
  double sign;  // −1: draws are made on the mirrored interval
};

// Robert (1995), "Simulation of truncated normal variables": whichever proposal is accepted often enough.
Plan plan(double low, double high) {
  using enum simd::Sampler;
  const bool mirrored = high < 0;
  const double a = mirrored ? -high : low, b = mirrored ? -low : high, sign = mirrored ? -1.0 : 1.0;
  if (a <= 0) {
    if (b - a >= 2.5) return {normal_between, {a, b}, sign};
    return {uniform_between, {a, b, 0}, sign};
  }
  const double root = std::sqrt(a * a + 4), rate = (a + root) / 2, excess = 2 / (a + root);  // rate − a
  if (b - a <= 1 / rate) return {uniform_between, {a, b, a * a}, sign};
  if (a < 0.25 && b > 2) return {normal_between, {a, b}, sign};
  return {exponential_beyond, {a, b, rate, excess}, sign};
}

void infer(Call& c) {
  const DType d = real_dtype(c);
  const double mean = finite(c, "mean"), deviation = attr(c, "std").real();
  if (!(deviation >= 0) || !std::isfinite(deviation))
    refuse_value(c, "std", "a finite number >= 0", "std is the standard deviation before truncation.");
  const double low = attr(c, "low").real(), high = attr(c, "high").real();
  constexpr double far = 1e100;
  if (!(low < high) || low > far || high < -far)
    refuse<ArgumentError>(
        "WP-ARG-001",
        say("low must be less than high, low <= 1e100 and high >= -1e100; got low = ", low, ", high = ", high, "."),
        "They count standard deviations from the mean; leave one side open with an infinite bound.");
  // Beyond 9.6, or beyond the nearer bound by 46 of its reciprocals, nothing is drawn.
  const double nearest = low > 0 ? low : high < 0 ? -high : 0;
  const double reach = std::fmin(std::fmax(-low, high), std::fmax(9.6, nearest + 46));
  need_range(c, d, std::abs(mean) + deviation * reach);
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  const Plan s = plan(attr(c, "low").real(), attr(c, "high").real());
  kernels::sample(stream_of(c), s.sampler, s.p,
                  {.multiply = s.sign * attr(c, "std").real(), .add = attr(c, "mean").real()}, y.dtype(),
                  y.node()->data, y.size());
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) out.push_back({{}, {Dims{2, 9}, 42, 0, 0.0, 1.0, -2.0, 2.0, d}});
  out.push_back({{}, {Dims{200}, -42, 7, 0.0, 1.0, -2.0, 2.0, f64}, "draws are rejected"});
  out.push_back({{}, {Dims{30}, 1, 0, 1.0, 2.0, 0.0, HUGE_VAL, f64}, "one bound is infinite"});
  out.push_back({{}, {Dims{30}, 1, 0, 0.0, 1.0, 6.0, HUGE_VAL, f64}, "far in the tail"});
  out.push_back({{}, {Dims{30}, 1, 0, 0.0, 1.0, -40.0, -38.0, f64}, "far in the tail"});
  out.push_back({{}, {Dims{30}, 1, 0, 0.0, 1.0, -0.5, 1.0, f64}, "a narrow interval"});
  out.push_back({{}, {Dims{30}, 1, 0, 0.0, 1.0, -3.25, -3.125, f64}, "a narrow interval"});
  out.push_back({{}, {Dims{5}, 1, 0, 1.5, 0.0, -2.0, 2.0, f64}});
  return out;
}

}  // namespace

const Op op_random_truncated_normal = {
    .name = "truncated_normal",
    .ns = "random",
    .group = "random",
    .doc =
        "Numbers from the normal distribution, given that they lie between mean + std low and mean + std high. Exact "
        "for every interval, however far in the tail.",
    .params = {},
    .attrs =
        random_attrs({}, {{"mean", AttrType::real, 0.0, "The mean before truncation."},
                          {"std", AttrType::real, 1.0, "The standard deviation before truncation, at least 0."},
                          {"low", AttrType::real, -2.0, "The lower bound, in standard deviations from the mean."},
                          {"high", AttrType::real, 2.0, "The upper bound, in standard deviations from the mean."},
                          dtype_option(f64)}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .branches = {"draws are rejected", "one bound is infinite", "far in the tail", "a narrow interval"},
    .samples = samples,
};

}  // namespace wp
