#include "autodiff/slots.hpp"

namespace wp::autodiff {
namespace {

std::atomic<std::uint64_t> next_block{1};
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t next_id = 0, end_of_block = 0;

void take_block(std::uint64_t size) noexcept {
  next_id = next_block.fetch_add(1, std::memory_order_relaxed) * size;
  end_of_block = next_id + size;
}

}  // namespace

std::uint64_t Slots::new_id() noexcept {
  if (next_id == end_of_block) take_block(kBlock);
  return next_id++;
}

Slots::Slots() {
  if (next_id == end_of_block) take_block(kBlock);
  first_ = next_id / kBlock * kBlock;
}

std::int32_t Slots::add(const Tensor& t) {
  std::atomic_ref<std::uint64_t> number(t.node()->id);
  std::uint64_t id = number.load(std::memory_order_relaxed);
  if (id == 0) {
    const std::uint64_t fresh = new_id();
    if (t.node()->refs.load(std::memory_order_relaxed) == 1)
      number.store(id = fresh, std::memory_order_relaxed);
    else if (number.compare_exchange_strong(id, fresh, std::memory_order_relaxed))  // others may watch it too
      id = fresh;
  }
  if (const std::int32_t known = slot_of(id); known >= 0) return known;
  const auto slot = static_cast<std::int32_t>(count_++);
  if (id < first_) {
    earlier_[id] = slot;
    return slot;
  }
  const std::uint64_t block = (id - first_) / kBlock;
  if (block >= blocks_.size()) blocks_.resize(block + 1);
  if (!blocks_[block]) {
    blocks_[block] = std::make_unique<Block>();
    blocks_[block]->fill(-1);
  }
  (*blocks_[block])[id % kBlock] = slot;
  return slot;
}

}  // namespace wp::autodiff
