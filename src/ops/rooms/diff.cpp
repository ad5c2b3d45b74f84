#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "kernels/types.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_diff;
namespace {

enum { kAxis, kN };
enum { kX, kPrepend, kAppend };
constexpr std::size_t kOrder[] = {kPrepend, kX, kAppend};  // as they stand along the axis

// Elements of an input along the axis; a 0-d one stands for one element in every line.
std::int64_t length(const Call& c, std::size_t input, std::size_t axis) {
  const Tensor& t = c.in[input];
  return !t.defined() ? 0 : t.ndim() == 0 ? 1 : t.shape()[axis];
}

void infer(Call& c) {
  const auto axis = static_cast<std::size_t>(axis_of(c, kAxis));
  const std::int64_t n = c.attr(kN).integer();
  if (n < 0) refuse<ArgumentError>("WP-ARG-001", say("n must not be negative; got ", n, "."));
  Dims shape = c.in[kX].shape();
  for (const std::size_t i : {kPrepend, kAppend}) {
    const Tensor& t = c.in[i];
    if (!t.defined() || t.ndim() == 0) continue;
    Dims other = t.shape();
    if (other.size() == shape.size()) other[axis] = c.in[kX].shape()[axis];
    if (!(other == c.in[kX].shape()))
      refuse<ShapeError>("WP-SHP-001", say(c.op.params[i].name, " must have the shape of x, ", c.in[kX].shape(),
                                           ", except along axis ", axis, "; got ", t.shape(), "."));
  }
  shape[axis] = length(c, kPrepend, axis) + length(c, kX, axis) + length(c, kAppend, axis);
  shape[axis] = std::max<std::int64_t>(0, shape[axis] - n);
  c.key = common_dtype(c);
  c.output(c.key, shape);
}

// prepend, x and append, joined along the axis.
Tensor joined(const Call& c, std::size_t axis, DType dtype) {
  Dims shape = c.in[kX].shape();
  shape[axis] = length(c, kPrepend, axis) + length(c, kX, axis) + length(c, kAppend, axis);
  Tensor all = Tensor::adopt(detail::make_node(dtype, shape));
  std::int64_t at = 0;
  for (const std::size_t i : kOrder) {
    if (!c.in[i].defined()) continue;
    Tensor part = packed(c.in[i], dtype);
    if (part.ndim() == 0) {
      shape[axis] = 1;
      part = Tensor::adopt(detail::make_view(*part.node(), shape, Dims(shape.size(), 0), 0));
    }
    if (part.size()) scatter_into(all, all.strides(), at * all.strides()[axis], part);
    at += part.shape()[axis];
  }
  return all;
}

// y = Δᵐ x in place of a copy of x; integers wrap around.
template <class T>
void differences(const LineBlock& b) {
  const T* x = static_cast<const T*>(b.in);
  T* y = static_cast<T*>(b.out);
  const auto minus = [](T p, T q) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(p) - static_cast<std::uint64_t>(q));
    else
      return p - q;
  };
  std::vector<T> work;
  for (std::int64_t k = 0; k < b.count; ++k, x += b.n, y += b.m) {
    if (b.n - b.m == 1) {
      for (std::int64_t i = 0; i < b.m; ++i) y[i] = minus(x[i + 1], x[i]);
      continue;
    }
    work.assign(x, x + b.n);
    for (std::int64_t left = b.n - 1; left >= b.m; --left)
      for (std::int64_t i = 0; i < left; ++i)
        work[static_cast<std::size_t>(i)] =
            minus(work[static_cast<std::size_t>(i) + 1], work[static_cast<std::size_t>(i)]);
    std::copy(work.begin(), work.begin() + b.m, y);
  }
}

void forward(Call& c) {
  const auto axis = static_cast<std::size_t>(axis_of(c, kAxis));
  const bool alone = !c.in[kPrepend].defined() && !c.in[kAppend].defined();
  const Tensor x = alone ? c.in[kX] : joined(c, axis, c.key);
  const DType loop = line_dtype(c.key);
  const LineFunction fn = kernels::with_type(loop, [](auto tag) -> LineFunction {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, bool>)
      return nullptr;
    else
      return differences<T>;
  });
  run_lines(c, x, loop, c.out[0], loop, static_cast<std::int64_t>(axis), fn);
}

// Result j of a line rests on elements j … j + n of prepend, x, append.
void flow(const FlowQuery& q, Visit visit) {
  const Call& c = q.call;
  const auto axis = static_cast<std::size_t>(axis_of(c, kAxis));
  std::int64_t inner = 1, begin = 0;
  for (std::size_t k = axis + 1; k < c.in[kX].shape().size(); ++k) inner *= c.in[kX].shape()[k];
  for (const std::size_t i : kOrder) {
    if (i == q.input) break;
    begin += length(c, i, axis);
  }
  const std::int64_t m = c.out[0].shape()[axis], own = length(c, q.input, axis);
  const std::int64_t before = q.element / (m * inner), j = q.element / inner % m, after = q.element % inner;
  const std::int64_t first = std::max(j, begin), last = std::min(j + c.attr(kN).integer(), begin + own - 1);
  for (std::int64_t p = first; p <= last; ++p)
    visit(c.in[q.input].ndim() == 0 ? 0 : (before * own + p - begin) * inner + after);
}

// The adjoint of Δ is −Δ of g with zeros around it; n times. Its parts belong to prepend, x and append.
Tensors vjp(const Backward& b) {
  const auto ndim = static_cast<std::int64_t>(b.shape(kX).size());
  const std::int64_t axis = normal_axis(b.attr(kAxis).integer(), ndim), n = b.attr(kN).integer();
  const auto a = static_cast<std::size_t>(axis);
  Dims pad = b.g().shape();
  Tensors all(b.in.size());
  if (pad[a] == 0) return all;
  pad[a] = n;
  const Tensor none = zeros_for({pad, b.g().dtype()});
  Tensor whole =
      diff(concat({none, b.g(), none}, {.axis = axis}), std::nullopt, std::nullopt, {.axis = axis, .n = n});
  if (n % 2) whole = negative(whole);
  std::int64_t at = 0;
  for (const std::size_t i : kOrder) {
    const std::int64_t own = i != kX && !b.in[i].defined() ? 0 : b.shape(i).empty() ? 1 : b.shape(i)[a];
    if (b.wants(i)) all[i] = part(whole, axis, at, at + own);
    at += own;
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](std::vector<Tensor> in, std::int64_t axis, std::int64_t n, std::string_view covers = {}) {
    in.resize(3);
    all.push_back({std::move(in), {axis, n}, covers});
  };
  const std::vector<complex128> values{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    if (d == DType::boolean) continue;
    add({sample_tensor(d, {2, 3}, values)}, -1, 1);
    add({sample_tensor(d, {2, 3}, values)}, 0, 1);
  }
  add({sample_tensor(c128, {3}, {{1, 2}, {0, -1}, {4, 4}})}, -1, 1);
  add({sample_tensor(f64, {2, 4}, values)}, 1, 2, "n > 1");
  add({sample_tensor(i32, {3, 2, 2}, values)}, 0, 2, "n > 1");
  add({sample_tensor(f64, {3}, values)}, 0, 0, "n = 0: x");
  add({sample_tensor(f64, {3}, values)}, 0, 5, "n beyond the length: empty");
  add({sample_tensor(f64, {2, 3}, values), sample_tensor(f64, {2, 1}, {7})}, 1, 1, "prepend");
  add({sample_tensor(f64, {2, 2}, values), Tensor(), sample_tensor(f64, {1, 2}, {7, -7})}, 0, 1, "append");
  add({sample_tensor(i16, {3}, values), sample_tensor(i16, {2}, {7, 8}), sample_tensor(i16, {}, {0})}, 0, 2,
      "append");
  add({sample_tensor(c64, {1}, {{1, 2}}), sample_tensor(c64, {1}, {{0, 1}}), sample_tensor(c64, {1}, {{5, -1}})}, 0,
      1, "prepend");
  add({sample_tensor(u8, {3}, {1, 3, 2})}, 0, 1, "unsigned integers wrap around");
  return all;
}

}  // namespace

const Op op_diff = {
    .name = "diff",
    .group = "utility",
    .doc = "The differences x[i+1] - x[i] along an axis, taken n times. Integers wrap around.",
    .params =
        {{"x", kinds::numeric},
         {.name = "prepend", .kinds = kinds::numeric, .doc = "Stands before x along the axis.", .optional = true},
         {.name = "append", .kinds = kinds::numeric, .doc = "Stands after x along the axis.", .optional = true}},
    .attrs = {axis_attr(), {"n", AttrType::integer, 1, "How often differences are taken."}},
    .infer = infer,
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_linear,
    .saves_inputs = 6,
    .branches = {"n > 1", "n = 0: x", "n beyond the length: empty", "prepend", "append",
                 "unsigned integers wrap around"},
    .samples = samples,
};

}  // namespace wp
