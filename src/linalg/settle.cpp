#include "linalg/settle.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "kernels/scan.hpp"
#include "linalg/act.hpp"
#include "linalg/explain.hpp"
#include "linalg/judgement.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/member.hpp"
#include "linalg/solving.hpp"
#include "tensor/note.hpp"
#include "wellposed/context.hpp"

namespace wp::linalg {
namespace {

struct Trouble {
  Status status;
  std::string_view code;
};
constexpr Trouble troubles[] = {{Status::nonfinite_input, "WP-LIN-001"}, {Status::singular, "WP-LIN-002"},
                                {Status::ill_conditioned, "WP-LIN-003"}, {Status::not_spd, "WP-LIN-004"},
                                {Status::not_converged, "WP-LIN-005"},   {Status::undefined, "WP-LIN-008"}};

std::string which(const Diagnosis::State& s, std::int64_t member, std::int64_t bad) {
  const auto all = static_cast<std::int64_t>(s.verdicts.size());
  if (all == 1) return "the matrix ";
  std::string out = say("matrix ", s.batch.size() == 1 ? say(member) : say(unravel(member, s.batch)), " of ", all);
  if (bad > 1) out += say(" (and ", bad - 1, bad == 2 ? " other)" : " others)");
  return out + " ";
}

// The elements of an argument that belong to a member: all of a vector, or of what has no batch.
struct Span {
  std::int64_t first, count;
};
Span part_of(const Tensor& t, std::int64_t member, const Dims& batch) {
  if (t.ndim() < 3) return {0, t.size()};
  const Dims own = batch_of(t);
  const std::int64_t each = t.shape()[t.shape().size() - 2] * t.shape().back();
  return {own_member(member, batch, own) * each, each};
}

// The first argument of which a member has non-finite elements, and the first of them; −1: none.
struct NonFinite {
  std::size_t input = 0;
  Span part = {0, 0};
  std::int64_t first = -1;
};
template <class Arguments>
NonFinite nonfinite_in(const Arguments& in, const Dims& batch, std::int64_t member) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].defined()) continue;
    const Span part = part_of(in[i], member, batch);
    for (std::int64_t e = part.first; e < part.first + part.count; ++e)
      if (nonfinite_at(in[i], e)) return {i, part, e};
  }
  return {};
}

std::string nonfinite_text(const Op& op, const std::vector<Tensor>& in, const Dims& batch,
                           const std::vector<std::string>& names, std::int64_t member) {
  const NonFinite found = nonfinite_in(in, batch, member);
  if (found.first < 0) return "an argument is not finite.";
  return nonfinite_elements(op.param(found.input).name, in[found.input], found.part.first, found.part.count,
                            found.input == 0 ? names : std::vector<std::string>());
}

// The element that the first such member has; null: none has any.
std::shared_ptr<const Subject> nonfinite_element(const Call& c, const Diagnosis::State& s) {
  std::int64_t member = -1;
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    if (member < 0 && v.status == Status::nonfinite_input) member = static_cast<std::int64_t>(i);
  });
  const NonFinite found = member < 0 ? NonFinite() : nonfinite_in(c.in, s.batch, member);
  return found.first >= 0 ? std::make_shared<const Subject>(Subject{c.in[found.input], found.first}) : nullptr;
}

Finding finding_of(const Diagnosis& d, const Trouble& trouble, std::string_view advice) {
  const Diagnosis::State& s = *d.state();
  Finding f = misuse(trouble.code, {}, {}, {});
  double worst = HUGE_VAL;
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    if (v.status != trouble.status) return;
    if (f.members.size() < 10) f.members.push_back(static_cast<std::int64_t>(i));
    ++f.count;
    if (f.worst_member >= 0 && !(v.rcond < worst)) return;
    f.worst_member = static_cast<std::int64_t>(i);
    worst = v.rcond;
  });
  const std::int64_t first = f.members.front();
  if (trouble.status == Status::nonfinite_input) {
    const std::string text = s.nonfinite(first);
    f.message = s.verdicts.size() == 1 ? text : which(s, first, f.count) + "is not finite: " + text;
    f.advice = "Look at the data that came in, or mask it before.";
    return f;
  }
  const Member m = examine(s, first, false);
  f.message = which(s, first, f.count) + complaint(s, m);
  f.measured = m.rcond;
  f.threshold = s.threshold;
  if (const Verdict v = s.verdicts[static_cast<std::size_t>(first)]; v.found >= 0) {
    f.measured = static_cast<double>(v.found);
    f.threshold = static_cast<double>(v.wanted);
  }
  f.advice = advice;
  return f;
}

// Answers have the digits of their dtype at most, and no answer is not finite in silence.
void consider_dtype(const Call& c, Diagnosis::State& s, bool finite_answers) {
  const auto members = static_cast<std::int64_t>(s.verdicts.size());
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    const Tensor& y = c.out[k];
    if (!is_floating(y.dtype()) || members == 0) continue;
    const double u = round_off(y.dtype()), digits = -std::log10(u);
    s.verdicts.least_error = std::max(s.verdicts.least_error, u);
    const std::int64_t each = y.size() / members;
    // Members that share a verdict have been looked at.
    const bool look =
        finite_answers && (s.verdicts.shared() || kernels::any_nonfinite(y.dtype(), y.node()->data, y.size()));
    s.verdicts.each_own([&](std::size_t i, Verdict& v) {
      if (v.digits > digits) v.digits = digits;
      if (v.forward_error < u) v.forward_error = u;
      const std::int64_t first = static_cast<std::int64_t>(i) * each;
      for (std::int64_t e = first; look && e < first + each && v.status <= Status::ill_conditioned; ++e) {
        if (!nonfinite_at(y, e)) continue;
        v.status = Status::overflow;
        v.reason = say("has an answer beyond the range of ", y.dtype(), ": element ", unravel(e, y.shape()), " is ",
                       text_at(y, e), ".");
      }
    });
  }
}

// What is left of the digits of one column, of elements first, first + step, …, where its largest is so small that
// rounding to the least numbers of the dtype is seen.
struct Column {
  std::int64_t first, count, step;
};
void consider_underflow(const Tensor& y, const Column& column, const std::function<bool()>& exact, Verdict& v) {
  const double u = round_off(y.dtype()), enough = least_normal(y.dtype());
  double most = 0;
  for (std::int64_t k = 0; k < column.count && most < enough; ++k) {  // mostly the first is enough
    const complex128 e = value_at(y, column.first + k * column.step);
    most = std::max({most, std::fabs(e.real()), std::fabs(e.imag())});
  }
  if (!(most < enough) || column.count == 0 || (most == 0 && exact())) return;
  const double lost = most > 0 ? std::min(1.0, least_number(y.dtype()) / most) : 1;
  v.forward_error = std::min(1.0, std::isnan(v.forward_error) ? lost : v.forward_error + lost);
  v.digits = std::min(std::isnan(v.digits) ? HUGE_VAL : v.digits, digits_of(v.forward_error, u));
  if (status_of(digits_of(lost, u), -1, u) == Status::ok) return;
  v.status = Status::overflow;
  v.reason = say("has an answer below the range of ", y.dtype(), ": ",
                 most > 0 ? say("its largest element is ", few_digits(most), ", which leaves ",
                                std::lround(std::floor(digits_of(lost, u))), " digits.")
                          : "it is not 0, but no number of the dtype is as small.");
}
void consider_underflow(const Tensor& y, const Columns& columns, Diagnosis::State& s) {
  const auto members = static_cast<std::int64_t>(s.verdicts.size());
  const std::int64_t each = y.size() / members, count = columns.rows > 0 ? each / columns.rows : 1;
  s.verdicts.each_own([&](std::size_t i, Verdict& v) {
    const auto member = static_cast<std::int64_t>(i);
    for (std::int64_t c = 0; c < count && v.status <= Status::ill_conditioned; ++c) {
      const Column column =
          columns.rows > 0 ? Column{member * each + c, columns.rows, count} : Column{member * each, each, 1};
      consider_underflow(
          y, column, [&] { return columns.zero ? columns.zero(member, c) : !v.nonzero; }, v);
    }
  });
}

// Members whose answers are finite and yet not in the range of the dtype: too small.
void report_underflow(const Call& c, const Diagnosis::State& s) {
  Finding f = misuse("WP-LIN-007", {}, {}, {});
  f.severity = Severity::warning;
  const auto members = static_cast<std::int64_t>(s.verdicts.size());
  std::string reason;
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    if (v.status != Status::overflow) return;
    for (const Tensor& y : c.out) {
      const std::int64_t each = y.size() / members, first = static_cast<std::int64_t>(i) * each;
      for (std::int64_t e = first; e < first + each; ++e)
        if (nonfinite_at(y, e)) return;
    }
    if (f.members.empty()) reason = v.reason;
    if (f.members.size() < 10) f.members.push_back(static_cast<std::int64_t>(i));
    ++f.count;
  });
  if (f.count == 0) return;
  f.message = which(s, f.members.front(), f.count) + reason;
  f.advice = "Scale the argument, or compute in a wider dtype; for determinants use slogdet.";
  report(f);
}

// Answers of good members that are beyond the range of the dtype, in one result.
void report_overflow(const Call& c, const Diagnosis::State& s, std::size_t output) {
  const Tensor& y = c.out[output];
  if (!is_floating(y.dtype()) || y.size() == 0) return;
  const std::int64_t each = y.size() / std::max<std::int64_t>(static_cast<std::int64_t>(s.verdicts.size()), 1);
  Finding f = misuse("WP-LIN-007", {}, {}, {});
  f.severity = Severity::warning;
  std::int64_t first = -1;
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    const std::int64_t from = static_cast<std::int64_t>(i) * each;
    for (std::int64_t e = from; v.status == Status::overflow && e < from + each; ++e) {
      if (!nonfinite_at(y, e)) continue;
      if (first < 0) first = e;
      ++f.count;
    }
  });
  if (first < 0) return;
  f.element = unravel(first, y.shape());
  f.message =
      say("element ", f.element, " of ", c.out.size() > 1 ? c.op.outputs[output] : "the answer", " is ",
          text_at(y, first), ": it is beyond the range of ", y.dtype(), " (", plural(f.count, "element"), ").");
  f.advice = "Scale the argument, or compute in a wider dtype; for determinants use slogdet.";
  report(f);
}

// Which statuses there are beside that of members that share theirs, which is ok.
std::array<bool, 8> statuses_in(const Verdicts& verdicts) {
  std::array<bool, 8> seen{};
  verdicts.each_own([&](std::size_t, const Verdict& v) { seen[static_cast<std::size_t>(v.status)] = true; });
  return seen;
}

}  // namespace

std::string nonfinite_elements(std::string_view name, const Tensor& t, std::int64_t from, std::int64_t count,
                               const std::vector<std::string>& columns) {
  std::int64_t first = -1, bad = 0;
  for (std::int64_t e = from; e < from + count; ++e)
    if (nonfinite_at(t, e)) {
      if (first < 0) first = e;
      ++bad;
    }
  if (bad == 0) return {};
  std::string out = say(name, unravel(first, t.shape()));
  if (const auto column = static_cast<std::size_t>(t.ndim() > 1 ? first % t.shape().back() : 0);
      t.ndim() > 1 && column < columns.size())
    out += say(", ", columns[column], ",");
  out += say(" is ", text_at(t, first), " (", bad, " of ", plural(count, "element"), bad == 1 ? " is" : " are",
             " not finite).");
  const Note* const note = t.node()->note.get();
  if (const Origin* const o = note ? note->of(first, true) : nullptr) {
    out += say("\n  Source: ", o->finding.op, ": ", o->finding.message);
    if (o->finding.place.known()) out += " (" + o->finding.place.text() + ")";
  }
  return out;
}

void settle(Call& c, std::shared_ptr<Diagnosis::State> state, Policy policy, std::string_view advice,
            bool finite_answers, const Columns& columns) {
  consider_dtype(c, *state, finite_answers);
  for (std::size_t k = 0; k < c.out.size() && finite_answers && !state->verdicts.empty(); ++k)
    if (is_floating(c.out[k].dtype())) consider_underflow(c.out[k], k == 0 ? columns : Columns{}, *state);
  const std::array<bool, 8> seen = statuses_in(state->verdicts);
  if (seen[static_cast<std::size_t>(Status::nonfinite_input)]) {
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(c.in[i]);
    state->nonfinite = [op = &c.op, in = std::move(in), batch = state->batch, names = state->names](
                           std::int64_t member) { return nonfinite_text(*op, in, batch, names, member); };
  }
  const Diagnosis d(std::move(state));
  c.beside().diagnosis = d;
  keep_conditions(c);
  if (c.diagnosed) return;
  for (std::size_t i = 0; i < c.out.size() && seen[static_cast<std::size_t>(Status::overflow)]; ++i)
    report_overflow(c, *d.state(), i);
  if (seen[static_cast<std::size_t>(Status::overflow)]) report_underflow(c, *d.state());
  const bool nonfinite = seen[static_cast<std::size_t>(Status::nonfinite_input)];
  act(d, policy, advice, c.out, nonfinite ? nonfinite_element(c, *d.state()) : nullptr);
}

void act(const Diagnosis& d, Policy policy, std::string_view advice, const Tensors& values,
         const std::shared_ptr<const Subject>& about) {
  const std::array<bool, 8> seen = statuses_in(d.state()->verdicts);
  for (const Trouble& trouble : troubles) {
    if (!seen[static_cast<std::size_t>(trouble.status)]) continue;
    Finding f = finding_of(d, trouble, advice);
    const bool ill = trouble.status == Status::ill_conditioned;
    f.severity = ill || policy == Policy::warn ? Severity::warning
                 : policy == Policy::raise     ? Severity::error
                                               : Severity::note;
    if (policy == Policy::ignore) continue;
    if (ill || policy != Policy::raise) {
      report(f);
      continue;
    }
    switch (trouble.status) {
      case Status::nonfinite_input: throw NonFiniteError(std::move(f), about);
      case Status::not_spd: throw NotPositiveDefinite(std::move(f), d, values);
      case Status::not_converged: throw NotConverged(std::move(f), d, values);
      case Status::undefined: throw LinalgError(std::move(f), d, values);
      default: throw SingularMatrix(std::move(f), d, values);
    }
  }
}

void report_uncertified(const Call& c, const Diagnosis::State& s, std::string_view why) {
  if (c.diagnosed) return;
  Finding f = misuse("WP-LIN-009", {}, {}, {});
  f.severity = Severity::warning;
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    if (v.certified || v.status >= Status::singular) return;
    if (f.members.size() < 10) f.members.push_back(static_cast<std::int64_t>(i));
    ++f.count;
  });
  if (f.count == 0) return;
  f.message = say(which(s, f.members.front(), f.count), "has no proved error bound: ", why, ". The estimate stands.");
  f.advice = "Equilibrate or regularise the problem; the answer itself may well be right.";
  report(f);
}

}  // namespace wp::linalg
