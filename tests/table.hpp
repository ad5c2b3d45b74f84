// Helpers for tests that run over the op table.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "kernels/convert.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "tensor/note.hpp"

namespace wp::table {

inline std::string qualified(const Op& op) {
  return op.ns.empty() ? std::string(op.name) : std::string(op.ns) + "_" + std::string(op.name);
}

// The outputs, or the error's class and text.
struct Outcome {
  std::vector<Tensor> out;
  std::string error;
  bool ok() const { return error.empty(); }
};

inline Outcome run(const Op& op, const std::vector<Tensor>& in, const std::vector<Attr>& attrs) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : in) p.push_back(&t);
  Outcome o;
  const checks off(CheckLevel::off);
  try {
    for (const Tensor& t : call(op, Inputs(p.data(), p.size()), attrs, {})) o.out.push_back(contiguous(t));
  } catch (const Error& e) {
    o.error = e.what();
  }
  return o;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(contiguous(a).node()->data, contiguous(b).node()->data, a.nbytes()) == 0);
}
inline bool same_element(const Tensor& a, const Tensor& b, std::int64_t e) {
  const std::size_t n = size_of(a.dtype());
  return std::memcmp(a.node()->data + static_cast<std::size_t>(e) * n,
                     b.node()->data + static_cast<std::size_t>(e) * n, n) == 0;
}
inline bool same(const Outcome& a, const Outcome& b) {
  if (a.ok() != b.ok() || a.out.size() != b.out.size()) return false;
  for (std::size_t k = 0; k < a.out.size(); ++k)
    if (!same_bits(a.out[k], b.out[k])) return false;
  return true;
}

inline Tensor copy_of(const Tensor& x) {
  Tensor y = Tensor::adopt(detail::make_node(x.dtype(), x.shape()));
  const Tensor c = contiguous(x);
  if (x.size()) std::memcpy(y.node()->data, c.node()->data, x.nbytes());
  return y;
}

// Memory laid out so that x appears with the given element distances; the space between is filled with rubbish.
inline Tensor with_layout(const Tensor& x, bool transposed, bool reversed, std::int64_t step) {
  const auto rank = x.shape().size();
  Dims strides(rank, 0);
  std::int64_t span = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t k = transposed ? i : rank - 1 - i;
    strides[k] = span * step;
    span *= std::max<std::int64_t>(x.shape()[k], 1) * step;
  }
  Tensor memory = Tensor::adopt(detail::make_node(x.dtype(), {span + 1}));
  std::memset(memory.node()->data, x.dtype() == DType::boolean ? 1 : 0x7b, memory.nbytes());
  std::int64_t offset = 0;
  if (reversed)
    for (std::size_t k = 0; k < rank; ++k) {
      offset += strides[k] * std::max<std::int64_t>(x.shape()[k] - 1, 0);
      strides[k] = -strides[k];
    }
  scatter_into(memory, strides, offset, x);
  return Tensor::adopt(detail::make_view(*memory.node(), x.shape(), strides, offset));
}

inline Tensor cast(const Tensor& x, DType to) {
  Tensor y = Tensor::adopt(detail::make_node(to, x.shape()));
  const Tensor c = contiguous(x);
  kernels::convert(y.node()->data, to, c.node()->data, x.dtype(), 1, x.size());
  return y;
}

}  // namespace wp::table
