#include <numeric>

#include "kernels/lu.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/solving.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_lu;
namespace {

using namespace linalg;

void infer(Call& c) {
  const MatrixSizes s(c.in[0]);
  c.key = float_result(c.in[0].dtype());
  c.output(i64, s.with({s.m}));
  c.output(c.key, s.with({s.m, s.k}));
  c.output(c.key, s.with({s.k, s.n}));
}

// P, L (m × k) and U (k × n) of one member.
template <class T>
void factor(const MatrixSizes& s, kernels::View<T> a, std::int64_t* p, T* l, T* u, Verdict& v) {
  Prescaled<T> x(s.n, s.m, a.transposed());  // row-major
  v.status = x.finite ? Status::ok : Status::nonfinite_input;
  if (!x.finite) return;
  T* const f = x.data.data();
  const auto largest = kernels::largest<T>(s.m, s.n, {f, s.n, 1});
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(s.k));
  kernels::lu_factor<T>(s.m, s.n, f, s.n, pivots.data());
  v.growth = static_cast<double>(kernels::lu_growth<T>(s.m, s.n, {f, s.n, 1}, largest));
  std::iota(p, p + s.m, std::int64_t{0});
  for (std::int64_t i = 0; i < s.k; ++i) std::swap(p[i], p[pivots[static_cast<std::size_t>(i)]]);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.k; ++j) l[i * s.k + j] = j < i ? f[i * s.n + j] : T(i == j ? 1 : 0);
  for (std::int64_t i = 0; i < s.k; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) u[i * s.n + j] = j < i ? T(0) : times_power(f[i * s.n + j], -x.exponent);
}

template <class T>
void run(const MatrixSizes& s, const Tensor& a, Diagnosis::State& state, std::int64_t* p, const Result& l,
         const Result& u) {
  const Stack<T> stack(a, s.batch);
  for_members(s.members(), s.longest(), [&](std::int64_t i) {
    T *const to_l = l.data<T>() + i * s.m * s.k, *const to_u = u.data<T>() + i * s.k * s.n;
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.method = Method::lu;
    factor<T>(s, stack[i], p + i * s.m, to_l, to_u, v);
    if (v.status == Status::ok) return;
    std::fill_n(p + i * s.m, s.m, std::int64_t{-1});
    fill_nan(to_l, s.m * s.k);
    fill_nan(to_u, s.k * s.n);
  });
}

void forward(Call& c) {
  const MatrixSizes s(c.in[0]);
  const DType work = working_dtype(c.key, s.longest());
  const Tensor a = brought(c.in[0], work);
  auto state = new_state(c, s.batch);
  auto* const p = reinterpret_cast<std::int64_t*>(c.out[0].node()->data);
  Result l(c.out[1], work), u(c.out[2], work);
  with_float(work, [&]<class T>(T) { run<T>(s, a, *state, p, l, u); });
  l.finish();
  u.finish();
  settle(c, std::move(state), policy_of(c, 0), "Look at the matrix: it could not be factored.");
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_lu.params[0].kinds)) add(d, {2, 2}, {1, 4, 3, 2}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {2, 3}, {4, {1, 2}, 2, 7, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {3, 3}, {1, 2, 4, 1, 2, 4, 1, 2, 4}, "singular");
  add(f64, {0, 2}, {0}, "empty");
  add(f64, {2, 2}, {1e300, 2e300, 1.5e300, -1e300}, "near overflow");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_lu = {
    .name = "lu",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The factors x[P] = L U of each matrix with its rows in the order P (partial pivoting): L unit lower "
        "triangular or trapezoidal, |L| of at most about 1, U upper. A matrix that is not finite has P = -1 with "
        "if_ill = nan.",
    .params = {{"x", kinds::numeric}},
    .attrs = {policy_attr()},
    .outputs = {"P", "L", "U"},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow_matrices,
    .saves_outputs = 7,
    .branches = {"tall", "wide", "a batch", "singular", "empty", "near overflow", "not finite"},
    .samples = samples,
};

}  // namespace wp
