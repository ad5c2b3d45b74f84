#include <cmath>

#include "base/text.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/condition.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/triangular.hpp"
#include "linalg/choice.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/judgement.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/quad.hpp"
#include "linalg/rules.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_cholesky;
namespace {

using namespace linalg;

void infer(Call& c) {
  square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, c.in[0].shape());
}

// 1/‖L⁻¹ D‖₁², D² = `whole`, the diagonal before: but for a factor up to n the least eigenvalue of D⁻¹ A D⁻¹, which
// the least share of the diagonal may be far above.
template <class T>
double least_eigenvalue(std::int64_t n, kernels::View<T> l, const std::vector<double>& whole) {
  using R = typename kernels::RealOf<T>::type;
  const auto scale = [&](T* x) {
    for (std::int64_t i = 0; i < n; ++i) x[i] *= static_cast<R>(std::sqrt(whole[static_cast<std::size_t>(i)]));
  };
  const auto plain = [&](T* x) {
    scale(x);
    kernels::solve_triangular<T>({.upper = false, .unit = false}, n, 1, l, {x, 1, 1});
  };
  const auto adjoint = [&](T* x) {
    kernels::solve_triangular<T>({.upper = true, .unit = false}, n, 1, l.transposed().conjugated(), {x, 1, 1});
    scale(x);
  };
  const double inverse = static_cast<double>(kernels::inverse_norm<T>(n, plain, adjoint).estimate);
  return 1 / (inverse * inverse);
}

// L of one member in the place of its lower triangle. A pivot that may be positive, or not, only by rounding is
// looked at exactly: again() gives the whole matrix.
template <class T, class Again>
Status factor(std::int64_t n, kernels::MutableView<T> view, Verdict& v, Again&& again) {
  using R = typename kernels::RealOf<T>::type;
  const auto diagonal = [&](std::int64_t i) { return static_cast<double>(std::real(*view.from(i, i).data)); };
  std::vector<double> whole, left;
  for (std::int64_t i = 0; i < n; ++i) whole.push_back(diagonal(i));
  v.pivot = kernels::cholesky_factor<T>(n, view);
  const double least = 1e3 * static_cast<double>(n) * std::numeric_limits<R>::epsilon();
  if (v.pivot > 0) {
    // Rounding moves a pivot by n u a_kk ‖H⁻¹‖, H the rows before it with a diagonal of ones.
    const double before = whole[static_cast<std::size_t>(v.pivot)];
    if (n <= kQuadLargest && before > 0 &&
        diagonal(v.pivot) * least_eigenvalue<T>(v.pivot, view, whole) >= -least * before &&
        quad_cholesky<T>(n, {again().matrix.data(), n, 1}, view))
      v.pivot = -1;
  }
  if (v.pivot >= 0) return Status::not_spd;
  for (std::int64_t i = 0; i < n; ++i) left.push_back(diagonal(i));
  v.rcond = least_share(whole, left);
  if (n == 0 || n > kExact) return Status::ok;
  if (v.rcond >= least && least_eigenvalue<T>(n, view, whole) >= least) return Status::ok;
  const Hermitian<T> h = again();
  const kernels::View<T> matrix{h.matrix.data(), n, 1};
  v.exactly_singular = kernels::exactly_singular<T>(n, matrix);
  const bool positive = !v.exactly_singular && (n > kQuadLargest || quad_cholesky<T>(n, matrix));
  return positive ? Status::ok : Status::not_spd;
}

struct Wanted {
  bool upper;
  std::string_view uplo;
};

template <class T>
void run(const Tensor& a, const Dims& batch, const Wanted& wanted, Verdicts& verdicts, T* out,
         std::vector<double>& asymmetry) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t n = a.shape().back();
  const auto [upper, uplo] = wanted;
  const Stack<T> stack(a, batch);
  for_members(static_cast<std::int64_t>(verdicts.size()), n, [&](std::int64_t m) {
    T* const to = out + m * n * n;
    const kernels::Mirrored found = kernels::mirror<T>(n, stack[m], side_of(uplo), to, n);
    asymmetry[static_cast<std::size_t>(m)] = asymmetry_of(found);
    Verdict& v = verdicts[static_cast<std::size_t>(m)];
    v.structure = Structure::symmetric;
    v.method = Method::cholesky;
    v.status = found.finite ? factor<T>(n, {to, n, 1}, v, [&] { return Hermitian<T>(n, stack[m], uplo); })
                            : Status::nonfinite_input;
    if (v.status != Status::ok) {
      std::fill_n(to, n * n, T(std::numeric_limits<R>::quiet_NaN()));
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      std::fill(to + i * n + i + 1, to + (i + 1) * n, T(0));
      for (std::int64_t j = 0; upper && j < i; ++j) to[j * n + i] = conjugate(to[i * n + j]);
    }
    for (std::int64_t i = 0; upper && i < n; ++i) std::fill_n(to + i * n, i, T(0));
  });
}

// Through lanes; members in doubt as a stack of their own. `which`: the members of which `asymmetry` tells.
void run_small(const Tensor& a, const Wanted& wanted, const Tensor& out, Diagnosis::State& state,
               std::vector<double>& asymmetry, std::vector<std::int64_t>& which) {
  const std::int64_t n = a.shape().back();
  const Tensor rcond = number_of_each(state.batch);
  std::vector<std::int64_t> asymmetric;
  Verdict common;
  common.structure = Structure::symmetric;
  common.method = Method::cholesky;
  which = through_lanes(
      {.a = a,
       .batch = state.batch,
       .size = n,
       .outputs = {out},
       .common = common,
       .detail = [rcond](std::int64_t member, Verdict& v) { v.rcond = data_of<const double>(rcond)[member]; },
       .numbers = rcond,
       .to_tell = &asymmetric},
      state.verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::cholesky<T>(n, from.a, reads_of(wanted.uplo), wanted.upper, range, data_of<T>(out), marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        std::vector<double> apart(doubtful.size());
        run<double>(members_of(a, state.batch, doubtful, f64), {static_cast<std::int64_t>(doubtful.size())}, wanted,
                    own, data_of<double>(to[0]), apart);
        asymmetry.insert(asymmetry.end(), apart.begin(), apart.end());
      });
  measure_asymmetry(a, state.batch, asymmetric, asymmetry, which);
}

// Why it is not positive definite: up to which row, or column, it is.
void tell_pivot(const std::vector<std::string>& names, Verdict& v) {
  if (v.status != Status::not_spd) return;
  const auto k = static_cast<std::size_t>(std::max<std::int64_t>(v.pivot, 0));
  v.reason = v.exactly_singular ? "is not positive definite, but singular."
             : v.pivot < 0      ? "is not positive definite: a pivot is positive by rounding only."
                                : say("is not positive definite: elimination leaves no positive number in row ", k,
                                 k < names.size() ? " (" + names[k] + ")" : std::string(), ".");
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  const bool small = fits_lanes(c.key, count_of(batch_of(c.in[0])), n, n);
  auto state = new_state(c, batch_of(c.in[0]), names_of(c, 3), !small);
  const DType work = small ? c.key : working_dtype(c.key, n);
  const Tensor a = brought(c.in[0], work);
  const Wanted wanted{c.attr(0).flag(), c.attr(1) ? c.attr(1).text() : std::string_view()};
  std::vector<double> asymmetry;
  std::vector<std::int64_t> which;
  if (small) {
    run_small(a, wanted, c.out[0], *state, asymmetry, which);
  } else {
    Result out(c.out[0], work);
    asymmetry.resize(state->verdicts.size());
    with_float(work, [&]<class T>(T) { run<T>(a, state->batch, wanted, state->verdicts, out.data<T>(), asymmetry); });
    out.finish();
  }
  state->verdicts.each_own([&](std::size_t, Verdict& v) { tell_pivot(state->names, v); });
  report_asymmetry(c, asymmetry, c.in[0].dtype(), which);
  settle(c, std::move(state), policy_of(c, 2), "Add a small multiple of the identity.");
}

Tensors vjp(const Backward& b) {
  const bool upper = b.attr(0).flag();
  const Tensor l = upper ? adjoint(b.out[0]) : b.out[0], g = upper ? adjoint(b.g()) : b.g();
  const Tensor own = cholesky_cotangent(l, g);
  find_unsteady(
      b, l, 2, [&] { return matmul(l, adjoint(l)); }, l, g, own,
      [&](const Tensor& x) { return cholesky_cotangent(diagnosed::cholesky(x).value, g); });
  return {hermitian_cotangent(own, b.attr(1))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr upper = false, Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {upper, uplo, if_ill, Attr()}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_cholesky.params[0].kinds)) {
      add(d, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, {});
      add(d, {2, 2}, {4, 1, 1, 5}, "upper", true);
    }
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, {});
    add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, "upper", true);
  }
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 30, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", false, "lower");
  add(f64, {2, 2}, {40, 7, 1, 3}, "one triangle", false, "upper");
  add(f64, {2, 2}, {1, 2, 2, 1}, "not positive definite", false, {}, "nan");
  add(f64, {2, 2}, {1, 1, 1, 1}, "not positive definite", false, {}, "nan");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", false, {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_cholesky = {
    .name = "cholesky",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The lower triangular L with x = L conj(L)ᵀ of each symmetric or Hermitian positive definite matrix; with "
        "upper = true its conjugate transpose.",
    .params = {{"x", kinds::numeric}},
    .attrs = {{"upper", AttrType::boolean, false, "Return the upper triangular factor."},
              uplo_attr(),
              policy_attr(),
              names_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(1), visit); },
    .vjp = vjp,
    .saves_outputs = 1,
    .branches = {"upper", "a batch", "one triangle", "not positive definite", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
