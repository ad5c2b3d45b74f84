// At most 64 threads are inside OpenBLAS at once.
#pragma once
#include <atomic>

namespace wp::blas {

// OpenBLAS hands every caller one of a number of buffers that was fixed when it was built (two for each of 128
// threads in Debian) and ends the process when they run out. A Gate lives as long as a call: it takes one of the
// places, waits while there is none, and costs two atomic additions otherwise. A thread that is inside may enter
// again.
class Gate {
 public:
  static constexpr int kPlaces = 64;
  Gate() {
    if (depth_++ == 0 && !take()) wait();
  }
  ~Gate() {
    if (--depth_ == 0) leave();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  static bool take() noexcept {
    int free = free_.load();
    while (free > 0)
      if (free_.compare_exchange_weak(free, free - 1)) return true;
    return false;
  }
  static void leave() noexcept {
    free_.fetch_add(1);
    if (waiting_.load() > 0) wake();
  }
  static void wait();
  static void wake() noexcept;

  [[gnu::tls_model("initial-exec")]] static constinit thread_local int depth_;
  static constinit std::atomic<int> free_, waiting_;
};

}  // namespace wp::blas
