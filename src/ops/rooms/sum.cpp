#include "kernels/sums.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sum;
namespace {

constexpr kernels::Reductions table =
    kernels::reductions<kernels::Sum>(simd::Types<std::int64_t, std::uint64_t>{} + simd::Floats{});
constexpr kernels::Reductions careful = kernels::rare_reductions<kernels::CarefulSum>(simd::Floats{});

void forward(Call& c) {
  const DType d = c.out[0].dtype();
  run_reduction(c, table, total_loop(d), 0, 0, {is_floating(d) ? &careful : nullptr});
}

std::vector<Sample> samples() {
  std::vector<Sample> all = reduction_samples(op_sum, {1, 2.5, -3, 4, 0.1, -7, 100}, {Attr()});
  all.push_back({{sample_tensor(u8, {4}, {200, 100, 7, 255})}, {{}, false, u8}, "integers wrap around"});
  all.push_back({{sample_tensor(i32, {3}, {1, 2, 3})}, {{}, false, f32}, "dtype"});
  all.push_back({{sample_tensor(f32, {2, 0}, {0})}, {Dims{1}, false, Attr()}, "empty: 0"});
  all.push_back(
      {{sample_tensor(f64, {3}, {1.5e308, 1.5e308, -1.75e308})}, {{}, false, Attr()}, "overflow on the way"});
  all.push_back({{sample_tensor(f32, {3}, {3e38, 3e38, -1e38})}, {{}, false, Attr()}, "the sum overflows: inf"});
  all.push_back({{sample_tensor(f64, {9}, {1e16, 1, -1e16})}, {{}, false, Attr()}, "cancels"});
  all.push_back({{sample_tensor(f32, {9}, {1e10, 1, -1e10})}, {{}, false, Attr()}, "cancels"});
  all.push_back({{sample_tensor(c128, {9}, {{1e16, 1}, {1, 1e16}, {-1e16, -1e16}})}, {{}, false, Attr()}, "cancels"});
  return all;
}

}  // namespace

const Op op_sum = {
    .name = "sum",
    .group = "statistical",
    .doc =
        "The sum of elements over axes, added in twice the precision and rounded once: what cancels leaves no trace. "
        "It "
        "is infinite only if the exact sum is beyond the dtype. Integers give i64 or u64 and wrap around.",
    .params = {{"x", kinds::any}},
    .attrs = reduction_attrs({total_attr()}),
    .infer = [](Call& c) { c.output(total_dtype(c, c.attr(2)), reduced_output(c)); },
    .forward = forward,
    .flow = flow_reduction,
    .vjp = [](const Backward& b) { return Tensors{spread(b, b.g())}; },
    .jvp = jvp_linear,
    .branches = {"integers wrap around", "dtype", "empty: 0", "overflow on the way", "the sum overflows: inf",
                 "cancels"},
    .samples = samples,
};

}  // namespace wp
