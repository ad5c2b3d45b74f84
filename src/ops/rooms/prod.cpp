#include "kernels/product.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_prod;
namespace {

constexpr kernels::Reductions integers =
    kernels::reductions<kernels::Product>(simd::Types<std::int64_t, std::uint64_t>{});
constexpr kernels::Reductions floats = kernels::reductions<kernels::FloatProduct>(simd::Floats{});

void forward(Call& c) {
  const DType d = c.out[0].dtype();
  run_reduction(c, is_floating(d) ? floats : integers, total_loop(d));
}

std::vector<Sample> samples() {
  std::vector<Sample> all = reduction_samples(op_prod, {1, 2.5, -3, 4, 0.125, -7}, {Attr()});
  all.push_back({{sample_tensor(u8, {3}, {200, 100, 3})}, {{}, false, u8}, "integers wrap around"});
  all.push_back({{sample_tensor(i32, {3}, {1, 2, 3})}, {{}, false, f32}, "dtype"});
  all.push_back({{sample_tensor(f64, {0}, {0})}, {{}, false, Attr()}, "empty: 1"});
  all.push_back(
      {{sample_tensor(f64, {40}, {1e-155, 1e-155, 1e300, 3e10})}, {{}, false, Attr()}, "overflow on the way"});
  all.push_back({{sample_tensor(c128, {3}, {{1e200, 1e200}, {1e200, 0}, {0, 1e-300}})},
                 {{}, false, Attr()},
                 "overflow on the way"});
  all.push_back({{sample_tensor(f32, {2}, {1e30, -1e30})}, {{}, false, Attr()}, "the product overflows: inf"});
  all.push_back({{sample_tensor(f32, {3}, {0, 4, -3})}, {{}, false, Attr()}, "a zero factor"});
  return all;
}

}  // namespace

const Op op_prod = {
    .name = "prod",
    .group = "statistical",
    .doc =
        "The product of elements over axes. It overflows or underflows only if the exact product does. Integers give "
        "i64 or u64 and wrap around.",
    .params = {{"x", kinds::any}},
    .attrs = reduction_attrs({total_attr()}),
    .infer = [](Call& c) { c.output(total_dtype(c, c.attr(2)), reduced_output(c)); },
    .forward = forward,
    .flow = flow_reduction,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"integers wrap around", "dtype", "empty: 1", "overflow on the way", "the product overflows: inf",
                 "a zero factor"},
    .samples = samples,
};

}  // namespace wp
