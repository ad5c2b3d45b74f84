#include "kernels/extremes.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_max;
extern const Op op_min;
namespace {

void infer(Call& c) {
  need_nonempty(c);
  c.output(c.in[0].dtype(), reduced_output(c));
}

// The extreme is shared evenly by the elements that have it.
Tensor slope(const Saved& s) {
  const Tensor has = astype(equal(s.in[0], with_axes(s, s.out[0])), s.dtype(0));
  return divide(has, maximum(with_axes(s, summed(s, has)), 1));
}
Tensors vjp(const Backward& b) {
  return {multiply(spread(b, b.g()), slope(b))};
}
Tensors jvp(const Forward& f) {
  return {summed(f, multiply(f.tangents[0], slope(f)))};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = reduction_samples(op, {3, -2.5, 7, 7, 0.25, -11});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(f64, {2, 3}, {1, nan, 3, 5, 4, 6})}, {Dims{1}, false}, "a nan: nan"});
  all.push_back({{sample_tensor(f32, {40}, {1, 2, 3, nan, 7})}, {{}, false}, "a nan: nan"});
  all.push_back({{sample_tensor(f64, {2, 2}, {-inf, -inf, inf, 1})}, {Dims{-1}, true}, "infinities"});
  return all;
}

Op extreme(Op op) {
  op.group = "statistical";
  op.params = {{"x", kinds::real}};
  op.attrs = reduction_attrs();
  op.infer = infer;
  op.flow = flow_reduction;
  op.carriers = carriers_equal;
  op.vjp = vjp;
  op.jvp = jvp;
  op.saves_inputs = op.saves_outputs = 1;
  op.branches = {"a nan: nan", "infinities"};
  return op;
}

}  // namespace

const Op op_max = extreme({
    .name = "max",
    .doc = "The largest element over axes; NaN if there is one. An empty run is refused.",
    .forward = [](Call& c) { run_reduction(c, kernels::maxima(), c.in[0].dtype()); },
    .samples = [] { return samples(op_max); },
});

const Op op_min = extreme({
    .name = "min",
    .doc = "The smallest element over axes; NaN if there is one. An empty run is refused.",
    .forward = [](Call& c) { run_reduction(c, kernels::minima(), c.in[0].dtype()); },
    .samples = [] { return samples(op_min); },
});

}  // namespace wp
