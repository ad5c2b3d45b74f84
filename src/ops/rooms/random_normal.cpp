#include <cmath>

#include "ops/random.hpp"

namespace wp {
extern const Op op_random_normal;
namespace {

void infer(Call& c) {
  const DType d = real_dtype(c);
  const double mean = finite(c, "mean"), deviation = attr(c, "std").real();
  if (!(deviation >= 0) || !std::isfinite(deviation))
    refuse_value(c, "std", "a finite number >= 0", "std is the standard deviation, the root of the variance.");
  // Standard draws reach √(2 · 33 log 2) = 6.77 in f32 and √(2 · 65 log 2) = 9.50 in f64.
  need_range(c, d, std::abs(mean) + (d == f64 ? 9.6 : 6.8) * deviation);
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  const double p[] = {attr(c, "mean").real(), attr(c, "std").real()};
  kernels::draw(stream_of(c), y.dtype() == f64 ? simd::Draw::normal64 : simd::Draw::normal32, p, y.dtype(),
                y.node()->data, y.size());
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) {
    out.push_back({{}, {Dims{3, 7}, 42, 0, 0.0, 1.0, d}});
    out.push_back({{}, {Dims{5}, -42, 100, 2.5, 0.25, d}});
  }
  out.push_back({{}, {Dims{1000}, 1, 0, 0.0, 1.0, f32}});
  out.push_back({{}, {Dims{1000}, 1, 0, 0.0, 1.0, f64}});
  out.push_back({{}, {Dims{4}, 1, -1, 3.0, 0.0, f64}, "std = 0"});
  return out;
}

}  // namespace

const Op op_random_normal = {
    .name = "normal",
    .ns = "random",
    .group = "random",
    .doc =
        "Numbers from the normal distribution: mean + std z, where pairs of z are sqrt(-2 log u) (cos 2 pi v, sin 2 "
        "pi "
        "v) (Box and Muller). Tails reach 6.7 standard deviations in f32, 9.4 in f64.",
    .params = {},
    .attrs = random_attrs({}, {{"mean", AttrType::real, 0.0, "The mean."},
                               {"std", AttrType::real, 1.0, "The standard deviation, at least 0."},
                               dtype_option(f64)}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .branches = {"std = 0"},
    .samples = samples,
};

}  // namespace wp
