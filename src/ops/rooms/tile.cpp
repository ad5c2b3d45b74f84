#include "base/text.hpp"
#include "kernels/copy.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tile;
namespace {

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Dims& times = c.attr(0).ints();
  const std::size_t n = std::max(times.size(), x.shape().size());
  Dims shape, split, strides;  // split: repetitions and lengths in turn; repetitions have stride 0
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t before_x = n - x.shape().size(), before_times = n - times.size();
    const std::int64_t length = k < before_x ? 1 : x.shape()[k - before_x];
    const std::int64_t repeats = k < before_times ? 1 : times[k - before_times];
    if (repeats < 0) refuse<ArgumentError>("WP-ARG-001", say("repetitions must not be negative; got ", times, "."));
    shape.push_back(bounded_product(length, repeats));
    split.push_back(repeats);
    split.push_back(length);
    strides.push_back(0);
    strides.push_back(k < before_x ? 0 : x.strides()[k - before_x]);
  }
  const Tensor& y = c.output(x.dtype(), shape);
  kernels::copy(y.node()->data, row_major(split), x.node()->data, strides, split, size_of(x.dtype()));
}

// g summed over the copies: its axes split into (copy, place) pairs.
Tensors vjp(const Backward& b) {
  const Dims &times = b.attr(0).ints(), &own = b.shape(0);
  const std::size_t n = std::max(times.size(), own.size()), missing = n - own.size();
  Dims split, copies;
  for (std::size_t k = 0; k < n; ++k) {
    copies.push_back(static_cast<std::int64_t>(2 * k));
    split.push_back(k < n - times.size() ? 1 : times[k - (n - times.size())]);
    split.push_back(k < missing ? 1 : own[k - missing]);
  }
  return {reshape(sum(reshape(b.g(), split), {.axis = copies}), own)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = moving_samples(op_tile, {2, 3}, {Dims{2}});
  all.push_back({{counting(f64, {2, 3})}, {Dims{2, 1, 3}}, "more repetitions than axes"});
  all.push_back({{counting(f64, {2, 1, 2})}, {Dims{3, 2}}});
  all.push_back({{counting(f64, {2})}, {Dims{0}}, "empty"});
  all.push_back({{counting(f64, {})}, {Dims{3}}});
  return all;
}

}  // namespace

const Op op_tile = {
    .name = "tile",
    .group = "manipulation",
    .doc = "Copies of x side by side along its axes.",
    .params = {{"x"}},
    .attrs = {{.name = "repetitions",
               .type = AttrType::ints,
               .doc = "How often along each axis, matched from the last; what is missing is 1.",
               .required = true}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .branches = {"more repetitions than axes", "empty"},
    .samples = samples,
};

}  // namespace wp
