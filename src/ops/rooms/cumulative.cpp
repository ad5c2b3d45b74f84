#include "kernels/cumulate.hpp"
#include "kernels/types.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"

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
  op.branches = {"include_initial", "dtype", "widely spread", "infinities", "overflow: inf"};
  return op;
}

}  // namespace

const Op op_cumulative_sum = cumulative({
    .name = "cumulative_sum",
    .doc = "The sums of the elements up to each element along an axis. Float sums are compensated or wider: errors "
           "do not "
           "grow with n. Integers give i64 or u64 and wrap around.",
    .forward = forward<false>,
    .samples = [] { return samples(op_cumulative_sum); },
});

const Op op_cumulative_prod = cumulative({
    .name = "cumulative_prod",
    .doc = "The products of the elements up to each element along an axis. Integers give i64 or u64 and wrap around.",
    .forward = forward<true>,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .samples = [] { return samples(op_cumulative_prod); },
});

}  // namespace wp
