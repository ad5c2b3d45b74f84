#include "ops/moves.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/convert.hpp"
#include "kernels/copy.hpp"
#include "kernels/walk.hpp"

namespace wp {
namespace {

Tensor no_numbers(const Dims& shape) {
  const Tensor t = element_numbers(shape);
  std::fill_n(reinterpret_cast<std::int64_t*>(t.node()->data), t.size(), -1);
  return t;
}

// The outputs of the call with input `input` replaced by element numbers, and other data by −1.
Tensors moved_numbers(const Call& c, std::size_t input) {
  Tensors out =
      moved_instead(c, [&](std::size_t i) { return (i == input ? element_numbers : no_numbers)(c.in[i].shape()); });
  for (Tensor& t : out) t = contiguous(t);
  return out;
}

}  // namespace

Tensors moved_instead(const Call& c, const std::function<Tensor(std::size_t)>& data) {
  std::vector<Tensor> replaced;
  std::vector<const Tensor*> in;
  replaced.reserve(c.in.size());
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    replaced.push_back(c.op.param(i).separate || !c.in[i].defined() ? c.in[i] : data(i));
    in.push_back(&replaced.back());
  }
  Call again(c.op, Inputs(in.data(), in.size()), c.attrs, c.place());
  c.op.infer(again);
  c.op.forward(again);
  return again.out;
}

void flow_moves(const FlowQuery& q, Visit visit) {
  const Call& c = q.call;
  const std::size_t outs = c.out.size(), slot = q.input * outs + q.output;
  std::vector<Tensor>& memo = c.beside().flow_memo;
  if (memo.size() < c.in.size() * outs) memo.resize(c.in.size() * outs);
  if (!memo[slot].defined()) {
    const Tensors numbers = moved_numbers(c, q.input);
    for (std::size_t k = 0; k < outs; ++k) memo[q.input * outs + k] = numbers[k];
  }
  const auto source = reinterpret_cast<const std::int64_t*>(memo[slot].node()->data)[q.element];
  if (source >= 0) visit(source);
}

void flow_nothing(const FlowQuery&, Visit) {}
void flow_everything(const FlowQuery& q, Visit visit) {
  for (std::int64_t e = 0; e < q.call.in[q.input].size(); ++e) visit(e);
}
void forward_same(Call& c) {
  add_view(c, c.in[0], c.in[0].shape(), c.in[0].strides());
}

void add_view(Call& c, const Tensor& x, const Dims& shape, const Dims& strides, std::int64_t offset) {
  c.out.push_back(view_of(x, shape, strides, offset));
}

Tensor view_of(const Tensor& x, const Dims& shape, const Dims& strides, std::int64_t offset) {
  return Tensor::adopt(detail::make_view(*x.node(), shape, strides, offset));
}

Dims row_major(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;)
    strides[k - 1] = bounded_product(strides[k], std::max<std::int64_t>(shape[k], 1));
  return strides;
}

Tensor reshaped_view(const Tensor& x, const Dims& shape) {
  if (x.is_contiguous()) return view_of(x, shape, row_major(shape));
  // Neighbouring axes of x that lie in one run are joined first; each axis of the result must then fit into one run.
  Dims runs = x.shape(), run_strides = x.strides(), strides(shape.size(), 1);
  Dims* s = &run_strides;
  kernels::coalesce(runs, &s, 1);
  std::size_t run = runs.size();
  std::int64_t left = 1, stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    if (left == 1 && shape[k] != 1) {
      left = runs[--run];
      stride = run_strides[run];
    }
    if (left % shape[k]) return {};
    strides[k] = stride;
    stride *= shape[k];
    left /= shape[k];
  }
  return view_of(x, shape, strides);
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::numeric_limits<std::int64_t>::max() : r;
}
std::int64_t bounded_sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::numeric_limits<std::int64_t>::max() : r;
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor y = Tensor::adopt(detail::make_node(x.dtype(), x.shape()));
  kernels::copy(y.node()->data, y.strides(), x.node()->data, x.strides(), x.shape(), size_of(x.dtype()));
  return y;
}

void scatter_into(const Tensor& y, const Dims& strides, std::int64_t offset, const Tensor& x) {
  const std::size_t item = size_of(x.dtype());
  kernels::copy(y.node()->data + offset * static_cast<std::int64_t>(item), strides, x.node()->data, x.strides(),
                x.shape(), item);
}

namespace {

// Each rolled axis falls into two parts that change places; every combination of parts is one block.
void move_blocks(const Tensor& y, const Tensor& x, const Dims& by, std::size_t axis, std::int64_t offset) {
  while (axis < by.size() && by[axis] == 0) ++axis;
  if (axis == by.size()) return scatter_into(y, y.strides(), offset, x);
  const std::int64_t n = x.shape()[axis], s = by[axis];
  Dims shape = x.shape();
  shape[axis] = n - s;
  move_blocks(y, view_of(x, shape, x.strides()), by, axis + 1, offset + s * y.strides()[axis]);
  shape[axis] = s;
  move_blocks(y, view_of(x, shape, x.strides(), (n - s) * x.strides()[axis]), by, axis + 1, offset);
}

}  // namespace

void rolled_into(const Tensor& y, const Tensor& x, const Dims& by) {
  if (x.size()) move_blocks(y, x, by, 0, 0);
}

Tensor element_numbers(const Dims& shape) {
  Tensor t = Tensor::adopt(detail::make_node(i64, shape));
  std::iota(reinterpret_cast<std::int64_t*>(t.node()->data),
            reinterpret_cast<std::int64_t*>(t.node()->data) + t.size(), 0);
  return t;
}

Tensor counting(DType dtype, const Dims& shape) {
  Tensor t = Tensor::adopt(detail::make_node(dtype, shape));
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const complex128 v(dtype == DType::boolean ? static_cast<double>(i % 3 != 0) : static_cast<double>(i % 100 + 1),
                       is_complex(dtype) ? static_cast<double>(-i) : 0.0);
    kernels::convert(t.node()->data + i * static_cast<std::int64_t>(size_of(dtype)), dtype, &v, c128, 1, 1);
  }
  return t;
}

std::vector<Sample> moving_samples(const Op& op, const Dims& shape, const std::vector<Attr>& attrs) {
  std::vector<Sample> out;
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    if (is(d, op.params[0].kinds)) out.push_back({{counting(d, shape)}, attrs});
  }
  return out;
}

}  // namespace wp
