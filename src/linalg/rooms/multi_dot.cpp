#include "base/text.hpp"
#include "kernels/scan.hpp"
#include "linalg/inside.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/products.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_matmul;
extern const Op op_linalg_multi_dot;
namespace {

using namespace linalg;

// Array i is [..., lengths[i], lengths[i + 1]]; the first may be a row, the last a column.
struct Chain {
  std::vector<std::int64_t> lengths;
  std::vector<Dims> batches;
  Dims batch;

  explicit Chain(const Call& c) {
    const std::size_t n = c.in.size();
    if (n < 2)
      refuse<ArgumentError>("WP-ARG-002", say("needs at least two arrays; got ", static_cast<std::int64_t>(n), "."));
    for (std::size_t i = 0; i < n; ++i) {
      const Dims& s = c.in[i].shape();
      const bool end = i == 0 || i + 1 == n;
      if (s.size() < (end ? 1U : 2U))
        refuse<ShapeError>("WP-SHP-018",
                           say("array ", i, " must be a matrix", end ? " or a vector" : "", "; got ", s, "."));
      const std::int64_t rows = s.size() > 1 ? s[s.size() - 2] : i == 0 ? 1 : s[0];
      const std::int64_t columns = s.size() > 1 || i == 0 ? s.back() : 1;
      if (i == 0)
        lengths.push_back(rows);
      else if (rows != lengths.back())
        refuse<ShapeError>("WP-SHP-014",
                           say("array ", i, " must have as many rows as array ", i - 1, " has columns; ", "got ",
                               c.in[i - 1].shape(), " and ", s, ": ", lengths.back(), " and ", rows, "."));
      lengths.push_back(columns);
      batches.push_back(s.size() > 1 ? batch_of(c.in[i]) : Dims{});
      batch = broadcast(batch, batches.back());
    }
  }
};

// The cheapest order by dynamic programming (Cormen et al., §14.2): cost[i][j] = min over k of
// cost[i][k] + cost[k + 1][j] + pᵢ pₖ₊₁ pⱼ₊₁.
class Plan {
 public:
  explicit Plan(const std::vector<std::int64_t>& p) : n_(p.size() - 1), split_(n_ * n_) {
    std::vector<double> cost(n_ * n_);
    for (std::size_t length = 1; length < n_; ++length)
      for (std::size_t i = 0; i + length < n_; ++i) {
        const std::size_t j = i + length;
        double best = -1;
        for (std::size_t k = i; k < j; ++k) {
          const double here =
              cost[i * n_ + k] + cost[(k + 1) * n_ + j] +
              static_cast<double>(p[i]) * static_cast<double>(p[k + 1]) * static_cast<double>(p[j + 1]);
          if (best >= 0 && here >= best) continue;
          best = here;
          split_[i * n_ + j] = k;
        }
        cost[i * n_ + j] = best;
      }
  }
  Tensor run(Call& c, const std::vector<Tensor>& arrays, std::size_t i, std::size_t j) const {
    if (i == j) return arrays[i];
    const std::size_t k = split_[i * n_ + j];
    return run_inside(c, op_matmul, {run(c, arrays, i, k), run(c, arrays, k + 1, j)});
  }

 private:
  std::size_t n_;
  std::vector<std::size_t> split_;
};

void forward(Call& c) {
  const Chain chain(c);
  c.key = common_dtype(c);
  std::vector<Tensor> arrays;  // f16 and bf16 are rounded once, at the end
  for (std::size_t i = 0; i < c.in.size(); ++i) arrays.push_back(brought(c.in[i], kernels::product_dtype(c.key)));
  const Tensor product = Plan(chain.lengths).run(c, arrays, 0, arrays.size() - 1);
  const Tensor y = packed(product, c.key);
  if (is_floating(c.key) && kernels::any_nonfinite(c.key, y.node()->data, y.size()))
    c.status.bits |= simd::Status::nonfinite;
  c.out.push_back(y);
}

// A row of the first, a column of the last, all of those between.
void flow(const FlowQuery& q, Visit visit) {
  const Chain chain(q.call);
  const std::size_t last = chain.batches.size() - 1;
  const std::int64_t m = chain.lengths.front(), n = chain.lengths.back();
  const std::int64_t rows = chain.lengths[q.input], columns = chain.lengths[q.input + 1];
  const std::int64_t member = own_member(q.element / (m * n), chain.batch, chain.batches[q.input]);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      if ((q.input != 0 || i == q.element / n % m) && (q.input != last || j == q.element % n))
        visit((member * rows + i) * columns + j);
}

// Of array i what stands left of it and right of it, adjoint, on both sides of g.
Tensors vjp(const Backward& b) {
  const std::size_t n = b.in.size();
  const bool row = b.shape(0).size() == 1, column = b.shape(n - 1).size() == 1;
  Tensor g = b.g();
  if (row) g = expand_dims(g, {.axis = column ? -1 : -2});
  if (column) g = expand_dims(g, {.axis = -1});
  Tensors x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(!b.in[i].defined()     ? Tensor()  // nobody asks for another one's cotangent
                : i == 0 && row        ? expand_dims(b.in[i], {.axis = 0})
                : i + 1 == n && column ? expand_dims(b.in[i], {.axis = -1})
                                       : b.in[i]);
  const auto chain = [&](std::size_t first, std::size_t stop) {
    return stop - first == 1 ? x[first] : linalg::multi_dot(Tensors(x.begin() + first, x.begin() + stop));
  };
  Tensors all(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!b.wants(i)) continue;
    Tensor own = g;
    if (i > 0) own = matmul(adjoint(chain(0, i)), own);
    if (i + 1 < n) own = matmul(own, adjoint(chain(i + 1, n)));
    all[i] = i == 0 && row ? squeeze(own, -2) : i + 1 == n && column ? squeeze(own, -1) : own;
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const std::vector<Dims>& shapes, std::string_view covers) {
    Sample s{{}, {}, covers};
    for (std::size_t i = 0; i < shapes.size(); ++i) s.in.push_back(small_numbers(d, shapes[i], static_cast<int>(i)));
    out.push_back(std::move(s));
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_linalg_multi_dot.params[0].kinds))
      add(dtype, {{2, 3}, {3, 1}, {1, 2}}, {});
  for (const DType d : {i64, f64, c128}) {
    add(d, {{3}, {3, 2}, {2, 3}, {3}}, "vectors at the ends");
    add(d, {{3}, {3, 2}}, "vectors at the ends");
    add(d, {{2, 1, 2, 3}, {2, 3, 1}, {1, 2}}, "batches broadcast");
    add(d, {{2, 0}, {0, 3}, {3, 2}}, "empty: zeros");
    add(d, {{4, 1}, {1, 4}, {4, 1}, {1, 3}}, "last first");
    add(d, {{1, 4}, {4, 1}, {1, 4}, {4, 2}}, "first first");
  }
  out.push_back({{Tensor{{1e308}}, Tensor{{10.0}}, Tensor{{1.0}}}, {}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_linalg_multi_dot = {
    .name = "multi_dot",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The product of two or more matrices in the order that takes the fewest multiplications; the first may be a "
        "vector (a row), the last too (a column). Leading axes broadcast. Integers wrap around.",
    .params = {{.name = "arrays", .kinds = kinds::numeric, .variadic = true}},
    .infer = no_outputs,
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = ~0U,
    .for_others = ~0U,
    .branches = {"vectors at the ends", "batches broadcast", "empty: zeros", "last first", "first first",
                 "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
