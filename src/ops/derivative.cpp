#include "ops/derivative.hpp"

#include <algorithm>

#include "ops/dispatch.hpp"
#include "ops/elementwise.hpp"
#include "ops/shapes.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {

Tensor conj_of(const Tensor& x) {
  return is_complex(x.dtype()) ? conj(x) : x;
}
Tensor zeros_for(const Fact& fact) {
  return zeros(fact.shape, {.dtype = fact.dtype});
}

Tensor share(const Tensor& a, const Tensor& b, DType dtype) {
  return multiply(0.5, add(astype(greater(a, b), dtype), astype(greater_equal(a, b), dtype)));
}

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  const std::size_t extra = x.shape().size() - shape.size();
  Dims axes;
  for (std::size_t k = 0; k < x.shape().size(); ++k)
    if (k < extra || (shape[k - extra] == 1 && x.shape()[k] != 1)) axes.push_back(static_cast<std::int64_t>(k));
  const Tensor all = sum(x, {.axis = axes});
  return all.shape() == shape ? all : reshape(all, shape);
}

Tensor part(const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  Dims items;
  Tensors lists;
  for (std::int64_t k = normal_axis(axis, x.ndim()); k > 0; --k) IndexItem(slice()).write(items, lists);
  IndexItem(slice(begin, end)).write(items, lists);
  return index(x, lists, items);
}
Tensor added_at(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& values) {
  Dims items;
  Tensors lists;
  for (std::int64_t k = normal_axis(axis, x.ndim()); k > 0; --k) IndexItem(slice()).write(items, lists);
  IndexItem(places).write(items, lists);
  return index_set(x, values, lists, items, {.mode = "add"});
}
Tensor product_of_others(const Tensor& x) {
  const std::int64_t n = x.shape().back();
  const auto before = [n](const Tensor& t) {
    return part(cumulative_prod(t, {.axis = -1, .include_initial = true}), -1, 0, n);
  };
  return multiply(before(x), flip(before(flip(x, {.axis = -1})), {.axis = -1}));
}

Tensor vjp_fused(const Backward& b, const simd::Loops& loops) {
  return b.recorded() ? Tensor() : run_fused(loops, b.g(), b.op.saves_outputs ? b.out[0] : b.in[0]);
}

Tensors vjp_partials(const Backward& b) {
  Tensors all(b.in.size());
  if (b.op.fused) {
    all[0] = vjp_fused(b, *b.op.fused);
    if (all[0].defined()) return all;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!b.wants(i)) continue;
    const Tensor slope = b.op.partial(b, i);
    all[i] = slope.defined() ? multiply(b.g(), conj_of(slope)) : zeros_for(b.facts[i]);
  }
  return all;
}

Tensors jvp_partials(const Forward& f) {
  Tensor t;
  for (std::size_t i = 0; i < f.in.size(); ++i) {
    if (!f.tangents[i].defined()) continue;
    const Tensor slope = f.op.partial(f, i);
    if (!slope.defined()) continue;
    Tensor term = multiply(f.tangents[i], slope);
    t = t.defined() ? add(t, term) : std::move(term);
  }
  if (!t.defined()) return {zeros_for(f.output(0))};
  return {t.shape() == f.output(0).shape ? t : broadcast_to(t, f.output(0).shape)};
}

namespace {

Tensors call_with(const Forward& f, std::span<const Tensor* const> in) {
  return call(f.op, Inputs(in.data(), in.size()), f.attrs, f.place);
}

}  // namespace

Tensors jvp_linear(const Forward& f) {
  std::vector<Tensor> zero(f.in.size());
  std::vector<const Tensor*> in(f.in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = f.tangents[i].defined() ? &f.tangents[i] : &f.in[i];
    // Conditions and indices stay; data that does not vary counts as 0, also integers.
    if (f.tangents[i].defined() || !f.in[i].defined() || f.op.param(i).separate) continue;
    zero[i] = f.in[i].node()->weak ? Tensor(0) : zeros_for(f.facts[i]);
    in[i] = &zero[i];
  }
  return call_with(f, in);
}

Tensors jvp_multilinear(const Forward& f) {
  Tensors sums;
  for (std::size_t k = 0; k < f.in.size(); ++k) {
    if (!f.tangents[k].defined()) continue;
    std::vector<const Tensor*> in(f.in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = i == k ? &f.tangents[i] : &f.in[i];
    Tensors term = call_with(f, in);
    if (sums.empty())
      sums = std::move(term);
    else
      for (std::size_t o = 0; o < sums.size(); ++o) sums[o] = add(sums[o], term[o]);
  }
  return sums;
}

}  // namespace wp
