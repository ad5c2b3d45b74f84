#include "ops/reduce.hpp"

#include <cstddef>
#include <limits>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "ops/derivative.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

std::int64_t length_of_runs(const Dims& shape, const Attr& axis) {
  const auto reduced = reduced_axes(axis, static_cast<std::int64_t>(shape.size()));
  std::int64_t n = 1;
  for (std::size_t k = 0; k < reduced.size(); ++k)
    if (reduced[k]) n *= shape[k];
  return n;
}
std::int64_t run_length(const Call& c) {
  return length_of_runs(c.in[0].shape(), c.attr(0));
}

}  // namespace

std::vector<AttrSpec> reduction_attrs(std::vector<AttrSpec> more) {
  std::vector<AttrSpec> all{{"axis", AttrType::ints, {}, "Axes to reduce; none: all of them."},
                            {"keepdims", AttrType::boolean, false, "Keep reduced axes with length 1."}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Dims reduced_output(const Call& c) {
  return reduced_shape(c.in[0].shape(), reduced_axes(c.attr(0), c.in[0].ndim()), c.attr(1).flag());
}

Tensor with_axes(const Saved& s, const Tensor& reduced) {
  const Dims& whole = s.shape(0);
  const auto ndim = static_cast<std::int64_t>(whole.size());
  const Dims shape = reduced_shape(whole, reduced_axes(s.attr(0), ndim), true);
  return reduced.shape() == shape ? reduced : reshape(reduced, shape);
}
Tensor spread(const Saved& s, const Tensor& reduced) {
  return broadcast_to(reduced.ndim() == 0 ? reduced : with_axes(s, reduced), s.shape(0));
}

Tensor summed(const Saved& s, const Tensor& whole) {
  const bool kept = s.attr(1).flag();
  return s.attr(0) ? sum(whole, {.axis = s.attr(0).ints(), .keepdims = kept}) : sum(whole, {.keepdims = kept});
}
std::int64_t run_length(const Saved& s) {
  return length_of_runs(s.shape(0), s.attr(0));
}

namespace {

// The axes of x, those that are reduced last.
Dims reduced_last(const Saved& s) {
  const auto reduced = reduced_axes(s.attr(0), static_cast<std::int64_t>(s.shape(0).size()));
  Dims order;
  for (const bool last : {false, true})
    for (std::size_t k = 0; k < reduced.size(); ++k)
      if (reduced[k] == last) order.push_back(static_cast<std::int64_t>(k));
  return order;
}

}  // namespace

Tensor runs_of(const Saved& s, const Tensor& whole) {
  const auto reduced = reduced_axes(s.attr(0), static_cast<std::int64_t>(s.shape(0).size()));
  Dims shape = reduced_shape(s.shape(0), reduced, false);
  shape.push_back(run_length(s));
  return reshape(permute_dims(whole, reduced_last(s)), shape);
}
Tensor from_runs(const Saved& s, const Tensor& runs) {
  const Dims order = reduced_last(s);
  Dims shape, back(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    shape.push_back(s.shape(0)[static_cast<std::size_t>(order[k])]);
    back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  }
  return permute_dims(reshape(runs, shape), back);
}

void need_nonempty(const Call& c) {
  if (run_length(c) == 0)
    refuse<ShapeError>("WP-SHP-006", say("has no value over an empty axis; x has shape ", c.in[0].shape(), "."));
}

AttrSpec total_attr() {
  return {"dtype", AttrType::dtype, {}, "The dtype of the result; none: i64 or u64 for integers and bool, else x's."};
}

DType total_dtype(const Call& c, const Attr& asked) {
  const DType d = c.in[0].dtype();
  if (!asked) return is_floating(d) ? d : is(d, kinds::unsigned_integer) ? u64 : i64;
  const DType to = asked.dtype();
  if (to == DType::boolean || (is_floating(d) && !is_floating(to)) || (is_complex(d) && !is_complex(to)))
    refuse<DtypeError>("WP-DTY-004", say("dtype must hold the elements; x is ", d, ", dtype is ", to, "."),
                       "Convert the elements first, with astype.");
  return to;
}

DType total_loop(DType dtype) {
  return is_floating(dtype) ? dtype : is(dtype, kinds::unsigned_integer) ? u64 : i64;
}

namespace {

// f16 and bf16 are computed in f32, unless the table knows them.
const kernels::Reduction& row(const Call& c, const kernels::Reductions& table, DType as) {
  const kernels::Reduction& own = table[static_cast<std::size_t>(as)];
  const kernels::Reduction& r = !own && (as == f16 || as == bf16) ? table[static_cast<std::size_t>(f32)] : own;
  if (!r) refuse<DtypeError>("WP-DTY-003", say("there is no ", c.op.name, " for ", as, "."), "Convert with astype.");
  return r;
}

kernels::ReducePlan plan_of(const Call& c, char* out, double param) {
  const Tensor& x = c.in[0];
  const auto reduced = reduced_axes(c.attr(0), x.ndim());
  kernels::ReducePlan plan{x.node()->data, x.dtype(), {}, {}, {}, {}, out, param};
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    (reduced[k] ? plan.reduced : plan.kept).push_back(x.shape()[k]);
    (reduced[k] ? plan.reduced_strides : plan.kept_strides).push_back(x.strides()[k]);
  }
  return plan;
}

// The results that the plain table may have got wrong, one by one.
void redo(const Call& c, const Careful& careful, const Tensor& y, DType as, double param) {
  const kernels::Reduction& r = row(c, *careful.table, as);
  const auto item = static_cast<std::int64_t>(size_of(c.in[0].dtype()));
  const kernels::ReducePlan all = plan_of(c, y.node()->data, param);
  const auto look = [&](const auto* values) {
    for (std::int64_t o = 0; o < y.size(); ++o) {
      const double size = static_cast<double>(std::abs(values[o]));
      if (size >= careful.small && size <= std::numeric_limits<double>::max()) continue;
      kernels::ReducePlan one = all;
      std::int64_t rest = o;
      for (std::size_t k = all.kept.size(); k-- > 0;) {
        one.x += rest % all.kept[k] * all.kept_strides[k] * item;
        rest /= all.kept[k];
      }
      one.kept = one.kept_strides = {};
      one.out += o * static_cast<std::int64_t>(size_of(y.dtype()));
      kernels::reduce(r, one);
    }
  };
  const void* const data = y.node()->data;
  if (y.dtype() == f32) look(static_cast<const float*>(data));
  if (y.dtype() == f64) look(static_cast<const double*>(data));
  if (y.dtype() == c64) look(static_cast<const complex64*>(data));
  if (y.dtype() == c128) look(static_cast<const complex128*>(data));
}

}  // namespace

void run_reduction(Call& c, const kernels::Reductions& table, DType as, std::size_t output, double param,
                   Careful careful) {
  const detail::Node& x = *c.in[0].node();
  const kernels::Reduction& r = row(c, table, as);
  Tensor& y = c.out[output];
  const bool direct = y.dtype() == r.out;
  const Tensor wide = direct ? y : Tensor::adopt(detail::make_node(r.out, y.shape()));
  std::uint32_t bits = 0;
  if (y.size() == 1 && x.contiguous && x.dtype == r.in && x.size > 0 && x.size <= kernels::kReduceBlock) {
    alignas(64) std::byte state[kernels::kStateBytes];
    simd::Status status;
    r.block[static_cast<int>(simd::isa())](x.data, x.size, state);
    r.finish(state, x.size, param, wide.node()->data, &status);
    bits = status.bits;
  } else {
    bits = kernels::reduce(r, plan_of(c, wide.node()->data, param));
  }
  if (careful.table && x.size > 0 && (bits || careful.small > 0)) {
    redo(c, careful, wide, as, param);
    bits = kernels::any_nonfinite(wide.dtype(), wide.node()->data, wide.size()) ? simd::Status::nonfinite : 0;
  }
  if (!direct) {
    kernels::convert(y.node()->data, y.dtype(), wide.node()->data, r.out, 1, y.size());
    if (kernels::any_nonfinite(y.dtype(), y.node()->data, y.size())) bits |= simd::Status::nonfinite;
  }
  c.status.bits |= bits;
}

void flow_reduction(const FlowQuery& q, Visit visit) {
  const Dims& shape = q.call.in[0].shape();
  const auto reduced = reduced_axes(q.call.attr(0), static_cast<std::int64_t>(shape.size()));
  std::int64_t rest = q.element, scale = 1, base = 0, runs = 1;
  Dims lengths, scales;
  for (std::size_t k = shape.size(); k-- > 0;) {
    if (reduced[k]) {
      lengths.push_back(shape[k]);
      scales.push_back(scale);
      runs *= shape[k];
    } else {
      base += rest % shape[k] * scale;
      rest /= shape[k];
    }
    scale *= shape[k];
  }
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t e = base, left = r;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      e += left % lengths[k] * scales[k];
      left /= lengths[k];
    }
    visit(e);
  }
}

Tensor sample_tensor(DType dtype, const Dims& shape, const std::vector<complex128>& values) {
  Tensor t = Tensor::adopt(detail::make_node(dtype, shape));
  for (std::int64_t i = 0; i < t.size(); ++i)
    kernels::convert(t.node()->data + i * static_cast<std::int64_t>(size_of(dtype)), dtype,
                     &values[static_cast<std::size_t>(i) % values.size()], c128, 1, 1);
  return t;
}

std::vector<Sample> reduction_samples(const Op& op, const std::vector<double>& values, std::vector<Attr> more) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, std::vector<Attr> attrs) {
    attrs.insert(attrs.end(), more.begin(), more.end());
    std::vector<complex128> v;
    for (std::size_t i = 0; i < values.size(); ++i)
      v.emplace_back(is(d, kinds::unsigned_integer | kinds::boolean) ? std::abs(values[i]) : values[i],
                     is_complex(d) ? values[(3 * i + 1) % values.size()] : 0.0);
    out.push_back({{sample_tensor(d, shape, v)}, std::move(attrs)});
  };
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    if (!is(d, op.params[0].kinds)) continue;
    add(d, {2, 3}, {{}, false});
    if (d != i64 && d != f64 && d != c128) continue;
    add(d, {2, 3, 2}, {Dims{0, 2}, false});
    add(d, {3, 4}, {Dims{-1}, true});
    add(d, {4, 5}, {Dims{0}, false});
  }
  return out;
}

}  // namespace wp
