// A lock for what takes tens of nanoseconds: threads that meet wait without sleeping.
#pragma once
#include <atomic>

namespace wp {

class [[nodiscard]] Busy {
 public:
  explicit Busy(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire))
      while (flag_.test(std::memory_order_relaxed)) {
      }
  }
  ~Busy() { flag_.clear(std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace wp
