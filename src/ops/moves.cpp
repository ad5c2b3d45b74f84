#include "ops/moves.hpp"

#include <numeric>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"

namespace wp {
namespace {

Tensor numbered(const Dims& shape, bool numbers) {
  Tensor t = Tensor::adopt(detail::make_node(i64, shape));
  auto* const v = reinterpret_cast<std::int64_t*>(t.node()->data);
  for (std::int64_t i = 0; i < t.size(); ++i) v[i] = numbers ? i : -1;
  return t;
}

// The outputs of the call with input `input` replaced by element numbers, and other data by −1.
Tensors moved_numbers(const Call& c, std::size_t input) {
  std::vector<Tensor> replaced;
  std::vector<const Tensor*> in;
  replaced.reserve(c.in.size());
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Param& p = c.op.params[std::min(i, c.op.params.size() - 1)];
    replaced.push_back(p.separate || !c.in[i].defined() ? c.in[i] : numbered(c.in[i].shape(), i == input));
    in.push_back(&replaced.back());
  }
  Call again(c.op, Inputs(in.data(), in.size()), c.attrs, c.place());
  c.op.infer(again);
  c.op.forward(again);
  for (Tensor& t : again.out) t = contiguous(t);
  return again.out;
}

}  // namespace

void flow_moves(const FlowQuery& q, Visit visit) {
  const Call& c = q.call;
  const std::size_t outs = c.out.size(), slot = q.input * outs + q.output;
  if (c.flow_memo.size() < c.in.size() * outs) c.flow_memo.resize(c.in.size() * outs);
  if (!c.flow_memo[slot].defined()) {
    const Tensors numbers = moved_numbers(c, q.input);
    for (std::size_t k = 0; k < outs; ++k) c.flow_memo[q.input * outs + k] = numbers[k];
  }
  const auto source = reinterpret_cast<const std::int64_t*>(c.flow_memo[slot].node()->data)[q.element];
  if (source >= 0) visit(source);
}

void add_view(Call& c, const Tensor& x, const Dims& shape, const Dims& strides, std::int64_t offset) {
  c.out.push_back(Tensor::adopt(detail::make_view(*x.node(), shape, strides, offset)));
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor y = Tensor::adopt(detail::make_node(x.dtype(), x.shape()));
  Dims shape = x.shape(), strides = x.strides();
  Dims* s = &strides;
  kernels::coalesce(shape, &s, 1);
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::gather(y.node()->data + begin * item, x.dtype(), x.node()->data, x.dtype(), shape, strides, begin,
                    end - begin);
  });
  return y;
}

void scatter_into(const Tensor& y, const Dims& strides, std::int64_t offset, const Tensor& x) {
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  char* const base = y.node()->data + offset * item;
  Dims shape = x.shape(), from = x.strides(), to = strides;
  Dims* both[] = {&from, &to};
  kernels::coalesce(shape, both, 2);
  if (x.size() == 0) return;
  if (shape.empty()) {
    kernels::convert(base, x.dtype(), x.node()->data, x.dtype(), 1, 1);
    return;
  }
  const std::size_t last = shape.size() - 1;
  const std::int64_t runs = x.size() / shape[last];
  parallel_for(
      runs, std::max<std::int64_t>(1, kernels::kGrain / shape[last]), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          std::int64_t rest = r, src = 0, dst = 0;
          for (std::size_t k = last; k-- > 0;) {
            src += rest % shape[k] * from[k];
            dst += rest % shape[k] * to[k];
            rest /= shape[k];
          }
          const char* const s = x.node()->data + src * item;
          char* const d = base + dst * item;
          if (to[last] == 1)
            kernels::convert(d, x.dtype(), s, x.dtype(), from[last], shape[last]);
          else
            for (std::int64_t i = 0; i < shape[last]; ++i)
              kernels::convert(d + i * to[last] * item, x.dtype(), s + i * from[last] * item, x.dtype(), 1, 1);
        }
      });
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
