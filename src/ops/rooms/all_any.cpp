#include "kernels/count.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_all;
extern const Op op_any;
extern const Op op_count_nonzero;
namespace {

constexpr kernels::Reductions counts =
    kernels::reductions<kernels::CountNonzero>(simd::AllTypes{} + simd::Types<Half, BFloat16>{});

using Finish = decltype(kernels::Reduction::finish);
// The same counts with another last step.
constexpr kernels::Reductions finished(Finish finish) {
  kernels::Reductions table = counts;
  for (kernels::Reduction& r : table) {
    r.out = DType::boolean;
    r.finish = finish;
  }
  return table;
}
constexpr kernels::Reductions all_table =
    finished([](const void* count, std::int64_t n, double, void* out, simd::Status*) {
      *static_cast<bool*>(out) = *static_cast<const std::int64_t*>(count) == n;
    });
constexpr kernels::Reductions any_table =
    finished([](const void* count, std::int64_t, double, void* out, simd::Status*) {
      *static_cast<bool*>(out) = *static_cast<const std::int64_t*>(count) > 0;
    });

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = reduction_samples(op, {1, 0, 3, 0, 0, 1, 1, 2, 3});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(f32, {2, 2}, {nan, 1, 0, 0})}, {Dims{1}, false}, "nan is not zero"});
  all.push_back({{sample_tensor(f16, {2, 2}, {-0.0, 0, -0.0, nan})}, {Dims{1}, false}, "-0 is zero"});
  all.push_back(
      {{sample_tensor(c64, {2, 2}, {{0, 1}, {1, 0}, {-0.0, -0.0}, {0, 2}})}, {Dims{1}, false}, "-0 is zero"});
  all.push_back({{sample_tensor(DType::boolean, {2, 0}, {0})}, {Dims{1}, true}, "empty"});
  return all;
}

Op judgement(Op op) {
  op.params = {{"x", kinds::any}};
  op.attrs = reduction_attrs();
  op.notes = Notes::judges;
  op.flow = flow_reduction;
  op.no_derivative = "the result is a truth value or a count: it does not vary with x.";
  op.branches = {"nan is not zero", "-0 is zero", "empty"};
  return op;
}

}  // namespace

const Op op_all = judgement({
    .name = "all",
    .group = "utility",
    .doc = "Whether all elements over axes are true (not zero; NaN is not zero). True for an empty run.",
    .infer = [](Call& c) { c.output(DType::boolean, reduced_output(c)); },
    .forward = [](Call& c) { run_reduction(c, all_table, c.in[0].dtype()); },
    .samples = [] { return samples(op_all); },
});

const Op op_any = judgement({
    .name = "any",
    .group = "utility",
    .doc = "Whether any element over axes is true (not zero; NaN is not zero). False for an empty run.",
    .infer = [](Call& c) { c.output(DType::boolean, reduced_output(c)); },
    .forward = [](Call& c) { run_reduction(c, any_table, c.in[0].dtype()); },
    .samples = [] { return samples(op_any); },
});

const Op op_count_nonzero = judgement({
    .name = "count_nonzero",
    .group = "searching",
    .doc = "The number of elements over axes that are not zero, as i64. NaN counts.",
    .infer = [](Call& c) { c.output(i64, reduced_output(c)); },
    .forward = [](Call& c) { run_reduction(c, counts, c.in[0].dtype()); },
    .samples = [] { return samples(op_count_nonzero); },
});

}  // namespace wp
