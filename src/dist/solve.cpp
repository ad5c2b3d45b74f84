// solve and inv: a system, a second opinion where it is small and in doubt, and what the policy says.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/errors.hpp"
#include "dist/kept.hpp"
#include "dist/one_place.hpp"
#include "dist/products.hpp"
#include "dist/rules.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/convert.hpp"
#include "linalg/filters.hpp"
#include "linalg/quad.hpp"
#include "linalg/solving.hpp"
#include "linalg/stack.hpp"
#include "linalg/tikhonov.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"

namespace wp::dist {
namespace {

struct Problem {
  std::string_view op;
  Matrix a, b;  // b undefined: the inverse
  const SolveOptions& given;
  Options options;
  bool told;        // somebody asks for the diagnosis
  DType own = f64;  // of A, as it was given: by it the diagnosis says what counts as zero
};
struct Answer {
  Matrix x;
  std::shared_ptr<linalg::Diagnosis::State> state;
};

// What only linalg itself has.
bool needs_one_place(const Options& o, std::int64_t n) {
  return o.certify || o.method == Method::ldl || (o.high && n <= linalg::kQuadLargest);
}

// What linalg says of the same problem on one machine.
Verdict ask_one_place(const Problem& p, const Tensor& a, Matrix& x) {
  const Tensor b = p.b.defined() ? brought_together(p.b) : Tensor();
  const Found found = in_one_place([&] {
    const auto one =
        b.defined() ? linalg::diagnosed::solve(a, b, p.given) : linalg::diagnosed::inv(a, as_inv_options(p.given));
    return std::pair{std::vector<Tensor>{one.value}, one.diagnosis};
  });
  x = spread(found.values[0], p.a.layout(), p.b.defined() && p.b.is_vector());
  return found.verdict;
}

// By the singular values of the matrix that is meant: a pseudo-inverse, or Tikhonov's solution.
template <class T>
Verdict regularise(const Matrix& given, const Matrix* b, const Options& o, Method method, Verdict v, Matrix& x) {
  const Matrix a = meant_by<T>(o, given);
  Spectral<T> svd(a, true);
  v.method = method;
  if (svd.status() != Status::ok) {
    v.status = svd.status();
    x = make_like(b ? *b : a);
    fill_nan(x);
    return v;
  }
  if (method == Method::pinv) {
    const double least = 2 * System<T>::u * static_cast<double>(a.rows()) * svd.largest();
    v.kept = svd.rank(least);
    x = svd.apply(linalg::truncated(svd.sigma(), least), b);
    v.forward_error = truncated_error<T>(a, svd, v.kept, b, x);
    v.digits = linalg::digits_of(v.forward_error, System<T>::u);
  } else {
    v.ridge = svd.choose_ridge(o.ridge, b);
    v.freedom = linalg::freedom(svd.sigma(), v.ridge);
    x = svd.apply(linalg::tikhonov(svd.sigma(), v.ridge, System<T>::u), b);
    linalg::conclude_ridge<T>(v, ridge_error<T>(a, svd, v.ridge, b, x), o.min_digits);
  }
  return v;
}

// Every rank has what explain() found: members of the diagnosis need no other rank.
template <class T>
void keep_reason(linalg::Diagnosis::State& state, const typename System<T>::Reason& reason) {
  state.spectrum = [reason](std::int64_t, linalg::Member& m) {
    m.null_vector = reason.null_vector;
    if (m.rank < 0) m.rank = reason.rank;  // without the matrix
    if (!reason.rows.empty()) m.dependent = reason.rows;
    if (!reason.columns.empty()) m.dependent_columns = reason.columns;
    if (reason.exact) m.cond = std::numeric_limits<double>::infinity();
  };
}

// The same numbers in another dtype. Nobody else sees a: its memory is let go while the other is filled, so that the
// two are never there together. Collective.
Matrix narrowed(Matrix a, DType dtype) {
  if (a.dtype() == dtype) return a;
  constexpr std::int64_t kEach = 1 << 18;  // elements
  const Matrix b = make_like(a, dtype);
  const Tensor &from = a.state().storage, &to = b.state().storage;
  const auto wide = static_cast<std::int64_t>(size_of(from.dtype())),
             narrow = static_cast<std::int64_t>(size_of(dtype)),
             page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  for (std::int64_t first = 0; first < from.size(); first += kEach) {
    const std::int64_t count = std::min(kEach, from.size() - first);
    char* const begin = from.node()->data + first * wide;
    kernels::convert(to.node()->data + first * narrow, dtype, begin, from.dtype(), 1, count);
    const std::int64_t before = (page - reinterpret_cast<std::intptr_t>(begin) % page) % page;
    if (const std::int64_t pages = (count * wide - before) / page; pages > 0)
      madvise(begin + before, static_cast<std::size_t>(pages * page), MADV_DONTNEED);
  }
  return b;
}

template <class T>
Answer answer(const Problem& p, std::shared_ptr<System<T>>* keep) {
  const Options& o = p.options;
  const std::int64_t n = p.a.rows();
  const DType asked = p.a.dtype();
  const bool fits = fits_one_place(p.a), must = needs_one_place(o, n);
  const auto wide = [&](const Matrix& m) { return m.defined() ? converted(m, dtype_v<T>) : m; };
  const Matrix b = wide(p.b);
  const Matrix* const right = b.defined() ? &b : nullptr;
  Answer out;
  Verdict v;
  Tensor whole = fits && p.told ? brought_together(p.a) : Tensor();
  std::string nonfinite = b.defined() ? nonfinite_element(p.b, "b") : "";
  std::optional<typename System<T>::Reason> reason;
  std::shared_ptr<System<T>> system;
  const bool ridge = o.ridge.rule != linalg::RidgeRule::none && o.if_ill != Policy::ridge;
  const auto doubtful = [&] { return v.status != Status::ok && v.status != Status::nonfinite_input; };
  const auto second_opinion = [&] {
    if (!whole.defined()) whole = brought_together(p.a);
    v = ask_one_place(p, whole, out.x);
  };
  if (!nonfinite.empty()) {
    v.status = Status::nonfinite_input;
    out.x = make_like(b);
    if (keep) *keep = std::make_shared<System<T>>(p.a, o);  // A may be as good as any
  } else if (ridge && !must) {
    v = regularise<T>(wide(p.a), right, o, Method::ridge, {}, out.x);
    if (fits && v.status != Status::nonfinite_input && in_doubt<T>(v)) second_opinion();
  } else {
    if (!must || keep) system = std::make_shared<System<T>>(p.a, o, fits && p.told);
    if (!must) v = b.defined() ? system->solve(b, out.x) : system->inverse(out.x);
    if (system) nonfinite = system->nonfinite_text();
    if (must || (doubtful() && fits)) second_opinion();
    const bool proved = fits && (n <= linalg::kExact || v.exactly_singular);
    if (v.status == Status::singular && !proved && system && system->factored()) {
      reason = system->explain(linalg::round_off(p.own));
      v.exactly_singular = v.exactly_singular || reason->exact;
    }
    if (v.status == Status::singular && !fits && (o.if_ill == Policy::pinv || o.if_ill == Policy::ridge))
      v = regularise<T>(wide(p.a), right, o, o.if_ill == Policy::pinv ? Method::pinv : Method::ridge, v, out.x);
    if (keep) *keep = system;
  }
  if (v.status == Status::nonfinite_input && nonfinite.empty()) nonfinite = nonfinite_element(p.a, "A", o.names);
  const bool regularised = v.method == Method::pinv || v.method == Method::ridge;
  const bool keeps = o.if_ill == Policy::ignore && v.status != Status::nonfinite_input && v.status != Status::not_spd;
  if (v.status >= Status::singular && !regularised && !keeps) fill_nan(out.x);
  out.x = narrowed(std::move(out.x), asked);
  consider_dtype(v, out.x, asked);
  out.state = new_state(p.op, v);
  out.state->names = o.names;
  if (!reason || p.told || (reason->rows.empty() && reason->columns.empty()))
    out.state->matrix = whole.defined() ? packed(whole, p.own) : whole;
  out.state->threshold = o.high && n <= linalg::kQuadLargest ? 4 * linalg::kQuadRoundOff : linalg::kSingular<T>;
  if (!nonfinite.empty()) out.state->nonfinite = [nonfinite](std::int64_t) { return nonfinite; };
  if (reason) keep_reason<T>(*out.state, *reason);
  if (!fits && !reason && system && system->full_rank())
    out.state->spectrum = [n](std::int64_t, linalg::Member& m) { m.rank = n; };
  return out;
}

// The factors of a system, for the way back.
template <class T>
struct KeptSystem final : Kept {
  std::shared_ptr<System<T>> system;
  Matrix solve(const Matrix& b, bool adjoint) override {
    Matrix x;
    system->solve(converted(b, dtype_v<T>), x, adjoint);
    return converted(x, b.dtype());
  }
};

void check(const Problem& p) {
  need_square(p.a);
  labels_of(p.given.names, p.a);
  if (needs_one_place(p.options, p.a.rows()))
    need_one_place(p.a, p.options.certify ? "certify" : "method = \"ldl\"",
                   p.options.certify ? "The diagnosis of the plain call has an estimate of the error."
                                     : "method = \"auto\" takes Cholesky or LU.");
  if (!p.b.defined()) return;
  if (p.b.rows() != p.a.rows())
    refuse<ShapeError>("WP-SHP-017",
                       say("b must have as many rows as A; got A ", shape_of(p.a), ", b ", shape_of(p.b), "."));
}

Answer run(const Problem& p, std::shared_ptr<Kept>* keep = nullptr) {
  // Inverting in twice the precision costs less than refining n right-hand sides.
  const DType work = linalg::working_dtype(p.a.dtype(), p.b.defined() ? p.a.rows() : 0);
  return linalg::with_float(work, [&]<class T>(T) {
    if (!keep) return answer<T>(p, nullptr);
    auto kept = std::make_shared<KeptSystem<T>>();
    kept->assume = p.options.assume;
    const Answer a = answer<T>(p, &kept->system);
    *keep = kept;
    return a;
  });
}

[[noreturn]] void no_rule(Method m) {
  refuse<GradientError>("WP-GRD-001", say("there is no derivative of a distributed answer by ", linalg::name(m), "."),
                        "Solve without if_ill and ridge, or bring the matrix to one machine (gather).");
}

}  // namespace

// X = A⁻¹ B on a tape: b̄ = A⁻ᴴ x̄, Ā = −b̄ xᴴ (Giles 2008, §2.2.2), from the same factors.
namespace {

Many solve_rule(const std::shared_ptr<Kept>& kept, const Many& in, const Matrix& x, const Matrix& g, bool adjoint,
                const Place& place) {
  const Matrix right = solve_with(kept, in[0], g, !adjoint, place);
  const Matrix own = adjoint ? product(-1, x, false, right, true, place) : product(-1, right, false, x, true, place);
  return {assumed_cotangent(in[0], own, kept->assume, place), right};
}

}  // namespace

Matrix solve_with(const std::shared_ptr<Kept>& kept, const Matrix& a, const Matrix& b, bool adjoint,
                  const Place& place) {
  return taped(
      "dist.solve", {a, b}, [=](const Many& in) { return kept->solve(in[1], adjoint); },
      [=](const Many& in, const Matrix& x, const Matrix& g) { return solve_rule(kept, in, x, g, adjoint, place); },
      place, {Notes::gives});
}

namespace {

Diagnosed<Matrix> solved(const Matrix& left, const Matrix& right, const SolveOptions& options, bool told,
                         Where where) {
  const Stage stage("dist.solve", where);
  meet(say("dist.solve A ", facts(left), ", b ", facts(right), ", ", options_text(options)));
  Options o = system_options(options);
  if (o.if_ill == Policy::raise) o.if_ill = Policy::nan;
  check({"solve", left, right, options, o, told});
  need_defined(right, "b");
  const auto [a, b] = alike(left, right, where);
  const Place place(where);
  const DType own = left.dtype();
  const bool on_tape = context().listeners != nullptr;
  auto kept = std::make_shared<std::shared_ptr<Kept>>();
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  Matrix x = taped(
      "dist.solve", {a, b},
      [=, &options](const Many& in) {
        Answer found = run({"solve", in[0], in[1], options, o, told, own}, on_tape ? kept.get() : nullptr);
        *state = found.state;
        return found.x;
      },
      [=](const Many& in, const Matrix& y, const Matrix& g) {
        if (const Method m = (*state)->verdicts[0].method; m == Method::pinv || m == Method::ridge) no_rule(m);
        return solve_rule(*kept, in, y, g, false, place);
      },
      place, {Notes::gives, state});
  return {x, linalg::Diagnosis(*state)};
}

Diagnosed<Matrix> inverted(const Matrix& a, const InvOptions& options, bool told, Where where) {
  const Stage stage("dist.inv", where);
  const SolveOptions given = as_solve_options(options);
  meet(say("dist.inv A ", facts(a), ", ", options_text(given)));
  Options o = system_options(given);
  if (o.if_ill == Policy::raise) o.if_ill = Policy::nan;
  check({"inv", a, {}, given, o, told});
  const Place place(where);
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  Matrix x = taped(
      "dist.inv", {a},
      [=, &given](const Many& in) {
        Answer found = run({"inv", in[0], {}, given, o, told, in[0].dtype()});
        *state = found.state;
        return found.x;
      },
      // Ā = −Xᴴ X̄ Xᴴ
      [=](const Many& in, const Matrix& y, const Matrix& g) -> Many {
        if (const Method m = (*state)->verdicts[0].method; m == Method::pinv || m == Method::ridge) no_rule(m);
        const Matrix own = product(-1, y, true, product(1, g, false, y, true, place), false, place);
        return {assumed_cotangent(in[0], own, o.assume, place)};
      },
      place, {Notes::gives, state});
  return {x, linalg::Diagnosis(*state)};
}

}  // namespace

namespace diagnosed {

Diagnosed<Matrix> solve(const Matrix& a, const Matrix& b, const SolveOptions& options, Where where) {
  return solved(a, b, options, true, where);
}
Diagnosed<Matrix> inv(const Matrix& a, const InvOptions& options, Where where) {
  return inverted(a, options, true, where);
}

}  // namespace diagnosed

Matrix solve(const Matrix& a, const Matrix& b, const SolveOptions& options, Where where) {
  const Diagnosed<Matrix> found = solved(a, b, options, false, where);
  const Stage stage("dist.solve", where);
  act(found.diagnosis, system_options(options).if_ill, linalg::Problem().advice);
  return found.value;
}

Matrix inv(const Matrix& a, const InvOptions& options, Where where) {
  const Diagnosed<Matrix> found = inverted(a, options, false, where);
  const Stage stage("dist.inv", where);
  act(found.diagnosis, system_options(as_solve_options(options)).if_ill, linalg::Problem().advice);
  return found.value;
}

}  // namespace wp::dist
