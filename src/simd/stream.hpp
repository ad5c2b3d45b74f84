// Writing past the caches.
#pragma once
#include <cstddef>

namespace wp::simd {

// Copies to memory that will not be read soon: the written lines are not fetched first, which saves a third of the
// traffic of a store to fresh memory. Falls back to an ordinary copy for parts that are not aligned.
void stream_copy(void* dst, const void* src, std::size_t bytes) noexcept;
// Makes streamed data visible to other threads; call once after the last stream_copy of a piece.
void stream_fence() noexcept;
// Working sets of at least this many bytes do not stay in the last cache: results are streamed.
std::size_t stream_threshold() noexcept;

}  // namespace wp::simd
