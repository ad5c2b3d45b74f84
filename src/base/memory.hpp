// Memory for tensors: pooled small blocks, cached large ones, limits known before anything is mapped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wellposed/error.hpp"

namespace wp::memory {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kSmall = 4096;  // blocks up to here come from per-thread lists
inline constexpr std::size_t kStep = 128, kClasses = kSmall / kStep;
inline constexpr std::uint32_t kKept = 1024;  // blocks of a class that a thread keeps to itself

struct FreeBlock {
  FreeBlock* next;
};
// Small blocks: a list per class and thread.
struct ThreadLists {
  FreeBlock* head[kClasses] = {};
  std::uint32_t count[kClasses] = {};
  // Only where the class has a block.
  FreeBlock* pop(std::size_t k) noexcept {
    FreeBlock* const b = head[k];
    head[k] = b->next;
    --count[k];
    return b;
  }
  void push(std::size_t k, void* block) noexcept {
    auto* const b = static_cast<FreeBlock*>(block);
    b->next = head[k];
    head[k] = b;
    ++count[k];
  }
  // This thread's; null before its first block and while it ends. Never used where sanitizers see every block.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local ThreadLists* mine;
};
void* allocate_slow(std::size_t bytes);
void release_slow(void* block, std::size_t bytes) noexcept;

// 64-byte aligned, uninitialised. Throws OutOfMemory (asked, available, largest live blocks) before mapping anything
// that the machine cannot give: overcommit never reports failure.
inline void* allocate(std::size_t bytes) {
  const std::size_t k = (bytes - 1) / kStep;
  ThreadLists* const t = ThreadLists::mine;
  if (k >= kClasses || !t || !t->head[k]) [[unlikely]]
    return allocate_slow(bytes);
  return t->pop(k);
}
// Throws OutOfMemory for a call whose working memory the standard allocator refused.
[[noreturn]] void refuse_scratch();
inline void release(void* block, std::size_t bytes) noexcept {
  const std::size_t k = (bytes - 1) / kStep;
  ThreadLists* const t = ThreadLists::mine;
  if (k >= kClasses || !t || t->count[k] == kKept) [[unlikely]]
    return release_slow(block, bytes);
  t->push(k, block);
}

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
