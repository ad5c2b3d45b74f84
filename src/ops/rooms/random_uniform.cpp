#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "ops/random.hpp"

namespace wp {
extern const Op op_random_uniform;
namespace {

double rounded(DType d, double v) {
  char bits[8];
  kernels::convert(bits, d, &v, f64, 1, 1);
  kernels::convert(&v, f64, bits, d, 1, 1);
  return v;
}

// The next number of a dtype above or below v, which is one.
double neighbour(DType d, double v, bool up) {
  if (d == f64) return std::nextafter(v, up ? HUGE_VAL : -HUGE_VAL);
  if (d == f32) return static_cast<double>(std::nextafter(static_cast<float>(v), up ? HUGE_VALF : -HUGE_VALF));
  const auto value = d == f16 ? kernels::half_value : kernels::bfloat16_value;
  if (v == 0) return static_cast<double>(value(up ? 1 : 0x8001));
  const auto bits = (d == f16 ? kernels::half_bits : kernels::bfloat16_bits)(static_cast<float>(v));
  return static_cast<double>(value(static_cast<std::uint16_t>((v > 0) == up ? bits + 1 : bits - 1)));
}

struct Bounds {
  double low, width, most;  // the least result, the distance to high, the greatest result
};
Bounds bounds(const Call& c, DType d) {
  const double low = finite(c, "low"), high = finite(c, "high");
  if (!(low < high))
    refuse<ArgumentError>("WP-ARG-001", say("high must be greater than low; got low = ", low, ", high = ", high, "."),
                          "Swap them, or use full for a constant.");
  const double limit = finfo(d).max;
  if (std::max(-low, high) > limit || high - low > limit)
    refuse<ArgumentError>("WP-ARG-001",
                          say("low, high and high - low must not exceed ", limit, ", the largest ", d,
                              "; got low = ", low, ", high = ", high, "."),
                          d == f64 ? "Draw from a smaller interval and scale." : "Draw in f64.");
  Bounds b{rounded(d, low), 0, rounded(d, high)};
  if (b.low < low) b.low = neighbour(d, b.low, true);
  if (b.most >= high) b.most = neighbour(d, b.most, false);
  if (b.most < b.low)
    refuse<ArgumentError>(
        "WP-ARG-001",
        say("there is no ", d, " number x with low <= x < high; got low = ", low, ", high = ", high, "."),
        "Widen the interval, or draw in f64.");
  b.width = high - b.low;
  return b;
}

void infer(Call& c) {
  const DType d = real_dtype(c);
  bounds(c, d);
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  using enum simd::Draw;
  Tensor& y = c.out[0];
  const DType d = y.dtype();
  const Bounds b = bounds(c, d);
  const double p[] = {b.low, b.width, b.most};
  const simd::Draw which = d == f64 ? uniform53 : d == f32 ? uniform24 : d == f16 ? uniform11 : uniform8;
  kernels::draw(stream_of(c), which, p, d, y.node()->data, y.size());
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const std::int64_t key = 0x243f6a8885a308d3;
  for (const DType d : {f16, bf16, f32, f64}) {
    out.push_back({{}, {Dims{2, 9}, key, 0, 0.0, 1.0, d}});
    out.push_back({{}, {Dims{7}, -key, 5, -0.1, 0.3, d}});
  }
  out.push_back({{}, {Dims{3000}, key, 1, 0.0, 1.0, f32}});
  out.push_back({{}, {Dims{6}, -1, -2, 0.0, 1.0, f64}, "the counter wraps around"});
  out.push_back({{}, {Dims{9}, 7, std::int64_t{0xfffffffe}, -3.0, 5.0, f32}, "the counter crosses 2^32"});
  out.push_back({{}, {Dims{40}, 3, 0, 1.0, 1.015625, bf16}, "results are rounded down from high"});
  out.push_back({{}, {Dims{40}, 3, 0, 1.0, 0x1.0000000000002p0, f64}, "results are rounded down from high"});
  out.push_back({{}, {Dims{}, 3, 0, 0.0, 1.0, f64}});
  out.push_back({{}, {Dims{0}, 3, 0, 0.0, 1.0, f64}});
  return out;
}

}  // namespace

const Op op_random_uniform = {
    .name = "uniform",
    .ns = "random",
    .group = "random",
    .doc =
        "Numbers that are uniformly distributed over low <= x < high. With u = k / 2^p, where k is a random integer "
        "of "
        "p bits (f64: 53, f32: 24, f16: 11, bf16: 8), the result is low + (high - low) u, and never high.",
    .params = {},
    .attrs = random_attrs({}, {{"low", AttrType::real, 0.0, "The least result."},
                               {"high", AttrType::real, 1.0, "What all results are less than."},
                               dtype_option(f64)}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .branches = {"the counter wraps around", "the counter crosses 2^32", "results are rounded down from high"},
    .samples = samples,
};

}  // namespace wp
