#include "counted.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/memory.hpp"

namespace {

thread_local bool counting = false;
thread_local std::int64_t live = 0, peak = 0;

void* taken(void* block, std::size_t bytes) {
  if (counting && block) {
    live += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, live);
  }
  return block;
}
void given(void* block) {
  if (counting && block) live -= static_cast<std::int64_t>(malloc_usable_size(block));
}
void* taken(void* block) {
  return taken(block, block ? malloc_usable_size(block) : 0);
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t n) noexcept {
  return taken(__libc_malloc(n));
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  return taken(__libc_calloc(n, size));
}
void* realloc(void* block, std::size_t n) noexcept {
  given(block);
  return taken(__libc_realloc(block, n));
}
void* memalign(std::size_t alignment, std::size_t n) noexcept {
  return taken(__libc_memalign(alignment, n));
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  return taken(__libc_memalign(alignment, n));
}
void free(void* block) noexcept {
  given(block);
  __libc_free(block);
}
// Pages of memory; pages of a file are the file's.
void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  auto* const base = reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, fd, offset));
  if ((flags & MAP_ANONYMOUS) != 0 && base != MAP_FAILED) taken(base, n);
  return base;
}
}

namespace asked {

void start() {
  live = peak = 0;
  counting = true;
}
std::int64_t stop() {
  counting = false;
  return peak;
}

void fill_pools() {
  for (std::size_t bytes = wp::memory::kStep; bytes <= wp::memory::kSmall; bytes += wp::memory::kStep)
    wp::memory::release(wp::memory::allocate(bytes), bytes);
  wp::memory::trim();
}

}  // namespace asked
