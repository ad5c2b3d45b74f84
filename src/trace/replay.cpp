#include "wellposed/replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/scope.hpp"
#include "base/text.hpp"
#include "tensor/note.hpp"
#include "trace/wide.hpp"
#include "trace/window.hpp"

namespace wp {
namespace {

using trace::Kept;
using trace::Wide;

constexpr double kWorthTelling = 0.5;  // digits

struct Distance {
  double relative = 0;  // ‖y − exact‖/‖exact‖; not finite where y is not and the exact result is
  std::int64_t worst = 0;
};
// How far a recorded tensor is from what it should be, where that is finite.
Distance error_of(const Tensor& t, const Wide& exact) {
  Distance out;
  double most = -1, scale = 0, off = 0;
  for (const double v : exact.hi)
    if (std::isfinite(v)) scale = std::fmax(scale, std::fabs(v));
  if (!(scale > 0)) return out;
  double size = 0;
  for (std::int64_t e = 0; e < exact.size(); ++e) {
    const double v = exact.hi[static_cast<std::size_t>(e)] / scale;
    if (!std::isfinite(v)) continue;
    const auto d = static_cast<double>((static_cast<trace::Quad>(value_at(t, e).real()) - exact.at(e)) / scale);
    off += d * d;
    size += v * v;
    if (!(std::fabs(d) <= most) && std::isfinite(most)) {  // the first that is not finite, or the largest
      most = std::fabs(d);
      out.worst = e;
    }
  }
  out.relative = std::sqrt(off / size);
  return out;
}

// |y − exact|/|exact| of one element; 0 where there is no such number.
double error_at(const Tensor& t, const Wide& exact, std::int64_t e) {
  const double v = exact.hi[static_cast<std::size_t>(e)];
  if (!(std::fabs(v) > 0) || !std::isfinite(v)) return 0;
  const auto d = static_cast<double>((static_cast<trace::Quad>(value_at(t, e).real()) - exact.at(e)) / v);
  return std::isfinite(d) ? std::fabs(d) : 0;
}

class Again {
 public:
  Again(const std::vector<Kept>& calls, bool wide) : calls_(calls), wide_(wide) {}

  Replay run() {
    std::int64_t complex = 0;
    for (const Kept& k : calls_) {
      complex += !k.out.empty() && is_complex(k.out[0].dtype());
      if (k.out.empty() || !is(k.out[0].dtype(), kinds::real_floating)) continue;
      one(k);
    }
    for (std::vector<LostDigits>* const list : {&out_.calls, &out_.elements})
      std::stable_sort(list->begin(), list->end(),
                       [](const LostDigits& a, const LostDigits& b) { return a.digits > b.digits; });
    out_.plain.assign(plain_.begin(), plain_.end());
    out_.blind.assign(blind_.begin(), blind_.end());
    if (complex)
      out_.missing += say(out_.missing.empty() ? "" : " ", plural(complex, "call"), " of complex numbers ",
                          complex == 1 ? "was" : "were", " taken as recorded.");
    return std::move(out_);
  }

 private:
  struct Known {
    Wide value;
    double error = 0;
  };
  const Known& known(const Tensor& t) {
    const auto at = known_.find(before_label(t).node());
    return at != known_.end() ? at->second : known_.emplace(t.node(), Known{Wide(t), 0}).first->second;
  }

  // The result that got a name since then: it shows the same elements.
  const Tensor& before_label(const Tensor& t) const {
    if (!t.node()->labelled || known_.contains(t.node())) return t;
    const auto at = results_.find(t.node()->data);
    return at != results_.end() && trace::shows_the_same(*at->second, t) ? *at->second : t;
  }

  // In f64, with what the inputs should have been. None: the op does not take that, or fails.
  std::optional<Wide> plainly(const Kept& k, const std::vector<const Wide*>& in) {
    std::vector<Tensor> inputs;
    std::vector<const Tensor*> pointers;
    inputs.reserve(k.in.size());
    for (std::size_t i = 0; i < k.in.size(); ++i) {
      inputs.push_back(in[i] ? in[i]->rounded() : k.in[i]);
      pointers.push_back(&inputs.back());
    }
    try {
      const Tensors y =
          call(*k.op, Inputs(pointers.data(), pointers.size()), {k.attrs.data(), k.attrs.size()}, k.place);
      if (y[0].shape() != k.out[0].shape() || !is(y[0].dtype(), kinds::real_floating)) return std::nullopt;
      plain_.insert(std::string(k.op->name));
      if (k.out[0].dtype() == f64) blind_.insert(std::string(k.op->name));
      return Wide(y[0]);
    } catch (const Error&) {
      return std::nullopt;  // an attribute that fixes another dtype: the recorded result stands
    }
  }

  void one(const Kept& k) {
    std::vector<const Wide*> in;
    std::deque<Wide> read;  // of memory of others, at that time
    double before = 0;
    for (std::size_t i = 0; i < k.in.size(); ++i) {
      const Tensor& t = k.in[i];
      const bool real = t.defined() && is(t.dtype(), kinds::real_floating);
      const bool copied = real && &k.read(i) != &t && !known_.contains(before_label(t).node());
      in.push_back(copied ? &read.emplace_back(k.read(i)) : real ? &known(t).value : nullptr);
      if (real && !copied) before = std::fmax(before, known(t).error);
      if (real && k.changed(i))
        out_.missing += say(out_.missing.empty() ? "" : " ", k.changed_words(i), ": it was replayed as it is now.");
    }
    if (k.op->notes == Notes::gives) return;  // what it creates is what was meant
    std::optional<Wide> exact;
    if (wide_) exact = trace::widely(trace::Recalled(k).call, in);
    if (!exact) exact = plainly(k, in);
    if (!exact) return;
    ++out_.replayed;
    const Distance e = error_of(k.out[0], *exact);
    const double u = finfo(k.out[0].dtype()).eps / 2,
                 digits = std::log10(std::fmax(e.relative, u) / std::fmax(before, u));
    const bool overflowed = !std::isfinite(e.relative) && std::isfinite(before),
               lost = std::isfinite(digits) && digits >= kWorthTelling;
    if (overflowed || lost)
      (overflowed ? out_.overflowed : out_.calls).push_back(told(k, *exact, e.worst, digits, e.relative, before));
    if (!overflowed) one_element(k, in, *exact, lost ? digits : 0, u);
    results_[k.out[0].node()->data] = &k.out[0];
    known_.insert_or_assign(k.out[0].node(), Known{std::move(*exact), e.relative});
  }

  static LostDigits told(const Kept& k, const Wide& exact, std::int64_t at, double digits, double error,
                         double before) {
    LostDigits l;
    l.op = k.name();
    l.scope = k.scope ? k.scope->path : "";
    l.place = k.place;
    l.step = k.step;
    l.digits = digits;
    l.error = error;
    l.operand_error = before;
    l.element = unravel(at, k.out[0].shape());
    l.value = text_at(k.out[0], at);
    l.exact = say(exact.hi[static_cast<std::size_t>(at)]);
    return l;
  }

  // The element that lost most, if that is half of its digits and the norm does not show it: it is small beside
  // others. Of elements that are as far off, operands are asked for the first few.
  void one_element(const Kept& k, const std::vector<const Wide*>& in, const Wide& exact, double shown, double u) {
    constexpr int kAsked = 16;
    const double half = -std::log10(u) / 2;
    double most = shown + half, its_error = 0, its_before = 0;
    std::int64_t worst = -1;
    int asked = 0;
    std::optional<trace::Recalled> again;
    for (std::int64_t e = 0; e < exact.size() && asked < kAsked; ++e) {
      const double error = error_at(k.out[0], exact, e);
      if (std::log10(std::fmax(error, u) / u) < most) continue;
      if (!again) again.emplace(k);
      ++asked;
      double before = u;
      for (std::size_t i = 0; i < in.size(); ++i)
        if (in[i] && !k.op->param(i).separate)
          k.op->flow({again->call, 0, e, i},
                     [&](std::int64_t from) { before = std::fmax(before, error_at(k.read(i), *in[i], from)); });
      const double digits = std::log10(error / before);
      if (digits < most) continue;
      most = digits;
      worst = e;
      its_error = error;
      its_before = before;
    }
    if (worst >= 0) out_.elements.push_back(told(k, exact, worst, most, its_error, its_before));
  }

  const std::vector<Kept>& calls_;
  bool wide_;  // double-double where the op is known in it
  std::unordered_map<const detail::Node*, Known> known_;
  std::unordered_map<const char*, const Tensor*> results_;  // by the address of their elements
  std::set<std::string> plain_, blind_;
  Replay out_;
};

}  // namespace

Replay replay(const ReplayOptions& options, std::source_location where) {
  const bool wide = options.precision == "double-double";
  if (!wide && options.precision != "f64")
    raise_at<ArgumentError>(
        where, "WP-ARG-001", "replay",
        say("precision must be \"double-double\" or \"f64\"; got ", json_quote(std::string(options.precision)), "."));
  const trace::Window* const window = trace::Window::innermost();
  if (!window)
    raise_at<ArgumentError>(where, "WP-ARG-001", "replay", "no calls were kept.", "Make a Trace before them.");
  const std::vector<Kept> calls = window->calls();
  const trace::Aside aside;
  return Again(calls, wide).run();
}

namespace {

std::string line_of(const LostDigits& l) {
  std::string out = l.op;
  if (!l.element.empty()) out += say(l.element);
  out += say(": ", l.value, " instead of ", l.exact);
  if (l.place.known()) out += ", at " + l.place.text();
  if (!l.scope.empty()) out += ", scope " + l.scope;
  return out;
}

std::string json_number(double v) {
  return std::isfinite(v) ? say(v) : json_quote(say(v));
}

std::string json_of(const std::vector<LostDigits>& calls) {
  std::string out = "[";
  for (const LostDigits& l : calls) {
    out += say(&l == calls.data() ? "" : ", ", "{\"op\": ", json_quote(l.op), ", \"digits\": ", json_number(l.digits),
               ", \"error\": ", json_number(l.error), ", \"operand_error\": ", json_number(l.operand_error),
               ", \"element\": ", l.element, ", \"value\": ", json_quote(l.value),
               ", \"exact\": ", json_quote(l.exact), ", \"scope\": ", json_quote(l.scope));
    if (l.place.known()) out += say(", \"file\": ", json_quote(l.place.file), ", \"line\": ", l.place.line);
    out += "}";
  }
  return out + "]";
}

}  // namespace

std::string Replay::text() const {
  std::string out = say(plural(replayed, "call"), " ran again in higher precision");
  out += calls.empty() ? "; none lost half a digit." : ". Digits lost:";
  for (const LostDigits& l : calls) out += say("\n  ", std::round(l.digits * 10) / 10, "  ", line_of(l));
  if (!elements.empty()) out += "\nSingle elements that lost half of their digits or more, small beside the others:";
  for (const LostDigits& l : elements) out += say("\n  ", std::round(l.digits * 10) / 10, "  ", line_of(l));
  if (!overflowed.empty()) out += "\nNot finite, though the exact result is:";
  for (const LostDigits& l : overflowed) out += "\n  " + line_of(l);
  for (const std::string& op : blind)
    out += (&op == blind.data() ? "\nKnown in f64 only, so what they lose themselves is not seen: " : ", ") + op;
  if (!blind.empty()) out += ".";
  if (!missing.empty()) out += "\n" + missing;
  return out;
}

std::string Replay::json() const {
  return say("{\"schema_version\": 1, \"replayed\": ", replayed, ", \"calls\": ", json_of(calls),
             ", \"elements\": ", json_of(elements), ", \"overflowed\": ", json_of(overflowed),
             ", \"plain\": ", json_list(plain), ", \"blind\": ", json_list(blind),
             ", \"missing\": ", json_quote(missing), "}");
}

}  // namespace wp
