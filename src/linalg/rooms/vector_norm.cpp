#include <cmath>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/norms.hpp"
#include "kernels/scan.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rules.hpp"
#include "ops/kinks.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_vector_norm;
namespace {

using kernels::Reductions;
constexpr Reductions norm2 = kernels::reductions<kernels::Norm2>(simd::Floats{});
constexpr Reductions scaled_norm2 = kernels::rare_reductions<kernels::ScaledNorm2>(simd::Floats{});
constexpr Reductions norm1 = kernels::reductions<kernels::Norm1>(simd::Floats{});
constexpr Reductions norm_max = kernels::reductions<kernels::NormMax>(simd::Floats{});
constexpr Reductions norm_min = kernels::rare_reductions<kernels::NormMin>(simd::Floats{});
constexpr Reductions norm0 = kernels::rare_reductions<kernels::Norm0>(simd::Floats{});

void infer(Call& c) {
  c.key = c.in[0].dtype();
  c.output(real_of(c.key), reduced_output(c));
  if (std::isnan(c.attr(2).real())) refuse<ArgumentError>("WP-ARG-001", "ord must be a number; got nan.");
}

// Any other order: runs are brought together, one after the other.
void forward_general(Call& c, double p) {
  const Tensor& x = c.in[0];
  const auto reduced = reduced_axes(c.attr(0), x.ndim());
  Dims shape, strides;
  for (const bool last : {false, true})
    for (std::size_t k = 0; k < reduced.size(); ++k)
      if (reduced[k] == last) {
        shape.push_back(x.shape()[k]);
        strides.push_back(x.strides()[k]);
      }
  const DType dtype = line_dtype(c.key);
  const Tensor runs = packed(view_of(x, shape, strides), dtype);
  Tensor y = c.out[0];
  const std::int64_t n = y.size() ? runs.size() / y.size() : 0;
  const Tensor wide = Tensor::adopt(detail::make_node(real_of(dtype), y.shape()));
  const auto fill = [&]<class T>(T) {
    using R = typename kernels::RealPart<T>::type;
    const T* const from = reinterpret_cast<const T*>(runs.node()->data);
    R* const to = reinterpret_cast<R*>(wide.node()->data);
    parallel_for(y.size(), std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) to[i] = kernels::norm_p(from + i * n, n, p);
                 });
  };
  switch (dtype) {
    case DType::f32: fill(float{}); break;
    case DType::f64: fill(double{}); break;
    case DType::c64: fill(complex64{}); break;
    default: fill(complex128{});
  }
  scatter_into(y, y.strides(), 0, packed(wide, y.dtype()));
  if (kernels::any_nonfinite(y.dtype(), y.node()->data, y.size())) c.status.bits |= simd::Status::nonfinite;
}

void forward(Call& c) {
  const double p = c.attr(2).real();
  const auto run = [&](const Reductions& table, Careful careful = {}) {
    run_reduction(c, table, c.key, 0, 0, careful);
  };
  if (p == 2) return run(norm2, {&scaled_norm2, is(real_of(c.key), kind(f64)) ? 1e-140 : 0});
  if (p == 1) return run(norm1);
  if (p == 0) return run(norm0);
  if (std::isinf(p)) return run(p > 0 ? norm_max : norm_min);
  forward_general(c, p);
}

void find_kinks(const Backward& b, const Tensor& zero, const Tensor& g) {
  const linalg::Unrecorded here;
  if (linalg::any_true(logical_and(zero, not_equal(g, 0))))
    linalg::find_kink(b, 0, 0,
                      "the norm has a kink where all elements are 0. The gradient is a subgradient: 0 there.");
}

// ∂‖x‖/∂x = (x/|x|) (|x|/‖x‖)^(p−1); 0 at 0, and even shares among the largest (p = inf).
Tensors vjp(const Backward& b) {
  const Tensor& x = b.in[0];
  const double p = b.attr(2).real();
  if (x.size() == 0 || p == 0) return {zeros_for(b.facts[0])};
  const Tensor g = spread(b, b.g()), y = spread(b, b.out[0]);
  if (p == 1) return {slope_times(b, x, sign(x), equal(x, 0), g, Kink::straight)};
  if (std::isinf(p)) {
    const Tensor mark = equal(abs(x), y);
    const OptionalInts axes = b.attr(0) ? OptionalInts(Ints(b.attr(0).ints())) : OptionalInts();
    const Tensor share = sum(astype(mark, g.dtype()), {.axis = axes, .keepdims = true});
    if (linalg::any_true(greater(share, 1)))
      linalg::find_kink(
          b, linalg::largest(share), 1,
          "the norm has a kink where elements tie. The gradient is a subgradient: the mean over the tie.");
    return {multiply(sign(x), where(mark, divide(g, share), 0))};
  }
  const Tensor zero = equal(y, 0), size = where(zero, 1, y);
  find_kinks(b, zero, g);
  if (p == 2) return {slope_times(b, x, divide(x, size), zero, g)};
  const Tensor part = divide(abs(x), size);
  const Tensor own =
      p > 2 ? multiply(divide(x, size), pow(part, p - 2)) : multiply(sign(x), pow(where(zero, 1, part), p - 1));
  return {slope_times(b, x, where(zero, 0, own), zero, g)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = reduction_samples(op_linalg_vector_norm, {3, -4, 0.5, 1.25, 0, -2}, {2.0});
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, double ord,
                       std::string_view covers) {
    all.push_back({{sample_tensor(d, shape, v)}, {{}, false, ord}, covers});
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const DType d : {f16, f32, f64, c64, c128}) {
    add(d, {2, 3}, {3, -4, 0.5, 1.25, 0, -2}, 1, "ord 1");
    add(d, {2, 3}, {3, -4, 0.5, 1.25, 0, -2}, 0, "ord 0: how many are not zero");
    add(d, {2, 3}, {3, -4, 0.5, 1.25, 0, -2}, inf, "ord inf: the largest");
    add(d, {2, 3}, {3, -4, 0.5, 1.25, 7, -2}, -inf, "ord -inf: the smallest");
    add(d, {2, 3}, {3, -4, 0.5, 1.25, 0, -2}, 3, "another ord");
  }
  all.push_back({{sample_tensor(f64, {2, 3, 2}, {3, -4, 0.5, 1.25, 7, -2})}, {Dims{1}, true, 2.5}, "another ord"});
  add(f64, {4}, {3, -4, 0.5, 1.25}, -1, "another ord");
  add(f64, {2}, {1e200, 1e200}, 2, "powers overflow on the way");
  add(c128, {2}, {{1e200, 1e200}, {0, 1e-3}}, 2, "powers overflow on the way");
  add(f64, {3}, {1e200, 3e200, 2e200}, 3, "powers overflow on the way");
  add(f64, {3}, {3e-200, 4e-200, 0}, 2, "powers vanish on the way");
  add(f64, {0}, {0}, 2, "nothing: 0");
  return all;
}

}  // namespace

const Op op_linalg_vector_norm = {
    .name = "vector_norm",
    .ns = "linalg",
    .group = "linear algebra",
    .doc = "The norm of vectors along axes, (sum |x|^ord)^(1/ord), without overflow or underflow on the way.",
    .params = {{"x", kinds::floating}},
    .attrs = reduction_attrs({{"ord", AttrType::real, 2.0, "The order; inf gives the largest |x|, 0 counts."}}),
    .infer = infer,
    .forward = forward,
    .flow = flow_reduction,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"ord 1", "ord 0: how many are not zero", "ord inf: the largest", "ord -inf: the smallest",
                 "another ord", "powers overflow on the way", "powers vanish on the way", "nothing: 0"},
    .samples = samples,
};

}  // namespace wp
