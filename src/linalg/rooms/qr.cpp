#include "kernels/lapack.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/qr_rule.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_qr;
extern const Op op_linalg_qr_pivoted;
namespace {

using namespace linalg;

void infer(Call& c) {
  const MatrixSizes s(c.in[0]);
  const std::int64_t width = c.attr(0).text() == "complete" ? s.m : s.k;
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, s.with({s.m, width}));
  c.output(c.key, s.with({width, s.n}));
  if (c.op.outputs.size() == 3) c.output(i64, s.with({s.n}));
}

// Q (m × width) and R (width × n), row-major, of one member; the order of columns too if `columns`.
template <class T>
Status factor(const MatrixSizes& s, std::int64_t width, kernels::View<T> a, T* q, T* r, std::int64_t* columns) {
  Prescaled<T> x(s.m, s.n, a);
  if (!x.finite) return Status::nonfinite_input;
  std::vector<T> tau(static_cast<std::size_t>(s.k));
  kernels::Buffer<T> product(std::max<std::int64_t>(s.m * width, 1));
  T* const f = x.data.data();
  const int info = columns ? lapack::qr_pivoted<T>(s.m, s.n, f, s.m, columns, tau.data())
                           : lapack::qr<T>(s.m, s.n, f, s.m, tau.data());
  std::copy_n(f, s.m * s.k, product.data());
  if (info != 0 || lapack::householder_product<T>(s.m, width, s.k, product.data(), s.m, tau.data()) != 0)
    return Status::not_converged;
  put_rows(s.m, width, product.data(), s.m, 0, q);
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = j + 1; i < s.m; ++i) f[i + j * s.m] = T(0);
  put_rows(width, s.n, f, s.m, -x.exponent, r);
  return Status::ok;
}

template <class T>
void run(const MatrixSizes& s, const Tensor& a, Verdicts& verdicts, T* q, T* r, std::int64_t width,
         std::int64_t* order) {
  const Stack<T> stack(a, s.batch);
  for_members(s.members(), s.longest(), [&](std::int64_t i) {
    T *const to_q = q + i * s.m * width, *const to_r = r + i * width * s.n;
    std::int64_t* const columns = order ? order + i * s.n : nullptr;
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    v.method = Method::qr;
    v.status = factor<T>(s, width, stack[i], to_q, to_r, columns);
    if (v.status == Status::ok) return;
    fill_nan(to_q, s.m * width);
    fill_nan(to_r, width * s.n);
    if (columns) std::fill_n(columns, s.n, std::int64_t{-1});
  });
}

// Through lanes; members in doubt as a stack of their own.
void run_small(const MatrixSizes& s, const Tensor& a, Verdicts& verdicts, const Tensors& out, std::int64_t width) {
  Verdict common;
  common.method = Method::qr;
  through_lanes(
      {.a = a, .batch = s.batch, .size = s.longest(), .outputs = out, .common = common}, verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::qr<T>(s.m, s.n, width, from.a, range, data_of<T>(out[0]), data_of<T>(out[1]), marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        run<double>(s.of(doubtful), members_of(a, s.batch, doubtful, f64), own, data_of<double>(to[0]),
                    data_of<double>(to[1]), width, nullptr);
      });
}

void forward(Call& c) {
  const MatrixSizes s(c.in[0]);
  const std::int64_t width = c.out[0].shape().back();
  const bool pivoted = c.out.size() == 3;
  const bool small = fits_lanes(c.key, s.members(), s.m, s.n) && !pivoted;
  auto state = new_state(c, s.batch, {}, !small);
  const DType work = small ? c.key : working_dtype(c.key, s.longest());
  const Tensor a = brought(c.in[0], work);
  if (small) {
    run_small(s, a, state->verdicts, c.out, width);
  } else {
    Result q(c.out[0], work), r(c.out[1], work);
    auto* const order = pivoted ? data_of<std::int64_t>(c.out[2]) : nullptr;
    with_float(work, [&]<class T>(T) { run<T>(s, a, state->verdicts, q.data<T>(), r.data<T>(), width, order); });
    q.finish();
    r.finish();
  }
  c.beside().keeps_after = true;
  settle(c, std::move(state), policy_of(c, 1), "Look at the matrix: it could not be factored.");
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr mode = "reduced", Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {mode, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "complete", "complete");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {3, 3}, {1, 2, 4, 1, 2, 4, 1, 2, 4}, "rank deficient");
  add(f64, {0, 2}, {0}, "empty");
  add(f64, {2, 0}, {0}, "empty", "complete");
  add(f64, {2, 2}, {1e300, 2e300, 1.5e300, 1e300}, "near overflow");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "reduced", "nan");
  return out;
}

Op factorisation(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.attrs = {{.name = "mode",
               .type = AttrType::text,
               .fallback = "reduced",
               .doc = "reduced: Q is m × min(m, n); complete: Q is m × m.",
               .choices = {"reduced", "complete"}},
              policy_attr()};
  op.infer = infer;
  op.forward = forward;
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = flow_matrices;
  op.branches = {"tall", "complete", "wide", "a batch", "rank deficient", "empty", "near overflow", "not finite"};
  return op;
}

}  // namespace

const Op op_linalg_qr = factorisation({
    .name = "qr",
    .doc =
        "The factors x = Q R of each matrix: Q with orthonormal columns, R upper triangular. The diagonal of R may "
        "have any sign.",
    .outputs = {"Q", "R"},
    .takes_out = true,
    .vjp = vjp_qr,
    .saves_outputs = 3,
    .samples = [] { return samples(op_linalg_qr); },
});

const Op op_linalg_qr_pivoted = factorisation({
    .name = "qr_pivoted",
    .doc =
        "The factors x[:, P] = Q R of each matrix with its columns in the order P, in which the diagonal of R falls "
        "in size: small last ones tell of dependent columns.",
    .outputs = {"Q", "R", "P"},
    .vjp = vjp_qr,
    .saves_outputs = 7,
    .samples = [] { return samples(op_linalg_qr_pivoted); },
});

}  // namespace wp
