// Rows by address: open addressing, linear probing, deletion by shifting back (Knuth, TAOCP 3, 6.4, algorithm R).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wp::trace {

template <class Row>  // has a pointer `key`; null: the slot is free
class Addresses {
 public:
  std::size_t size() const noexcept { return used_; }
  std::vector<Row>& slots() noexcept { return slots_; }
  // The row of an address; one that is new has nothing but its key.
  Row& at(decltype(Row::key) key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    std::size_t i = home(key);
    while (slots_[i].key && slots_[i].key != key) i = next(i);
    if (!slots_[i].key) {
      ++used_;
      slots_[i].key = key;
    }
    return slots_[i];
  }
  Row* find(const void* key) noexcept {
    if (slots_.empty()) return nullptr;
    std::size_t i = home(key);
    while (slots_[i].key != key) {
      if (!slots_[i].key) return nullptr;
      i = next(i);
    }
    return &slots_[i];
  }
  void erase(const Row* row) noexcept {
    const std::size_t mask = slots_.size() - 1;
    auto i = static_cast<std::size_t>(row - slots_.data());
    --used_;
    for (std::size_t j = next(i); slots_[j].key; j = next(j)) {
      if (((j - home(slots_[j].key)) & mask) < ((j - i) & mask)) continue;
      slots_[i] = slots_[j];
      i = j;
    }
    slots_[i] = {};
  }
  void clear() noexcept {
    slots_.clear();
    used_ = 0;
  }

 private:
  std::size_t home(const void* key) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(key) >> 6) * 0x9E3779B97F4A7C15U >> 20 & (slots_.size() - 1);
  }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }
  void grow() {
    std::vector<Row> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Row& row : old)
      if (row.key) at(row.key) = row;
  }
  std::vector<Row> slots_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace wp::trace
