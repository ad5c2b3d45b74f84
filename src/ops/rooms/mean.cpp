#include "kernels/sums.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_mean;
namespace {

constexpr kernels::Reductions table = kernels::reductions<kernels::Mean>(simd::Floats{});
constexpr kernels::Reductions careful = kernels::rare_reductions<kernels::CarefulMean>(simd::Floats{});

void forward(Call& c) {
  run_reduction(c, table, c.out[0].dtype(), 0, 0, {&careful});
}

Tensors vjp(const Backward& b) {
  return {divide(spread(b, b.g()), static_cast<double>(run_length(b)))};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = reduction_samples(op_mean, {1, 2.5, -3, 4, 0.1, -7, 100});
  all.push_back({{sample_tensor(f64, {3}, {1.5e308, 1.5e308, 1.75e308})}, {{}, false}, "the sum overflows"});
  all.push_back({{sample_tensor(f32, {3}, {3e38, 3e38, 2e38})}, {{}, false}, "the sum overflows"});
  all.push_back({{sample_tensor(f64, {0, 2}, {0})}, {Dims{0}, false}, "empty: nan"});
  return all;
}

}  // namespace

const Op op_mean = {
    .name = "mean",
    .group = "statistical",
    .doc =
        "The arithmetic mean over axes. f32 is summed in f64; no sum overflows on the way. Integers and bool give "
        "f64.",
    .params = {{"x", kinds::any}},
    .attrs = reduction_attrs(),
    .infer =
        [](Call& c) {
          const DType d = c.in[0].dtype();
          c.output(is_floating(d) ? d : f64, reduced_output(c));
        },
    .forward = forward,
    .domain = "at least one element",
    .inside = [](std::span<const double> v) { return !v.empty(); },
    .advice = "Select fewer axes, or ask for the size first.",
    .flow = flow_reduction,
    .vjp = vjp,
    .jvp = jvp_linear,
    .branches = {"the sum overflows", "empty: nan"},
    .samples = samples,
};

}  // namespace wp
