#include "ops/reduce.hpp"

namespace wp {
extern const Op op_sum;
namespace {

// The dtype sums and products are taken in: the one asked for, i64 or u64 for integers, else the input's.
DType total_dtype(const Call& c) {
  if (c.attr(2)) return c.attr(2).dtype();
  const DType d = c.in[0].dtype();
  return is_floating(d) ? d : is(d, kinds::unsigned_integer) ? u64 : i64;
}

template <class T>
struct Sum {
  using In = T;
  using Out = T;
  using State = T;
  WP_FN void start(State& s) { s = T(0); }
  WP_FN void push(State& s, In v) { s = static_cast<T>(s + v); }
  WP_FN void join(State& s, const State& t) { s = static_cast<T>(s + t); }
  WP_FN Out finish(const State& s, std::int64_t, double) { return s; }
};
constexpr kernels::Reductions table =
    kernels::reductions<Sum>(simd::Types<std::int64_t, std::uint64_t, float, double, complex64, complex128>{});

std::vector<Sample> samples() {
  return reduction_samples(op_sum, {1, 2.5, -3, 4, 0.1, -7, 100}, {Attr()});
}

}  // namespace

const Op op_sum = {
    .name = "sum",
    .group = "statistical",
    .doc =
        "The sum of elements over axes. Floats are added pairwise: the error grows with log n. Integers give i64 or "
        "u64.",
    .params = {{"x", kinds::any}},
    .attrs = reduction_attrs({{"dtype", AttrType::dtype, {}, "The dtype of the sum."}}),
    .infer = [](Call& c) { c.output(total_dtype(c), reduced_output(c)); },
    .forward =
        [](Call& c) {
          run_reduction(
              c, table,
              is_floating(c.out[0].dtype()) || is(c.out[0].dtype(), kind(i64) | kind(u64)) ? c.out[0].dtype() : i64);
        },
    .flow = flow_reduction,
    .samples = samples,
};

}  // namespace wp
