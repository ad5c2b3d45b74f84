#include "kernels/product.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

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

// The product of the others: y/x where that is exact to the last digits, else without divisions.
Tensor slope(const Saved& s) {
  const DType d = s.output(0).dtype;
  const Tensor x = s.dtype(0) == d ? s.in[0] : astype(s.in[0], d), size = abs(s.out[0]);
  const Tensor normal = logical_and(greater_equal(size, finfo(real_of(d)).smallest_normal), isfinite(size));
  if (value_at(all(logical_and(normal, all(isfinite(x)))), 0) != complex128(0))
    return divide(with_axes(s, s.out[0]), x);
  return from_runs(s, product_of_others(runs_of(s, x)));
}
Tensors vjp(const Backward& b) {
  return {multiply(spread(b, b.g()), conj_of(slope(b)))};
}
Tensors jvp(const Forward& f) {
  return {summed(f, multiply(f.tangents[0], slope(f)))};
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
  all.push_back({{sample_tensor(f64, {2, 4}, {2, 0, 0.5, -3, 0, 4, 0, 1.5})}, {Dims{1}, false, Attr()}, "two zeros"});
  all.push_back(
      {{sample_tensor(f64, {2, 2, 2}, {2, 0, 0.5, -3, 0, 4, 0, 0})}, {Dims{0, 2}, true, Attr()}, "two zeros"});
  all.push_back({{sample_tensor(c128, {3}, {{1, 2}, {0, 0}, {-0.5, 1}})}, {{}, false, Attr()}, "a zero factor"});
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
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"integers wrap around", "dtype", "empty: 1", "overflow on the way", "the product overflows: inf",
                 "a zero factor", "two zeros"},
    .samples = samples,
};

}  // namespace wp
