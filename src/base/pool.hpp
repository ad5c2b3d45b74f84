// The one thread pool. Work is cut by the caller into pieces that depend on the problem, never on the number of
// threads: results are the same bits for any thread count.
#pragma once
#include <cstdint>
#include <type_traits>

namespace wp {

// Calls body(begin, end) for [0, n) in pieces of `grain`. Pieces may run at the same time, each with the caller's
// context. Inside a piece it runs in line. The first exception (by piece) is thrown again after all pieces ended.
using Piece = void (*)(void* state, std::int64_t begin, std::int64_t end);
void run_parallel(std::int64_t n, std::int64_t grain, Piece piece, void* state);

template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= grain) {
    if (n > 0) body(std::int64_t{0}, n);
    return;
  }
  run_parallel(
      n, grain,
      [](void* state, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<Body>*>(state))(begin, end);
      },
      &body);
}

}  // namespace wp
