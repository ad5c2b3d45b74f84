// Tensors are known to tapes by numbers that are never given twice; a tape maps them to slots 0, 1, 2, …
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "wellposed/tensor.hpp"

namespace wp::autodiff {

class Slots {
 public:
  Slots();
  // −1: not here.
  std::int32_t find(const Tensor& t) const noexcept {
    const std::uint64_t id = std::atomic_ref(t.node()->id).load(std::memory_order_relaxed);
    return id == 0 ? -1 : slot_of(id);
  }
  // The tensor's slot, a new one if it has none.
  std::int32_t add(const Tensor& t);
  std::size_t size() const noexcept { return count_; }

 private:
  static constexpr std::uint64_t kBlock = 1024;  // numbers that a thread takes at once
  using Block = std::array<std::int32_t, kBlock>;
  static std::uint64_t new_id() noexcept;
  std::int32_t slot_of(std::uint64_t id) const noexcept {
    if (id < first_) [[unlikely]] {
      const auto at = earlier_.find(id);
      return at == earlier_.end() ? -1 : at->second;
    }
    const std::uint64_t block = (id - first_) / kBlock;
    return block < blocks_.size() && blocks_[block] ? (*blocks_[block])[id % kBlock] : -1;
  }

  std::uint64_t first_;  // of the block that this thread was at
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unordered_map<std::uint64_t, std::int32_t> earlier_;  // numbers from before
  std::size_t count_ = 0;
};

}  // namespace wp::autodiff
