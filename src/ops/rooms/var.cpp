#include "kernels/moments.hpp"
#include "ops/kinks.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_var;
extern const Op op_std;
namespace {

constexpr kernels::Reductions var_table = kernels::reductions<kernels::Var>(simd::Floats{});
constexpr kernels::Reductions std_table = kernels::refinished<kernels::Std>(var_table, simd::Floats{});
constexpr kernels::Reductions careful_var = kernels::rare_reductions<kernels::CarefulVar>(simd::Floats{});
constexpr kernels::Reductions careful_std = kernels::refinished<kernels::CarefulStd>(careful_var, simd::Floats{});

DType as_float(const Call& c) {
  const DType d = c.in[0].dtype();
  return is_floating(d) ? d : f64;
}

// ∂var/∂x = 2 (x − mean)/(N − correction), ∂std/∂x half of that over std, and 0 where std is 0. The rounding error of
// the mean is taken out again: it may be large beside what is left.
Tensor slope(const Saved& s) {
  const Tensor x = is_floating(s.dtype(0)) ? s.in[0] : astype(s.in[0], f64);
  const auto centred = [&s](const Tensor& v) {
    return subtract(v, s.attr(0) ? mean(v, {.axis = s.attr(0).ints(), .keepdims = true}) : mean(v));
  };
  const Tensor d = divide(centred(centred(x)), static_cast<double>(run_length(s)) - s.attr(2).real());
  if (&s.op == &op_var) return multiply(2, d);
  const Tensor y = with_axes(s, s.out[0]), flat = equal(y, 0);
  return divide(d, where(flat, 1, y));
}
Tensors vjp(const Backward& b) {
  const Tensor g = spread(b, b.g());
  if (&b.op == &op_var || b.in[0].size() == 0) return {multiply(g, slope(b))};
  return {slope_times(b, b.in[0], slope(b), equal(spread(b, b.out[0]), 0), g)};
}
Tensors jvp(const Forward& f) {
  return {summed(f, real(multiply(conj_of(slope(f)), f.tangents[0])))};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = reduction_samples(op, {1, 2.5, -3, 4, 0.125, -7, 100}, {0.0});
  const auto add = [&](Tensor x, double correction, std::string_view covers) {
    all.push_back({{std::move(x)}, {{}, false, correction}, covers});
  };
  add(sample_tensor(f64, {5}, {1, 2, 4, 8, 16}), 1, "correction");
  add(sample_tensor(f32, {4}, {1, 2, 4, 8}), 0.5, "correction");
  add(sample_tensor(f64, {3}, {1e9 + 1, 1e9 + 2, 1e9 + 3}), 1, "far from zero");
  add(sample_tensor(f32, {40}, {16777216, 16777218, 16777220}), 0, "far from zero");
  add(sample_tensor(f64, {50}, {0.1}), 0, "all equal: 0");
  add(sample_tensor(f32, {4}, {-3e18, 3e18, 1e18, 2e19}), 0, "squares overflow on the way");
  add(sample_tensor(f64, {4}, {-3e-90, 3e-90, 1e-90, 2e-90}), 0, "tiny");
  add(sample_tensor(f64, {1}, {3}), 1, "no more elements than correction: nan");
  add(sample_tensor(f64, {0}, {0}), 0, "no more elements than correction: nan");
  return all;
}

Op moment(Op op) {
  op.group = "statistical";
  op.params = {{"x", kinds::any}};
  op.attrs = reduction_attrs({{"correction", AttrType::real, 0.0,
                               "The divisor is N - correction; 1 gives the unbiased estimate of a variance."}});
  op.infer = [](Call& c) { c.output(real_of(as_float(c)), reduced_output(c)); };
  op.domain = "more elements than correction";
  op.inside = [](std::span<const double> v) { return v.size() > 1; };
  op.advice = "Select more elements, or a smaller correction.";
  op.flow = flow_reduction;
  op.vjp = vjp;
  op.jvp = jvp;
  op.saves_inputs = 1;
  op.branches = {"correction",   "far from zero",
                 "all equal: 0", "squares overflow on the way",
                 "tiny",         "no more elements than correction: nan"};
  return op;
}

}  // namespace

const Op op_var = moment({
    .name = "var",
    .doc = "The variance over axes, sum |x - mean|^2 / (N - correction), as exact for data far from zero as near it. "
           "Integers and bool give f64, complex numbers a real result.",
    .forward = [](Call& c) { run_reduction(c, var_table, as_float(c), 0, c.attr(2).real(), {&careful_var}); },
    .samples = [] { return samples(op_var); },
});

const Op op_std = moment({
    .name = "std",
    .doc = "The standard deviation over axes: the square root of var, without overflow or underflow of the squares. "
           "Integers and bool give f64, complex numbers a real result.",
    .forward =
        [](Call& c) {
          const bool narrow = is(real_of(as_float(c)), kind(f16) | kind(bf16) | kind(f32));
          run_reduction(c, std_table, as_float(c), 0, c.attr(2).real(), {&careful_std, narrow ? 1e-14 : 1e-140});
        },
    .saves_outputs = 1,
    .samples = [] { return samples(op_std); },
});

}  // namespace wp
