#include <cmath>

#include "linalg/exponential.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/schur_function.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_logm;
namespace {

using namespace linalg;

struct Log {
  template <class S>
  Dense<S> operator()(const Dense<S>& t) const {
    return triangular_log(t);
  }
  template <class S>
  S operator()(S v) const {
    return std::log(v);
  }
  double slope(double v) const { return 1 / v; }
  bool at_zero() const { return false; }
  double limit(double) const { return 1; }
};

constexpr int kFar = 300;  // exponents of two beyond which the matrix is scaled: log(2^e A) = log A + e log 2

void forward(Call& c) {
  const Advice advice{policy_of(c, 0),
                      "For a negative eigenvalue give a complex matrix, astype(x, c128); for lost digits one of "
                      "better condition, or a "
                      "wider dtype."};
  for_each_matrix(c, advice, []<class T>(Job<T>& job) {
    using R = typename Dense<T>::Real;
    Dense<T> a = job.matrix(), x(job.n, job.n);
    if (job.n == 0) return;
    const int most = scaling_exponent(a), e = std::abs(most) > kFar / (sizeof(R) == 4 ? 8 : 1) ? most : 0;
    a.shift(e);
    smooth_function(a, Smooth<Log>{"logarithm", {}, e}, x, job.verdict);
    for (std::int64_t i = 0; i < job.n && e != 0; ++i) x(i, i) -= static_cast<R>(e * M_LN2);
    job.put(x);
  });
}

Tensor along(const Tensor& a, const Tensor& e) {
  return block_derivative([](const Tensor& m) { return diagnosed::logm(m).value; }, a, e);
}
Tensors vjp(const Backward& b) {
  const auto at = [&](const Tensor& a) { return adjoint(along(a, adjoint(b.g()))); };
  const Tensor g = at(b.in[0]);
  find_unsteady(
      b, b.in[0], 1, [&] { return b.in[0]; }, b.out[0], b.g(), g, at);
  return {g};
}
Tensors jvp(const Forward& f) {
  return {along(f.in[0], f.tangents[0])};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_logm.params[0].kinds)) {
      add(d, {2, 2}, {4, 1, 1, 3}, "positive definite");
      add(d, {2, 2}, {4, 1, 2, 3}, {});
    }
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {{4, 1}, 1, {2, -1}, 3}, {});
    add(d, {2, 2}, {1, 2, 2, 1}, "a negative eigenvalue");
    add(d, {2, 2}, {-4, 1, 0, 3}, "a negative eigenvalue");
  }
  add(f64, {3, 3}, {1, 2, 0, -2, 1, 1, 0, 0.5, 5}, "complex eigenvalues");
  add(f64, {2, 2}, {0.28366218546322625, -0.9589242746631385, 0.9589242746631385, 0.28366218546322625}, "a rotation");
  add(f64, {3, 3}, {4, 1, 7, 0, 9, 2, 0, 0, 16}, "triangular");
  add(f64, {3, 3}, {4, 1, 7, 0, 4, 2, 0, 0, 4}, "triangular");
  add(f64, {3, 3}, {1, 1e4, 3, 0, 2, 5e3, 0, 0, 1e-3}, "triangular");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 4}, "a batch");
  add(f64, {2, 2}, {1e-300, 2e-301, 0, 5e-300}, "far from 1");
  add(f64, {2, 2}, {1e300, 2e300, 1e299, 5e300}, "far from 1");
  add(f64, {2, 2}, {1, 2, 2, 1}, "no real logarithm: nan", "nan");
  add(f64, {2, 2}, {-4, 1, 0, 3}, "no real logarithm: nan", "nan");
  add(f64, {2, 2}, {1, 1, 0, 0}, "singular: nan", "nan");
  add(f64, {2, 2}, {0, 0, 0, 0}, "singular: nan", "nan");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_logm = of_matrices({
    .name = "logm",
    .doc =
        "The principal logarithm of each square matrix, by its Schur form, or by its eigenvalues if it is symmetric "
        "or Hermitian. A real matrix with a negative eigenvalue has no real one: it is refused (if_ill), a complex "
        "one is not.",
    .attrs = {policy_attr()},
    .infer = infer_square,
    .forward = forward,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"positive definite", "a negative eigenvalue", "complex eigenvalues", "a rotation", "triangular",
                 "a batch", "far from 1", "no real logarithm: nan", "singular: nan", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
