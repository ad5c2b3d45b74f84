#include "ops/reduce.hpp"

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"

namespace wp {
namespace {

std::int64_t run_length(const Call& c) {
  const auto reduced = reduced_axes(c.attr(0), c.in[0].ndim());
  std::int64_t n = 1;
  for (std::size_t k = 0; k < reduced.size(); ++k)
    if (reduced[k]) n *= c.in[0].shape()[k];
  return n;
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

void need_nonempty(const Call& c) {
  if (run_length(c) == 0)
    refuse<ShapeError>("WP-SHP-006", say("has no value over an empty axis; x has shape ", c.in[0].shape(), "."));
}

void run_reduction(Call& c, const kernels::Reductions& table, DType as, std::size_t output, double param) {
  const Tensor& x = c.in[0];
  const kernels::Reduction& r = table[static_cast<std::size_t>(as == f16 || as == bf16 ? f32 : as)];
  if (!r.join)
    refuse<DtypeError>("WP-DTY-003", say("there is no ", c.op.name, " for ", as, "."), "Convert with astype.");
  const auto reduced = reduced_axes(c.attr(0), x.ndim());
  Tensor& y = c.out[output];
  const bool direct = y.dtype() == r.out;
  Tensor wide = direct ? y : Tensor::adopt(detail::make_node(r.out, y.shape()));
  kernels::ReducePlan plan{x.node()->data, x.dtype(), {}, {}, {}, {}, wide.node()->data, param};
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    (reduced[k] ? plan.reduced : plan.kept).push_back(x.shape()[k]);
    (reduced[k] ? plan.reduced_strides : plan.kept_strides).push_back(x.strides()[k]);
  }
  c.status.bits |= kernels::reduce(r, plan);
  if (direct) return;
  kernels::convert(y.node()->data, y.dtype(), wide.node()->data, r.out, 1, y.size());
  if (kernels::any_nonfinite(y.dtype(), y.node()->data, y.size())) c.status.bits |= simd::Status::nonfinite;
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

std::vector<Sample> reduction_samples(const Op& op, const std::vector<double>& values, std::vector<Attr> more) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, std::vector<Attr> attrs) {
    attrs.insert(attrs.end(), more.begin(), more.end());
    Tensor t = Tensor::adopt(detail::make_node(d, shape));
    std::vector<complex128> v;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const double re = values[static_cast<std::size_t>(i) % values.size()];
      v.emplace_back(is(d, kinds::unsigned_integer | kinds::boolean) ? std::abs(re) : re,
                     is_complex(d) ? values[static_cast<std::size_t>(3 * i + 1) % values.size()] : 0.0);
    }
    kernels::convert(t.node()->data, d, v.data(), c128, 1, t.size());
    out.push_back({{t}, std::move(attrs)});
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
