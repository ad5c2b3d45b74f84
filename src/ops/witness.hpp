#pragma once
#include <atomic>

#include "ops/op.hpp"

namespace wp {

// Sees every call of the process, whoever else listens and also where calls are unseen: the flight recorder, traces.
// The recorder is told before the listeners and after them, others only after; by any thread. None of the three may
// throw or compute.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void before(const Call&) noexcept {}  // arguments are checked, nothing is computed
  virtual void after(const Call&) noexcept = 0;
  virtual void left(const Call&) noexcept {}  // by an exception
  // The program is about to write into the tensor's memory: who keeps it keeps a copy from now on.
  virtual void overwritten(const Tensor&) noexcept {}
};

// The recorder; null: none. It must outlive every thread that may still run an op.
extern std::atomic<Witness*> recorder;

// Others come and go, at most kSeats at a time (ArgumentError). When dismiss() returns no thread is inside any more.
inline constexpr int kSeats = 4;
void attend(Witness& w);
void dismiss(Witness& w) noexcept;

// For the dispatch.
extern std::atomic<int> attending;
inline bool witnessed() noexcept {
  return recorder.load(std::memory_order_relaxed) || attending.load(std::memory_order_relaxed);
}
inline void witness_before(const Call& c) noexcept {
  if (Witness* const r = recorder.load(std::memory_order_acquire)) r->before(c);
}
inline void witness_left(const Call& c) noexcept {
  if (Witness* const r = recorder.load(std::memory_order_acquire)) r->left(c);
}
void witness_after(const Call& c) noexcept;
void witness_overwritten(const Tensor& t) noexcept;
// Left, with results that somebody will ask about: the recorder hears that it was left, others that it ended.
void witness_refused(const Call& c) noexcept;

}  // namespace wp
