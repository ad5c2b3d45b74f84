#include <array>
#include <cmath>

#include "linalg/each.hpp"
#include "linalg/exponential.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_expm;
namespace {

using namespace linalg;

void forward(Call& c) {
  const Advice advice{policy_of(c, 0),
                      "Look at the matrix: its exponential is far more sensitive than its norm says."};
  for_each_matrix(c, advice, []<class T>(Job<T>& job) {
    const Dense<T> a = job.matrix();
    const Exponential<T> e = exponential(a);
    job.put(e.value);
    if (job.n > 0) conclude(job.verdict, "exponential", e.error / Dense<T>::u, e.error, Dense<T>::u);
    if (a.hermitian()) job.verdict.structure = Structure::symmetric;
    if (!e.value.finite()) {  // beyond the range: a finding of its own
      job.verdict.status = Status::ok;
      job.verdict.digits = 0;
    }
  });
}

Tensor along(const Saved& s, const Tensor& e) {
  return block_derivative([](const Tensor& m) { return diagnosed::expm(m).value; }, s.in[0], e, 1);
}
Tensors vjp(const Backward& b) {
  return {adjoint(along(b, adjoint(b.g())))};
}
Tensors jvp(const Forward& f) {
  return {along(f, f.tangents[0])};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_expm.params[0].kinds)) {
      add(d, {2, 2}, {0, 1, 2, 3}, {});
      add(d, {2, 2}, {1, 1, 1, 2}, "symmetric");
    }
  for (const DType d : {f32, f64, c64, c128})
    for (const double size : {1e-3, 0.05, 0.4, 1.0, 30.0}) {
      const char* const covers = size < 0.01  ? "degree 3"
                                 : size < 0.1 ? "degree 5"
                                 : size < 0.5 ? "degree 7"
                                 : size < 2   ? "degree 9"
                                              : "degree 13, squared";
      add(d, {3, 3}, {-size, {0.5 * size, size / 3}, 0, 0.25 * size, -0.5 * size, size, 0, {0.125 * size, -size}, 0},
          covers);
    }
  add(f64, {3, 3}, {-1, 7, 3, 0, -60, 5, 0, 0, 2}, "triangular");
  add(f64, {3, 3}, {-1, 0, 0, 7, -60, 0, 3, 5, 2}, "triangular");
  add(f64, {2, 2}, {0, 1e300, 0, 0}, "nilpotent");
  add(f64, {2, 2}, {0, -31.4, 31.4, 0}, "a rotation");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 4}, "a batch");
  add(f64, {2, 2}, {0, 0, 0, 0}, "zero: the identity");
  add(f64, {2, 2}, {800, 0, 0, 1}, "beyond the range of floats");
  add(f64, {2, 2}, {-1e300, 0, 0, -2000}, "vanishes");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_expm = of_matrices({
    .name = "expm",
    .doc = "The exponential of each square matrix, by Padé approximation, scaling and squaring.",
    .attrs = {policy_attr()},
    .infer = infer_square,
    .forward = forward,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .branches = {"symmetric", "degree 3", "degree 5", "degree 7", "degree 9", "degree 13, squared", "triangular",
                 "nilpotent", "a rotation", "a batch", "zero: the identity", "beyond the range of floats", "vanishes",
                 "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
