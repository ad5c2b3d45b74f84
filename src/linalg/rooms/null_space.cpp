#include <cmath>
#include <memory>

#include "linalg/each.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/spectral.hpp"
#include "linalg/subspace.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_null_space;
extern const Op op_linalg_orth;
namespace {

using namespace linalg;

// The rank that all members have. What members have none, or cannot be stacked, is refused.
template <class T>
std::int64_t common_rank(const std::vector<std::unique_ptr<Spectral<T>>>& all, Cutoff cutoff, std::int64_t most) {
  std::int64_t rank = -1, first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    const std::int64_t here = rank_of(*all[i], cutoff);
    if (rank < 0) {
      rank = here;
      first = static_cast<std::int64_t>(i);
    }
    if (here != rank)
      refuse<ShapeError>(
          "WP-SHP-009",
          say("matrix ", first, " has rank ", rank, ", matrix ", i, " has rank ", here,
              ": their bases differ in shape and cannot be stacked."),
          "Take the matrices one by one, or give rtol or atol; projector has one shape for all ranks.");
  }
  return rank < 0 ? most : rank;
}

// Columns first … first + count of V (null space) or U (range).
template <class T>
void put(const Spectral<T>& svd, const Tensor& out, std::int64_t member, bool null, std::int64_t first, T* to) {
  const std::int64_t rows = out.shape()[out.shape().size() - 2], columns = out.shape().back();
  const kernels::View<T> from = null ? svd.vh().transposed() : svd.u();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const T v = from.data[i * from.rows + (first + j) * from.columns];
      to[(member * rows + i) * columns + j] = null ? conjugate(v) : v;
    }
}

template <class T>
void run(Call& c, const Tensor& a, Diagnosis::State& state, Cutoff cutoff, bool null) {
  using R = typename kernels::RealOf<T>::type;
  const Dims& shape = a.shape();
  const std::int64_t m = shape[shape.size() - 2], n = shape.back();
  const Stack<T> stack(a, state.batch);
  std::vector<std::unique_ptr<Spectral<T>>> all(state.verdicts.size());
  for_members(static_cast<std::int64_t>(all.size()), std::max(m, n), [&](std::int64_t i) {
    auto svd = std::make_unique<Spectral<T>>(m, n, stack[i], null && m < n ? Parts::full : Parts::thin);
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.method = Method::svd;
    svd->judge(v);
    if (v.status != Status::ok) return;
    v.kept = rank_of(*svd, cutoff);
    judge_subspace(*svd, v.kept, v);
    all[static_cast<std::size_t>(i)] = std::move(svd);
  });
  const std::int64_t rank = common_rank(all, cutoff, std::min(m, n));
  Dims out = state.batch;
  out.push_back(null ? n : m);
  out.push_back(null ? n - rank : rank);
  const Tensor& y = c.output(c.key, out);
  Result result(c.out[0], a.dtype());
  const std::int64_t each = all.empty() ? 0 : y.size() / static_cast<std::int64_t>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i])
      put(*all[i], y, static_cast<std::int64_t>(i), null, null ? rank : 0, result.data<T>());
    else
      std::fill_n(result.data<T>() + static_cast<std::int64_t>(i) * each, each,
                  T(std::numeric_limits<R>::quiet_NaN()));
  result.finish();
}

void forward(Call& c, bool null) {
  const Tensor& x = c.in[0];
  need_matrices(x, "x");
  c.key = float_result(x.dtype());
  const std::int64_t longest = std::max(x.shape()[x.shape().size() - 2], x.shape().back());
  const DType work = working_dtype(c.key, longest);
  const Cutoff cutoff = cutoff_of(c, 0, c.key, longest);
  auto state = new_state(c, batch_of(x), names_of(c, 3));
  state->cutoff = {cutoff.rtol, cutoff.atol};
  const Tensor a = brought(x, work);
  with_float(work, [&]<class T>(T) { run<T>(c, a, *state, cutoff, null); });
  settle(c, std::move(state), policy_of(c, 2), kSubspaceAdvice);
  keep_counts(c);
}

// A loss that does not depend on which basis N is sees N Nᴴ only: Nᴴ g has no skew part, and dN may be taken as dP N.
// The range of A has P = N Nᴴ, its null space 1 − P of Aᴴ.
Tensors vjp(const Backward& b, bool null) {
  const Tensor &basis = b.out[0], &g = b.g();
  if (g.size() == 0 || b.in[0].size() == 0) return {zeros_for(b.facts[0])};
  unrecorded([&] {
    const Tensor allowed = multiply(size_of(g), gauge_rounding(g.dtype(), basis.shape(-2)));
    must_vanish(b, skew(matmul(adjoint(basis), g)), allowed, "which basis the columns are");
  });
  const Tensor inside = matmul(basis, adjoint(basis)), part = hermitian(matmul(g, adjoint(basis)));
  if (null) return {adjoint(projector_cotangent(b.residuals[0], adjoint(b.in[0]), inside, negative(part)))};
  const Tensor outside = subtract(identity(basis.shape(-2), basis.dtype()), inside);
  return {projector_cotangent(b.residuals[0], b.in[0], outside, part)};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr rtol = {}, Attr if_ill = "raise", double atol = 0) {
    out.push_back({{sample_tensor(d, shape, v)}, {rtol, atol, if_ill, Attr()}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds)) {
      add(d, {2, 3}, {4, 1, 2, 3, 5, 7}, "wide");
      add(d, {3, 2}, {4, 1, 2, 3, 5, 7}, "tall");
    }
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 3}, {{1, 1}, 2, 3, {2, 2}, 4, 6, 1, 0, {0, -1}}, "rank deficient");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {1, 2, 2, 4, 1, 1, 1, 1}, "a batch");
  add(f64, {2, 2}, {0, 0, 0, 0}, "rank 0");
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "rtol drops a singular value", 0.1);
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "atol drops a singular value", {}, "raise", 0.1);
  add(f64, {2, 2}, {1e300, 1e300, 1e300, 1e300}, "far from 1");
  add(f64, {0, 3}, {0}, "empty");
  add(f64, {3, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", {}, "nan");
  return out;
}

Op basis(Op op) {
  op.attrs = {rtol_attr(), atol_attr(), policy_attr(), names_attr()};
  op.infer = no_outputs;
  op.saves_inputs = 1;
  op.saves_outputs = 1;
  op.branches = {"wide",
                 "tall",
                 "rank deficient",
                 "a batch",
                 "rank 0",
                 "rtol drops a singular value",
                 "atol drops a singular value",
                 "far from 1",
                 "empty",
                 "not finite"};
  return of_matrices(std::move(op));
}

}  // namespace

const Op op_linalg_null_space = basis({
    .name = "null_space",
    .doc =
        "An orthonormal basis (columns) of the vectors that each matrix takes to zero: the right singular vectors of "
        "values up to rtol times the largest, or atol. How many there are depends on the values; a stack of matrices "
        "must "
        "have one rank.",
    .forward = [](Call& c) { forward(c, true); },
    .vjp = [](const Backward& b) { return vjp(b, true); },
    .samples = [] { return samples(op_linalg_null_space); },
});

const Op op_linalg_orth = basis({
    .name = "orth",
    .doc =
        "An orthonormal basis (columns) of the range of each matrix: the left singular vectors of values above rtol "
        "times the largest and atol. How many there are depends on the values; a stack of matrices must have one "
        "rank.",
    .forward = [](Call& c) { forward(c, false); },
    .vjp = [](const Backward& b) { return vjp(b, false); },
    .samples = [] { return samples(op_linalg_orth); },
});

}  // namespace wp
