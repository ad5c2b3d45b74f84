#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/lapack.hpp"
#include "linalg/interpret.hpp"
#include "linalg/lost_range.hpp"
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
  need_countable(c);
  const std::int64_t width = c.attr(0).text() == "complete" ? s.m : s.k;
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, s.with({s.m, width}));
  c.output(c.key, s.with({width, s.n}));
  if (c.op.outputs.size() == 3) c.output(i64, s.with({s.n}));
}

// The order of columns in which the diagonal of R falls.
template <class T>
int order_of(const MatrixSizes& s, kernels::View<T> a, std::int64_t* columns) {
  Prescaled<T> x(s.m, s.n, a, kCeiling<T>);
  std::vector<T> tau(static_cast<std::size_t>(s.k));
  return lapack::qr_pivoted<T>(s.m, s.n, x.data.data(), s.m, columns, tau.data());
}
template <class T>
void reorder(const MatrixSizes& s, const std::int64_t* columns, EvenColumns<T>& x) {
  const std::vector<T> given(x.data.data(), x.data.data() + s.m * s.n);
  const std::vector<int> exponents = x.columns;
  for (std::int64_t j = 0; j < s.n; ++j) {
    std::copy_n(given.data() + columns[j] * s.m, s.m, x.data.data() + j * s.m);
    x.columns[static_cast<std::size_t>(j)] = exponents[static_cast<std::size_t>(columns[j])];
  }
}

// What the columns of R, column-major and times 2^columns, lose at most beside their largest element where they are
// held as they are.
template <class T>
double lost(const MatrixSizes& s, const T* r, const std::vector<int>& columns, DType held) {
  double worst = 0;
  for (std::int64_t j = 0; j < s.n; ++j) {
    const int e = columns[static_cast<std::size_t>(j)];
    double most = 0, off = 0;
    for (std::int64_t i = 0; i < std::min(j + 1, s.m); ++i) {
      const T v = r[i + j * s.m];
      const auto part = [&](double x) {
        const double down = std::ldexp(x, -e), kept = real_of(held) == f32 ? static_cast<float>(down) : down;
        off = std::max(off, std::fabs(x - std::ldexp(kept, e)));
      };
      most = std::max(most, size_of_number(v));
      part(static_cast<double>(std::real(v)));
      part(static_cast<double>(std::imag(v)));
    }
    if (most > 0 && std::isfinite(off)) worst = std::max(worst, off / most);
  }
  return worst;
}

// Q (m × width) and R (width × n), row-major, of one member; the order of columns too if `columns`. `held`: the dtype
// that they will have.
template <class T>
void factor(const MatrixSizes& s, std::int64_t width, kernels::View<T> a, DType held, T* q, T* r,
            std::int64_t* columns, Verdict& v) {
  EvenColumns<T> x(s.m, s.n, a, false);
  v.status = x.finite ? Status::ok : Status::nonfinite_input;
  if (!x.finite) return;
  std::vector<T> tau(static_cast<std::size_t>(s.k));
  kernels::Buffer<T> product(std::max<std::int64_t>(s.m * width, 1));
  T* const f = x.data.data();
  const bool even = std::adjacent_find(x.columns.begin(), x.columns.end(), std::not_equal_to<>()) == x.columns.end();
  int info = 0;
  if (columns && !even) {
    info = order_of<T>(s, a, columns);
    if (info == 0) reorder(s, columns, x);
  }
  if (info == 0)
    info = columns && even ? lapack::qr_pivoted<T>(s.m, s.n, f, s.m, columns, tau.data())
                           : lapack::qr<T>(s.m, s.n, f, s.m, tau.data());
  std::copy_n(f, s.m * s.k, product.data());
  if (info == 0) info = lapack::householder_product<T>(s.m, width, s.k, product.data(), s.m, tau.data());
  interpret(Routine::qr, info, s.m, s.n, v);
  if (v.status != Status::ok) return;
  put_rows(s.m, width, product.data(), s.m, 0, q);
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = j + 1; i < s.m; ++i) f[i + j * s.m] = T(0);
  if (x.reach.least != kernels::kNoExponent && x.reach.least < least_exponent_with_digits(held))
    tell_lost(lost(s, f, x.columns, held), held, "Q R", v);
  const std::vector<int> none(static_cast<std::size_t>(width), 0);
  for (int& e : x.columns) e = -e;
  kernels::scale<T, T>(width, s.n, {f, 1, s.m}, none.data(), x.columns.data(), r);
}

template <class T>
void run(const MatrixSizes& s, const Tensor& a, DType held, Verdicts& verdicts, T* q, T* r, std::int64_t width,
         std::int64_t* order) {
  const Stack<T> stack(a, s.batch);
  for_members(s.members(), s.longest(), [&](std::int64_t i) {
    T *const to_q = q + i * s.m * width, *const to_r = r + i * width * s.n;
    std::int64_t* const columns = order ? order + i * s.n : nullptr;
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    v.method = Method::qr;
    factor<T>(s, width, stack[i], held, to_q, to_r, columns, v);
    if (v.status <= Status::overflow) return;
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
        run<double>(s.of(doubtful), members_of(a, s.batch, doubtful, f64), out[1].dtype(), own,
                    data_of<double>(to[0]), data_of<double>(to[1]), width, nullptr);
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
    with_float(work,
               [&]<class T>(T) { run<T>(s, a, c.key, state->verdicts, q.data<T>(), r.data<T>(), width, order); });
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
