#include <cmath>
#include <cstring>

#include "ops/random.hpp"

namespace wp {
extern const Op op_random_bernoulli;
namespace {

void infer(Call& c) {
  const double p = attr(c, "p").real();
  if (!(p >= 0 && p <= 1)) refuse_value(c, "p", "a probability, from 0 to 1", "For odds q use q / (1 + q).");
  c.output(DType::boolean, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  const double p = attr(c, "p").real();
  if (p == 1) {
    std::memset(y.node()->data, 1, static_cast<std::size_t>(y.size()));
    return;
  }
  const double threshold[] = {std::nearbyint(std::ldexp(p, 64))};
  kernels::draw(stream_of(c), simd::Draw::bernoulli, threshold, DType::boolean, y.node()->data, y.size());
}

std::vector<Sample> samples() {
  return {{{}, {Dims{5, 7}, 0.3, 42, 0}},
          {{}, {Dims{3000}, 0.5, -42, 7}},
          {{}, {Dims{20}, 1e-12, 1, 2}},
          {{}, {Dims{20}, 1e-21, 1, 2}},
          {{}, {Dims{20}, 0x1.fffffffffffffp-1, 1, 2}},
          {{}, {Dims{9}, 0.0, 1, 2}, "p = 0"},
          {{}, {Dims{9}, 1.0, 1, 2}, "p = 1"}};
}

}  // namespace

const Op op_random_bernoulli = {
    .name = "bernoulli",
    .ns = "random",
    .group = "random",
    .doc = "True with probability p, which is met to within 2^-65.",
    .params = {},
    .attrs = random_attrs(
        {{.name = "p", .type = AttrType::real, .doc = "The probability of true, from 0 to 1.", .required = true}},
        {}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kIntegerDraws,
    .branches = {"p = 0", "p = 1"},
    .samples = samples,
};

}  // namespace wp
