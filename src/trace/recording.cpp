#include "trace/recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/fence.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "simd/ticks.hpp"
#include "trace/layout.hpp"
#include "wellposed/version.hpp"

namespace wp::trace {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view what, int error) {
  raise<FileError>(
      "WP-FIL-001", "record", say("'", path, "' cannot be ", what, ": ", std::strerror(error), "."),
      error == ENOSPC ? "Nothing is recorded. Free space, or keep fewer records." : "Nothing is recorded.");
}

// The counter's rate, from one millisecond.
double measure_rate() {
  using Clock = std::chrono::steady_clock;
  const auto t0 = Clock::now();
  const std::uint64_t c0 = simd::ticks();
  auto t1 = t0;
  while (t1 - t0 < std::chrono::milliseconds(1)) t1 = Clock::now();
  return static_cast<double>(simd::ticks() - c0) / std::chrono::duration<double>(t1 - t0).count();
}
double ticks_per_second() {
  static const double rate = measure_rate();
  return rate;
}

void describe_process(Header& h, std::uint64_t parent) {
  h.pid = static_cast<std::uint64_t>(getpid());
  h.born = born(h.pid);
  h.parent = parent;
  h.ticks_per_second = ticks_per_second();
  h.ticks = simd::ticks();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  h.real_ns = static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
  h.memory = memory::available();
  h.oom_kills = oom_kills();
  boot_id().copy(h.boot, sizeof h.boot - 1);
  gethostname(h.host, sizeof h.host - 1);
  version().copy(h.version_text, sizeof h.version_text - 1);
  if (const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); fd >= 0) {
    if (read(fd, h.command, sizeof h.command - 2) < 0) h.command[0] = '\0';
    close(fd);
  }
}

}  // namespace

Recording::Recording(const std::string& its_path, const RecordOptions& its_options, std::uint64_t parent)
    : path(its_path), options(its_options), alone_(can_fence_others()) {
  const auto records =
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(options.records, 64, 1 << 26)));
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kVersion;
  standard_layout(h, records);
  bytes_ = h.file_bytes;
  describe_process(h, parent);
  seal(h);
  reserve();
  std::memcpy(base_, &h, sizeof h);
  header = reinterpret_cast<Header*>(base_);
  live = reinterpret_cast<Live*>(base_ + kLiveOffset);
  threads = reinterpret_cast<ThreadRow*>(base_ + h.threads.offset);
  scopes = reinterpret_cast<ScopeRow*>(base_ + h.scopes.offset);
  steps = reinterpret_cast<StepRow*>(base_ + h.steps.offset);
  strings_ = base_ + h.strings.offset;
  crash = reinterpret_cast<Crash*>(base_ + h.crash.offset);
  ring = reinterpret_cast<CallRecord*>(base_ + h.ring.offset);
  mask = records - 1;
  pid = h.pid;
  ticks_per_second = h.ticks_per_second;
}

// Made beside the target and renamed: nobody ever reads half a header. Reserved before it is mapped: a full disk is
// an error here, not a SIGBUS at some store. The pages are touched now, so that no op pays for a fault.
void Recording::reserve() {
  const std::string temporary = say(path, ".", getpid(), ".new");
  const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail(path, "created", errno);
  const auto give_up = [&](std::string_view what, int error) {
    close(fd);
    unlink(temporary.c_str());
    fail(path, what, error);
  };
  const auto length = static_cast<off_t>(bytes_);
  if (const int error = posix_fallocate(fd, 0, length); error != 0)
    give_up(say("reserved (", bytes_text(static_cast<double>(bytes_)), ")"), error);
  void* const base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) give_up("mapped", errno);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    munmap(base, bytes_);
    give_up("put in place", error);
  }
  close(fd);
  madvise(base, bytes_, MADV_DONTFORK);  // a child has no way to write here
  base_ = static_cast<char*>(base);
  reinterpret_cast<Live*>(base_ + kLiveOffset)->mapped = reinterpret_cast<std::uintptr_t>(base_);
  if (madvise(base, bytes_, MADV_POPULATE_WRITE) != 0)  // since Linux 5.14
    for (std::uint64_t at = 0; at < bytes_; at += kPageBytes) static_cast<volatile char*>(base_)[at] = 0;
}

std::uint16_t Recording::intern(std::string_view text) noexcept try {
  if (text.empty()) return kNoName;
  text = text.substr(0, kLongestString);
  const std::lock_guard lock(names_mutex_);
  const auto [at, fresh] = names_.try_emplace(std::string(text), kNoName);
  if (fresh) at->second = append(text);
  return at->second;
} catch (const std::bad_alloc&) {
  return kNoName;
}

std::uint16_t Recording::append(std::string_view text) noexcept {
  const std::uint64_t need = (sizeof(StringEntry) + text.size() + 7) / 8 * 8;
  const std::size_t id = names_.size();
  if (string_bytes_ + need > kStringBytes || id > 0xFFFF) {
    set(live->strings_lost, get(live->strings_lost) + 1);
    return kNoName;
  }
  alignas(8) char entry[sizeof(StringEntry) + kLongestString + 8] = {};
  StringEntry head{0, static_cast<std::uint16_t>(text.size()), static_cast<std::uint16_t>(id)};
  std::memcpy(entry, &head, sizeof head);
  std::memcpy(entry + sizeof head, text.data(), text.size());
  head.crc = simd::crc32c(entry + sizeof head.crc, sizeof head - sizeof head.crc + text.size());
  std::memcpy(entry, &head.crc, sizeof head.crc);
  put_words(strings_ + string_bytes_, entry, need);
  string_bytes_ += need;
  set(live->string_bytes, string_bytes_);
  return head.id;
}

// From now on numbers are taken by locking the word: after the thread that was alone has taken the one it is at.
void Recording::share() noexcept {
  if (!alone_.exchange(false)) return;
  fence_others();
  while (counting_.load(std::memory_order_acquire)) std::this_thread::yield();
}

// A free row, or that of the thread that ended first.
ThreadRow* Recording::enter_thread(std::uint16_t& number) noexcept {
  const std::lock_guard lock(threads_mutex_);
  if (thread_count_ == 1) share();
  number = static_cast<std::uint16_t>(std::min<std::uint32_t>(++thread_count_, 0xFFFF));
  set(live->threads, thread_count_);
  ThreadRow* found = nullptr;
  for (ThreadRow* row = threads; row != threads + kThreadRows; ++row) {
    const std::uint64_t state = get(row->state);
    if (state == 0 || (state == 2 && (!found || get(row->last) < get(found->last)))) found = row;
    if (state == 0) break;
  }
  if (!found) return nullptr;
  ThreadRow row{};
  row.number = number;
  row.tid = static_cast<std::uint64_t>(syscall(SYS_gettid));
  row.state = 1;
  pthread_getname_np(pthread_self(), row.name, sizeof row.name);
  put_words(found, &row, sizeof row);
  return found;
}

// Anonymous memory takes the file's place.
void Recording::unfile() noexcept {
  mmap(base_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

// Threads that are still inside a call write into nothing.
void Recording::finish(End how) noexcept {
  set(live->end_ticks, simd::ticks());
  set(live->end, static_cast<std::uint64_t>(how));
  if (how != End::exited) unfile();
}

bool Recording::lose_file(const void* fault) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(fault), base = reinterpret_cast<std::uintptr_t>(base_);
  if (at < base || at - base >= bytes_) return false;
  constexpr std::string_view before = "wellposed: '",
                             after = "' was cut, or its disk failed: nothing more is recorded.\n";
  for (const std::string_view words : {before, std::string_view(path), after})
    if (write(STDERR_FILENO, words.data(), words.size()) < 0) break;
  unfile();
  return true;
}

}  // namespace wp::trace
