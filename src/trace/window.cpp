#include "trace/window.hpp"

#include <algorithm>

#include "base/busy.hpp"

namespace wp {
namespace trace {
namespace {

std::atomic<Window*> innermost_window = nullptr;

}  // namespace

Kept::Kept(const Call& c)
    : op(&c.op),
      rule(context().rule ? context().rule->op : nullptr),
      place(c.place()),
      scope(context().scope),
      step(context().step),
      attrs(c.attrs.begin(), c.attrs.end()) {
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(c.in[i]);
  for (const Tensor& t : c.out) out.push_back(t);
}

std::size_t Kept::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Tensor& t : out) sum += t.node()->owner ? 0 : static_cast<std::size_t>(t.size()) * size_of(t.dtype());
  return sum;
}

std::string Kept::name() const {
  return call_text(*op, rule);
}

Recalled::Recalled(const Kept& k)
    : in_([&] {
        std::vector<const Tensor*> all;
        for (const Tensor& t : k.in) all.push_back(&t);
        return all;
      }()),
      call(*k.op, {in_.data(), in_.size()}, {k.attrs.data(), k.attrs.size()}, k.place) {
  for (const Tensor& t : k.out) call.out.push_back(t);
}

thread_local bool Aside::aside_ = false;

void Window::after(const Call& c) noexcept {
  if (Aside::here()) return;
  try {
    keep(Kept(c));
  } catch (const std::bad_alloc&) {
    const Busy busy(busy_);
    ++let_go_;  // a call that is not kept is one that is missing
  }
}

void Ring::push(Kept&& k) {
  if (count_ == slots_.size()) {
    std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(first_), slots_.end());
    first_ = 0;
    slots_.resize(std::max<std::size_t>(2 * count_, 64));
  }
  slots_[(first_ + count_) % slots_.size()] = std::move(k);
  ++count_;
}

Kept Ring::pop() noexcept {
  Kept out = std::move(slots_[first_]);
  first_ = (first_ + 1) % slots_.size();
  --count_;
  return out;
}

bool Window::too_much(std::int64_t step) const noexcept {
  if (calls_.size() <= 1) return false;
  return calls_.size() > options_.calls || bytes_ > options_.bytes ||
         (options_.steps > 0 && step >= 0 && calls_[0].step <= step - options_.steps);
}

void Window::keep(Kept&& kept) {
  const std::int64_t step = kept.step;
  std::optional<Kept> old;  // tensors go after the lock: their memory may be somebody's to release
  std::vector<Kept> older;
  const Busy busy(busy_);
  bytes_ += kept.bytes();
  calls_.push(std::move(kept));
  while (too_much(step)) {
    bytes_ -= calls_[0].bytes();
    if (old)
      older.push_back(calls_.pop());
    else
      old.emplace(calls_.pop());
    ++let_go_;
  }
}

std::size_t Window::size() const {
  const Busy busy(busy_);
  return calls_.size();
}
std::size_t Window::bytes() const {
  const Busy busy(busy_);
  return bytes_;
}
std::size_t Window::let_go() const {
  const Busy busy(busy_);
  return let_go_;
}
void Window::clear() {
  Ring old;
  const Busy busy(busy_);
  std::swap(old, calls_);
  bytes_ = 0;
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

}  // namespace trace

Trace::Trace(const TraceOptions& options) : window_(std::make_unique<trace::Window>(options)) {
  window_->outer_ = trace::innermost_window.exchange(window_.get(), std::memory_order_acq_rel);
  attend(*window_);
}
Trace::~Trace() {
  dismiss(*window_);
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
