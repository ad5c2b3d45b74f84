// The checks observer: finds made Inf and NaN, and hands notes on from operands to results.
// Runs only when a loop saw a non-finite value, or an operand carries a note.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text.hpp"
#include "kernels/walk.hpp"
#include "ops/dispatch.hpp"
#include "ops/elementwise.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

using OriginPtr = std::shared_ptr<const Origin>;

bool carries(const Call& c, std::size_t i) {
  return c.in[i].defined() && !c.op.param(i).separate;
}

// What the operands of one result element are.
struct Sources {
  bool nan = false, inf = false;  // any operand that is
  const OriginPtr* made_nan = nullptr;
  const OriginPtr* made_inf = nullptr;
  const OriginPtr* marked = nullptr;  // a bool or integer that carries a note
};

const OriginPtr* origin_at(const Tensor& t, std::int64_t e, bool nonfinite) {
  const Note* note = t.node()->note.get();
  const Origin* o = note ? note->of(e, nonfinite) : nullptr;
  if (!o) return nullptr;
  for (const OriginPtr& p : note->origins)
    if (p.get() == o) return &p;
  return nullptr;
}

// Adds what `flow` visits for one result element.
void look(const Call& c, std::size_t output, std::int64_t element, Flow flow, Sources& s) {
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (!carries(c, i)) continue;
    const Tensor& x = c.in[i];
    const bool floating = is_floating(x.dtype());
    if (!floating && !x.node()->note) continue;
    const auto see = [&](std::int64_t e) {
      const bool bad = floating && nonfinite_at(x, e), nan = bad && nan_at(x, e);
      s.nan |= nan;
      s.inf |= bad && !nan;
      const OriginPtr* o = origin_at(x, e, bad);
      if (!o) return;
      const OriginPtr*& slot = nan ? s.made_nan : bad ? s.made_inf : s.marked;
      if (!slot) slot = o;
    };
    flow({c, output, element, i}, see);
  }
}

// The sources of the elements of one output. Elements that rest on the same inputs share the looking.
class SourceFinder {
 public:
  SourceFinder(const Call& c, std::size_t output) : call_(c), output_(output) {}
  Sources of(std::int64_t element) {
    const Op& op = call_.op;
    const std::int64_t base = op.flow_base ? op.flow_base({call_, output_, element, 0}) : -1;
    if (base < 0 || base == element) return op.flow_base ? known(element) : all(element);
    Sources s = known(base);
    if (op.flow_rest) {
      look(call_, output_, element, op.flow_rest, s);
      known_.emplace(element, s);
    }
    return s;
  }

 private:
  Sources all(std::int64_t element) const {
    Sources s;
    look(call_, output_, element, call_.op.carriers ? call_.op.carriers : call_.op.flow, s);
    return s;
  }
  const Sources& known(std::int64_t element) {
    const auto at = known_.find(element);
    return at != known_.end() ? at->second : known_.emplace(element, all(element)).first->second;
  }
  const Call& call_;
  std::size_t output_;
  std::unordered_map<std::int64_t, Sources> known_;
};

// "x[2] = 0"; many operands (a sum's) are summed up by their largest.
void list_operands(const Call& c, std::size_t output, std::int64_t element, Finding& f, std::vector<double>& values) {
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Tensor& x = c.in[i];
    if (!x.defined()) continue;
    std::int64_t count = 0, first = -1, largest = -1;
    double most = -1;
    const auto look = [&](std::int64_t e) {
      const double v = std::abs(value_at(x, e));
      if (count++ == 0) first = e;
      if (v > most) {
        most = v;
        largest = e;
      }
      if (values.size() < 8) values.push_back(value_at(x, e).real());
    };
    c.op.flow({c, output, element, i}, look);
    if (count == 0) continue;
    const std::string_view name = c.op.param(i).name;
    f.operands.push_back(count == 1 ? entry_text(name, x, first)
                         : largest >= 0
                             ? say(count, " elements of ", name, ", largest ", entry_text(name, x, largest))
                             : say(count, " elements of ", name));
  }
}

}  // namespace

std::string call_text(const Op& op, const char* rule) {
  return rule ? say(op.name, " in the derivative of ", rule) : std::string(op.name);
}

Origin describe(const Call& c, std::size_t output, std::int64_t element) {
  const Tensor& y = c.out[output];
  Origin o;
  Finding& f = o.finding;
  o.value = text_at(y, element);
  const Running* const rule = context().rule;
  f.op = call_text(c.op, rule ? rule->op : nullptr);
  f.severity = Severity::warning;
  f.element = unravel(element, y.shape());
  for (std::int64_t e = next_nonfinite(y, 0); e >= 0; e = next_nonfinite(y, e + 1)) ++f.count;
  f.dtype = name(y.dtype());
  f.shape = say(y.shape());
  f.place = c.place();
  f.scope = current_scope();
  f.step = context().step;
  std::vector<double> values;
  list_operands(c, output, element, f, values);
  f.message = say("made ", o.value);
  if (y.ndim()) f.message += say(" at element ", f.element, " of ", y.shape());
  if (f.count > 1) f.message += say(" (", f.count, " of ", y.size(), " elements are not finite)");
  const bool in_domain = !c.op.inside || is_complex(y.dtype()) || c.op.inside(values);
  if (!in_domain) {
    f.code = "WP-DOM-001";
    f.message += say(": ", c.op.name, " needs ", c.op.domain, ".");
    f.advice = c.op.advice;
    return o;
  }
  tell_cause(f, y.dtype(), nan_at(y, element),
             std::any_of(values.begin(), values.end(), [](double v) { return std::isinf(v); }));
  if (f.code == "WP-NUM-001" && !c.op.inside && !c.op.advice.empty()) f.advice = c.op.advice;
  return o;
}

void tell_cause(Finding& f, DType dtype, bool nan, bool infinities) {
  if (nan) {
    f.code = "WP-NUM-002";
    f.message += infinities ? ": infinite operands have no definite result." : ".";
    f.advice = infinities ? "Keep the operands finite." : "";
    return;
  }
  f.code = "WP-NUM-001";
  f.message += is_floating(dtype) ? say(": the result is beyond ", finfo(dtype).max, ", the largest ", dtype, ".")
                                  : std::string(".");
  f.advice = dtype == f64 || dtype == c128
                 ? "Scale the operands."
                 : say("Scale the operands, or compute in ", is_complex(dtype) ? c128 : f64, ".");
}

namespace {

// Collects the origins of one output.
class Marks {
 public:
  explicit Marks(const Tensor& t) : tensor_(t) {}
  void mark(std::int64_t element, const OriginPtr& origin) {
    auto at = std::find(note_.origins.begin(), note_.origins.end(), origin);
    if (at == note_.origins.end()) {
      if (note_.origins.size() < 255) note_.origins.push_back(origin);
      at = note_.origins.end() - 1;
    }
    marked_.push_back({element, static_cast<std::uint8_t>(at - note_.origins.begin() + 1)});
  }
  void skip() { skipped_ = true; }  // a non-finite element that was given
  bool any() const { return !marked_.empty(); }
  // Uniform notes need no array: every non-finite element has the one origin.
  std::shared_ptr<const Note> finish() {
    if (skipped_ || note_.origins.size() > 1 || !is_floating(tensor_.dtype())) {
      note_.source.assign(static_cast<std::size_t>(tensor_.size()), 0);
      for (const auto& [element, k] : marked_) note_.source[static_cast<std::size_t>(element)] = k;
    }
    return std::make_shared<const Note>(std::move(note_));
  }

 private:
  const Tensor& tensor_;
  Note note_;
  std::vector<std::pair<std::int64_t, std::uint8_t>> marked_;
  bool skipped_ = false;
};

// Masks full of given −inf are ordinary; asking about each element would cost more than the op. For element-wise ops
// this looks at whole runs: is there an Inf from finite operands, or a NaN from NaN-free ones?
bool makes_any(const Call& c) {
  constexpr std::int64_t kRun = 1024;
  enum : std::uint8_t { finite, inf, nan };
  const Tensor& y = c.out[0];
  const auto classify = [](complex128 v) -> std::uint8_t {
    const bool is_nan = std::isnan(v.real()) || std::isnan(v.imag());
    return is_nan ? nan : std::isinf(v.real()) || std::isinf(v.imag()) ? inf : finite;
  };
  alignas(64) complex128 wide[kRun];
  alignas(64) double narrow[kRun];
  std::uint8_t worst[kRun], result[kRun];
  const auto fold = [&](const Tensor& t, std::int64_t at, std::int64_t n, std::uint8_t* into) {
    const Dims strides = broadcast_strides(t, y.shape());
    if (is_complex(t.dtype())) {
      kernels::gather(reinterpret_cast<char*>(wide), c128, t.node()->data, t.dtype(), y.shape(), strides, at, n);
      for (std::int64_t i = 0; i < n; ++i) into[i] = std::max(into[i], classify(wide[i]));
      return;
    }
    kernels::gather(reinterpret_cast<char*>(narrow), f64, t.node()->data, t.dtype(), y.shape(), strides, at, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = narrow[i];
      const auto k = static_cast<std::uint8_t>((v - v != 0) + (v != v));
      into[i] = into[i] > k ? into[i] : k;
    }
  };
  for (std::int64_t at = 0; at < y.size(); at += kRun) {
    const std::int64_t n = std::min(kRun, y.size() - at);
    std::fill_n(result, n, std::uint8_t{0});
    std::fill_n(worst, n, std::uint8_t{0});
    fold(y, at, n, result);
    for (std::size_t i = 0; i < c.in.size(); ++i)
      if (c.in[i].defined() && is_floating(c.in[i].dtype())) fold(c.in[i], at, n, worst);
    bool made = false;
    for (std::int64_t i = 0; i < n; ++i) made |= result[i] > worst[i];
    if (made) return true;
  }
  return false;
}

void check_floats(Call& c, std::size_t output, bool may_make) {
  const Tensor& y = c.out[output];
  Marks marks(y);
  SourceFinder sources(c, output);
  const std::shared_ptr<const Note> inside = y.node()->note;  // of calls that this call made
  OriginPtr here;
  std::int64_t first = -1;
  for (std::int64_t e = next_nonfinite(y, 0); e >= 0; e = next_nonfinite(y, e + 1)) {
    const Sources s = sources.of(e);
    const bool nan = nan_at(y, e);
    const bool fresh = may_make && (nan ? !s.nan : !s.nan && !s.inf);
    const OriginPtr* from = nan && s.nan ? s.made_nan : s.made_inf ? s.made_inf : s.made_nan;
    if (!from && fresh && inside) from = origin_at(y, e, true);
    if (from) {
      marks.mark(e, *from);
    } else if (fresh) {
      if (!here) here = std::make_shared<const Origin>(describe(c, output, first = e));
      marks.mark(e, here);
    } else {
      marks.skip();
    }
  }
  if (marks.any()) c.out[output].node()->note = marks.finish();
  if (!here) return;
  const CheckLevel level = context().level;
  if (level == CheckLevel::raise) {
    Finding f = here->finding;
    f.severity = Severity::error;
    throw NonFiniteError(std::move(f), std::make_shared<const Subject>(Subject{c.out[output], first}));
  }
  if (level == CheckLevel::warn) report(here->finding);
}

// Bool and integer results: marked where they rest on a made NaN (comparing, searching, casting to bool) or on a
// marked operand.
void check_answers(Call& c, std::size_t output) {
  const Tensor& y = c.out[output];
  Marks marks(y);
  SourceFinder sources(c, output);
  for (std::int64_t e = 0; e < y.size(); ++e) {
    const Sources s = sources.of(e);
    if (s.marked)
      marks.mark(e, *s.marked);
    else if (s.made_nan)
      marks.mark(e, *s.made_nan);
  }
  if (marks.any()) c.out[output].node()->note = marks.finish();
}

// Moving the elements of one tensor with a uniform note keeps the note.
bool keep_uniform(Call& c) {
  if (c.op.notes != Notes::moves || c.in.size() == 0 || !c.in[0].defined()) return false;
  for (std::size_t i = 1; i < c.in.size(); ++i)
    if (carries(c, i)) return false;
  const std::shared_ptr<const Note>& note = c.in[0].node()->note;
  if (!note || !note->source.empty()) return false;
  for (Tensor& y : c.out)
    if (next_nonfinite(y, 0) >= 0) y.node()->note = note;
  return true;
}

}  // namespace

void carriers_equal(const FlowQuery& q, Visit visit) {
  const complex128 y = value_at(q.call.out[q.output], q.element);
  const auto look = [&](std::int64_t e) {
    const complex128 x = value_at(q.call.in[q.input], e);
    if (x == y || (std::isnan(x.real()) && std::isnan(y.real()))) visit(e);
  };
  q.call.op.flow(q, look);
}

void check_call(Call& c) {
  if (c.op.notes == Notes::drops || c.op.notes == Notes::gives || keep_uniform(c)) return;
  // x != x asks whether x is NaN.
  if (c.op.notes == Notes::judges && c.in.size() == 2 && c.in[0].node() == c.in[1].node()) return;
  const bool noted = [&] {
    for (std::size_t i = 0; i < c.in.size(); ++i)
      if (carries(c, i) && c.in[i].node()->note) return true;
    return false;
  }();
  const bool may_make = c.op.notes == Notes::inherit && !context().allow_nonfinite;
  if (!noted && may_make && c.op.flow == flow_elementwise && is_floating(c.out[0].dtype()) && !makes_any(c)) return;
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    if (is_floating(c.out[k].dtype())) {
      if (may_make || noted) check_floats(c, k, may_make);
    } else if (noted) {
      check_answers(c, k);
    }
  }
}

}  // namespace wp
