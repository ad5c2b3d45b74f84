#include "dist/calling.hpp"

#include <nlohmann/json.hpp>

#include "autodiff/collective.hpp"
#include "base/text.hpp"
#include "dist/noting.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/act.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"

namespace wp {
extern const Op op_linalg_solve;
}

namespace wp::dist {

void need_no_out(const void* out) {
  if (out) refuse<ArgumentError>("WP-ARG-001", "out is not taken: a distributed answer has memory of its own.");
}

Options system_options(const SolveOptions& o) {
  need_no_out(o.out);
  const Attr attrs[] = {Attr(o.if_ill), Attr(o.ridge),    Attr(o.noise),   Attr(o.shift),
                        Attr(o.assume), Attr(o.refine),   Attr(o.certify), Attr(o.min_digits),
                        Attr(o.names),  Attr(o.accuracy), Attr(o.method)};
  const Place place;
  const Call c(op_linalg_solve, Inputs(nullptr, 0), attrs, place);
  check_arguments(c);
  return linalg::options_of(c, 0);
}

namespace {

// Both have the same fields.
template <class To, class From>
To same_options(const From& o) {
  return {.if_ill = o.if_ill,
          .ridge = o.ridge,
          .noise = o.noise,
          .shift = o.shift,
          .assume = o.assume,
          .refine = o.refine,
          .certify = o.certify,
          .min_digits = o.min_digits,
          .names = o.names,
          .accuracy = o.accuracy,
          .method = o.method,
          .out = o.out};
}

}  // namespace

SolveOptions as_solve_options(const InvOptions& o) {
  return same_options<SolveOptions>(o);
}
InvOptions as_inv_options(const SolveOptions& o) {
  return same_options<InvOptions>(o);
}

namespace {

using Option = std::pair<std::string_view, std::string>;
// All but if_ill and names.
std::vector<Option> shown(const SolveOptions& o) {
  return {{"ridge", !o.ridge               ? ""
                    : o.ridge->is_number() ? say(o.ridge->number())
                                           : say(o.ridge->rule())},
          {"noise", say(o.noise)},
          {"shift", say(o.shift)},
          {"assume", say(o.assume)},
          {"refine", o.refine ? say(*o.refine) : ""},
          {"certify", say(o.certify)},
          {"min_digits", o.min_digits ? say(*o.min_digits) : ""},
          {"accuracy", say(o.accuracy)},
          {"method", say(o.method)}};
}

}  // namespace

std::string options_text(const SolveOptions& o) {
  std::string out = say("if_ill ", o.if_ill);
  for (const auto& [name, value] : shown(o))
    if (!value.empty()) out += say(", ", name, ' ', value);
  return out + names_text(o.names);
}

std::vector<std::string> told_options(const SolveOptions& o) {
  std::vector<std::string> out;
  const std::vector<Option> given = shown(o), usual = shown({});
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != usual[i]) out.emplace_back(given[i].first);
  return out;
}

std::vector<std::string> labels_of(const Names& names, const Matrix& a) {
  if (!names || names->empty()) return {};
  const auto labels = static_cast<std::int64_t>(names->size());
  if (labels != a.columns())
    refuse<ArgumentError>("WP-ARG-001", say("names must have one label per column; got ", plural(labels, "label"),
                                            " for ", plural(a.columns(), "column"), "."));
  return *names;
}

std::string names_text(const Names& names) {
  if (!names || names->empty()) return {};
  std::string all;
  for (const std::string& name : *names) all += name + '\0';
  return say(", ", plural(static_cast<std::int64_t>(names->size()), "name"), " from ", names->front(), " to ",
             names->back(), " (hash ", hash_of(all), ")");
}

Policy policy_of(std::string_view if_ill) {
  for (const auto& [name, policy] :
       {std::pair{"raise", Policy::raise}, {"warn", Policy::warn}, {"nan", Policy::nan}, {"ignore", Policy::ignore}})
    if (if_ill == name) return policy;
  refuse<ArgumentError>("WP-ARG-001",
                        say("attribute if_ill must be one of 'raise', 'warn', 'nan', 'ignore'; got '", if_ill, "'."));
}

std::shared_ptr<linalg::Diagnosis::State> new_state(std::string_view op, const Verdict& v) {
  auto state = std::make_shared<linalg::Diagnosis::State>();
  state->op = op;
  state->verdicts.resize(1);
  state->verdicts[0] = v;
  return state;
}

void consider_dtype(Verdict& v, const Matrix& x, DType dtype) {
  const double u = linalg::round_off(dtype), digits = -std::log10(u);
  if (v.digits > digits) v.digits = digits;
  if (v.forward_error < u) v.forward_error = u;
  if (!x.defined() || v.status > Status::ill_conditioned) return;
  const NonFinite bad = find_nonfinite(x);
  if (bad.count == 0) return;
  v.status = Status::overflow;
  v.reason = say("has an answer beyond the range of ", dtype, ": element ", bad.element, " is ", bad.value, ".");
}

void act(const linalg::Diagnosis& d, Policy policy, std::string_view advice) {
  const Verdict v = d.state()->verdicts[0];
  if (v.status == Status::overflow) {
    Finding f = misuse("WP-LIN-007", {}, {}, {});
    f.severity = Severity::warning;
    f.message = say("the matrix ", v.reason);
    f.advice = "Scale the argument, or compute in a wider dtype.";
    report(f);
  }
  linalg::act(d, policy, advice, {});
}

void fill_nan(const Matrix& x) {
  linalg::with_float(x.dtype(), [&]<class T>(T) {
    const Local<T> l = local<T>(x);
    std::fill_n(l.data, l.rows() * l.columns(),
                T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
  });
}

namespace {

// The plain part of a verdict.
struct Plain {
  Status status;
  bool exactly_singular, certified;
  Structure structure;
  Method method;
  double numbers[7];
  std::int64_t kept;
};

}  // namespace

std::string packed_verdict(const Verdict& v) {
  Plain p{};
  p.status = v.status;
  p.exactly_singular = v.exactly_singular;
  p.certified = v.certified;
  p.structure = v.structure;
  p.method = v.method;
  const double numbers[] = {v.rcond, v.digits, v.forward_error, v.backward_error, v.ridge, v.freedom, v.growth};
  std::copy(std::begin(numbers), std::end(numbers), p.numbers);
  p.kept = v.kept;
  return std::string(reinterpret_cast<const char*>(&p), sizeof p) + v.reason;
}

Verdict unpacked_verdict(const std::string& bytes) {
  Plain p;
  std::memcpy(&p, bytes.data(), sizeof p);
  Verdict v;
  v.status = p.status;
  v.exactly_singular = p.exactly_singular;
  v.certified = p.certified;
  v.structure = p.structure;
  v.method = p.method;
  v.rcond = p.numbers[0];
  v.digits = p.numbers[1];
  v.forward_error = p.numbers[2];
  v.backward_error = p.numbers[3];
  v.ridge = p.numbers[4];
  v.freedom = p.numbers[5];
  v.growth = p.numbers[6];
  v.kept = p.kept;
  v.reason = bytes.substr(sizeof p);
  return v;
}

namespace {

Many with_storages(const Many& like, const std::vector<Tensor>& t) {
  Many out;
  for (std::size_t i = 0; i < like.size(); ++i) out.push_back(with_storage(like[i], t[i]));
  return out;
}
std::vector<Tensor> storages(const Many& all) {
  std::vector<Tensor> out;
  for (const Matrix& m : all) out.push_back(m.defined() ? m.state().storage : Tensor());
  return out;
}

using Tensors = std::vector<Tensor>;
using Rule = std::function<Tensors(const Tensors& in, const Tensor& out, const Tensor& g)>;
// An op from the tensors that hold its operands to the one that holds its result.
Tensor on_tape(std::string_view name, const Tensors& in, const std::function<Tensor(const Tensors&)>& forward,
               const Rule& vjp, const Place& place, const Kind& kind) {
  if (!context().listeners) return forward(in);
  const auto rule = [=, op = std::string(name)](const Backward& b) {
    const Stage stage(say(op, " (derivative)"), place);
    if (kind.judged) linalg::find_lost_digits(b, std::as_const(**kind.judged).verdicts);
    return vjp({b.in.begin(), b.in.end()}, b.out[0], b.g());
  };
  return autodiff::run_collective(
      {.name = std::string(name), .forward = [=](const Tensors& t) { return Tensors{forward(t)}; }, .rule = rule}, in,
      place)[0];
}

Matrix taped_matrix(std::string_view name, const Tensors& in, const std::function<Matrix(const Tensors&)>& forward,
                    const std::function<Tensors(const Tensors&, const Matrix&, const Matrix&)>& vjp,
                    const Place& place, const Kind& kind) {
  const auto made = std::make_shared<Matrix>();
  const Tensor y = on_tape(
      name, in,
      [=](const Tensors& t) {
        *made = forward(t);
        return made->state().storage;
      },
      [=](const Tensors& t, const Tensor& out, const Tensor& g) {
        return vjp(t, with_storage(*made, out), with_storage(*made, g));
      },
      place, kind);
  Matrix whole = with_storage(*made, y);
  note(name, in, y, &whole, kind.notes, place);
  return whole;
}

}  // namespace

Matrix taped(std::string_view name, const Many& in, const std::function<Matrix(const Many&)>& forward,
             const std::function<Many(const Many&, const Matrix&, const Matrix&)>& vjp, const Place& place,
             const Kind& kind) {
  return taped_matrix(
      name, storages(in), [=](const Tensors& t) { return forward(with_storages(in, t)); },
      [=](const Tensors& t, const Matrix& y, const Matrix& g) { return storages(vjp(with_storages(in, t), y, g)); },
      place, kind);
}

Tensor taped_number(std::string_view name, const Many& in, const std::function<Tensor(const Many&)>& forward,
                    const std::function<Many(const Many&, const Tensor&, const Tensor&)>& vjp, const Place& place,
                    const Kind& kind) {
  Tensor y = on_tape(
      name, storages(in), [=](const Tensors& t) { return forward(with_storages(in, t)); },
      [=](const Tensors& t, const Tensor& out, const Tensor& g) {
        return storages(vjp(with_storages(in, t), out, g));
      },
      place, kind);
  note(name, storages(in), y, nullptr, kind.notes, place);
  return y;
}

Tensor taped_tensor(std::string_view name, const Matrix& in, const std::function<Tensor(const Matrix&)>& forward,
                    const std::function<Matrix(const Matrix&, const Tensor&)>& vjp, const Place& place) {
  return taped_number(
      name, {in}, [=](const Many& m) { return forward(m[0]); },
      [=](const Many& m, const Tensor&, const Tensor& g) -> Many { return {vjp(m[0], g)}; }, place, {Notes::moves});
}

Matrix taped_from(std::string_view name, const Tensor& in, const std::function<Matrix(const Tensor&)>& forward,
                  const std::function<Tensor(const Matrix&)>& vjp, const Place& place) {
  return taped_matrix(
      name, {in}, [=](const Tensors& t) { return forward(t[0]); },
      [=](const Tensors&, const Matrix&, const Matrix& g) { return Tensors{vjp(g)}; }, place, {Notes::moves});
}

void without_rule(std::string_view name, const std::vector<Tensor>& in, const std::vector<Tensor*>& results) {
  if (!context().listeners) return;
  std::vector<Tensor> all;
  for (const Tensor* t : results) all.push_back(*t);
  const std::vector<Tensor> seen =
      autodiff::run_collective({.name = std::string(name),
                                .forward = [all](const std::vector<Tensor>&) { return all; },
                                .no_derivative = "it has none when distributed; gather the matrix and use linalg."},
                               in, running_place());
  for (std::size_t i = 0; i < seen.size(); ++i) *results[i] = seen[i];
}

void without_rule(std::string_view name, const Many& in, const std::vector<Tensor*>& tensors,
                  const std::vector<Matrix*>& matrices) {
  std::vector<Tensor> parts;
  for (const Matrix* m : matrices) parts.push_back(m->state().storage);
  std::vector<Tensor*> results = tensors;
  for (Tensor& t : parts) results.push_back(&t);
  without_rule(name, storages(in), results);
  for (std::size_t i = 0; i < parts.size(); ++i) *matrices[i] = with_storage(*matrices[i], parts[i]);
}

}  // namespace wp::dist
