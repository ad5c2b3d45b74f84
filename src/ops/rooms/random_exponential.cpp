#include "ops/random.hpp"

namespace wp {
extern const Op op_random_exponential;
namespace {

void infer(Call& c) {
  const DType d = real_dtype(c);
  const double rate = positive(c, "rate", "rate is 1 / mean.");
  need_range(c, d, (d == f64 ? 45.1 : 22.9) / rate);  // −log 2^−65, −log 2^−33
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  const double p[] = {attr(c, "rate").real()};
  kernels::draw(stream_of(c), y.dtype() == f64 ? simd::Draw::exponential64 : simd::Draw::exponential32, p, y.dtype(),
                y.node()->data, y.size());
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) {
    out.push_back({{}, {Dims{3, 7}, 42, 0, 1.0, d}});
    out.push_back({{}, {Dims{5}, -42, 100, 0.25, d}});
  }
  out.push_back({{}, {Dims{1000}, 1, 0, 1.0, f32}});
  out.push_back({{}, {Dims{1000}, 1, 0, 1.0, f64}});
  return out;
}

}  // namespace

const Op op_random_exponential = {
    .name = "exponential",
    .ns = "random",
    .group = "random",
    .doc = "Numbers from the exponential distribution with density rate exp(-rate x), x >= 0: -log(u) / rate.",
    .params = {},
    .attrs = random_attrs({}, {{"rate", AttrType::real, 1.0, "1 / mean, greater than 0."}, dtype_option(f64)}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .samples = samples,
};

}  // namespace wp
