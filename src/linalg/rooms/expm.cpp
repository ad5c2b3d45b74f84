#include <array>
#include <cmath>

#include "kernels/batched/exponential.hpp"
#include "linalg/each.hpp"
#include "linalg/exponential.hpp"
#include "linalg/rules.hpp"
#include "linalg/small.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_expm;
namespace {

using namespace linalg;

// Beyond the range: a finding of its own.
void judge_beyond(Verdict& v) {
  v.digits = 0;
  v.nonzero = true;
}
template <class T>
void judge(const Dense<T>& a, const Exponential<T>& e, Verdict& v) {
  if (e.beyond || !e.value.finite()) return judge_beyond(v);
  if (a.n > 0) conclude(v, "exponential", e.error / Dense<T>::u, e.error, Dense<T>::u);
  v.nonzero = a.n > 0;
  if (a.hermitian()) v.structure = Structure::symmetric;
}

// What lanes leave in doubt, in f64.
void run_careful(const Tensor& a, Verdicts& verdicts, const Tensor& out) {
  const std::int64_t n = a.shape().back();
  for_members(static_cast<std::int64_t>(verdicts.size()), n, [&](std::int64_t i) {
    const Dense<double> m(n, n, {data_of<const double>(a) + i * n * n, n, 1});
    double* const to = data_of<double>(out) + i * n * n;
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    if (m.finite()) {
      const Exponential<double> e = exponential(m);
      std::copy(e.value.data.begin(), e.value.data.end(), to);
      judge(m, e, v);
    } else {
      v.status = Status::nonfinite_input;
    }
    if (v.status >= Status::singular) std::fill_n(to, n * n, std::numeric_limits<double>::quiet_NaN());
  });
}

// Through lanes. The error of a good member is estimated when somebody asks for it.
void run_small(Call& c, const Advice& advice) {
  const Dims batch = batch_of(c.in[0]);
  const std::int64_t n = c.in[0].shape().back();
  const Tensor a = brought(c.in[0], c.key);
  auto state = new_state(c, batch, {}, false);
  state->threshold = 2 * std::numeric_limits<double>::epsilon();
  const Verdict common;
  std::vector<std::int64_t> beyond;
  through_lanes(
      {.a = a,
       .batch = batch,
       .size = 2 * n,  // as much work as of one twice as large
       .outputs = c.out,
       .common = common,
       .detail =
           [a, batch, n](std::int64_t member, Verdict& v) {
             const Tensor one = members_of(a, batch, {member}, f64);
             const Dense<double> m(n, n, {data_of<const double>(one), n, 1});
             judge(m, exponential(m), v);
           },
       .to_tell = &beyond},
      state->verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::exponential<T>(n, from.a, range, data_of<T>(c.out[0]), marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        run_careful(members_of(a, batch, doubtful, f64), own, to[0]);
      });
  for (const std::int64_t i : beyond) judge_beyond(state->verdicts[static_cast<std::size_t>(i)]);
  settle(c, std::move(state), advice.policy, advice.text);
}

void forward(Call& c) {
  const Advice advice{policy_of(c, 0),
                      "Look at the matrix: its exponential is far more sensitive than its norm says."};
  const std::int64_t n = c.in[0].shape().back();
  if (fits_lanes(c.key, count_of(batch_of(c.in[0])), n, n)) return run_small(c, advice);
  for_each_matrix(c, advice, []<class T>(Job<T>& job) {
    const Dense<T> a = job.matrix();
    const Exponential<T> e = exponential(a);
    job.put(e.value);
    judge(a, e, job.verdict);
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
    .doc = "The exponential of each square matrix, by scaling and squaring of a Padé or Taylor approximation.",
    .attrs = {policy_attr()},
    .infer = infer_square,
    .forward = forward,
    .takes_out = true,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .branches = {"symmetric", "degree 3", "degree 5", "degree 7", "degree 9", "degree 13, squared", "triangular",
                 "nilpotent", "a rotation", "a batch", "zero: the identity", "beyond the range of floats", "vanishes",
                 "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
