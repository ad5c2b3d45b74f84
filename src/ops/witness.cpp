#include "ops/witness.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fence.hpp"
#include "base/fork.hpp"
#include "base/text.hpp"

namespace wp {
namespace {

constinit std::atomic<Witness*> seats[kSeats] = {};

// Who calls a witness says so in a word of its own before it reads the seat; who empties a seat waits until no word
// says so. Calls are many and dismissals few: these pay for the fence of both.
struct Presence {
  std::atomic<int> inside{0};
};
struct Present {
  std::mutex mutex;
  std::vector<Presence*> all;
  Presence late;  // of threads that are ending
};
Present& present() {
  static auto* const p = new Present;  // outlives every thread
  return *p;
}
constinit std::atomic<bool> alone{true};  // nobody can fence for those who call: they do it themselves

// A child has only the thread that forked, which is in no witness.
[[gnu::constructor]] void prepare_for_fork() {
  open_in_children(present().mutex);
  pthread_atfork(nullptr, nullptr, [] {
    for (Presence* const p : present().all) p->inside.store(0, std::memory_order_relaxed);
    present().late.inside.store(0, std::memory_order_relaxed);
  });
}

[[gnu::tls_model("initial-exec")]] constinit thread_local Presence* mine = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool gone = false;

struct Leave {
  ~Leave() {
    gone = true;
    const Presence* const own = std::exchange(mine, nullptr);
    const std::lock_guard lock(present().mutex);
    std::erase(present().all, own);
    delete own;
  }
};
[[gnu::noinline]] bool arrive() noexcept try {
  if (gone) return false;
  static thread_local Leave leave;
  (void)leave;
  auto own = std::make_unique<Presence>();
  const std::lock_guard lock(present().mutex);
  present().all.push_back(own.get());
  mine = own.release();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool anybody_inside() noexcept {
  Present& p = present();
  const std::lock_guard lock(p.mutex);
  const auto inside = [](const Presence& who) { return who.inside.load() != 0; };
  return inside(p.late) || std::any_of(p.all.begin(), p.all.end(), [&](Presence* who) { return inside(*who); });
}

template <class Tell>
void each_seated(const Tell& tell) noexcept {
  for (const std::atomic<Witness*>& seat : seats)
    if (Witness* const w = seat.load()) tell(*w);
}

template <class Tell>
inline void tell_those_present(const Tell& tell) noexcept {
  if (attending.load(std::memory_order_relaxed) == 0) return;
  if (!mine && !arrive()) [[unlikely]] {
    std::atomic<int>& late = present().late.inside;
    late.fetch_add(1);
    each_seated(tell);
    late.fetch_sub(1);
    return;
  }
  if (alone.load(std::memory_order_relaxed)) [[unlikely]] {
    mine->inside.store(1);
  } else {
    mine->inside.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  each_seated(tell);
  mine->inside.store(0, std::memory_order_release);
}

}  // namespace

constinit std::atomic<Witness*> recorder{nullptr};
constinit std::atomic<int> attending{0};

void witness_after(const Call& c) noexcept {
  if (Witness* const r = recorder.load(std::memory_order_acquire)) r->after(c);
  tell_those_present([&](Witness& w) { w.after(c); });
}

void witness_refused(const Call& c) noexcept {
  witness_left(c);
  tell_those_present([&](Witness& w) { w.after(c); });
}

void witness_overwritten(const Tensor& t) noexcept {
  tell_those_present([&](Witness& w) { w.overwritten(t); });
}

void attend(Witness& w) {
  if (can_fence_others()) alone.store(false, std::memory_order_relaxed);
  for (std::atomic<Witness*>& seat : seats) {
    Witness* empty = nullptr;
    if (!seat.compare_exchange_strong(empty, &w)) continue;
    attending.fetch_add(1);
    return;
  }
  refuse<ArgumentError>("WP-ARG-001", say("more than ", kSeats, " traces at a time."));
}

void dismiss(Witness& w) noexcept {
  for (std::atomic<Witness*>& seat : seats) {
    Witness* sitting = &w;
    if (!seat.compare_exchange_strong(sitting, nullptr)) continue;
    attending.fetch_sub(1);
    if (!alone.load(std::memory_order_relaxed)) fence_others();
    while (anybody_inside()) std::this_thread::yield();
  }
}

}  // namespace wp
