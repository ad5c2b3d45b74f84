#include <cstring>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tril;
extern const Op op_triu;
namespace {

struct Matrices {
  std::int64_t rows, cols, below, above;  // kept: below ≤ column − row ≤ above
};
Matrices matrices(const Call& c) {
  const Dims& shape = c.in[0].shape();
  const std::size_t n = shape.size();
  if (n < 2)
    refuse<ShapeError>("WP-SHP-008", say("x must be a matrix or a stack of matrices; got shape ", shape, "."));
  // Beyond the corners k changes nothing; the bound keeps sums of it in range.
  const std::int64_t limit = std::max(shape[n - 1], shape[n - 2]) + 1;
  const std::int64_t k = std::clamp(c.attr(0).integer(), -limit, limit);
  const bool lower = &c.op == &op_tril;
  return {shape[n - 2], shape[n - 1], lower ? -2 * limit : k, lower ? k : 2 * limit};
}

void forward(Call& c) {
  const Matrices m = matrices(c);
  const Tensor& x = c.in[0];
  const Tensor& y = c.output(x.dtype(), x.shape());
  if (x.size() == 0) return;
  scatter_into(y, y.strides(), 0, x);
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  parallel_for(x.size() / m.cols, std::max<std::int64_t>(1, kernels::kGrain / m.cols),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t row = i % m.rows;
                   const std::int64_t first = std::clamp(row + m.below, std::int64_t{0}, m.cols);
                   const std::int64_t stop = std::clamp(row + m.above + 1, first, m.cols);
                   char* const at = y.node()->data + i * m.cols * item;
                   std::memset(at, 0, static_cast<std::size_t>(first * item));
                   std::memset(at + stop * item, 0, static_cast<std::size_t>((m.cols - stop) * item));
                 }
               });
}

void flow(const FlowQuery& q, Visit visit) {
  const Matrices m = matrices(q.call);
  const std::int64_t diagonal = q.element % m.cols - q.element / m.cols % m.rows;
  if (diagonal >= m.below && diagonal <= m.above) visit(q.element);
}

std::vector<Sample> part_samples(const Op& op) {
  std::vector<Sample> all = moving_samples(op, {3, 3}, {0});
  all.push_back({{counting(f64, {2, 3, 4})}, {1}, "k > 0"});
  all.push_back({{counting(f64, {4, 3})}, {-2}, "k < 0"});
  all.push_back({{counting(f64, {2, 2})}, {100}});
  all.push_back({{counting(f64, {2, 2})}, {-100}});
  return all;
}
std::vector<Sample> tril_samples() {
  return part_samples(op_tril);
}
std::vector<Sample> triu_samples() {
  return part_samples(op_triu);
}

}  // namespace

const Op op_tril = {
    .name = "tril",
    .group = "manipulation",
    .doc = "The lower triangle of a matrix, or of each matrix of a stack; zeros elsewhere.",
    .params = {{"x"}},
    .attrs = {{"k", AttrType::integer, 0, "The last diagonal that is kept: 0 the main one, k > 0 above it."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow,
    .vjp = [](const Backward& b) { return Tensors{tril(b.g(), {.k = b.attr(0).integer()})}; },
    .jvp = jvp_linear,
    .branches = {"k > 0", "k < 0"},
    .samples = tril_samples,
};

const Op op_triu = {
    .name = "triu",
    .group = "manipulation",
    .doc = "The upper triangle of a matrix, or of each matrix of a stack; zeros elsewhere.",
    .params = {{"x"}},
    .attrs = {{"k", AttrType::integer, 0, "The first diagonal that is kept: 0 the main one, k > 0 above it."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow,
    .vjp = [](const Backward& b) { return Tensors{triu(b.g(), {.k = b.attr(0).integer()})}; },
    .jvp = jvp_linear,
    .branches = {"k > 0", "k < 0"},
    .samples = triu_samples,
};

}  // namespace wp
