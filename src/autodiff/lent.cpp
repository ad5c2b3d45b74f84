#include "autodiff/lent.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/busy.hpp"
#include "base/text.hpp"
#include "ops/moves.hpp"

namespace wp::autodiff {

Tensor contiguous_copy(const Tensor& t) {
  Tensor y = Tensor::adopt(detail::make_node(t.dtype(), t.shape()));
  scatter_into(y, row_major(t.shape()), 0, t);
  return y;
}

namespace {

std::size_t checksum(const char* at, std::size_t left) {
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4}, words{};
  const auto mix = [](std::uint64_t h, std::uint64_t w) { return std::rotl(h ^ w, 29) * 0x9E3779B97F4A7C15U; };
  for (; left > 0; left -= std::min(left, sizeof words), at += sizeof words) {
    if (left < sizeof words) words.fill(0);
    std::memcpy(words.data(), at, std::min(left, sizeof words));
    for (std::size_t k = 0; k < 4; ++k) lanes[k] = mix(lanes[k], words[k]);
  }
  return mix(mix(lanes[0], lanes[1]), mix(lanes[2], lanes[3]));
}

// The node whose memory t shows, and the sum of all of it.
detail::Node* base_of(const Tensor& t) noexcept {
  return t.node()->owner ? t.node()->owner : t.node();
}
std::size_t sum_of(const detail::Node& n) {
  return checksum(n.data, static_cast<std::size_t>(n.size) * size_of(n.dtype));
}

struct Lent {
  std::mutex mutex;
  std::unordered_map<const detail::Node*, std::size_t> sums;
};
Lent& lent() {
  static auto* const all = new Lent;  // tensors may outlive every static object
  return *all;
}

}  // namespace

std::size_t checksum(const Tensor& t) {
  const Tensor whole = t.is_contiguous() ? t : contiguous_copy(t);
  return checksum(whole.node()->data, whole.nbytes());
}

void lend_out(const Tensor& t) {
  detail::Node* const base = base_of(t);
  const bool before = std::exchange(base->borrowed, true);
  t.node()->borrowed = true;
  if (before || base->refs.load(std::memory_order_acquire) == 1) return;  // who keeps it later knows
  const std::size_t sum = sum_of(*base);
  base->deleter = new std::function<void()>([base] {
    const std::lock_guard lock(lent().mutex);
    lent().sums.erase(base);
  });
  const std::lock_guard lock(lent().mutex);
  lent().sums[base] = sum;
}
bool changed_since_lent(const Tensor& t) {
  const detail::Node* const base = base_of(t);
  if (!base->borrowed || !base->deleter) return false;
  std::size_t sum = 0;
  {
    const std::lock_guard lock(lent().mutex);
    const auto found = lent().sums.find(base);
    if (found == lent().sums.end()) return false;
    sum = found->second;
  }
  return sum_of(*base) != sum;
}
Tensor own_if_small(const Tensor& t) {
  if (!t.defined() || !is_borrowed(t) || t.nbytes() > kCopied) return t;
  Tensor y = contiguous_copy(t);
  y.node()->id = t.node()->id;
  return y;
}

void refuse_changed(std::string_view reader, const std::string& facts) {
  refuse<GradientError>("WP-GRD-003",
                        say("lent memory that the derivative of ", reader, " needs (", facts, ") was changed since."),
                        "Do not write to it until the gradient is taken, or hand over a copy.");
}

namespace {

thread_local ListenInside* innermost = nullptr;

bool listens(const Observer& o) noexcept {
  for (const Listener* l = context().listeners; l; l = l->outer)
    if (l->observer == &o) return true;
  return false;
}

// The first byte that t shows, and the one after the last.
std::pair<const char*, const char*> extent(const Tensor& t) {
  const auto item = static_cast<std::int64_t>(size_of(t.dtype()));
  const char *low = t.node()->data, *high = low + (t.size() > 0 ? item : 0);
  for (std::size_t k = 0; k < t.shape().size() && t.size() > 0; ++k) {
    const std::int64_t reach = (t.shape()[k] - 1) * t.strides()[k] * item;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

}  // namespace

void Readings::note(const Tensor& t) {
  if (!t.defined() || !is_borrowed(t)) return;
  const auto [low, high] = extent(t);
  const Busy busy(busy_);
  const std::pair key(low, static_cast<std::size_t>(high - low));
  if (!all_.contains(key)) all_.emplace(key, Noted{t, checksum(t)});
}
void Readings::after(Call& c) {
  for (std::size_t i = 0; i < c.in.size(); ++i) note(c.in[i]);
}

ListenInside::ListenInside(Observer& o) : outer_(std::exchange(innermost, this)), observer_(o) {
  for (const ListenInside* each = this; each; each = each->outer_)
    if (!listens(each->observer_)) listeners_.push_back(listen(each->observer_));
}
ListenInside::~ListenInside() {
  for (Listener* const l : listeners_) silence(l);
  innermost = outer_;
}

void Rereading::after(Call& c) {
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i].defined() || !is_borrowed(c.in[i])) continue;
    const auto [low, high] = extent(c.in[i]);
    const Busy busy(busy_);
    for (const auto& [key, noted] : before_.all()) {
      if (high <= key.first || key.first + key.second <= low || !same_.insert(&noted).second) continue;
      if (checksum(noted.tensor) != noted.sum)
        refuse_changed(reader_, say(noted.tensor.dtype(), " ", noted.tensor.shape()));
    }
  }
}

}  // namespace wp::autodiff
