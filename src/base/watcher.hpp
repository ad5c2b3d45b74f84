#pragma once
#include <atomic>

#include "base/memory.hpp"

namespace wp::memory {

// Is told of every block above kSmall, one call at a time: it must not take or release such blocks itself. At most
// one; null: none. It must outlive every thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void taken(const void* block, std::size_t bytes, const Stats& now) noexcept = 0;
  virtual void released(const void* block, std::size_t bytes, const Stats& now) noexcept = 0;
  virtual void looked(std::size_t left) noexcept = 0;                      // at what the process may still take
  virtual void refused(std::size_t asked, std::size_t left) noexcept = 0;  // by any thread at any time
};
extern std::atomic<Watcher*> watcher;

}  // namespace wp::memory
