#include "kernels/cumulate.hpp"
#include "kernels/types.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"
#include "tensor/note.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_cumulative_sum;
extern const Op op_cumulative_prod;
namespace {

enum { kAxis, kDtype, kInitial };

void infer(Call& c) {
  const auto axis = static_cast<std::size_t>(axis_of(c, kAxis));
  Dims shape = c.in[0].shape();
  shape[axis] += c.attr(kInitial).flag();
  c.output(total_dtype(c, c.attr(kDtype)), shape);
}

// A result before the first element is the value of no elements: 0 or 1.
template <bool product, class T>
void cumulate(const LineBlock& b) {
  const T* x = static_cast<const T*>(b.in);
  T* y = static_cast<T*>(b.out);
  for (std::int64_t k = 0; k < b.count; ++k, x += b.n, y += b.m) {
    const std::int64_t initial = b.m - b.n;
    if (initial) y[0] = T(product ? 1 : 0);
    if constexpr (product)
      kernels::running_product(x, b.n, y + initial);
    else
      kernels::running_sum(x, b.n, y + initial);
  }
}

template <bool product>
LineFunction function_for(DType loop) {
  switch (loop) {
    case DType::i64: return cumulate<product, std::int64_t>;
    case DType::u64: return cumulate<product, std::uint64_t>;
    case DType::f32: return cumulate<product, float>;
    case DType::f64: return cumulate<product, double>;
    case DType::c64: return cumulate<product, complex64>;
    default: return cumulate<product, complex128>;
  }
}

template <bool product>
void forward(Call& c) {
  Tensor& y = c.out[0];
  const DType loop = line_dtype(total_loop(y.dtype()));
  run_lines(c, c.in[0], loop, y, loop, axis_of(c, kAxis), function_for<product>(loop));
}

Tensor reversed(const Tensor& x, std::int64_t axis) {
  return flip(x, {.axis = axis});
}
std::int64_t axis_of(const Saved& s) {
  const auto ndim = static_cast<std::int64_t>(s.shape(0).size());
  return s.attr(kAxis) ? normal_axis(s.attr(kAxis).integer(), ndim) : 0;
}
// Cotangents of the results that belong to elements.
Tensor own(const Backward& b, std::int64_t axis) {
  const std::int64_t n = b.shape(0)[static_cast<std::size_t>(axis)];
  return b.attr(kInitial).flag() ? part(b.g(), axis, 1, n + 1) : b.g();
}
Tensors sum_vjp(const Backward& b) {
  const std::int64_t axis = axis_of(b);
  return {reversed(cumulative_sum(reversed(own(b, axis), axis), {.axis = axis}), axis)};
}

// s_i = b_i + a_i s_(i−1) along an axis, in log₂ n steps (Hillis and Steele, Comm. ACM 29 (1986) 1170): after each,
// b_i holds the terms of the last 2ᵏ elements and a_i their product.
Tensor recurrence(Tensor a, Tensor b, std::int64_t axis) {
  const std::int64_t n = b.shape()[static_cast<std::size_t>(axis)];
  for (std::int64_t d = 1; d < n; d *= 2) {
    const auto earlier = [&](const Tensor& t) { return part(t, axis, 0, n - d); };
    const auto later = [&](const Tensor& t) { return part(t, axis, d, n); };
    const auto first = [&](const Tensor& t) { return part(t, axis, 0, d); };
    b = concat({first(b), add(later(b), multiply(later(a), earlier(b)))}, {.axis = axis});
    a = concat({first(a), multiply(later(a), earlier(a))}, {.axis = axis});
  }
  return b;
}

struct Factors {
  std::int64_t axis, n;
  Tensor x, y, before;  // y: the products; before: those of the elements before each
  bool plain;           // no product is 0: y/x serves
};
Factors factors(const Saved& s) {
  const std::int64_t axis = axis_of(s), n = s.shape(0)[static_cast<std::size_t>(axis)];
  const DType d = s.output(0).dtype;
  const bool initial = s.attr(kInitial).flag();
  Factors f{axis, n, s.dtype(0) == d ? s.in[0] : astype(s.in[0], d), {}, {}, false};
  f.y = initial ? part(s.out[0], axis, 1, n + 1) : s.out[0];
  Dims one = s.shape(0);
  one[static_cast<std::size_t>(axis)] = 1;
  f.before = initial ? part(s.out[0], axis, 0, n)
                     : concat({ones(one, {.dtype = d}), part(s.out[0], axis, 0, n - 1)}, {.axis = axis});
  const Tensor size = abs(f.y);
  f.plain = value_at(all(logical_and(not_equal(size, 0), isfinite(size))), 0) != complex128(0);
  return f;
}
// x̄_j = Σ_(i ≥ j) g_i y_i/x_j. With zeros: y before j times s_j = g_j + x_(j+1) s_(j+1).
Tensors product_vjp(const Backward& b) {
  const Factors f = factors(b);
  const Tensor g = own(b, f.axis);
  if (f.n == 0) return {g};
  if (f.plain) {
    const Tensor terms = reversed(multiply(g, conj_of(f.y)), f.axis);
    return {divide(reversed(cumulative_sum(terms, {.axis = f.axis}), f.axis), conj_of(f.x))};
  }
  const Tensor next = roll(conj_of(f.x), -1, {.axis = f.axis});  // what comes round meets no s
  const Tensor s = reversed(recurrence(reversed(next, f.axis), reversed(g, f.axis), f.axis), f.axis);
  return {multiply(conj_of(f.before), s)};
}
// ẏ_i = Σ_(j ≤ i) t_j y_i/x_j. With zeros: ẏ_i = t_i y_(i−1) + x_i ẏ_(i−1).
Tensors product_jvp(const Forward& v) {
  const Factors f = factors(v);
  const Tensor& t = v.tangents[0];
  Tensor own;
  if (f.n == 0)
    own = zeros_for({v.shape(0), v.output(0).dtype});
  else if (f.plain)
    own = multiply(f.y, cumulative_sum(divide(t, f.x), {.axis = f.axis}));
  else
    own = recurrence(f.x, multiply(t, f.before), f.axis);
  if (!v.attr(kInitial).flag()) return {own};
  Dims one = v.shape(0);
  one[static_cast<std::size_t>(f.axis)] = 1;
  return {concat({zeros_for({one, own.dtype()}), own}, {.axis = f.axis})};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = line_samples(op, {1, 2.5, -3, 4, 0.5, -7}, [](std::int64_t axis) {
    return std::vector<Attr>{axis, {}, false};
  });
  all.push_back({{sample_tensor(f64, {2, 2}, {1, 2, 3, 4})}, {1, {}, true}, "include_initial"});
  all.push_back({{sample_tensor(i32, {2, 0}, {0})}, {-1, {}, true}, "include_initial"});
  all.push_back({{sample_tensor(u8, {4}, {200, 100, 7, 255})}, {{}, u8, false}, "dtype"});
  all.push_back({{sample_tensor(i16, {4}, {3, 4, 5, 6})}, {{}, f32, false}, "dtype"});
  all.push_back({{sample_tensor(f64, {5}, {1e-155, 1e-155, 1e300, 1, -1e300})}, {{}, {}, false}, "widely spread"});
  all.push_back({{sample_tensor(f64, {6}, {1, 1e17, -1e17, 1e-5, 1e16, -1e16})}, {{}, {}, false}, "widely spread"});
  all.push_back({{sample_tensor(f64, {5}, {2, -0.5, 0, 3, 1.5})}, {{}, {}, false}, "a zero"});
  all.push_back({{sample_tensor(f64, {2, 5}, {2, 0, 3, 0, 1.5, 0, 1, 2, -1, 4})}, {1, {}, true}, "a zero"});
  all.push_back({{sample_tensor(c128, {4}, {{1, 2}, {-0.5, 1}, {0, 0}, {3, -1}})}, {{}, {}, false}, "a zero"});
  const double inf = std::numeric_limits<double>::infinity();
  all.push_back({{sample_tensor(f64, {4}, {1, inf, 2, -inf})}, {{}, {}, false}, "infinities"});
  all.push_back({{sample_tensor(f32, {4}, {3e38, 3e38, 3e38, 0.5})}, {{}, {}, false}, "overflow: inf"});
  return all;
}

Op cumulative(Op op) {
  op.group = "statistical";
  op.params = {{"x", kinds::any}};
  op.attrs = {axis_attr({}, "The axis; may be left out for a 1-d x."),
              total_attr(),
              {"include_initial", AttrType::boolean, false, "Begin with the value of no elements: one more result."}};
  op.infer = infer;
  op.flow = [](const FlowQuery& q, Visit visit) { flow_prefix(q, q.call.attr(kInitial).flag(), visit); };
  op.flow_base = base_prefix;
  op.flow_rest = [](const FlowQuery& q, Visit visit) { flow_last(q, q.call.attr(kInitial).flag(), visit); };
  op.branches = {"a zero", "include_initial", "dtype", "widely spread", "infinities", "overflow: inf"};
  return op;
}

}  // namespace

const Op op_cumulative_sum = cumulative({
    .name = "cumulative_sum",
    .doc = "The sums of the elements up to each element along an axis. Float sums are compensated or wider: errors "
           "do not "
           "grow with n. Integers give i64 or u64 and wrap around.",
    .forward = forward<false>,
    .vjp = sum_vjp,
    .jvp = jvp_linear,
    .samples = [] { return samples(op_cumulative_sum); },
});

const Op op_cumulative_prod = cumulative({
    .name = "cumulative_prod",
    .doc = "The products of the elements up to each element along an axis. Integers give i64 or u64 and wrap around.",
    .forward = forward<true>,
    .vjp = product_vjp,
    .jvp = product_jvp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .samples = [] { return samples(op_cumulative_prod); },
});

}  // namespace wp
