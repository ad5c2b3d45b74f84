#include "trace/window.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "autodiff/lent.hpp"
#include "base/text.hpp"
#include "ops/moves.hpp"
#include "tensor/label.hpp"

namespace wp {
namespace trace {
namespace {

std::atomic<Window*> innermost_window = nullptr;

std::mutex& windows_mutex() {  // which windows there are
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// How much more than its limit a window may hold of what others hold too.
constexpr std::size_t kShared = 16;

// The result shows the operand's memory, or has copies of all that was read of it.
bool stands_for(const Call& c, const Tensor& operand) noexcept {
  if (c.op.notes != Notes::moves || c.out.empty()) return false;
  const Tensor& y = c.out[0];
  return y.node()->borrowed || (y.dtype() == operand.dtype() && y.nbytes() < operand.nbytes());
}

}  // namespace

bool shows_the_same(const Tensor& a, const Tensor& b) noexcept {
  const detail::Node &m = *a.node(), &n = *b.node();
  return m.data == n.data && (m.owner ? m.owner : &m) == (n.owner ? n.owner : &n) && m.dtype == n.dtype &&
         m.shape == n.shape && m.strides == n.strides;
}

std::vector<Kept::Lent> Kept::lent_to(const Call& c) {
  std::vector<Lent> all;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Tensor& t = c.in[i];
    if (!t.defined() || !autodiff::is_borrowed(t)) continue;
    Lent l{i};
    if (!stands_for(c, t)) {
      if (t.nbytes() <= autodiff::kCopied)
        l.copy = autodiff::contiguous_copy(t);
      else
        l.sum = autodiff::checksum(t);
    }
    all.push_back(std::move(l));
  }
  return all;
}

void Kept::keep(const Call& c, std::vector<Lent>&& its_lent) {
  op = &c.op;
  rule = context().rule ? context().rule->op : nullptr;
  place = c.place();
  scope = context().scope;
  step = context().step;
  in.clear();
  out.clear();
  attrs.assign(c.attrs.begin(), c.attrs.end());
  lent = std::move(its_lent);
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(c.in[i]);
  for (const Tensor& t : c.out) out.push_back(t);
}

const Kept::Lent* Kept::lent_as(std::size_t input) const noexcept {
  for (const Lent& l : lent)
    if (l.input == input) return &l;
  return nullptr;
}
const Tensor& Kept::read(std::size_t input) const noexcept {
  const Lent* const l = lent_as(input);
  return l && l->copy.defined() ? l->copy : in[input];
}
bool Kept::changed(std::size_t input) const {
  if (!in[input].defined()) return false;
  if (const Lent* const l = lent_as(input)) return l->sum && autodiff::checksum(in[input]) != *l->sum;
  return autodiff::changed_since_lent(in[input]);
}

std::string Kept::changed_words(std::size_t input) const {
  const Tensor& t = in[input];
  return say("Memory that was lent to ", name(), " (", t.dtype(), " ", t.shape(), ") was changed since");
}

std::string Kept::name() const {
  return call_text(*op, rule);
}

Recalled::Recalled(const Kept& k)
    : in_([&] {
        std::vector<const Tensor*> all;
        for (std::size_t i = 0; i < k.in.size(); ++i) all.push_back(&k.read(i));
        return all;
      }()),
      call(*k.op, {in_.data(), in_.size()}, {k.attrs.data(), k.attrs.size()}, k.place) {
  for (const Tensor& t : k.out) call.out.push_back(t);
}

thread_local bool Aside::aside_ = false;

void Window::after(const Call& c) noexcept {
  if (Aside::here()) return;
  try {
    keep(c);
  } catch (const std::exception&) {  // no memory for it
    const Busy busy(busy_);
    ++let_go_;  // a call that is not kept is one that is missing
  }
}

void Window::overwritten(const Tensor& t) noexcept {
  try {
    Gone gone;
    const Busy busy(busy_);
    keep_copy(t, gone);
  } catch (const std::exception&) {  // no memory: then the program is told that somebody else holds it
  }
}

// A copy takes the tensor's place in all calls, and views of the copy that of its views.
void Window::keep_copy(const Tensor& t, Gone& to) {
  std::unordered_map<const detail::Node*, Tensor> instead;
  const auto replace = [&](Tensor& kept) {
    if (!kept.defined() || (kept.node() != t.node() && kept.node()->owner != t.node())) return;
    if (instead.empty()) {
      const Tensor copy = instead[t.node()] = autodiff::contiguous_copy(t);
      copy.node()->note = t.node()->note;
      if (const std::shared_ptr<const Label> label = label_of(t)) set_label(copy, *label);
    }
    Tensor& other = instead[kept.node()];
    if (!other.defined()) {
      const auto offset = (kept.node()->data - t.node()->data) / static_cast<std::int64_t>(size_of(t.dtype()));
      other = view_of(instead.at(t.node()), kept.shape(), kept.strides(), offset);
      other.node()->note = kept.node()->note;
    }
    if (counts_) {
      held_.add(other);
      held_.drop(kept);
    }
    to.tensors.push_back(std::exchange(kept, other));
  };
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    for (Tensor& x : calls_.at(i).in) replace(x);
    for (Tensor& y : calls_.at(i).out) replace(y);
  }
}

Kept& Ring::next() {
  if (count_ == 0 || count_ > mask_) {
    std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(first_), slots_.end());
    first_ = 0;
    slots_.resize(std::max<std::size_t>({2 * count_, slots_.size(), 64}));
    mask_ = slots_.size() - 1;
  }
  return slots_[(first_ + count_) & mask_];
}

void Ring::pop() noexcept {
  first_ = (first_ + 1) & mask_;
  --count_;
}

std::size_t Window::let_go_first(Gone& to) {
  Kept& k = calls_.first();
  std::size_t freed = 0;
  most_bytes_ -= k.most_bytes;
  if (counts_) k.each_tensor([&](const Tensor& t) { freed += held_.drop(t); });
  for (Tensor& t : k.in) to.tensors.push_back(std::move(t));
  for (Tensor& t : k.out) to.tensors.push_back(std::move(t));
  for (Kept::Lent& l : k.lent) to.lent.push_back(std::move(l));
  k.lent.clear();
  for (Attr& a : k.attrs)
    if (a.type() == AttrType::object) to.attrs.push_back(std::move(a));  // it may hold tensors too
  k.attrs.clear();
  calls_.pop();
  ++let_go_;
  return freed;
}

bool Window::too_old(std::int64_t step) const noexcept {
  return calls_.size() > 1 && (calls_.size() > options_.calls ||
                               (options_.steps > 0 && step >= 0 && calls_[0].step <= step - options_.steps));
}

void Window::count_all(Holdings& to) const {
  for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].each_tensor([&](const Tensor& t) { to.add(t); });
}

// Of memory that nobody else holds. Another window's tensors are not the program's: then all of it counts.
std::size_t Window::own() const noexcept {
  return attending.load(std::memory_order_relaxed) == 1 ? held_.own() : held_.bytes();
}

// What others hold costs nothing, until they let go of it, which nobody tells: it is looked at again when a sixteenth
// of the limit has been added, or a quarter as many calls as there are tensors.
void Window::keep_within_bytes(Gone& to) {
  if (!counts_) return;
  const bool looks = held_.bytes() >= look_at_bytes_ || kept_ >= look_at_call_;
  if (held_.bytes() <= options_.bytes || !looks) return;
  std::size_t mine = own();
  while (calls_.size() > 1 && (mine > options_.bytes || held_.bytes() / kShared > options_.bytes))
    mine -= std::min(mine, let_go_first(to));
  look_at_bytes_ = held_.bytes() + options_.bytes / 16;
  look_at_call_ = kept_ + held_.tensors() / 4;
}

void Window::keep(const Call& c) {
  std::vector<Kept::Lent> lent = Kept::lent_to(c);
  Gone gone;
  const Busy busy(busy_);
  Kept& k = calls_.next();
  k.keep(c, std::move(lent));
  calls_.push();
  k.most_bytes = 0;
  k.each_tensor([&](const Tensor& t) { k.most_bytes += Holdings::most_bytes(t); });
  most_bytes_ += k.most_bytes;
  if (counts_) {
    k.each_tensor([&](const Tensor& t) { held_.add(t); });
  } else if (most_bytes_ > options_.bytes) {
    count_all(held_);
    counts_ = true;
  }
  ++kept_;
  // One more goes than comes: a step that has become too old goes while the next one runs, not all at once.
  for (int i = 0; i < 2 && too_old(k.step); ++i) let_go_first(gone);
  keep_within_bytes(gone);
}

std::size_t Window::size() const {
  const Busy busy(busy_);
  return calls_.size();
}
std::size_t Window::bytes() const {
  const Busy busy(busy_);
  if (!counts_) count_all(held_);
  const std::size_t bytes = own();
  if (!counts_) held_.clear();
  return bytes;
}
std::size_t Window::let_go() const {
  const Busy busy(busy_);
  return let_go_;
}
void Window::clear() {
  Ring old;
  const Busy busy(busy_);
  std::swap(old, calls_);
  held_.clear();
  most_bytes_ = 0;
  counts_ = false;
}
std::vector<Kept> Window::calls() const {
  const Busy busy(busy_);
  std::vector<Kept> out;
  for (std::size_t i = 0; i < calls_.size(); ++i) out.push_back(calls_[i]);
  return out;
}
Window* Window::innermost() noexcept {
  return innermost_window.load(std::memory_order_acquire);
}

// fork() waits until no thread is in a window, so that a child finds them whole.
void Window::hold_all() noexcept {
  windows_mutex().lock();
  for (Window* w = innermost(); w; w = w->outer_) w->for_fork_.emplace(w->busy_);
}
void Window::free_all() noexcept {
  for (Window* w = innermost(); w; w = w->outer_) w->for_fork_.reset();
  windows_mutex().unlock();
}
[[gnu::constructor]] static void prepare_for_fork() {
  pthread_atfork(Window::hold_all, Window::free_all, Window::free_all);
}

}  // namespace trace

Trace::Trace(const TraceOptions& options) : window_(std::make_unique<trace::Window>(options)) {
  attend(*window_);
  const std::lock_guard lock(trace::windows_mutex());
  window_->outer_ = trace::innermost_window.exchange(window_.get(), std::memory_order_acq_rel);
}
Trace::~Trace() {
  dismiss(*window_);
  const std::lock_guard lock(trace::windows_mutex());
  trace::innermost_window.store(window_->outer_, std::memory_order_release);
}
std::size_t Trace::calls() const {
  return window_->size();
}
std::size_t Trace::bytes() const {
  return window_->bytes();
}
std::size_t Trace::let_go() const {
  return window_->let_go();
}
void Trace::clear() {
  window_->clear();
}

}  // namespace wp
