#include "kernels/softmax.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_softmax;
extern const Op op_log_softmax;
namespace {

template <bool log>
void forward(Call& c) {
  const DType loop = line_dtype(c.in[0].dtype());
  const auto lines = [](const LineBlock& b) {
    kernels::softmax(*static_cast<const DType*>(b.context), log, b.in, b.out, b.count, b.n);
  };
  run_lines(c, c.in[0], loop, c.out[0], loop, axis_of(c), lines, &loop);
}

// y (v − Σ y v), which is its own adjoint. It stays the same when v is moved by a number; measured from v at the
// largest y nothing cancels.
Tensor softmax_slope(const Saved& s, const Tensor& v) {
  const std::int64_t axis = s.attr(0).integer();
  if (v.size() == 0) return v;
  const Tensor &y = s.out[0], most = argmax(y, {.axis = axis, .keepdims = true});
  const Tensor from = subtract(v, take_along_axis(v, most, {.axis = axis}));
  return multiply(y, subtract(from, sum(multiply(y, from), {.axis = axis, .keepdims = true})));
}
// The rule below in one pass; undefined where the rule must do it: what is not finite goes through calls that checks
// see.
Tensor log_softmax_back(const Backward& b) {
  const detail::Node &y = *b.out[0].node(), &g = *b.g().node();
  const auto last = static_cast<std::int64_t>(y.shape.size()) - 1;
  if (b.recorded() || y.size == 0 || !y.contiguous || !g.contiguous || g.dtype != y.dtype ||
      line_dtype(y.dtype) != y.dtype || normal_axis(b.attr(0).integer(), last + 1) != last ||
      y.shape.back() > kernels::kSoftmaxBack)
    return {};
  Tensor out = Tensor::adopt(detail::make_like(y, y.dtype));
  const std::int64_t n = y.shape.back(), item = static_cast<std::int64_t>(size_of(y.dtype)) * n;
  parallel_for(y.size / n, std::max<std::int64_t>(1, kernels::kGrain / n), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * item;
    kernels::log_softmax_back(y.dtype, y.data + at, g.data + at, out.node()->data + at, end - begin, n);
  });
  return kernels::any_nonfinite(y.dtype, out.node()->data, y.size) ? Tensor() : out;
}
// g − e^y Σ g = g (1 − e^y) − e^y (Σ g − g), whose first factor keeps its digits where e^y is nearly 1.
Tensors log_softmax_vjp(const Backward& b) {
  const Tensor &y = b.out[0], &g = b.g();
  if (Tensor all = log_softmax_back(b); all.defined()) return {all};
  const Tensor rest = subtract(sum(g, {.axis = b.attr(0).integer(), .keepdims = true}), g);
  return {negative(add(multiply(g, expm1(y)), multiply(exp(y), rest)))};
}
Tensors log_softmax_jvp(const Forward& f) {
  const std::int64_t axis = f.attr(0).integer();
  const Tensor &t = f.tangents[0], weight = exp(f.out[0]);
  if (t.size() == 0) return {t};
  const Tensor from =
      subtract(t, take_along_axis(t, argmax(f.out[0], {.axis = axis, .keepdims = true}), {.axis = axis}));
  return {subtract(from, sum(multiply(weight, from), {.axis = axis, .keepdims = true}))};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = line_samples(op, {1, 2.5, -3, 0.5, 700, 0.25, -7, 3, 0.125},
                                         [](std::int64_t axis) { return std::vector<Attr>{axis}; });
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(f64, {3}, {1000, 1001, 999})}, {-1}, "exp x overflows"});
  all.push_back({{sample_tensor(f32, {3}, {0, -20, -30})}, {-1}, "one element outweighs the rest"});
  all.push_back({{sample_tensor(f64, {3}, {-inf, 0, 1})}, {-1}, "x = -inf: weight 0"});
  all.push_back({{sample_tensor(f64, {2, 2}, {-inf, -inf, 0, 1})}, {-1}, "a line of -inf: nan"});
  all.push_back({{sample_tensor(f64, {3}, {inf, 0, 1})}, {-1}, "x = inf: nan"});
  all.push_back({{sample_tensor(f32, {3}, {nan, 0, 1})}, {-1}, "x = nan: nan"});
  return all;
}

Op activation(Op op) {
  op.group = "activation";
  op.params = {{"x", kinds::real_floating}};
  op.attrs = {axis_attr()};
  op.infer = [](Call& c) {
    axis_of(c);
    c.output(c.in[0].dtype(), c.in[0].shape());
  };
  op.domain = "a finite largest element in each line (a line of -inf has no softmax)";
  op.inside = [](std::span<const double> v) {
    double most = -std::numeric_limits<double>::infinity();
    for (const double x : v) most = std::max(most, x);
    return std::isfinite(most);
  };
  op.advice =
      "Leave at least one element of each line unmasked, or mask with a large negative number instead of -inf.";
  op.flow = flow_line;
  op.flow_base = base_line;
  op.saves_outputs = 1;
  op.branches = {"exp x overflows",    "one element outweighs the rest",
                 "x = -inf: weight 0", "a line of -inf: nan",
                 "x = inf: nan",       "x = nan: nan"};
  return op;
}

}  // namespace

const Op op_softmax = activation({
    .name = "softmax",
    .doc = "exp(x) / sum(exp(x)) along an axis, without overflow. A line of -inf gives NaN.",
    .forward = forward<false>,
    .vjp = [](const Backward& b) { return Tensors{softmax_slope(b, b.g())}; },
    .jvp = [](const Forward& f) { return Tensors{softmax_slope(f, f.tangents[0])}; },
    .samples = [] { return samples(op_softmax); },
});

const Op op_log_softmax = activation({
    .name = "log_softmax",
    .doc = "x - log(sum(exp(x))) along an axis: the logarithm of softmax, exact to the last digits also where "
           "softmax is "
           "nearly 0 or 1. A line of -inf gives NaN.",
    .forward = forward<true>,
    .vjp = log_softmax_vjp,
    .jvp = log_softmax_jvp,
    .samples = [] { return samples(op_log_softmax); },
});

}  // namespace wp
