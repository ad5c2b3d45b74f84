#include <cmath>

#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_conj, op_real, op_imag;
namespace {

struct Conj {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return T(a.real(), -a.imag());
    else
      return a;
  }
};
struct Real {
  template <class T>
  WP_FN auto apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return a.real();
    else
      return a;
  }
};
struct Imag {
  template <class T>
  WP_FN auto apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return a.imag();
    else
      return T(0);
  }
};
constexpr simd::Loops conj_loops = simd::loops1<Conj>(simd::Numbers{});
constexpr simd::Loops real_loops = simd::loops1<Real>(simd::Numbers{});
constexpr simd::Loops imag_loops = simd::loops1<Imag>(simd::Numbers{});

// Real numbers have no imaginary part to depend on.
void flow_imag(const FlowQuery& q, Visit visit) {
  if (is_complex(q.call.in[0].dtype())) flow_elementwise(q, visit);
}

Tensors imaginary(const Backward& b) {
  return {is_complex(b.dtype(0)) ? multiply(b.g(), complex128(0, 1)) : Tensor()};
}

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(op, {{{3}}, {{-0.5}}, {{-0.0}}, {{HUGE_VAL}, "x = inf"}, {{NAN}}},
                             {{{1, 2}}, {{-0.5, 0}}, {{0, -7}}, {{HUGE_VAL, 1}}, {{1, NAN}}});
}
Op part(std::string_view name, std::string_view doc, const simd::Loops& loops, Flow flow, Vjp vjp,
        std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = {{"x", kinds::numeric}},
      .loops = &loops,
      .notes = Notes::moves,
      .flow = flow,
      .vjp = vjp,
      .jvp = jvp_linear,
      .branches = {"x = inf"},
      .samples = samples,
  });
}
}  // namespace

const Op op_conj = part(
    "conj", "The complex conjugate of x, element by element; real numbers as they are.", conj_loops, flow_elementwise,
    [](const Backward& b) { return Tensors{conj_of(b.g())}; }, [] { return samples(op_conj); });
const Op op_real = part(
    "real", "The real part of x, element by element; real numbers as they are.", real_loops, flow_elementwise,
    [](const Backward& b) { return Tensors{b.g()}; }, [] { return samples(op_real); });
const Op op_imag = part("imag", "The imaginary part of x, element by element; 0 for real numbers.", imag_loops,
                        flow_imag, imaginary, [] { return samples(op_imag); });
}  // namespace wp
