#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "kernels/scan.hpp"
#include "linalg/each.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rules.hpp"
#include "linalg/spectral.hpp"
#include "ops/kinks.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_matrix_norm;
namespace {

using namespace linalg;

enum class Norm : std::uint8_t { frobenius, nuclear, one, infinity, two, least_one, least_infinity, least_two };

Norm norm_of(const Attr& ord) {
  if (!ord.is_number()) return ord.text() == "nuc" ? Norm::nuclear : Norm::frobenius;
  const double p = ord.real();
  if (p == 1) return Norm::one;
  if (p == -1) return Norm::least_one;
  if (p == 2) return Norm::two;
  if (p == -2) return Norm::least_two;
  if (std::isinf(p)) return p > 0 ? Norm::infinity : Norm::least_infinity;
  refuse<ArgumentError>("WP-ARG-001", say("ord must be 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\"; got ", p, "."),
                        "Other orders are norms of vectors: vector_norm.");
}

void infer(Call& c) {
  const Dims& axes = c.attr(0).ints();
  need_matrices(c.in[0], "x");
  if (axes.size() != 2)
    refuse<ArgumentError>("WP-ARG-003", say("axis must name two axes, of rows and of columns; got ", axes, "."));
  const Norm norm = norm_of(c.attr(2));
  c.key = float_result(c.in[0].dtype());
  const Dims shape = reduced_output(c);
  if (norm >= Norm::least_one) need_nonempty(c);
  c.output(real_of(c.key), shape);
}

// The least column sum. Sums of f64 fit the exponents of long double.
template <class T>
double least_column(std::int64_t m, std::int64_t n, kernels::View<T> a) {
  long double least = HUGE_VALL;
  for (std::int64_t j = 0; j < n; ++j) {
    long double sum = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::complex<long double> v(a.data[i * a.rows + j * a.columns]);
      sum += std::abs(v);
    }
    if (!(sum >= least)) least = sum;
    if (std::isnan(sum)) break;
  }
  return static_cast<double>(least);
}

template <class T>
double value(Norm norm, std::int64_t m, std::int64_t n, kernels::View<T> a) {
  if (m == 0 || n == 0) return 0;
  if (norm == Norm::least_one) return least_column<T>(m, n, a);
  if (norm == Norm::least_infinity) return least_column<T>(n, m, a.transposed());
  const kernels::Norms simple = kernels::norms<T>(m, n, a);
  if (norm == Norm::frobenius) return simple.frobenius;
  if (norm == Norm::one) return simple.one;
  if (norm == Norm::infinity) return simple.infinity;
  if (!std::isfinite(simple.largest))
    return std::isinf(simple.largest) && norm != Norm::least_two ? HUGE_VAL : std::nan("");
  const Spectral<T> svd(m, n, a, Parts::values);
  if (!svd.converged()) return std::nan("");
  const std::vector<double>& s = svd.sigma();
  if (norm == Norm::two) return s.front();
  if (norm == Norm::least_two) return s.back();
  long double sum = 0;
  for (std::size_t i = s.size(); i-- > 0;) sum += s[i];
  return static_cast<double>(sum);
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Norm norm = norm_of(c.attr(2));
  const auto reduced = reduced_axes(c.attr(0), x.ndim());
  Dims shape, strides;
  const auto take = [&](std::size_t k) {
    shape.push_back(x.shape()[k]);
    strides.push_back(x.strides()[k]);
  };
  for (std::size_t k = 0; k < reduced.size(); ++k)
    if (!reduced[k]) take(k);
  const Dims batch = shape;
  for (const std::int64_t axis : c.attr(0).ints()) take(static_cast<std::size_t>(normal_axis(axis, x.ndim())));
  const std::int64_t m = shape[shape.size() - 2], n = shape.back();
  const DType work = working_dtype(c.key, std::max(m, n));
  const Tensor a = brought(view_of(x, shape, strides), work);
  Result out(c.out[0], real_of(work));
  with_float(work, [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    const Stack<T> stack(a, batch);
    for_members(count_of(batch), std::max(m, n),
                [&](std::int64_t i) { out.data<R>()[i] = static_cast<R>(value<T>(norm, m, n, stack[i])); });
  });
  out.finish();
  const Tensor& y = c.out[0];
  if (kernels::any_nonfinite(y.dtype(), y.node()->data, y.size())) c.status.bits |= simd::Status::nonfinite;
}

// The columns or rows with the largest or the least sum.
Tensor best_lines(const Tensor& a, bool columns, bool least) {
  const Tensor sums = sum(abs(a), {.axis = columns ? -2 : -1, .keepdims = true});
  const OptionalInts both{-2, -1};
  return equal(sums,
               least ? min(sums, {.axis = both, .keepdims = true}) : max(sums, {.axis = both, .keepdims = true}));
}

// Of sums and singular values that tie, each takes an even share: a subgradient; 0 at 0.
Tensor matrix_cotangent(const Backward& b, Norm norm, const Tensor& a, const Tensor& y, const Tensor& g) {
  if (norm == Norm::frobenius) {
    const Tensor zero = equal(y, 0);
    if (any_true(logical_and(zero, not_equal(g, 0))))
      find_kink(b, 0, 0, "the norm has a kink at 0. The gradient is a subgradient: 0.");
    return slope_times(b, a, divide(a, where(zero, 1, y)), broadcast_to(zero, a.shape()), g);
  }
  if (norm == Norm::nuclear) {
    const Tensor kept = values_that_are(Which::not_zero, a);
    find_uneven(b, kept, std::min(a.shape(-2), a.shape(-1)), "a singular value is zero");
    return multiply(spectral_value(SpectralFunction::signs, kept, a), g);
  }
  if (norm == Norm::two || norm == Norm::least_two) {
    const Tensor kept = values_that_are(norm == Norm::two ? Which::largest : Which::least, a);
    find_uneven(b, kept, 1,
                norm == Norm::two ? "the largest singular value is repeated, or zero"
                                  : "the least singular value is repeated, or zero");
    find_close(b, a, kept, norm == Norm::least_two);
    const Tensor share = astype(maximum(each(kept[{ellipsis, 1}]), 1), g.dtype());
    return multiply(spectral_value(SpectralFunction::signs, kept, a), divide(g, share));
  }
  const bool columns = norm == Norm::one || norm == Norm::least_one;
  const Tensor mark = unrecorded([&] { return best_lines(a, columns, norm >= Norm::least_one); });
  const Tensor share = sum(astype(mark, g.dtype()), {.axis = {-2, -1}, .keepdims = true});
  if (any_true(greater(share, 1)))
    find_kink(b, largest(share), 1,
              say("the norm has a kink where ", columns ? "columns" : "rows",
                  " tie. The gradient is a subgradient: the mean over the tie."));
  return multiply(sign(a), where(mark, divide(g, share), 0));
}

Tensors vjp(const Backward& b) {
  if (b.in[0].size() == 0) return {zeros_for(b.facts[0])};
  const Dims& axes = b.attr(0).ints();
  const Tensor a = moveaxis(b.in[0], axes, Dims{-2, -1});
  const Dims batch = batch_of(a);
  const Tensor y = each(reshape(b.out[0], batch)), g = each(reshape(b.g(), batch));
  return {moveaxis(matrix_cotangent(b, norm_of(b.attr(2)), a, y, g), Dims{-2, -1}, axes)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, const Setting& ord,
                       std::string_view covers, const Dims& axis = {-2, -1}, bool keepdims = false) {
    all.push_back({{sample_tensor(d, shape, v)}, {axis, keepdims, ord}, covers});
  };
  struct Order {
    Setting ord;
    std::string_view covers;
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Order orders[] = {{"fro", "ord fro"}, {"nuc", "ord nuc"}, {1, "ord 1"},       {inf, "ord inf"},
                          {2, "ord 2"},       {-1, "ord -1"},     {-inf, "ord -inf"}, {-2, "ord -2"}};
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_matrix_norm.params[0].kinds))
      for (const Order& o : orders) add(d, {2, 3}, {3, 4, 1, 7, 0, 2}, o.ord, o.covers);
  for (const Order& o : orders) {
    add(c128, {2, 2}, {{3, 4}, {-1, 1}, 0, {2, -1}}, o.ord, o.covers);
    add(f64, {2, 2}, {1e300, 3e300, -2e300, 5e300}, o.ord, "far from 1");
    add(f64, {2, 2}, {1e-300, 3e-300, -2e-300, 5e-300}, o.ord, "far from 1");
    add(f64, {2, 3, 2}, {3, -4, 0.5, 1.25, 7, -2, 1, 2, 3, 4, 5, 6}, o.ord, "other axes", {2, 0}, true);
  }
  add(f64, {2, 3, 2}, {3, -4, 0.5, 1.25, 7, -2, 1, 2, 3, 4, 5, 6}, "fro", "a batch");
  for (const Setting ord : {Setting("fro"), Setting("nuc"), Setting(1), Setting(2)})
    add(f64, {0, 2}, {0}, ord, "nothing: 0");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, 2, "not finite");
  add(f64, {2, 2}, {1, std::nan(""), 0, 1}, 2, "not finite");
  return all;
}

}  // namespace

const Op op_linalg_matrix_norm = {
    .name = "matrix_norm",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The norm of matrices: fro √Σ|x|²; 1, inf the largest sum of |x| over a column, over a row; 2 the largest "
        "singular value, nuc their sum; -1, -inf, -2 the least instead. Nothing overflows or vanishes on the way.",
    .params = {{"x", kinds::numeric}},
    .attrs = {{"axis", AttrType::ints, Dims{-2, -1}, "The axes of rows and of columns."},
              {"keepdims", AttrType::boolean, false, "Keep reduced axes with length 1."},
              {.name = "ord",
               .type = AttrType::setting,
               .fallback = Setting("fro"),
               .doc = "The norm: 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\".",
               .choices = {"fro", "nuc"}}},
    .infer = infer,
    .forward = forward,
    .flow = flow_reduction,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"ord fro", "ord nuc", "ord 1", "ord inf", "ord 2", "ord -1", "ord -inf", "ord -2", "far from 1",
                 "other axes", "a batch", "nothing: 0", "not finite"},
    .samples = samples,
};

}  // namespace wp
