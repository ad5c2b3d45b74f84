// One file that is being written: its mapping, its rows and its names. Never destroyed: a thread may still write into
// it.
#pragma once
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "simd/crc.hpp"
#include "trace/format.hpp"
#include "wellposed/record.hpp"

namespace wp::trace {

// Words of the mapping are read and written as wholes: a record that two threads meet in is torn, never undefined.
inline std::atomic_ref<std::uint64_t> word(std::uint64_t& w) noexcept {
  return std::atomic_ref<std::uint64_t>(w);
}
inline void put_words(void* to, const void* from, std::size_t bytes) noexcept {
  auto* const target = static_cast<std::uint64_t*>(to);
  const auto* const source = static_cast<const std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / 8; ++i) word(target[i]).store(source[i], std::memory_order_relaxed);
}
inline void set(std::uint64_t& to, std::uint64_t value) noexcept {
  word(to).store(value, std::memory_order_relaxed);
}
inline std::uint64_t get(std::uint64_t& from) noexcept {
  return word(from).load(std::memory_order_relaxed);
}
// The CRC of a row whose field `crc` is 0 goes into it.
template <class Row>
void seal(Row& row, std::size_t bytes = sizeof(Row)) noexcept {
  simd::Crc c;
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    std::uint64_t w = 0;
    std::memcpy(&w, reinterpret_cast<const char*>(&row) + 8 * i, sizeof w);
    c.add(w);
  }
  row.crc = c.value();
}

class Recording {
 public:
  // Makes and reserves the file. Throws FileError. parent: the process that recorded before the fork.
  Recording(const std::string& path, const RecordOptions& options, std::uint64_t parent);

  Header* header;
  Live* live;
  ThreadRow* threads;
  ScopeRow* scopes;
  StepRow* steps;
  Crash* crash;
  CallRecord* ring;
  std::uint64_t mask;  // rows of the ring − 1
  std::uint64_t pid;
  double ticks_per_second;
  std::string path;
  RecordOptions options;

  // The index of a text in the string area; kNoName when that is full. Slow: callers remember it.
  std::uint16_t intern(std::string_view text) noexcept;
  // The number of the next record. One thread alone counts without locking the word.
  std::uint64_t next_sequence() noexcept {
    if (alone_.load(std::memory_order_relaxed)) {
      counting_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      const bool still = alone_.load(std::memory_order_relaxed);
      const std::uint64_t next = get(live->head) + 1;
      if (still) set(live->head, next);
      counting_.store(false, std::memory_order_release);
      if (still) return next;
    }
    return word(live->head).fetch_add(1, std::memory_order_relaxed) + 1;
  }
  // A row of the table of threads, its number in `number`; null when all are taken by living threads.
  ThreadRow* enter_thread(std::uint16_t& number) noexcept;
  // Says how it ended and lets go of the file. What is written later goes nowhere.
  void finish(End how) noexcept;
  // A fault at this address. If it is in the mapping (somebody cut the file, its disk failed) memory takes the file's
  // place; false: it is elsewhere. Safe in signal handlers.
  bool lose_file(const void* fault) noexcept;

 private:
  void reserve();
  void unfile() noexcept;
  std::uint16_t append(std::string_view text) noexcept;
  void share() noexcept;

  std::atomic<bool> alone_;            // one thread has entered
  std::atomic<bool> counting_{false};  // it takes a number
  char* base_ = nullptr;
  char* strings_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::mutex names_mutex_, threads_mutex_;
  std::unordered_map<std::string, std::uint16_t> names_;
  std::uint64_t string_bytes_ = 0;
  std::uint32_t thread_count_ = 0;
};

// Field 22 of /proc/PID/stat: when the process began, in clock ticks since boot; 0 if there is none.
std::uint64_t born(std::uint64_t pid) noexcept;
// Of /proc/vmstat: how often the kernel ended a process for want of memory; ~0 if it does not say.
std::uint64_t oom_kills() noexcept;
std::string boot_id();
// Who wrote a recording: a process of this machine that lives, one that lives as another program (exec), one that
// died without closing it, or nobody that matters (it was closed, or is no recording).
enum class Writer : std::uint8_t { none, alive, replaced, died };
Writer writer_of(const std::string& path) noexcept;

}  // namespace wp::trace
