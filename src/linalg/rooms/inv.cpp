#include "base/text.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/system_rule.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_inv;
namespace {

using namespace linalg;

void infer(Call& c) {
  c.key = float_result(c.in[0].dtype());
  square_size(c.in[0], "x");
  c.output(c.key, c.in[0].shape());
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  run_systems(c, {c.in[0], {}, batch_of(c.in[0]), n, n}, options_of(c, 0));
}

void flow(const FlowQuery& q, Visit visit) {
  const std::int64_t n = q.call.in[0].shape().back();
  flow_members(q, n * n, n * n, visit);
}

std::vector<Attr> plain(Attr if_ill = "raise", Attr ridge = {}, Attr assume = "detect", double shift = 0,
                        Attr method = "auto") {
  return {if_ill, ridge, 0.0, shift, assume, Attr(), false, Attr(), Attr(), "normal", method};
}

Tensors vjp(const Backward& b) {
  return {system_cotangents(b, {}).matrix};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       std::vector<Attr> attrs = plain()) {
    out.push_back({{sample_tensor(d, shape, v)}, std::move(attrs), covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_inv.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 1, 3, 0, 3, 1, 5}, {});
  add(c128, {2, 2}, {{1, 1}, {2, 0}, {0, 3}, {4, -1}}, {});
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {3, 3}, {2, 0, 0, 1, 4, 0, -3, 1, 8}, "triangular");
  add(f64, {3, 3}, {2, 0, 0, 0, 4, 0, 0, 0, -8}, "diagonal");
  add(f64, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 7}, "positive definite");
  add(f64, {2, 2}, {1, 3, 3, 1}, "symmetric");
  add(f64, {2, 2}, {1e150, 2e-150, 3e150, 4e-150}, "badly scaled");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, 1, 1.00001, 1.00001}, "singular", plain("nan"));
  add(f64, {2, 2}, {1, 1, 1, 1}, "singular: pinv", plain("pinv"));
  add(f64, {2, 2}, {1, 1, 1, 1}, "ridge", plain("raise", Setting(1e-6)));
  add(f64, {2, 2}, {1, 2, 2, 1}, "shift", plain("raise", {}, "detect", 4));
  add(f64, {2, 2}, {1, 7, 3, 2}, "one triangle", plain("raise", {}, "lower"));
  for (const char* method : {"lu", "cholesky", "ldl", "qr"})
    add(f64, {2, 2}, {4, 1, 1, 3}, "a method", plain("raise", {}, "detect", 0, method));
  return out;
}

}  // namespace

const Op op_linalg_inv = {
    .name = "inv",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The inverse of each matrix, right to the digits that its diagnosis vouches for; a matrix that is singular "
        "to "
        "working precision is refused with the reason (if_ill). To solve a system use solve: it is faster and more "
        "exact.",
    .params = {{"x", kinds::numeric}},
    .attrs = system_attrs(),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"a batch", "triangular", "diagonal", "positive definite", "symmetric", "badly scaled", "empty",
                 "singular", "singular: pinv", "ridge", "shift", "one triangle", "a method"},
    .samples = samples,
};

}  // namespace wp
