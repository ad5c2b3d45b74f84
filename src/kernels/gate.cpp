#include "kernels/gate.hpp"

#include <condition_variable>
#include <mutex>

namespace wp::blas {
namespace {

struct Waiting {
  std::mutex mutex;
  std::condition_variable place_free;
};
// Never destroyed: a thread may still wait while the process ends.
Waiting& waiting() {
  static auto* const w = new Waiting;
  return *w;
}

}  // namespace

constinit thread_local int Gate::depth_ = 0;
constinit std::atomic<int> Gate::free_{kPlaces}, Gate::waiting_{0};

// Who waits announces it and then looks for a place; who leaves gives the place back and then looks for an
// announcement. In the one order of sequentially consistent operations one of them sees the other: no place is freed
// unseen.
void Gate::wait() {
  Waiting& w = waiting();
  std::unique_lock lock(w.mutex);
  waiting_.fetch_add(1);
  w.place_free.wait(lock, take);
  waiting_.fetch_sub(1);
}
void Gate::wake() noexcept {
  Waiting& w = waiting();
  const std::lock_guard lock(w.mutex);
  w.place_free.notify_one();
}

}  // namespace wp::blas
