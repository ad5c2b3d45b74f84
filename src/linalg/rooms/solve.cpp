#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/system_rule.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve;
namespace {

using namespace linalg;

Problem problem_of(const Call& c) {
  Problem p;
  p.a = c.in[0];
  const std::int64_t n = square_size(p.a, "x1");
  take_right_side(p, c, n, batch_of(p.a));
  return p;
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, answer_shape(problem_of(c), c.in[1].ndim() == 1));
}

void forward(Call& c) {
  run_systems(c, problem_of(c), options_of(c, 0));
}

// All of x1's member; the same column of x2's.
void flow(const FlowQuery& q, Visit visit) {
  const Problem p = problem_of(q.call);
  if (q.input == 1) return flow_right_side(q, p, visit);
  const std::int64_t member = own_member(q.element / (p.n * p.k), p.batch, batch_of(p.a));
  for (std::int64_t e = 0; e < p.n * p.n; ++e) visit(member * p.n * p.n + e);
}

std::vector<Attr> plain(Attr if_ill = "raise", Attr ridge = {}, Attr method = "auto") {
  return {if_ill, ridge, 0.0, 0.0, "detect", Attr(), false, Attr(), Attr(), "normal", method};
}

Tensors vjp(const Backward& b) {
  const SystemCotangents c = system_cotangents(b, b.in[1]);
  return {c.matrix, c.right};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const std::vector<complex128>& va, const Dims& b,
                       const std::vector<complex128>& vb, std::string_view covers,
                       std::vector<Attr> attrs = plain()) {
    out.push_back({{sample_tensor(d, a, va), sample_tensor(d, b, vb)}, std::move(attrs), covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_solve.params[0].kinds)) {
      add(d, {3, 3}, {4, 1, 2, 1, 3, 0, 3, 1, 5}, {3}, {1, 2, 3}, "a vector");
      add(d, {3, 3}, {4, 1, 2, 1, 3, 0, 3, 1, 5}, {3, 2}, {1, 2, 3, 0, 5, 6}, {});
    }
  add(c128, {2, 2}, {{1, 1}, {2, 0}, {0, 3}, {4, -1}}, {2}, {{1, 0}, {0, 1}}, "a vector");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, {2, 1}, {1, 2}, "batches broadcast");
  add(f64, {2, 2}, {4, 1, 2, 3}, {2, 2, 1}, {1, 2, 3, 4}, "batches broadcast");
  add(f64, {3, 3}, {2, 1, 7, 0, 4, 5, 0, 0, 8}, {3}, {1, 2, 3}, "triangular");
  add(f64, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 7}, {3}, {1, 2, 4}, "positive definite");
  add(f64, {2, 2}, {1e150, 0, 0, 1e-150}, {2}, {1, 1}, "badly scaled");
  add(f64, {0, 0}, {0}, {0}, {0}, "empty");
  add(f64, {2, 2}, {1, 1, 1.00001, 1.00001}, {2}, {1, 1}, "singular", plain("nan"));
  add(f64, {2, 2}, {1, 1, 1, 1}, {2}, {1, 3}, "singular: pinv", plain("pinv"));
  add(f64, {2, 2}, {1, 1, 1, 1}, {2}, {1, 3}, "ridge", plain("raise", Setting(0.5)));
  for (const char* method : {"lu", "cholesky", "ldl", "qr"})
    add(f64, {2, 2}, {4, 1, 1, 3}, {2}, {1, 2}, "a method", plain("raise", {}, method));
  add(f64, {2, 2}, {1, 2, 2, 1}, {2}, {1, 2}, "not positive definite", plain("nan", {}, "cholesky"));
  return out;
}

}  // namespace

const Op op_linalg_solve = {
    .name = "solve",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of x1 x = x2 for square x1, one vector (1-d x2) or matrices; leading axes broadcast. Answers "
        "are improved with residuals in twice the precision; a matrix that is singular to working precision is "
        "refused with the reason (if_ill).",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = system_attrs(),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .branches = {"a vector", "batches broadcast", "triangular", "positive definite", "badly scaled", "empty",
                 "singular", "singular: pinv", "ridge", "a method", "not positive definite"},
    .samples = samples,
};

}  // namespace wp
