#include "kernels/softmax.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_logsumexp;
namespace {

// softmax over each run; elements that are equal to an infinite result share it evenly.
Tensor slope(const Saved& s) {
  Tensor x = s.in[0];
  if (const Tensor y = with_axes(s, s.out[0]), endless = isinf(y); value_at(any(endless), 0) != complex128(0))
    x = where(endless, where(equal(x, y), 0, -std::numeric_limits<double>::infinity()), x);
  return from_runs(s, softmax(runs_of(s, x)));
}
Tensors vjp(const Backward& b) {
  return {multiply(spread(b, b.g()), slope(b))};
}
Tensors jvp(const Forward& f) {
  return {summed(f, multiply(f.tangents[0], slope(f)))};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = reduction_samples(op_logsumexp, {1, 2.5, -3, 0.5, 7, 0.25, -7});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto add = [&](Tensor x, std::string_view covers) {
    all.push_back({{std::move(x)}, {Dims{0}, false}, covers});
  };
  add(sample_tensor(f64, {3}, {1000, 1001, 999}), "exp x overflows");
  add(sample_tensor(f32, {3, 2}, {-1000, -2000, -1001, -1999, -900, -3000}), "exp x underflows");
  add(sample_tensor(f64, {2}, {0, -40}), "one element outweighs the rest");
  add(sample_tensor(f64, {4, 8}, {0, -50, -50, -60, -70, -80, -90, -100, -100}), "one element outweighs the rest");
  add(sample_tensor(f64, {3, 2}, {-inf, -inf, 0, -inf, -inf, -inf}), "all -inf: -inf");
  add(sample_tensor(f32, {3, 4}, {inf, 0, nan, -inf, inf, 1, 0}), "inf or nan");
  add(sample_tensor(f64, {0, 2}, {0}), "empty: -inf");
  return all;
}

}  // namespace

const Op op_logsumexp = {
    .name = "logsumexp",
    .group = "statistical",
    .doc = "log(sum(exp(x))) over axes, without overflow or underflow. All -inf, or no elements, give -inf.",
    .params = {{"x", kinds::real_floating}},
    .attrs = reduction_attrs(),
    .infer = [](Call& c) { c.output(c.in[0].dtype(), reduced_output(c)); },
    .forward = [](Call& c) { run_reduction(c, kernels::log_sums(), c.in[0].dtype()); },
    .domain = "at least one element",
    .inside = [](std::span<const double> v) { return !v.empty(); },
    .advice = "Select fewer axes, or ask for the size first.",
    .flow = flow_reduction,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"exp x overflows", "exp x underflows", "one element outweighs the rest", "all -inf: -inf",
                 "inf or nan", "empty: -inf"},
    .samples = samples,
};

}  // namespace wp
