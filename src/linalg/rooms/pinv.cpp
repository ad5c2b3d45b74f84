#include <cmath>
#include <utility>

#include "linalg/augmented.hpp"
#include "linalg/balanced.hpp"
#include "linalg/kept.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/scaled_condition.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_pinv;
namespace {

using namespace linalg;

Dims turned(const Tensor& x) {
  Dims shape = x.shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

void infer(Call& c) {
  need_matrices(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, turned(c.in[0]));
}

// For the gradient: rcond apart from units, where it is small.
template <class T>
void keep_condition(const MatrixSizes& s, kernels::View<T> a, double rcond, double u, Verdict& v) {
  if (v.kept > 0 && rcond < std::sqrt(u)) v.rcond = scaled_rcond<T>(s.m, s.n, a, v.kept);
}

struct Wanted {
  Cutoff cutoff;
  double u;  // the unit round-off of the result
};

// All members, or those of `which`, whose answers follow each other.
template <class T>
void run(const MatrixSizes& s, const Tensor& a, const Factors* factors, const Wanted& wanted, Verdicts& verdicts,
         T* out, const std::vector<std::int64_t>& which = {}) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t m = s.m, n = s.n;
  const Stack<T> stack(a, s.batch);
  const KeptFor<T> kept(factors, s.batch);
  std::vector<T> identity(static_cast<std::size_t>(m * m), T(0));
  for (std::int64_t i = 0; i < m; ++i) identity[static_cast<std::size_t>(i * m + i)] = T(1);
  for_members(static_cast<std::int64_t>(verdicts.size()), s.longest(), [&](std::int64_t i) {
    const std::int64_t member = which.empty() ? i : which[static_cast<std::size_t>(i)];
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    T* const to = out + i * m * n;
    const bool high = rank_needs_accuracy<T>(m, n, stack[member], wanted.cutoff);
    kept.spectral(member, m, n, stack[member], high, [&](const Spectral<T>& svd) {
      v.method = Method::svd;
      svd.judge(v);
      v.kept = 0;
      if (v.status != Status::ok) {
        std::fill_n(to, m * n, T(std::numeric_limits<R>::quiet_NaN()));
        return;
      }
      const double least = wanted.cutoff(svd.largest());
      const kernels::View<T> one{identity.data(), std::max<std::int64_t>(m, 1), 1};
      const kernels::MutableView<T> x{to, std::max<std::int64_t>(m, 1), 1};
      std::optional<Minimised> balanced;
      if (svd.rank(least) == s.k && s.k > 0)
        balanced = kept.balanced(member, m, n, stack[member], [&](const Balanced<T>& again) {
          return balanced_least_squares<T>(m, n, m, again, wanted.cutoff, one, x);
        });
      const Minimised found = balanced ? *balanced : least_squares<T>(m, n, m, stack[member], svd, least, one, x);
      v.kept = found.kept;
      v.nonzero = svd.scaled_sigma().size() > 0 && found.kept > 0;
      // ‖δA⁺‖ ≤ 2‖A⁺‖²‖δA‖ at fixed rank (Wedin 1973): kinder to A⁺ as a whole than to its columns one by one.
      const bool whole = found.kept > 0 && found.kept < std::min(m, n);
      conclude_least_squares<T>(v, whole ? std::min(1.0, 2 * kUnit<T> / found.rcond) : found.error);
      keep_condition<T>(s, stack[member], svd.rcond(found.kept), wanted.u, v);
    });
  });
}

// What is said of a member that went through lanes: as of any other of full rank. `error`: of each, or of none.
Verdicts::Detail detail_of(const MatrixSizes& s, const Tensor& a, double u, const Tensor& error, bool refined) {
  const auto known = std::make_shared<const Conditions>(a, s.batch, spectral_conditions);
  return [s, known, u, error, refined](std::int64_t member, Verdict& v) {
    const Tensor one = known->matrix(member);
    const double number = error.defined() ? data_of<const double>(error)[member] : 0;
    if (number < 0) v.method = Method::qr;  // once more
    conclude_least_squares<double>(v, refined ? kUnit<double> : std::fabs(number));
    keep_condition<double>(s, {data_of<const double>(one), s.n, 1}, (*known)[member], u, v);
  };
}

// Square matrices of full rank have an inverse; rcond becomes the error.
template <class T>
void invert_small(std::int64_t n, const kernels::batched::Source<T>& a, bool refined, double rtol, Range range, T* x,
                  Marks marks) {
  if (refined) {
    std::vector<T> one(static_cast<std::size_t>(n * n), T(0));
    for (std::int64_t i = 0; i < n; ++i) one[static_cast<std::size_t>(i * n + i)] = T(1);
    kernels::batched::solve<T>(n, n, a, {one.data(), 0, n, 1}, range, x, true, marks);
  } else {
    kernels::batched::inverse<T>(n, a, range, x, marks);
  }
  doubt_rank(n, rtol, range, marks);
  for (std::int64_t i = range.begin; i < range.end; ++i) marks.rcond[i] = inverse_error(n, marks.rcond[i]);
}

// Through lanes; members in doubt as a stack of their own, or by the singular values that are kept.
void run_small(const MatrixSizes& s, const Tensor& a, const Factors* factors, const Wanted& wanted,
               Verdicts& verdicts, const Tensor& x) {
  const auto [rtol, atol] = wanted.cutoff;
  const kernels::batched::Limits limits{rtol, atol};
  const bool refined = few(s.n, s.m), by_lu = s.m == s.n && rcond_tells_rank(s.n, rtol, atol);
  const Tensor number = by_lu || !refined ? number_of_each(s.batch) : Tensor();
  Verdict common;
  common.method = by_lu ? Method::lu : Method::qr;
  common.kept = s.k;
  through_lanes(
      {.a = a,
       .batch = s.batch,
       .size = s.longest(),
       .outputs = {x},
       .common = common,
       .detail = detail_of(s, a, wanted.u, number, refined),
       .numbers = number},
      verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        const auto by_qr = [&](const Sources<T>& some, Range here, T* to, Marks own) {
          own.error = std::exchange(own.rcond, nullptr);
          kernels::batched::pseudo_inverse<T>(s.m, s.n, some.a, limits, here, to, refined, own);
        };
        if (!by_lu) return by_qr(from, range, data_of<T>(x), marks);
        marks.as_given = true;
        invert_small<T>(s.n, from.a, refined, limits.rtol, range, data_of<T>(x), marks);
        once_more<T>(s.n, s.n, 0, from, range, s.n * s.n, data_of<T>(x), marks, by_qr);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        if (factors) return run<double>(s, brought(a, f64), factors, wanted, own, data_of<double>(to[0]), doubtful);
        run<double>(s.of(doubtful), members_of(a, s.batch, doubtful, f64), nullptr, wanted, own,
                    data_of<double>(to[0]));
      });
}

void forward(Call& c) {
  const MatrixSizes s(c.in[0]);
  const Factors* const factors = factors_of(c);
  const Wanted wanted{cutoff_of(c, 0, c.key, s.longest()), round_off(c.key)};
  const bool adjoint = factors && factors->adjoint, small = fits_lanes(c.key, s.members(), s.m, s.n) && !adjoint;
  auto state = new_state(c, s.batch, names_of(c, 3), !small);
  state->cutoff = {wanted.cutoff.rtol, wanted.cutoff.atol};
  const DType work = small ? c.key : working_dtype(c.key, s.longest());
  const Tensor a = brought(factors && !adjoint ? factors->kept->matrix() : c.in[0], work);
  if (small) {
    run_small(s, a, factors, wanted, state->verdicts, c.out[0]);
  } else {
    Result out(c.out[0], work);
    with_float(work, [&]<class T>(T) { run<T>(s, a, factors, wanted, state->verdicts, out.data<T>()); });
    out.finish();
  }
  c.beside().residuals = {kept_values(state->batch, state->verdicts)};
  settle(c, std::move(state), policy_of(c, 2),
         "Bring its columns to one size, drop small singular values (rtol), or use inv with a ridge; in float32: "
         "compute in float64.");
}

void flow(const FlowQuery& q, Visit visit) {
  const Dims& s = q.call.in[0].shape();
  const std::int64_t each = s[s.size() - 2] * s.back();
  flow_members(q, each, each, visit);
}

// F = A⁺ where no singular value was dropped: dF = −F dA F + F Fᴴ dAᴴ (1 − A F) + (1 − F A) dAᴴ Fᴴ F (Golub & Pereyra
// 1973); else by the function of singular values that ran.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const Tensor &a = b.in[0], &f = b.out[0], &kept = b.residuals[0], turned = adjoint(b.g()), fh = adjoint(f);
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back(), k = std::min(m, n);
  if (k == 0) return {zeros_for(b.facts[0])};
  const Tensor full = equal(kept[{ellipsis, 1}], k);
  Tensor g, cut;
  if (any_true(full)) {
    g = negative(product(fh, b.g(), fh));
    if (m > n)
      g = add(g, product(subtract(identity(m, a.dtype()), matmul(a, f)), turned, matmul(f, fh)));
    else if (n > m)
      g = add(g, product(matmul(fh, f), turned, subtract(identity(n, a.dtype()), matmul(f, a))));
  }
  if (any_true(logical_not(full))) cut = spectral_cotangent(SpectralFunction::reciprocals, kept, a, turned);
  return {!cut.defined() ? g : !g.defined() ? cut : where(each(full), g, cut)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr rtol = {}, Attr if_ill = "raise", double atol = 0) {
    out.push_back({{sample_tensor(d, shape, v)}, {rtol, atol, if_ill, Attr()}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_pinv.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {2, 2}, {1, 1, 1, 1}, "rank deficient");
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "rtol drops a singular value", 0.1);
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "atol drops a singular value", {}, "raise", 0.1);
  add(f64, {0, 3}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_pinv = {
    .name = "pinv",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The Moore-Penrose pseudo-inverse of each matrix: singular values up to rtol times the largest count as "
        "zero.",
    .params = {{"x", kinds::numeric}},
    .attrs = {rtol_attr(), atol_attr(), policy_attr(), names_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"tall", "wide", "a batch", "rank deficient", "rtol drops a singular value",
                 "atol drops a singular value", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
