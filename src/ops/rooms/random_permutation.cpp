#include <cstring>

#include "base/pool.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "ops/random.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_random_permutation;
extern const Op op_random_permuted;
namespace {

void infer_permutation(Call& c) {
  const std::int64_t n = attr(c, "n").integer();
  if (n < 0) refuse_value(c, "n", "a length, at least 0", "It is how many integers are put in random order.");
  c.output(i64, {n});
}

void forward_permutation(Call& c) {
  Tensor& y = c.out[0];
  kernels::draw_permutation(stream_of(c), reinterpret_cast<std::int64_t*>(y.node()->data), y.size());
}

std::vector<Sample> permutation_samples() {
  return {{{}, {10, 42, 0}}, {{}, {3000, -42, 7}}, {{}, {1, 1, 0}, "n = 0 or 1"}, {{}, {0, 1, 0}, "n = 0 or 1"}};
}

void forward_permuted(Call& c) {
  const Tensor x = contiguous(c.in[0]);
  const auto axis = static_cast<std::size_t>(normal_axis(attr(c, "axis").integer(), x.ndim()));
  Tensor& y = c.output(x.dtype(), x.shape());
  if (x.size() == 0) return;
  const std::int64_t n = x.shape()[axis];
  std::int64_t inner = 1;
  for (std::size_t k = axis + 1; k < x.shape().size(); ++k) inner *= x.shape()[k];
  const Tensor order = Tensor::adopt(detail::make_node(i64, {n}));
  auto* const from = reinterpret_cast<std::int64_t*>(order.node()->data);
  kernels::draw_permutation(stream_of(c), from, n);
  const std::int64_t bytes = inner * static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t grain = std::max<std::int64_t>(1, kernels::kGrain / inner);
  parallel_for(x.size() / inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      std::memcpy(y.node()->data + row * bytes, x.node()->data + (row - row % n + from[row % n]) * bytes,
                  static_cast<std::size_t>(bytes));
  });
}

Tensors vjp(const Backward& b) {
  const std::int64_t axis = b.attr(2).integer(), ndim = static_cast<std::int64_t>(b.shape(0).size());
  const std::int64_t n = b.shape(0)[static_cast<std::size_t>(normal_axis(axis, ndim))];
  const Tensor order = random::permutation(n, b.attr(0).integer(), b.attr(1).integer());
  return {take(b.g(), argsort(order), {.axis = axis})};
}

std::vector<Sample> permuted_samples() {
  std::vector<Sample> out = moving_samples(op_random_permuted, {5, 3}, {42, 0, 0});
  out.push_back({{counting(f64, {3, 4, 2})}, {1, 0, 1}});
  out.push_back({{counting(f64, {3, 4, 2})}, {1, 0, -1}});
  return out;
}

}  // namespace

const Op op_random_permutation = {
    .name = "permutation",
    .ns = "random",
    .group = "random",
    .doc = "The integers 0 to n - 1 in random order; every order has the same probability.",
    .params = {},
    .attrs = stream_attrs({{.name = "n", .type = AttrType::integer, .doc = "How many.", .required = true}}),
    .infer = infer_permutation,
    .forward = forward_permutation,
    .notes = Notes::gives,
    .no_derivative = kIntegerDraws,
    .branches = {"n = 0 or 1"},
    .samples = permutation_samples,
};

const Op op_random_permuted = {
    .name = "permuted",
    .ns = "random",
    .group = "random",
    .doc =
        "x with its slices along an axis in random order. Slices stay whole: the result is take(x, permutation(n), "
        "axis), with n the length of the axis and the same key and counter.",
    .params = {{"x"}},
    .attrs = stream_attrs({}, {{"axis", AttrType::integer, 0, "The axis whose slices are put in random order."}}),
    .infer = no_outputs,
    .forward = forward_permuted,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .samples = permuted_samples,
};

}  // namespace wp
