#include <algorithm>

#include "base/text.hpp"
#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_clip;
namespace {

// minimum(maximum(x, min), max), through a buffer in cache.
template <class T, simd::Inner maximum, simd::Inner minimum>
void both_bounds(void* const* p, std::int64_t n, simd::Status* status) {
  constexpr std::int64_t block = 512;
  alignas(64) T raised[block];
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t m = std::min(block, n - at);
    const auto part = [&](int k) { return static_cast<T*>(p[k]) + at; };
    void* const lower[] = {part(0), part(1), raised};
    void* const upper[] = {raised, part(2), part(3)};
    simd::Status passing;  // what is raised above max does not stay
    maximum(lower, m, &passing);
    minimum(upper, m, status);
  }
}
template <class... T>
constexpr simd::Loops clip_loops(simd::Types<T...>) {
  simd::Loops all{};
  ((all[static_cast<std::size_t>(dtype_v<T>)] =
        {dtype_v<T>,
         dtype_v<T>,
         {both_bounds<T, simd::baseline::map2<Maximum, T, T>, simd::baseline::map2<Minimum, T, T>>,
          both_bounds<T, simd::avx2::map2<Maximum, T, T>, simd::avx2::map2<Minimum, T, T>>,
          both_bounds<T, simd::avx512::map2<Maximum, T, T>, simd::avx512::map2<Minimum, T, T>>}}),
   ...);
  return all;
}
constexpr simd::Loops loops = clip_loops(simd::Reals{});
constexpr simd::Loops lower_loops = simd::loops2<Maximum>(simd::Reals{});
constexpr simd::Loops upper_loops = simd::loops2<Minimum>(simd::Reals{});
constexpr simd::Loops copy_loops = simd::loops1<Same>(simd::Reals{});

// A bound takes the dtype of x, so it must be a number that x's dtype can stand for.
void check_bound(const Call& c, std::size_t i) {
  const Tensor& bound = c.in[i];
  if (!bound.defined()) return;
  const DType from = bound.dtype();
  if (is_floating(c.key) || (is_integer(from) && (bound.node()->weak || can_cast(from, c.key)))) return;
  refuse<DtypeError>(
      "WP-DTY-003",
      say(c.op.params[i].name, " must fit the dtype of x, ", c.key, "; got ", from, " ", bound.shape(), "."),
      "The result has the dtype of x: convert x or the bound with astype.");
}

void infer(Call& c) {
  c.key = c.in[0].dtype();
  Dims shape = c.in[0].shape();
  for (std::size_t i = 1; i < 3; ++i) {
    check_bound(c, i);
    if (c.in[i].defined()) shape = broadcast(shape, c.in[i].shape());
  }
  check_weak_integers(c);
  c.output(c.key, shape);
}

void forward(Call& c) {
  const bool lower = c.in[1].defined(), upper = c.in[2].defined();
  const simd::Loops& table = lower && upper ? loops : lower ? lower_loops : upper ? upper_loops : copy_loops;
  walk_elementwise(c, table[static_cast<std::size_t>(c.key == f16 || c.key == bf16 ? f32 : c.key)]);
}

// As minimum(maximum(x, min), max): what is equal shares evenly.
Tensor partial(const Saved& s, std::size_t i) {
  const DType d = s.output(0).dtype;
  const Tensor &x = s.in[0], &low = s.in[1], &high = s.in[2];
  const Tensor raised = low.defined() ? maximum(x, low) : x;
  if (i == 2) return share(raised, high, d);
  const Tensor below = high.defined() ? share(high, raised, d) : ones({}, {.dtype = d});
  if (!low.defined()) return below;
  return multiply(below, i == 0 ? share(x, low, d) : share(low, x, d));
}

std::vector<Sample> samples() {
  std::vector<Sample> all = elementwise_samples(op_clip, {{{5, 2, 9}},
                                                          {{1, 3, 9}, "below"},
                                                          {{12, 3, 9}, "above"},
                                                          {{3, 3, 9}},
                                                          {{9, 3, 9}},
                                                          {{0.25, 2.5, 7.5}, "below"},
                                                          {{5, 9, 3}, "min > max: max"},
                                                          {{HUGE_VAL, 0, 3}, "inf"},
                                                          {{2, -HUGE_VAL, HUGE_VAL}, "inf"},
                                                          {{NAN, 0, 3}, "nan"},
                                                          {{2, NAN, 3}, "nan"},
                                                          {{2, 0, NAN}, "nan"}});
  const Tensor x{{1.5, 8.0, -4.0}, {20.0, -30.0, 2.0}}, low{-2.0, 0.0, 0.0}, high{{10.0}, {6.0}};
  all.push_back({{x, low, high}, {}});
  all.push_back({{x, low, {}}, {}, "min only"});
  all.push_back({{x, {}, high}, {}, "max only"});
  all.push_back({{x, {}, {}}, {}, "no bounds"});
  return all;
}
}  // namespace

const Op op_clip = {
    .name = "clip",
    .group = "element-wise",
    .doc =
        "x held between min and max, element by element, in x's dtype: minimum(maximum(x, min), max). NaN in x or a "
        "bound gives NaN.",
    .params = {{"x", kinds::real},
               {.name = "min", .kinds = kinds::real, .doc = "None: no lower bound.", .optional = true},
               {.name = "max", .kinds = kinds::real, .doc = "None: no upper bound.", .optional = true}},
    .infer = infer,
    .forward = forward,
    .loops = &loops,
    .notes = Notes::moves,
    .flow = flow_elementwise,
    .carriers = carriers_equal,
    .vjp = vjp_partials,
    .jvp = jvp_partials,
    .partial = partial,
    .saves_inputs = 7,
    .branches = {"below", "above", "min > max: max", "inf", "nan", "min only", "max only", "no bounds"},
    .samples = samples,
};
}  // namespace wp
