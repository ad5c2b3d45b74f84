// Memory for tensors: pooled small blocks, cached large ones, limits known before anything is mapped.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "wellposed/error.hpp"

namespace wp::memory {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kSmall = 4096;  // blocks up to here come from per-thread lists

// 64-byte aligned, uninitialised. Throws OutOfMemory (asked, available, largest live blocks) before mapping anything
// that the machine cannot give: overcommit never reports failure.
void* allocate(std::size_t bytes);
void release(void* block, std::size_t bytes) noexcept;

struct Stats {
  std::size_t live, peak;  // bytes in blocks above kSmall that are in use now, and at most so far
  std::size_t cached;      // bytes kept for reuse
};
Stats stats() noexcept;
// Gives cached blocks back to the system.
void trim() noexcept;
// What this process may still take: least of available memory, cgroup limit and address-space limit.
std::size_t available() noexcept;

struct Live {
  std::size_t bytes;
  std::string scope, op;
  Place place;
};
// The largest blocks in use (only blocks of 1 MiB and more are listed), largest first.
std::vector<Live> largest(std::size_t count);

}  // namespace wp::memory
