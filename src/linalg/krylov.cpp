#include "linalg/krylov.hpp"

#include "base/text.hpp"
#include "linalg/explain.hpp"
#include "linalg/settle.hpp"
#include "linalg/verdict.hpp"
#include "ops/moves.hpp"
#include "wellposed/context.hpp"
#include "wellposed/creation.hpp"

namespace wp::linalg {

IterativeProblem::IterativeProblem(std::string_view f, const LinearOperator& op, const Tensor& right,
                                   const IterativeOptions& o, const Place& where, bool square)
    : function(f), place(where), a(op), b(right), options(o) {
  const auto shape = [&] { return say(op.rows(), " × ", op.columns()); };
  if (square && op.rows() != op.columns())
    raise<ShapeError>("WP-SHP-016", f, say("A must be square; got ", shape(), "."), "For other shapes use lsmr.");
  const auto need = [&](const Tensor& t, std::int64_t n, std::string_view name) {
    if (!t.defined() || t.shape() != Dims{n})
      raise<ShapeError>("WP-SHP-017", f,
                        say(name, " must be a vector of ", plural(n, "element"), " for an A of ", shape(), "; got ",
                            t.defined() ? say(t.shape()) : std::string("nothing"), "."));
    if (is_complex(t.dtype()) && !is_complex(op.dtype()))
      raise<DtypeError>("WP-DTY-004", f, say(name, " is ", t.dtype(), ", A is ", op.dtype(), "."), "Make A complex.");
  };
  need(b, op.rows(), "b");
  if (o.x0.defined()) need(o.x0, op.columns(), "x0");
  if (const auto& m = o.preconditioner; m && (m->rows() != op.columns() || m->columns() != op.columns()))
    raise<ShapeError>("WP-SHP-017", f,
                      say("the preconditioner must be ", op.columns(), " × ", op.columns(), "; got ", m->rows(),
                          " × ", m->columns(), "."));
  rtol = o.rtol.value_or(real_of(op.dtype()) == f32 ? 1e-5 : 1e-10);
  if (!(rtol >= 0) || !(o.atol >= 0))
    raise<ArgumentError>("WP-ARG-001", f,
                         say("tolerances must not be negative; got rtol ", rtol, ", atol ", o.atol, "."));
  limit = o.max_iterations.value_or(std::max<std::int64_t>(100, 10 * std::max(op.rows(), op.columns())));
  if (limit < 0) raise<ArgumentError>("WP-ARG-001", f, say("max_iterations must not be negative; got ", limit, "."));
  const std::string_view policy = o.if_ill;
  if (policy != "raise" && policy != "warn" && policy != "nan" && policy != "ignore")
    raise<ArgumentError>("WP-ARG-001", f, say("if_ill must be raise, warn, nan or ignore; got \"", policy, "\"."));
}

bool is_small(const LinearOperator& a) {
  return a.columns() <= 64 && a.rows() <= 4096;
}

Tensor written_down(const LinearOperator& a) {
  Tensors columns;
  for (std::int64_t j = 0; j < a.columns(); ++j)
    columns.push_back(a(astype(equal(arange(a.columns()), j), a.dtype())));
  return contiguous(stack(columns, {.axis = 1}));
}

namespace {

// Which number is not finite: of b, of x0, or of a matrix that is known.
std::string nonfinite_number(const IterativeProblem& p) {
  const auto named = [](std::string_view name, const Tensor& t) {
    return t.defined() ? nonfinite_elements(name, t, 0, t.size()) : std::string();
  };
  const Tensor& stored = p.a.stored();
  std::string text = named("b", p.b);
  if (text.empty()) text = named("x0", p.options.x0);
  if (text.empty()) text = named(stored.defined() && stored.ndim() == 2 ? "A" : "data", stored);
  return text.empty() ? "A or the preconditioner gave Inf or NaN." : text;
}

}  // namespace

void settle_iteration(const IterativeProblem& p, IterativeResult& out, std::string_view advice) {
  const std::string measured = say("‖b − A x‖ = ", few_digits(out.residual), ", wanted ", few_digits(out.target),
                                   ", after ", plural(out.iterations, "iteration"), ".");
  const std::string_view policy = p.options.if_ill;
  if (out.status <= Status::ill_conditioned) {
    out.message =
        say("converged", out.message.empty() ? ": " : ", ", out.message, out.message.empty() ? "" : " ", measured);
    if (!p.options.judge) out.message += " How many digits of x that leaves was not judged.";
    if (out.status == Status::ok) return;
    out.message +=
        say(" But A is ill-conditioned (condition ", few_digits(out.condition),
            "): ", out.digits >= 1 ? say("about ", std::lround(std::floor(out.digits))) : std::string("no"),
            " digits of x can be vouched for, however small the residual.");
    if (policy == "ignore") return;
    Finding f = misuse("WP-LIN-003", p.function, out.message,
                       "Ask for a smaller residual (rtol), add a damping, or compute in a wider dtype; up to a few "
                       "thousand rows use solve.");
    f.op = p.function;
    f.place = p.place;
    f.step = context().step;
    f.count = 1;
    f.measured = out.forward_error;
    f.severity = Severity::warning;
    return report(f);
  }
  std::string_view code = "WP-LIN-005";
  if (out.status == Status::not_spd) code = "WP-LIN-004";
  if (out.status == Status::nonfinite_input) {
    code = "WP-LIN-001";
    out.message = nonfinite_number(p);
    advice = "Look at b, x0 and what the operators return.";
  }
  out.message = out.message.empty() ? "did not converge: " + measured : out.message + " " + measured;
  if (policy == "nan") {
    const Tensor x = Tensor::adopt(detail::make_node(out.x.dtype(), out.x.shape()));
    with_float(x.dtype(), [&]<class T>(T) {
      std::fill_n(reinterpret_cast<T*>(x.node()->data), x.size(),
                  T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
    });
    out.x = x;
  }
  if (policy == "ignore") return;
  Finding f = misuse(code, p.function, out.message, std::string(advice));
  f.op = p.function;
  f.place = p.place;
  f.step = context().step;
  f.count = 1;
  f.measured = out.residual;
  f.threshold = out.target;
  f.severity = policy == "warn" ? Severity::warning : policy == "nan" ? Severity::note : Severity::error;
  if (policy != "raise") return report(f);
  auto state = std::make_shared<Diagnosis::State>();
  state->op = p.function;
  state->verdicts.resize(1);
  state->verdicts[0].status = out.status;
  const Diagnosis d(std::move(state));
  switch (out.status) {
    case Status::nonfinite_input: throw NonFiniteError(std::move(f));
    case Status::not_spd: throw NotPositiveDefinite(std::move(f), d, {out.x});
    default: throw NotConverged(std::move(f), d, {out.x});
  }
}

}  // namespace wp::linalg
