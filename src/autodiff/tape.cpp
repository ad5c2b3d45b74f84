#include "autodiff/tape.hpp"

#include <algorithm>

#include "autodiff/lent.hpp"
#include "base/busy.hpp"
#include "base/text.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_stop_gradient;
}

namespace wp::autodiff {

bool stops_gradients(const Op& op) noexcept {
  return &op == &op_stop_gradient;
}

namespace {

std::uint32_t bit(std::size_t i) noexcept {
  return 1U << std::min<std::size_t>(i, 31);
}
bool named(std::uint32_t bits, std::size_t i) noexcept {
  return (bits & bit(i)) != 0;
}

// What derivatives with respect to the inputs that a tape knows may be asked for: what these rules read is kept. (A
// tensor that only another tape watches is a constant here; that tape keeps what it needs itself.)
struct Varying {
  std::uint32_t bits = 0;
  std::size_t count = 0;
  Varying(const Call& c, std::span<const std::int32_t> slots) noexcept {
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i] >= 0 && is_floating(c.in[i].dtype())) {
        bits |= bit(i);
        ++count;
      }
  }
  // own: input i varies itself.
  bool reads_input(const Op& op, std::size_t i, bool own) const noexcept {
    if (named(op.for_others, i)) return count > (own ? 1U : 0U);
    return own || !named(op.for_itself, i);
  }
  bool reads_outputs(const Op& op) const noexcept { return (op.outputs_for & bits) != 0; }
};

}  // namespace

Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g,
                    const Place& place) {
  Tape tape(false);
  for (const Tensor& t : x) tape.watch(t);
  tape.start();
  const Tensor y = f();
  tape.stop();
  const std::vector<Tensor> found =
      tape.gradient({.targets = {&y, 1}, .seeds = {&g, 1}, .sources = x, .zero_unconnected = true, .place = place});
  return {found.begin(), found.end()};
}
Tensors Alone::pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const {
  return autodiff::pulled_back(f, x, g, place);
}

void separate_outputs(Call& c) {
  for (Tensor& y : c.out)
    for (std::size_t i = 0; i < c.in.size(); ++i)
      if (y.node() == c.in[i].node()) y = view_of(y, y.shape(), y.strides());
}

Tape::Tape(bool persistent) : persistent_(persistent) {}
Tape::~Tape() {
  stop();
}
void Tape::start() {
  if (listener_) return;
  listener_ = listen(*this);
  if (steps_.size() == 0) began_in_ = context().rule;
}
void Tape::stop() noexcept {
  if (listener_) silence(std::exchange(listener_, nullptr));
}
void Tape::reset() {
  stop();
  slots_ = Slots();
  steps_.clear();
  stopped_.clear();
  hooks_.clear();
  checksums_.clear();
  first_sums_.clear();
  findings_.clear();
  keeps_ = used_up_ = false;
}

void Tape::watch(const Tensor& x) {
  if (!x.defined()) raise<ArgumentError>("WP-ARG-002", "watch", "the tensor is undefined.");
  if (!is_floating(x.dtype()))
    raise<DtypeError>("WP-DTY-003", "watch",
                      say("a watched tensor must be floating-point or complex; got ", x.dtype(), " ", x.shape(), "."),
                      "Integers do not vary: convert with astype before watching.");
  const Busy busy(busy_);
  slots_.add(x);
}

void Tape::after(Call& c) {
  if (c.op.flow == flow_nothing) return;
  std::int32_t few[8];
  const std::size_t n = c.in.size();
  std::vector<std::int32_t> many(n > std::size(few) ? n : 0);
  std::int32_t* const in = n > std::size(few) ? many.data() : few;
  const Busy busy(busy_);
  std::int32_t most = -1;
  for (std::size_t i = 0; i < n; ++i) {
    in[i] = c.in[i].defined() ? slots_.find(c.in[i]) : -1;
    most = std::max(most, in[i]);
  }
  if (most < 0) return;
  separate_outputs(c);
  record(c, {in, n});
}

// t is place i of the step: an input, or an output behind them.
void Tape::keep(Step& s, std::uint32_t i, const Tensor& t) {
  s.saved[i] = own_if_small(t);
}

// A variable has one value: the one that the first call read.
void Tape::see_borrowed(const Call& c, Step& s, std::uint32_t i) {
  const Tensor& t = i < s.inputs ? c.in[i] : c.out[i - s.inputs];
  const bool large = t.nbytes() > kCopied;
  if (s.slots[i] < 0) {  // a constant may have another one at each call
    if (large && s.saved[i].defined()) checksums_[&s.saved[i]] = checksum(t);
    return;
  }
  for (std::uint32_t k = 0; k < i; ++k)
    if (s.slots[k] == s.slots[i] && s.saved[k].defined() == s.saved[i].defined()) return;  // x * x
  const auto known = first_sums_.find(s.slots[i]);
  const bool view = i < s.inputs && !c.out.empty() && is_borrowed(c.out[0]);
  if (known != first_sums_.end() && large && view && !s.saved[i].defined()) return;  // rows of x: not all of it each
  const std::size_t sum = checksum(t);
  const std::size_t first = known == first_sums_.end() ? first_sums_[s.slots[i]] = sum : known->second;
  if (sum == first && (!large || !s.saved[i].defined())) return;
  if (!s.saved[i].defined()) keep(s, i, t);
  checksums_[&s.saved[i]] = first;
}

void Tape::record(const Call& c, std::span<const std::int32_t> in) {
  const bool whole = c.aside && c.aside->keeps_after;
  keeps_ = keeps_ || whole;
  Step& s = steps_.add(c);
  s.in_rule = context().rule != began_in_;
  const Varying varying(c, in);
  for (std::uint32_t i = 0; i < s.inputs; ++i) {
    const Tensor& t = c.in[i];
    s.slots[i] = in[i];
    if (!t.defined()) continue;
    const bool own = in[i] >= 0 && is_floating(t.dtype());
    if (keeps_ || (named(c.op.saves_inputs, i) && varying.reads_input(c.op, i, own))) keep(s, i, t);
    if (is_borrowed(t)) [[unlikely]]
      see_borrowed(c, s, i);
  }
  for (std::uint32_t i = 0; i < s.outputs; ++i) {
    const Tensor& t = c.out[i];
    s.slots[s.inputs + i] = slots_.add(t);
    if (stops_gradients(c.op)) [[unlikely]]
      stopped_.insert(s.slots[s.inputs + i]);
    if (whole || (named(c.op.saves_outputs, i) && varying.reads_outputs(c.op))) keep(s, s.inputs + i, t);
    if (is_borrowed(t)) [[unlikely]]  // a view
      see_borrowed(c, s, s.inputs + i);
  }
  for (std::uint32_t i = 0; i < s.residuals; ++i) s.saved[s.inputs + s.outputs + i] = c.aside->residuals[i];
  std::copy(c.attrs.begin(), c.attrs.end(), s.attr);
}

namespace {
bool can_vary(const Tensor& x) noexcept {
  return x.defined() && is_floating(x.dtype());
}
}  // namespace
std::vector<Tensor> watch_floating(Tape& tape, const std::vector<Tensor>& xs) {
  std::vector<Tensor> watched;
  for (const Tensor& x : xs)
    if (can_vary(x)) {
      tape.watch(x);
      watched.push_back(x);
    }
  return watched;
}
std::vector<Tensor> in_places_of(const std::vector<Tensor>& xs, std::span<const Tensor> found) {
  std::vector<Tensor> all(xs.size());
  std::size_t k = 0;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (can_vary(xs[i])) all[i] = found[k++];
  return all;
}

std::int32_t Tape::slot_of(const Tensor& x, std::string_view what) const {
  const std::int32_t slot = x.defined() ? slots_.find(x) : -1;
  if (slot >= 0) return slot;
  if (!x.defined()) refuse<ArgumentError>("WP-ARG-002", say(what, " is undefined."));
  refuse<GradientError>(
      "WP-GRD-002",
      say("the tape does not know ", what, " ", x.dtype(), " ", x.shape(),
          ": it was not watched, and was not computed from a watched tensor while the tape recorded."),
      "Call watch(x) before x is used.");
}

void Tape::hook(const Tensor& x, std::function<Tensor(const Tensor&)> f) {
  hooks_[slot_of(x, "the tensor of the hook")].push_back(std::move(f));
}
const std::vector<std::function<Tensor(const Tensor&)>>* Tape::hooks(std::int32_t slot) const {
  if (hooks_.empty()) [[likely]]
    return nullptr;
  const auto at = hooks_.find(slot);
  return at == hooks_.end() ? nullptr : &at->second;
}

void Tape::find(Finding f) {
  // Several ways back pass the same call: what was found there is known.
  for (const Finding& known : findings_)
    if (known.code == f.code && known.op == f.op && known.message == f.message &&
        known.place.text() == f.place.text())
      return;
  report(f);
  findings_.push_back(std::move(f));
}

std::size_t Tape::bytes() const {
  std::unordered_set<const char*> seen;
  std::size_t sum = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& s = steps_[k];
    for (std::uint32_t i = 0; i < s.inputs + s.outputs + s.residuals; ++i)
      if (const Tensor& t = s.saved[i]; t.defined() && seen.insert(t.node()->data).second) sum += t.nbytes();
  }
  return sum;
}

void Tape::check_unchanged(const Step& s) const {
  for (std::uint32_t i = 0; i < s.inputs + s.outputs; ++i) {
    const Tensor& t = s.saved[i];
    if (!t.defined() || (checksums_.empty() && !is_borrowed(t))) [[likely]]
      continue;
    const auto at = checksums_.find(&t);
    if (at == checksums_.end() ? changed_since_lent(t) : checksum(t) != at->second)
      refuse_changed(s.op->name, say(s.facts[i].dtype, " ", s.facts[i].shape));
  }
}

}  // namespace wp::autodiff
