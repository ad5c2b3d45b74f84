// solve and inv: a system, a second opinion where it is small and in doubt, and what the policy says.
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/kept.hpp"
#include "dist/products.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "linalg/filters.hpp"
#include "linalg/quad.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"

namespace wp::dist {
namespace {

constexpr std::string_view kAdvice =
    "Use pinv(A), or a ridge (ridge = \"auto\"); or remove what depends on the rest.";

struct Problem {
  std::string_view op;
  Matrix a, b;  // b undefined: the inverse
  const SolveOptions& given;
  Options options;
  bool adjoint = false;
};
struct Answer {
  Matrix x;
  std::shared_ptr<linalg::Diagnosis::State> state;
};

// The whole of a small matrix on every rank, as wide as the caller had it.
Tensor brought_together(const Matrix& a) {
  Tensor whole =
      Tensor::adopt(detail::make_node(a.dtype(), a.is_vector() ? Dims{a.rows()} : Dims{a.rows(), a.columns()}));
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    gather_columns<T>(local<T>(a), 0, a.columns(), reinterpret_cast<T*>(whole.node()->data));
  });
  return whole;
}

// What linalg says of the same problem on one machine: rank 0 computes, all take its answer and its verdict.
Verdict ask_one_place(const Problem& p, const Tensor& a, Matrix& x) {
  const Stage stage("look at it in one place");
  Tensor b, answer;
  if (p.b.defined()) b = brought_together(p.b);
  std::string verdict;
  std::exception_ptr error;
  try {
    if (rank() == 0) {
      const Unseen unseen;
      const auto found =
          b.defined() ? linalg::diagnosed::solve(a, b, p.given) : linalg::diagnosed::inv(a, as_inv_options(p.given));
      verdict = packed_verdict(found.diagnosis.state()->verdicts[0]);
      answer = found.value;
    }
  } catch (...) {
    error = std::current_exception();
  }
  agree(error);
  verdict = broadcast_text(verdict);
  if (!answer.defined()) answer = Tensor::adopt(detail::make_node(a.dtype(), b.defined() ? b.shape() : a.shape()));
  broadcast(answer.node()->data, answer.nbytes());
  x = make_like(p.b.defined() ? p.b : p.a, a.dtype());
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    scatter_columns<T>(reinterpret_cast<const T*>(answer.node()->data), 0, x.columns(), local<T>(x));
  });
  return unpacked_verdict(verdict);
}

// By the singular values: a pseudo-inverse, or Tikhonov's solution.
template <class T>
Verdict regularise(const Matrix& a, const Matrix* b, const Options& o, Method method, Verdict v, Matrix& x) {
  const Spectral<T> svd(a, true);
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
  } else {
    v.ridge = svd.choose_ridge(o.ridge, b);
    v.freedom = linalg::freedom(svd.sigma(), v.ridge);
    x = svd.apply(linalg::tikhonov(svd.sigma(), v.ridge), b);
  }
  return v;
}

// Every rank has what explain() found: members of the diagnosis need no other rank.
template <class T>
void keep_reason(linalg::Diagnosis::State& state, const typename System<T>::Reason& reason) {
  state.spectrum = [reason](std::int64_t, linalg::Member& m) {
    m.null_vector = reason.null_vector;
    m.dependent = reason.rows;
    m.dependent_columns = reason.columns;
  };
}

template <class T>
Answer answer(const Problem& p, std::shared_ptr<System<T>>* keep) {
  const Options& o = p.options;
  const std::int64_t n = p.a.rows();
  const DType asked = p.a.dtype();
  const bool small = n <= kOnePlace;
  const auto wide = [&](const Matrix& m) { return m.defined() ? m.astype(dtype_v<T>) : m; };
  const Matrix a = wide(p.a), b = wide(p.b);
  Answer out;
  Verdict v;
  const Tensor whole = small ? brought_together(p.a) : Tensor();
  std::string nonfinite = b.defined() ? nonfinite_element(p.b, "b") : "";
  std::optional<typename System<T>::Reason> reason;
  if (o.ridge.rule != linalg::RidgeRule::none && o.if_ill != Policy::ridge) {
    v = regularise<T>(a, b.defined() ? &b : nullptr, o, Method::ridge, {}, out.x);
    if (v.status == Status::nonfinite_input && nonfinite.empty()) nonfinite = nonfinite_element(p.a, "A");
  } else if (!nonfinite.empty()) {
    v.status = Status::nonfinite_input;
    out.x = make_like(b);
  } else {
    auto system = std::make_shared<System<T>>(a, o);
    v = b.defined() ? system->solve(b, out.x, p.adjoint) : system->inverse(out.x);
    nonfinite = system->nonfinite_text();
    const bool doubtful = v.status != Status::ok && v.status != Status::nonfinite_input;
    if (small && !p.adjoint && (doubtful || o.high || o.certify)) {
      v = ask_one_place(p, whole, out.x);
    } else if (v.status == Status::singular) {
      if (!b.defined() || !small) reason = system->explain();
      if (reason) v.exactly_singular = v.exactly_singular || reason->exact;
      if (o.if_ill == Policy::pinv || o.if_ill == Policy::ridge)
        v = regularise<T>(a, b.defined() ? &b : nullptr, o, o.if_ill == Policy::pinv ? Method::pinv : Method::ridge,
                          v, out.x);
    }
    if (keep) *keep = system;
  }
  const bool regularised = v.method == Method::pinv || v.method == Method::ridge;
  const bool keeps = o.if_ill == Policy::ignore && v.status != Status::nonfinite_input && v.status != Status::not_spd;
  if (v.status >= Status::singular && !regularised && !keeps) fill_nan(out.x);
  out.x = out.x.astype(asked);
  consider_dtype(v, out.x, asked);
  out.state = new_state(p.op, v);
  out.state->names = o.names;
  out.state->matrix = whole;
  out.state->threshold = o.high && small ? 4 * linalg::kQuadRoundOff : linalg::kSingular<T>;
  if (!nonfinite.empty()) out.state->nonfinite = [nonfinite](std::int64_t) { return nonfinite; };
  if (reason) keep_reason<T>(*out.state, *reason);
  return out;
}

// The factors of a system, for the way back.
template <class T>
struct KeptSystem final : Kept {
  std::shared_ptr<System<T>> system;
  Matrix solve(const Matrix& b, bool adjoint) override {
    const DType asked = b.dtype();
    Matrix x;
    system->solve(b.astype(dtype_v<T>), x, adjoint);
    return x.astype(asked);
  }
};

DType working(DType dtype, std::int64_t n) {
  return linalg::working_dtype(dtype, n);
}

void check(const Problem& p) {
  need_defined(p.a, "A");
  need_square(p.a);
  if ((p.options.certify || p.options.high) && p.a.rows() > kOnePlace)
    refuse<ArgumentError>("WP-MPI-007",
                          say(p.options.certify ? "certify" : "accuracy = \"high\"", " is for matrices of at most ",
                              kOnePlace, " rows here; got ", p.a.rows(), "."),
                          "The diagnosis of the plain call has an estimate of the error.");
  if (!p.b.defined()) return;
  if (p.b.rows() != p.a.rows())
    refuse<ShapeError>("WP-SHP-017", say("b must have as many rows as A; got A [", p.a.rows(), ", ", p.a.columns(),
                                         "], b [", p.b.rows(), ", ", p.b.columns(), "]."));
  need_same_layout(p.a, p.b);
}

Answer run(const Problem& p, std::shared_ptr<Kept>* keep = nullptr) {
  return linalg::with_float(working(p.a.dtype(), p.b.defined() ? p.a.rows() : std::int64_t{0}), [&]<class T>(T) {
    if (!keep) return answer<T>(p, nullptr);
    auto kept = std::make_shared<KeptSystem<T>>();
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
  return {own, right};
}

}  // namespace

Matrix solve_with(const std::shared_ptr<Kept>& kept, const Matrix& a, const Matrix& b, bool adjoint,
                  const Place& place) {
  return taped(
      "dist.solve", {a, b}, [=](const Many& in) { return kept->solve(in[1], adjoint); },
      [=](const Many& in, const Matrix& x, const Matrix& g) { return solve_rule(kept, in, x, g, adjoint, place); },
      place);
}

namespace diagnosed {

Diagnosed<Matrix> solve(const Matrix& a, const Matrix& b, const SolveOptions& options, Where where) {
  const Stage stage("dist.solve", where);
  meet(say("dist.solve A ", facts(a), ", b ", facts(b), ", ", options_text(options)));
  Options o = system_options(options);
  if (o.if_ill == Policy::raise) o.if_ill = Policy::nan;
  const Problem p{"solve", a, b, options, o};
  check(p);
  need_defined(b, "b");
  const Place place(where);
  const bool on_tape = context().listeners != nullptr;
  auto kept = std::make_shared<std::shared_ptr<Kept>>();
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  Matrix x = taped(
      "dist.solve", {a, b},
      [=, &p](const Many& in) {
        const Problem own{p.op, in[0], in[1], p.given, p.options};
        Answer found = run(own, on_tape ? kept.get() : nullptr);
        *state = found.state;
        return found.x;
      },
      [=](const Many& in, const Matrix& y, const Matrix& g) {
        if (const Method m = (*state)->verdicts[0].method; m == Method::pinv || m == Method::ridge) no_rule(m);
        return solve_rule(*kept, in, y, g, false, place);
      },
      place);
  return {x, linalg::Diagnosis(*state)};
}

Diagnosed<Matrix> inv(const Matrix& a, const InvOptions& options, Where where) {
  const Stage stage("dist.inv", where);
  const SolveOptions given = as_solve_options(options);
  meet(say("dist.inv A ", facts(a), ", ", options_text(given)));
  Options o = system_options(given);
  if (o.if_ill == Policy::raise) o.if_ill = Policy::nan;
  const Problem p{"inv", a, {}, given, o};
  check(p);
  const Place place(where);
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  Matrix x = taped(
      "dist.inv", {a},
      [=, &p](const Many& in) {
        Answer found = run({p.op, in[0], {}, p.given, p.options});
        *state = found.state;
        return found.x;
      },
      // Ā = −Xᴴ X̄ Xᴴ
      [=](const Many&, const Matrix& y, const Matrix& g) -> Many {
        if (const Method m = (*state)->verdicts[0].method; m == Method::pinv || m == Method::ridge) no_rule(m);
        return {product(-1, y, true, product(1, g, false, y, true, place), false, place)};
      },
      place);
  return {x, linalg::Diagnosis(*state)};
}

}  // namespace diagnosed

Matrix solve(const Matrix& a, const Matrix& b, const SolveOptions& options, Where where) {
  const Diagnosed<Matrix> found = diagnosed::solve(a, b, options, where);
  const Stage stage("dist.solve", where);
  act(found.diagnosis, system_options(options).if_ill, kAdvice);
  return found.value;
}

Matrix inv(const Matrix& a, const InvOptions& options, Where where) {
  const Diagnosed<Matrix> found = diagnosed::inv(a, options, where);
  const Stage stage("dist.inv", where);
  act(found.diagnosis, system_options(as_solve_options(options)).if_ill, kAdvice);
  return found.value;
}

}  // namespace wp::dist
