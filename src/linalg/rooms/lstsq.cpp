#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "linalg/augmented.hpp"
#include "linalg/balanced.hpp"
#include "linalg/certified.hpp"
#include "linalg/kept.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/scaled_condition.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "linalg/system_rule.hpp"
#include "linalg/tikhonov.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_lstsq;
namespace {

using namespace linalg;

struct Sizes {
  Dims batch, batch_a, batch_b;
  std::int64_t m, n, k;
  Tensor b;  // [..., m, k]
  Sizes(const Tensor& x1, const Tensor& x2) {
    need_matrices(x1, "x1");
    m = x1.shape()[x1.shape().size() - 2];
    n = x1.shape().back();
    const bool vector = x2.ndim() == 1;
    if (x2.ndim() == 0 || x2.shape()[x2.shape().size() - (vector ? 1 : 2)] != m)
      refuse<ShapeError>("WP-SHP-017",
                         say("x2 must have as many rows as x1; got x1 ", x1.shape(), ", x2 ", x2.shape(), "."),
                         "A vector is 1-d; stacks of vectors are [..., m, 1].");
    k = vector ? 1 : x2.shape().back();
    b = vector ? view_of(x2, {m, 1}, {x2.strides()[0], 1}) : x2;
    batch_a = batch_of(x1);
    batch_b = batch_of(b);
    batch = broadcast(batch_a, batch_b);
  }
};

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  const Sizes s(c.in[0], c.in[1]);
  Dims shape = s.batch;
  shape.push_back(s.n);
  if (c.in[1].ndim() != 1) shape.push_back(s.k);
  c.output(c.key, shape);
}

struct LstsqSettings {
  Cutoff cutoff;
  Ridge ridge;
  bool certify = false;
};

template <class T>
void judge(const Sizes& s, kernels::View<T> a, double error, Verdict& v) {
  conclude_least_squares<T>(v, error);
  v.rcond = scaled_rcond_of<T>(s.m, s.n, a, v.kept, v.rcond);
}

// One member. Lines far apart in size are brought together by powers of two where the rank is full: that changes
// nothing but the condition.
template <class T>
struct Minimiser {
  const Sizes& s;
  const LstsqSettings& o;
  const KeptFor<T>& kept;
  kernels::View<T> b;
  kernels::MutableView<T> x;

  Verdict run(std::int64_t member, kernels::View<T> a) const {
    Verdict v;
    v.method = Method::svd;
    v.status = Status::nonfinite_input;
    if (!std::isfinite(kernels::norms<T>(s.m, s.k, b).largest)) return v;
    double least = 0;  // singular value
    const bool regular = o.ridge.rule != RidgeRule::none,
               high = !regular && rank_needs_accuracy<T>(s.m, s.n, a, o.cutoff);
    kept.spectral(member, s.m, s.n, a, high, [&](const Spectral<T>& svd) {
      svd.judge(v);
      if (!svd.sigma().empty()) least = svd.sigma().back();
      if (v.status != Status::ok) return;
      if (regular)
        regularise(a, svd, v);
      else if (s.n == 0 || s.m == 0 || rank(svd) != std::min(s.m, s.n) || !solve_balanced(member, a, v))
        take(least_squares<T>(s.m, s.n, s.k, a, svd, o.cutoff(svd.largest()), b, x), v);
    });
    if (v.status == Status::ok && o.ridge.rule == RidgeRule::none) judge<T>(s, a, v.forward_error, v);
    if (o.certify && v.status <= Status::ill_conditioned) certify(a, least, v);
    return v;
  }

 private:
  std::int64_t rank(const Spectral<T>& svd) const { return svd.rank(o.cutoff(svd.largest())); }

  // With lines of one size; false: they are that already, or it does not help.
  bool solve_balanced(std::int64_t member, kernels::View<T> a, Verdict& v) const {
    return kept.balanced(member, s.m, s.n, a, [&](const Balanced<T>& again) {
      const auto found = balanced_least_squares<T>(s.m, s.n, s.k, again, o.cutoff, b, x);
      if (found) take(*found, v);
      return found.has_value();
    });
  }
  void take(const Minimised& found, Verdict& v) const {
    v.kept = found.kept;
    v.rcond = found.rcond;
    v.forward_error = found.error;
  }
  // A bound that is proved, in the place of the estimate: of full rank, or with a ridge.
  void certify(kernels::View<T> a, double least, Verdict& v) const {
    const double ridge = v.method == Method::ridge ? v.ridge : 0;
    if (s.n == 0 || s.k == 0 || !(ridge > 0 || v.kept == std::min(s.m, s.n))) return;
    const auto error = certified_least_squares<T>(s.m, s.n, s.k, a, b, x, ridge, least);
    if (!error || digits_of(*error, kUnit<T>) < 1) return;
    v.certified = true;
    conclude_least_squares<T>(v, *error);
  }
  void regularise(kernels::View<T> a, const Spectral<T>& svd, Verdict& v) const {
    v.method = Method::ridge;
    v.ridge =
        o.ridge.rule == RidgeRule::given ? o.ridge.given : svd.choose_ridge(o.ridge.rule, o.ridge.noise, s.k, b);
    v.freedom = svd.freedom(v.ridge);
    conclude_ridge<T>(v, tikhonov_solution<T>(s.m, s.n, s.k, a, svd, v.ridge, b, x));
  }
};

// All members, or those of `which`, whose answers follow each other.
template <class T>
void run(const Sizes& s, const Tensor& a, const Tensor& b, const LstsqSettings& o, const Factors* factors,
         Verdicts& verdicts, T* out, const std::vector<std::int64_t>& which = {}) {
  using R = typename kernels::RealOf<T>::type;
  const Stack<T> left(a, s.batch), right(b, s.batch);
  const KeptFor<T> kept(factors, s.batch);
  for_members(static_cast<std::int64_t>(verdicts.size()), std::max(s.m, s.n), [&](std::int64_t i) {
    const std::int64_t member = which.empty() ? i : which[static_cast<std::size_t>(i)];
    T* const x = out + i * s.n * s.k;
    const Verdict v = Minimiser<T>{s, o, kept, right[member], {x, s.k, 1}}.run(member, left[member]);
    if (v.status >= Status::singular) std::fill_n(x, s.n * s.k, T(std::numeric_limits<R>::quiet_NaN()));
    verdicts[static_cast<std::size_t>(i)] = v;
  });
}

// What is said of a member that went through lanes: as of any other of full rank. `error`: of each, or of none.
Verdicts::Detail detail_of(const Sizes& s, const Tensor& a, const Tensor& error) {
  const auto known = std::make_shared<const Conditions>(a, s.batch, spectral_conditions);
  return [s, known, error](std::int64_t member, Verdict& v) {
    const double number = error.defined() ? data_of<const double>(error)[member] : 0;
    const bool told = error.defined() && v.method == Method::qr;
    if (number < 0) v.method = Method::qr;  // once more
    const Tensor one = known->matrix(member);
    const kernels::View<double> view{data_of<const double>(one), s.n, 1};
    v.rcond = balanced_rcond<double>(s.m, s.n, view, (*known)[member]);
    judge<double>(s, view, told ? number : kUnit<double>, v);
  };
}

// Through lanes; members in doubt as a stack of their own, or by the singular values that are kept.
void run_small(const Sizes& s, const Tensor& a, const Tensor& b, const LstsqSettings& o, const Factors* factors,
               Verdicts& verdicts, const Tensor& x) {
  const bool refined = few(s.n, s.k),
             by_lu = s.m == s.n && refined && rcond_tells_rank(s.n, o.cutoff.rtol, o.cutoff.atol);
  const Tensor number = by_lu || !refined ? number_of_each(s.batch) : Tensor();
  Verdict common;
  common.method = by_lu ? Method::lu : Method::qr;
  common.kept = std::min(s.m, s.n);
  through_lanes(
      {.a = a,
       .b = b,
       .batch = s.batch,
       .size = std::max(s.m, s.n),
       .outputs = {x},
       .common = common,
       .detail = detail_of(s, a, number),
       .numbers = number},
      verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        const auto by_qr = [&](const Sources<T>& some, std::int64_t columns, Range here, T* to, Marks own) {
          own.error = std::exchange(own.rcond, nullptr);
          kernels::batched::least_squares<T>(s.m, s.n, columns, some.a, some.b, {o.cutoff.rtol, o.cutoff.atol}, here,
                                             to, refined, own);
        };
        if (!by_lu) return by_strips<T>(s.n, s.k, from, range, data_of<T>(x), marks, by_qr);
        marks.as_given = true;
        kernels::batched::solve<T>(s.n, s.k, from.a, from.b, range, data_of<T>(x), true, marks);
        doubt_rank(s.n, o.cutoff.rtol, range, marks);
        once_more<T>(s.n, s.n, s.k, from, range, s.n * s.k, data_of<T>(x), marks,
                     [&](const Sources<T>& some, Range here, T* to, Marks own) { by_qr(some, s.k, here, to, own); });
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        if (factors)
          return run<double>(s, brought(a, f64), brought(b, f64), o, factors, own, data_of<double>(to[0]), doubtful);
        Sizes rest = s;
        rest.batch = {static_cast<std::int64_t>(doubtful.size())};
        run<double>(rest, members_of(a, s.batch, doubtful, f64), members_of(b, s.batch, doubtful, f64), o, nullptr,
                    own, data_of<double>(to[0]));
      });
}

// Whether x = 0 is what is left of no fit, and not of numbers that are too small: |x| is about |b|/|A|, or 0.
bool nothing_to_fit(const Sizes& s, const Tensor& a, const Tensor& b, DType result, std::int64_t member,
                    std::int64_t column) {
  return with_float(a.dtype(), [&]<class T>(T) {
    const kernels::View<T> right = Stack<T>(b, s.batch)[member].from(0, column);
    const double size = kernels::norms<T>(s.m, 1, right).largest,
                 most = kernels::norms<T>(s.m, s.n, Stack<T>(a, s.batch)[member]).largest;
    return size == 0 || most == 0 || std::log2(size) - std::log2(most) > std::log2(least_normal(result)) + 60;
  });
}

void forward(Call& c) {
  const Sizes s(c.in[0], c.in[1]);
  const std::int64_t longest = std::max(s.m, s.n);
  const LstsqSettings o{cutoff_of(c, 0, c.key, longest), ridge_of(c, 2), flag_of(c, 5)};
  const Factors* const factors = factors_of(c);
  const bool adjoint = factors && factors->adjoint;
  const std::int64_t members = count_of(s.batch);
  const bool small = fits_lanes(c.key, members, s.m, s.n) && columns_fit_lanes(longest, s.k) &&
                     o.ridge.rule == RidgeRule::none && !o.certify && !adjoint;
  auto state = new_state(c, s.batch, names_of(c, 6), !small);
  state->cutoff = {o.cutoff.rtol, o.cutoff.atol};
  const DType work = small ? c.key : working_dtype(c.key, longest);
  const Tensor a = brought(factors && !adjoint ? factors->kept->matrix() : c.in[0], work), b = brought(s.b, work);
  if (small) {
    run_small(s, a, b, o, factors, state->verdicts, c.out[0]);
  } else {
    Result out(c.out[0], work);
    with_float(work, [&]<class T>(T) { run<T>(s, a, b, o, factors, state->verdicts, out.data<T>()); });
    out.finish();
  }
  if (c.attr(2)) {
    const Tensor ridges = Tensor::adopt(detail::make_node(f64, s.batch));
    for (std::size_t i = 0; i < state->verdicts.size(); ++i)
      reinterpret_cast<double*>(ridges.node()->data)[i] = state->verdicts[i].ridge;
    c.beside().residuals = {ridges};
  } else {
    c.beside().residuals = {kept_values(s.batch, state->verdicts)};
  }
  if (o.certify) {
    state->verdicts.each_own([&](std::size_t, Verdict& v) {
      if (v.certified && work != c.key) v.forward_error += round_off(c.key);
    });
    report_uncertified(c, *state, "that the matrix has full rank could not be shown");
  }
  settle(c, std::move(state), policy_of(c, 4),
         "Bring its columns to one size, drop small singular values (rtol), or add a ridge; in float32: compute in "
         "float64.",
         true, {.rows = s.n, .zero = [&](std::int64_t member, std::int64_t column) {
                  return nothing_to_fit(s, a, b, c.key, member, column);
                }});
}

// All of x1's member; the same column of x2's.
void flow(const FlowQuery& q, Visit visit) {
  const Sizes s(q.call.in[0], q.call.in[1]);
  const std::int64_t member = own_member(q.element / (s.n * s.k), s.batch, q.input == 0 ? s.batch_a : s.batch_b);
  if (q.input == 0)
    for (std::int64_t e = 0; e < s.m * s.n; ++e) visit(member * s.m * s.n + e);
  else
    for (std::int64_t i = 0; i < s.m; ++i) visit((member * s.m + i) * s.k + q.element % s.k);
}

// x = F b with F = A⁺ where no singular value was dropped: p = Fᴴ g and, from dF as in pinv,
// −p xᴴ + (b − A x)(F p)ᴴ + (Fᴴ x)((1 − F A) g)ᴴ of A.
SystemCotangents full_cotangents(const Backward& b, const Tensor& a, const Tensor& right, const Tensor& x,
                                 const Tensor& g) {
  const LstsqOptions options{.rtol = b.attr(0) ? std::optional(b.attr(0).real()) : std::nullopt,
                             .atol = b.attr(1).real()};
  const auto least = [&](const Tensor& m, const Tensor& v) { return diagnosed::lstsq(m, v, options).value; };
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  const Tensor p = least(adjoint(a), g);
  Tensor own = negative(matmul(p, adjoint(x)));
  if (m > n) own = add(own, matmul(subtract(right, matmul(a, x)), adjoint(least(a, p))));
  if (n > m) own = add(own, matmul(least(adjoint(a), x), adjoint(subtract(g, least(a, matmul(a, g))))));
  return {own, p};
}

Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const bool vector = b.shape(1).size() == 1;
  const Tensor &a = b.in[0], right = as_columns(b.in[1], vector), x = as_columns(b.out[0], vector),
               g = as_columns(b.g(), vector);
  const std::int64_t k = std::min(a.shape()[a.shape().size() - 2], a.shape().back());
  if (k == 0) return {zeros_for(b.facts[0]), zeros_for(b.facts[1])};
  SystemCotangents c;
  if (b.attr(2)) {
    c = ridge_cotangents(a, right, x, g, b.residuals[0]);
  } else {
    const Tensor &kept = b.residuals[0], full = equal(kept[{ellipsis, 1}], k);
    SystemCotangents cut;
    if (any_true(full)) c = full_cotangents(b, a, right, x, g);
    if (any_true(logical_not(full))) {
      const Tensor inverse = diagnosed::pinv(a, {.rtol = b.attr(0) ? std::optional(b.attr(0).real()) : std::nullopt,
                                                 .atol = b.attr(1).real()})
                                 .value;
      cut = kept_cotangents(a, right, g, inverse, kept);
      c = c.matrix.defined()
              ? SystemCotangents{where(each(full), c.matrix, cut.matrix), where(each(full), c.right, cut.right)}
              : cut;
    }
  }
  return {c.matrix, from_columns(c.right, vector)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const std::vector<complex128>& va, const Dims& b,
                       const std::vector<complex128>& vb, std::string_view covers, Attr ridge = {},
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, a, va), sample_tensor(d, b, vb)},
                   {Attr(), 0.0, ridge, 0.0, if_ill, false, Attr()},
                   covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_lstsq.params[0].kinds))
      add(d, {3, 2}, {4, 1, 2, 3, 1, 5}, {3}, {1, 2, 4}, "a vector");
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, {3, 2}, {1, 2, 3, 0, {5, 1}, 6}, {});
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, {2}, {1, 2}, "wide: the shortest solution");
  }
  add(f64, {2, 3, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2, 7, 1, 3, 2}, {3, 1}, {1, 2, 3}, "batches broadcast");
  add(f64, {3, 2}, {1, 1, 1, 1, 1, 1}, {3}, {1, 2, 4}, "rank deficient");
  add(f64, {3, 2}, {1, 1, 1, 1, 1, 1}, {3}, {1, 2, 4}, "ridge", Setting(0.5));
  add(f64, {0, 3}, {0}, {0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, {2}, {1, 1}, "not finite", {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_lstsq = {
    .name = "lstsq",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The x of least norm that minimises |x1 x - x2|, one vector (1-d x2) or matrices; leading axes broadcast. "
        "Singular values up to rtol times the largest, or atol, count as zero; with a ridge λ, |x1 x - x2|² + λ|x|² "
        "is minimised.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = ridge_attrs({rtol_attr(), atol_attr()}, {policy_attr(), certify_attr(), names_attr()}),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .branches = {"a vector", "wide: the shortest solution", "batches broadcast", "rank deficient", "ridge", "empty",
                 "not finite"},
    .samples = samples,
};

}  // namespace wp
