#include "kernels/sort.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sort;
extern const Op op_argsort;
namespace {

enum { kAxis, kDescending, kStable };

struct How {
  DType dtype;
  bool descending;
};

template <bool order>
void sort_lines(const LineBlock& b) {
  const How& how = *static_cast<const How*>(b.context);
  const auto bytes = b.n * static_cast<std::int64_t>(size_of(how.dtype));
  for (std::int64_t k = 0; k < b.count; ++k) {
    const void* const x = static_cast<const char*>(b.in) + k * bytes;
    if constexpr (order)
      kernels::argsort_line(how.dtype, x, static_cast<std::int64_t*>(b.out) + k * b.n, b.n, how.descending);
    else
      kernels::sort_line(how.dtype, x, static_cast<char*>(b.out) + k * bytes, b.n, how.descending);
  }
}

template <bool order>
void infer(Call& c) {
  axis_of(c, kAxis);
  c.output(order ? i64 : c.in[0].dtype(), c.in[0].shape());
}

template <bool order>
void forward(Call& c) {
  const Tensor& x = c.in[0];
  const How how{x.dtype(), c.attr(kDescending).flag()};
  run_lines(c, x, how.dtype, c.out[0], order ? i64 : how.dtype, axis_of(c, kAxis), sort_lines<order>, &how);
}

// Equal elements stay in their order: a subgradient.
Tensor order(const Saved& s) {
  return argsort(s.in[0], {.axis = s.attr(kAxis).integer(), .descending = s.attr(kDescending).flag()});
}
Tensors sort_vjp(const Backward& b) {
  return {scatter(zeros_for(b.output(0)), order(b), b.g(), {.axis = b.attr(kAxis).integer()})};
}
Tensors sort_jvp(const Forward& f) {
  return {take_along_axis(f.tangents[0], order(f), {.axis = f.attr(kAxis).integer()})};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all =
      line_samples(op, {3, -2.5, 7, 0.25, -11, 7, 100, -1, 3, 2, 0, -2.5}, [](std::int64_t axis) {
        return std::vector<Attr>{axis, false, true};
      });
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType d : {i64, u16, f32}) {
    all.push_back({{sample_tensor(d, {6}, {3, 1, 2, 3, 0, 1})}, {-1, true, true}, "descending"});
    all.push_back({{sample_tensor(d, {6}, {3, 1, 2, 3, 0, 1})}, {0, true, false}, "descending"});
  }
  for (const bool descending : {false, true}) {
    all.push_back(
        {{sample_tensor(f64, {6}, {nan, inf, -1, nan, -inf, 0})}, {-1, descending, true}, "nan comes last"});
    all.push_back({{sample_tensor(f16, {4}, {nan, inf, -1, -inf})}, {-1, descending, true}, "nan comes last"});
  }
  all.push_back({{sample_tensor(f32, {5}, {0.0, -0.0, -1, 0.0, -0.0})}, {-1, false, true}, "-0 and 0 are equal"});
  return all;
}

Op sorting(Op op) {
  op.group = "sorting";
  op.params = {{"x", kinds::real}};
  op.attrs = {axis_attr(),
              {"descending", AttrType::boolean, false, "From the largest to the smallest."},
              {"stable", AttrType::boolean, true, "Equal elements keep their order; here they do in any case."}};
  op.notes = Notes::judges;
  op.flow = flow_line;
  op.flow_base = base_line;
  op.branches = {"descending", "nan comes last", "-0 and 0 are equal"};
  return op;
}

}  // namespace

const Op op_sort = sorting({
    .name = "sort",
    .doc = "x sorted along an axis. NaN comes last, in both directions; -0 and 0 are equal.",
    .infer = infer<false>,
    .forward = forward<false>,
    .vjp = sort_vjp,
    .jvp = sort_jvp,
    .selects = true,
    .saves_inputs = 1,
    .samples = [] { return samples(op_sort); },
});

const Op op_argsort = sorting({
    .name = "argsort",
    .doc = "The order that sorts x along an axis, as i64 places. NaN comes last, in both directions; -0 and 0 are "
           "equal.",
    .infer = infer<true>,
    .forward = forward<true>,
    .no_derivative = "the result is an order: it does not vary with x.",
    .samples = [] { return samples(op_argsort); },
});

}  // namespace wp
