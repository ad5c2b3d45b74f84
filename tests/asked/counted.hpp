// Every allocation of this program is counted: those of the thread that asks, while it asks.
#pragma once
#include <cstdint>

namespace asked {

void start();
std::int64_t stop();  // the most bytes that were in use since

// While f runs.
template <class F>
std::int64_t most_while(F&& f) {
  start();
  f();
  return stop();
}

// Pools take their memory once, whoever asks first.
void fill_pools();

}  // namespace asked
