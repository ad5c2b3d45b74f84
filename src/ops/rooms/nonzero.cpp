#include <vector>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/count.hpp"
#include "kernels/types.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_nonzero;
namespace {

constexpr std::int64_t kPiece = 1 << 16;  // elements of one piece of parallel work

// Row-major places of the elements of x that are not zero: first they are counted piece by piece.
template <class T>
Tensor places(const T* x, std::int64_t n) {
  using Count = kernels::CountNonzero<T>;
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<std::int64_t> start(static_cast<std::size_t>(pieces) + 1, 0);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      Count::block(x + k * kPiece, std::min(kPiece, n - k * kPiece), start[static_cast<std::size_t>(k) + 1]);
  });
  for (std::size_t k = 0; k + 1 < start.size(); ++k) start[k + 1] += start[k];
  Tensor found = Tensor::adopt(detail::make_node(i64, {start.back()}));
  auto* const out = reinterpret_cast<std::int64_t*>(found.node()->data);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t at = start[static_cast<std::size_t>(k)];
      const std::int64_t stop = start[static_cast<std::size_t>(k) + 1];
      for (std::int64_t i = k * kPiece; at < stop; ++i) {
        out[at] = i;
        at += Count::nonzero(x[i]);
      }
    }
  });
  return found;
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  if (x.ndim() == 0)
    refuse<ShapeError>("WP-SHP-007", "needs at least one axis; x is 0-d.",
                       "Reshape it to [1], or compare it with 0.");
  const Tensor flat = packed(x, x.dtype());
  Tensor found = kernels::with_type(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return places(reinterpret_cast<const T*>(flat.node()->data), flat.size());
  });
  if (x.ndim() == 1) {
    c.out.push_back(std::move(found));
    return;
  }
  std::vector<std::int64_t*> out;
  for (std::int64_t k = 0; k < x.ndim(); ++k)
    out.push_back(reinterpret_cast<std::int64_t*>(c.output(i64, found.shape()).node()->data));
  const auto* const from = reinterpret_cast<const std::int64_t*>(found.node()->data);
  parallel_for(found.size(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t rest = from[i];
      for (std::size_t k = out.size(); k-- > 0;) {
        out[k][i] = rest % x.shape()[k];
        rest /= x.shape()[k];
      }
    }
  });
}

// The k-th place found rests on all elements up to it.
void flow(const FlowQuery& q, Visit visit) {
  const Dims& shape = q.call.in[0].shape();
  std::int64_t last = 0;
  for (std::size_t k = 0; k < shape.size(); ++k)
    last = last * shape[k] + reinterpret_cast<const std::int64_t*>(q.call.out[k].node()->data)[q.element];
  for (std::int64_t e = 0; e <= last; ++e) visit(e);
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    all.push_back({{sample_tensor(d, {5}, {0, 2, 0, 1, 3})}, {}});
    all.push_back({{sample_tensor(d, {2, 3}, {0, 2, 0, 1, 0, 3})}, {}});
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(f64, {2, 1, 2}, {nan, 0, -0.0, 4})}, {}, "nan is not zero; -0 is"});
  all.push_back({{sample_tensor(bf16, {4}, {nan, 0, -0.0, 4})}, {}, "nan is not zero; -0 is"});
  all.push_back({{sample_tensor(c128, {3}, {{0, 1}, {0, 0}, {1, 0}})}, {}});
  all.push_back({{sample_tensor(i32, {2, 2}, {0})}, {}, "nothing found"});
  return all;
}

}  // namespace

const Op op_nonzero = {
    .name = "nonzero",
    .group = "searching",
    .doc =
        "The places of the elements that are not zero, in row-major order: one i64 tensor of indices per axis of x. "
        "How many there are depends on the values.",
    .params = {{"x", kinds::any, "At least 1-d."}},
    .outputs = {"indices..."},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::judges,
    .flow = flow,
    .no_derivative = "the results are indices: they do not vary with x.",
    .branches = {"nan is not zero; -0 is", "nothing found"},
    .samples = samples,
};

}  // namespace wp
