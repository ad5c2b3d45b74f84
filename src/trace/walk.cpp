#include "trace/walk.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/scope.hpp"
#include "base/text.hpp"
#include "tensor/label.hpp"
#include "tensor/note.hpp"

namespace wp::trace {
namespace {

constexpr std::size_t kFewRows = 8, kLooked = 20000;

// Calls f(input, element) for every operand that a result element rests on. `values`: only those whose value it has.
template <class F>
void each_operand(const Call& c, std::size_t output, std::int64_t element, bool values, const F& f) {
  const Flow flow = values && c.op.carriers ? c.op.carriers : c.op.flow;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].defined() && !c.op.param(i).separate) flow({c, output, element, i}, [&](std::int64_t e) { f(i, e); });
}

BlameLink link(const std::string& op, const Tensor& t, std::int64_t element) {
  BlameLink l;
  l.op = op;
  l.element = unravel(element, t.shape());
  l.dtype = name(t.dtype());
  l.shape = say(t.shape());
  l.value = text_at(t, element);
  return l;
}

BlameLink link(const Kept& k, std::size_t output, std::int64_t element, std::string value) {
  BlameLink l = link(k.name(), k.out[output], element);
  l.value = std::move(value);
  l.scope = k.scope ? k.scope->path : "";
  l.place = k.place;
  l.step = k.step;
  return l;
}

void take_over(const Finding& f, Blame& b) {
  b.operands = f.operands;
  b.advice = f.advice;
}

void miss(Blame& b, const std::string& what) {
  b.missing += (b.missing.empty() ? "" : " ") + what;
}
void say_changed(const Kept& k, std::size_t input, std::string_view shown, Blame& b) {
  miss(b, say(k.changed_words(input), ": ", shown));
}

// A bool or an integer that rests on a made value: a comparison, where NaN was found.
bool is_marked(const Tensor& t, std::int64_t element) {
  const Note* const note = is_floating(t.dtype()) ? nullptr : t.node()->note.get();
  return note && note->of(element, false);
}

// What was found further back, at the end of the way that led there.
Blame joined(const Blame& way, Blame rest) {
  rest.chain.insert(rest.chain.begin(), way.chain.begin(), way.chain.end());
  if (rest.missing.empty()) rest.missing = way.missing;
  return rest;
}

bool same_value(complex128 a, complex128 b) noexcept {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

}  // namespace

Walk::Walk(const Window* window) : window_(window != nullptr) {
  if (!window) return;
  calls_ = window->calls();
  let_go_ = window->let_go();
  for (std::size_t i = 0; i < calls_.size(); ++i)
    for (std::size_t k = 0; k < calls_[i].out.size(); ++k) made_[calls_[i].out[k].node()].push_back({i, k});
}

std::optional<Walk::Made> Walk::maker(const Tensor& x, std::size_t limit) const {
  const auto at = made_.find(x.node());
  if (at == made_.end()) return std::nullopt;
  for (auto m = at->second.rbegin(); m != at->second.rend(); ++m)
    if (m->call < limit) return *m;
  return std::nullopt;
}

std::optional<Walk::Made> Walk::maker_of_same(const Tensor& x, std::size_t limit) const {
  for (std::size_t call = limit; call-- > 0;)
    for (std::size_t k = 0; k < calls_[call].out.size(); ++k)
      if (shows_the_same(calls_[call].out[k], x)) return Made{call, k};
  return std::nullopt;
}

void Walk::came_in(const Tensor& x, std::int64_t element, const Seen& seen, Blame& b) const {
  b.value = text_at(*seen.tensor, seen.element);
  b.entry = unravel(element, x.shape());
  const std::shared_ptr<const Label> label = label_of(x);
  const Note* const note = x.node()->note.get();
  const Origin* const origin = note ? note->of(element, nonfinite_at(*seen.tensor, seen.element)) : nullptr;
  if (label) b.name = label->name;
  if (origin) {  // an op made it, outside of the window
    const Finding& f = origin->finding;
    BlameLink l;
    l.op = f.op;
    l.element = f.element;
    l.dtype = f.dtype;
    l.shape = f.shape;
    l.value = origin->value;
    l.scope = f.scope;
    l.place = f.place;
    l.step = f.step;
    if (window_ && !b.chain.empty())
      miss(b, say("Calls between ", b.chain.back().op, " and ", f.op, " are not in the window."));
    b.chain.push_back(l);
    b.source = Blame::Source::op;
    b.value = origin->value;
    take_over(f, b);
  } else if (label && !label->rows.empty() && label->rows[static_cast<std::size_t>(b.entry[0])] >= 0) {
    b.source = Blame::Source::data;
    b.row = label->rows[static_cast<std::size_t>(b.entry[0])];
    b.entry = Dims(b.entry.begin() + 1, b.entry.end());
  } else {
    b.source = let_go_ == 0 || label ? Blame::Source::given : Blame::Source::unknown;
  }
  if (!window_)
    miss(b, "No calls were kept: make a Trace before them to see the whole way.");
  else if (let_go_ > 0 && b.source != Blame::Source::data && !label)
    miss(b, say("The window has let go of ", let_go_,
                " calls; keep more with the options calls, bytes and steps of Trace."));
}

const Call& Walk::recalled(std::size_t call) {
  return recalled_.try_emplace(call, calls_[call]).first->second.call;
}

void Walk::made_here(const Made& m, std::int64_t element, Blame& b) {
  const Kept& k = calls_[m.call];
  const Running rule{k.rule, &k.place};
  const detail::Restore<&Context::rule> restore;
  context().rule = k.rule ? &rule : nullptr;
  b.source = Blame::Source::op;
  b.value = text_at(k.out[m.output], element);
  take_over(describe(recalled(m.call), m.output, element).finding, b);
  rest_on(m, element, b);
}

Walk::Operand Walk::Operands::cause(bool nan) const noexcept {
  return nan || infs.element < 0 ? nans : infs;
}
Walk::Operand Walk::Operands::cause_of_answer() const noexcept {
  return nans.element >= 0 ? nans : marked.element >= 0 ? marked : largest;
}

Walk::Operands Walk::operands(const Call& c, std::size_t output, std::int64_t element) {
  Operands all;
  double most = -1;
  each_operand(c, output, element, true, [&](std::size_t i, std::int64_t e) {
    const Tensor& operand = c.in[i];
    if (all.count++ == 0) all.first = {i, e};
    if (all.nans.element < 0 && nan_at(operand, e))
      all.nans = {i, e};
    else if (all.infs.element < 0 && nonfinite_at(operand, e))
      all.infs = {i, e};
    else if (all.marked.element < 0 && is_marked(operand, e))
      all.marked = {i, e};
    // A number in the program's text explains less than what came in.
    if (const double v = operand.node()->weak ? -0.5 : std::abs(value_at(operand, e)); v > most) {
      most = v;
      all.largest = {i, e};
    }
  });
  return all;
}

Blame Walk::back(const Tensor& x, std::int64_t element, Seen seen, std::size_t limit) {
  Blame b;
  const Tensor* at = &x;
  for (;;) {
    const std::optional<Made> m = maker(*at, limit);
    if (!m) {
      if (std::optional<Blame> before = before_label(*at, element, seen, limit)) return joined(b, std::move(*before));
      came_in(*at, element, seen, b);
      return b;
    }
    const Kept& k = calls_[m->call];
    limit = m->call;
    b.chain.push_back(link(k, m->output, element, text_at(*seen.tensor, seen.element)));
    const Call& again = recalled(m->call);
    const bool nan = nan_at(*seen.tensor, seen.element), bad = nonfinite_at(*seen.tensor, seen.element);
    const Operands from = operands(again, m->output, element);
    // A call that only showed or moved what was lent: what its reader saw is what was there.
    const Kept::Lent* const lent = from.count == 1 ? k.lent_as(from.first.input) : nullptr;
    if (lent && !lent->sum && !lent->copy.defined()) {
      at = &k.in[from.first.input];
      element = from.first.element;
      if (!same_value(value_at(*seen.tensor, seen.element), value_at(*at, element)))
        say_changed(k, from.first.input, "what was read of it then is shown.", b);
      continue;
    }
    for (std::size_t i = 0; i < k.in.size(); ++i)
      if (k.changed(i)) say_changed(k, i, "what it holds now is shown.", b);
    const Operand next = bad                                    ? from.cause(nan)
                         : is_marked(k.out[m->output], element) ? from.cause_of_answer()
                                                                : from.largest;
    if (bad && next.element < 0 && nan && from.infs.element >= 0) {
      // Inf − Inf: the source is the call that made the Inf, unless it was given.
      const Operand inf = from.infs;
      Blame of_inf = back(k.in[inf.input], inf.element, {&k.read(inf.input), inf.element}, limit);
      if (of_inf.source == Blame::Source::op) return joined(b, std::move(of_inf));
    }
    if (const std::optional<Made> inside = bad && next.element < 0 ? maker_of_same(*at, limit) : std::nullopt) {
      at = &calls_[inside->call].out[inside->output];  // a call that this one made gave it
      continue;
    }
    if (next.element < 0) {
      if (bad)
        made_here(*m, element, b);
      else
        came_in(k.out[m->output], element, seen, b);
      return b;
    }
    at = &k.in[next.input];
    element = next.element;
    seen = {&k.read(next.input), element};
  }
}

std::optional<Blame> Walk::before_label(const Tensor& x, std::int64_t element, Seen seen, std::size_t limit) {
  const std::shared_ptr<const Label> label = label_of(x);
  const std::optional<Made> m = label ? maker_of_same(x, limit) : std::nullopt;
  if (!m) return std::nullopt;
  Blame b = back(calls_[m->call].out[m->output], element, seen, limit);
  // The number of a row tells more than that a tensor without a name came in.
  const bool came_in = b.source == Blame::Source::given && label->rows.empty();
  if (b.source != Blame::Source::op && b.name.empty() && !came_in) return std::nullopt;
  if (b.source == Blame::Source::op && b.rows.empty() && !label->rows.empty()) {
    b.rows = {label->rows[static_cast<std::size_t>(unravel(element, x.shape())[0])]};
    b.rows_name = label->name;
  }
  return b;
}

void Walk::rest_on(const Made& start, std::int64_t element, Blame& b) {
  struct At {
    const Tensor* tensor;
    std::int64_t element;
    std::size_t limit;
  };
  std::vector<At> open;
  std::set<std::pair<const void*, std::int64_t>> seen;
  const auto open_operands = [&](const Made& m, std::int64_t e) {
    each_operand(recalled(m.call), m.output, e, false, [&](std::size_t i, std::int64_t of) {
      const Tensor& t = calls_[m.call].in[i];
      if (seen.size() < kLooked && seen.emplace(t.node(), of).second) open.push_back({&t, of, m.call});
    });
  };
  open_operands(start, element);
  std::set<std::int64_t> rows;
  while (!open.empty()) {
    const At at = open.back();
    open.pop_back();
    const std::shared_ptr<const Label> label = label_of(*at.tensor);
    if (label && !label->rows.empty()) {
      b.rows_name = label->name;
      const std::int64_t each = std::max<std::int64_t>(at.tensor->size() / at.tensor->shape()[0], 1);
      rows.insert(label->rows[static_cast<std::size_t>(at.element / each)]);
      if (rows.size() > kFewRows) return;
    } else if (const std::optional<Made> m = maker(*at.tensor, at.limit)) {
      open_operands(*m, at.element);
    } else if (const std::optional<Made> before = label ? maker_of_same(*at.tensor, at.limit) : std::nullopt) {
      open_operands(*before, at.element);
    }
    if (seen.size() >= kLooked) return;
  }
  rows.erase(-1);
  b.rows.assign(rows.begin(), rows.end());
}

Blame Walk::from(const Tensor& x, std::int64_t element) {
  Blame b = back(x, element, {&x, element}, calls_.size());
  b.asked = link("", x, element);
  if (!nonfinite_at(x, element) && !is_marked(x, element)) return b;  // what else is not finite has other causes
  for (const Kept& k : calls_)
    for (const Tensor& t : k.out) b.spread += next_nonfinite(t, 0) >= 0;
  if (b.source == Blame::Source::op && b.spread > 0) --b.spread;
  return b;
}

}  // namespace wp::trace
