#include <cmath>

#include "ops/random.hpp"

namespace wp {
extern const Op op_random_gamma;
extern const Op op_random_beta;
namespace {

constexpr double kLeast = 1e-300;  // below, 1 / concentration times a logarithm overflows

double concentration(const Call& c, std::string_view name) {
  const double v = attr(c, name).real();
  if (!(v >= kLeast) || !std::isfinite(v))
    refuse_value(c, name, "a finite number >= 1e-300", "It is the exponent of x, plus 1, in the density.");
  return v;
}

void infer_gamma(Call& c) {
  const DType d = real_dtype(c);
  const kernels::GammaPlan plan = kernels::gamma_plan(concentration(c, "concentration"));
  const double rate = positive(c, "rate", "rate is concentration / mean.");
  const double most = 1 + 9.6 * plan.p[1], largest = plan.p[0] * (most * most * most);
  need_range(c, f64, largest);
  need_range(c, d, largest / rate);
  c.output(d, attr(c, "shape").ints());
}

void forward_gamma(Call& c) {
  Tensor& y = c.out[0];
  const kernels::GammaPlan plan = kernels::gamma_plan(attr(c, "concentration").real());
  kernels::sample(stream_of(c), plan.boosted ? simd::Sampler::gamma_boosted : simd::Sampler::gamma, plan.p,
                  {.divide = attr(c, "rate").real()}, y.dtype(), y.node()->data, y.size());
}

std::vector<Sample> gamma_samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) out.push_back({{}, {Dims{2, 9}, 2.5, 42, 0, 1.0, d}});
  out.push_back({{}, {Dims{30}, 0.5, -42, 7, 2.0, f64}, "concentration < 1"});
  out.push_back({{}, {Dims{100}, 1.0, 1, 0, 1.0, f64}, "draws are rejected"});
  out.push_back({{}, {Dims{9}, 1e12, 1, 0, 1.0, f64}});
  out.push_back({{}, {Dims{9}, 3000.0, 1, 0, 3.0, f64}});
  return out;
}

void infer_beta(Call& c) {
  const DType d = real_dtype(c);
  concentration(c, "a");
  concentration(c, "b");
  c.output(d, attr(c, "shape").ints());
}

void forward_beta(Call& c) {
  Tensor& y = c.out[0];
  kernels::sample_beta(stream_of(c), attr(c, "a").real(), attr(c, "b").real(), y.dtype(), y.node()->data, y.size());
}

std::vector<Sample> beta_samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) out.push_back({{}, {Dims{2, 9}, 2.0, 3.5, 42, 0, d}});
  out.push_back({{}, {Dims{30}, 0.5, 0.75, -42, 7, f64}, "a, b < 1"});
  out.push_back({{}, {Dims{30}, 0.5, 4.0, -42, 7, f64}});
  out.push_back({{}, {Dims{30}, 0.05, 0.05, 1, 7, f64}});
  return out;
}

AttrSpec exponent(std::string_view name, std::string_view doc) {
  return {.name = name, .type = AttrType::real, .doc = doc, .required = true};
}

}  // namespace

const Op op_random_gamma = {
    .name = "gamma",
    .ns = "random",
    .group = "random",
    .doc =
        "Numbers from the gamma distribution, whose density is proportional to x^(concentration - 1) exp(-rate x); "
        "mean concentration / rate (Marsaglia and Tsang 2000). Draws too small for the dtype are 0.",
    .params = {},
    .attrs = random_attrs({exponent("concentration", "The shape parameter, greater than 0.")},
                          {{"rate", AttrType::real, 1.0, "1 / scale, greater than 0."}, dtype_option(f64)}),
    .infer = infer_gamma,
    .forward = forward_gamma,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .branches = {"concentration < 1", "draws are rejected"},
    .samples = gamma_samples,
};

const Op op_random_beta = {
    .name = "beta",
    .ns = "random",
    .group = "random",
    .doc =
        "Numbers from the beta distribution on 0 <= x <= 1, whose density is proportional to x^(a - 1) (1 - x)^(b - "
        "1); "
        "mean a / (a + b).",
    .params = {},
    .attrs = random_attrs({exponent("a", "The exponent of x, plus 1; greater than 0."),
                           exponent("b", "The exponent of 1 - x, plus 1; greater than 0.")},
                          {dtype_option(f64)}),
    .infer = infer_beta,
    .forward = forward_beta,
    .notes = Notes::gives,
    .no_derivative = kNoDerivative,
    .branches = {"a, b < 1"},
    .samples = beta_samples,
};

}  // namespace wp
