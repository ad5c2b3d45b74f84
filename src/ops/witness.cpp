#include "ops/witness.hpp"

#include <thread>

#include "base/text.hpp"

namespace wp {
namespace {

struct Seat {
  std::atomic<Witness*> who = nullptr;
  std::atomic<int> inside = 0;  // threads that may be in `who`
};
constinit Seat seats[kSeats];

}  // namespace

constinit std::atomic<Witness*> recorder{nullptr};
constinit std::atomic<int> attending{0};

void witness_after(const Call& c) noexcept {
  if (Witness* const r = recorder.load(std::memory_order_acquire)) r->after(c);
  if (attending.load(std::memory_order_relaxed) == 0) return;
  for (Seat& seat : seats) {
    if (!seat.who.load(std::memory_order_relaxed)) continue;
    // Before it is read again: dismiss() empties the seat, then waits until nobody is inside.
    seat.inside.fetch_add(1);
    if (Witness* const w = seat.who.load()) w->after(c);
    seat.inside.fetch_sub(1, std::memory_order_release);
  }
}

void attend(Witness& w) {
  for (Seat& seat : seats) {
    Witness* empty = nullptr;
    if (!seat.who.compare_exchange_strong(empty, &w)) continue;
    attending.fetch_add(1);
    return;
  }
  refuse<ArgumentError>("WP-ARG-001", say("more than ", kSeats, " traces at a time."));
}

void dismiss(Witness& w) noexcept {
  for (Seat& seat : seats) {
    Witness* sitting = &w;
    if (!seat.who.compare_exchange_strong(sitting, nullptr)) continue;
    attending.fetch_sub(1);
    while (seat.inside.load() != 0) std::this_thread::yield();
  }
}

}  // namespace wp
