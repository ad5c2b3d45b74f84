// The end by a signal. Handlers store into the mapped file, read /proc/self/maps, and hand over to who was there
// before. Nothing in them takes memory or a lock: unwinding finds its tables by _dl_find_object (glibc 2.35), and a
// fault inside it is caught.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "simd/ticks.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
constexpr std::size_t kCount = std::size(kSignals), kStackBytes = 128 * 1024;

struct sigaction before[kCount];
bool installed = false;
std::terminate_handler terminate_before = nullptr;

std::atomic<pid_t> writer{0};      // the thread that tells its end, or told it and hands over
std::atomic<bool> telling{false};  // it is not done yet
std::atomic<bool> guarded{false};  // it does something that may fault
sigjmp_buf way_out;

pid_t thread_id() noexcept {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

struct Walk {
  Crash* crash;
  std::uint64_t from;  // the program counter that faulted: frames inside of it are the handler's
  bool found;
};
_Unwind_Reason_Code add_frame(_Unwind_Context* at, void* into) {
  auto& walk = *static_cast<Walk*>(into);
  const auto pc = static_cast<std::uint64_t>(_Unwind_GetIP(at));
  if (!walk.found) {
    walk.found = pc == walk.from;
    return _URC_NO_REASON;
  }
  const std::uint64_t n = get(walk.crash->frames);
  if (n == kFrames || pc == 0) return _URC_END_OF_STACK;
  set(walk.crash->frame[n], pc);
  set(walk.crash->frames, n + 1);
  return _URC_NO_REASON;
}

void write_stack(Crash& c, std::uint64_t pc, std::uint64_t sp) noexcept {
  set(c.pc, pc);
  set(c.sp, sp);
  set(c.frame[0], pc);
  set(c.frames, 1);
  if (sigsetjmp(way_out, 1) == 0) {
    guarded = true;
    Walk walk{&c, pc, false};
    _Unwind_Backtrace(add_frame, &walk);
    // A call of an address where there is no code: its caller's address lies on top of the stack.
    if (get(c.frames) == 1 && sp % 8 == 0) {
      set(c.frame[1], *reinterpret_cast<const volatile std::uint64_t*>(sp));
      set(c.frames, 2);
    }
  }
  guarded = false;
}

// The executable lines: "START-END r-xp OFFSET … PATH".
void write_maps(Crash& c) noexcept {
  static char chunk[4096], line[1024];  // one writer at a time
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::size_t length = 0, used = 0;
  for (ssize_t n = 0; (n = read(fd, chunk, sizeof chunk)) > 0;)
    for (ssize_t i = 0; i < n; ++i) {
      if (length < sizeof line) line[length++] = chunk[i];
      if (chunk[i] != '\n') continue;
      std::size_t space = 0;
      while (space < length && line[space] != ' ') ++space;
      if (space + 3 < length && line[space + 3] == 'x' && used + length <= kMaps) {
        for (std::size_t k = 0; k < length; ++k) c.maps[used + k] = line[k];
        used += length;
      }
      length = 0;
    }
  close(fd);
  set(c.map_bytes, used);
}

void write_crash(Recording& r, int signal, const siginfo_t& info, const void* context) noexcept {
  Crash& c = *r.crash;
  const Local* const l = entered();
  set(c.state, 1);
  set(c.signal, static_cast<std::uint64_t>(signal));
  set(c.code, static_cast<std::uint64_t>(static_cast<std::int64_t>(info.si_code)));
  // A signal that was sent has a sender where a fault has an address.
  const bool fault = info.si_code > 0 && signal != SIGABRT;
  set(c.address, fault ? reinterpret_cast<std::uint64_t>(info.si_addr) : static_cast<std::uint64_t>(info.si_pid));
  set(c.tid, static_cast<std::uint64_t>(thread_id()));
  set(c.thread, l && l->recording == &r ? l->number : 0);
  set(c.ticks, simd::ticks());
  set(c.map_bytes, 0);
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  write_stack(c, static_cast<std::uint64_t>(registers[REG_RIP]), static_cast<std::uint64_t>(registers[REG_RSP]));
#elif defined(__aarch64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
  write_stack(c, registers.pc, registers.sp);
#endif
  set(c.state, 2);
  write_maps(c);
  set(c.state, 3);
}

void hand_over(int signal, siginfo_t* info, void* context) noexcept {
  std::size_t i = 0;
  while (kSignals[i] != signal) ++i;
  const struct sigaction& old = before[i];
  const bool fault = info->si_code > 0;
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
  if (old.sa_handler == SIG_IGN && !fault) return;
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  // A fault happens again when the handler returns; what was sent is sent again.
  if (!fault) syscall(SYS_tgkill, getpid(), thread_id(), signal);
}

// Whether this thread is to tell its end. A thread that finds another telling lets it finish before the process goes.
// Who went on after it told (its handler jumped out of the signal) is telling no more.
bool take_turn(pid_t me) noexcept {
  pid_t other = 0;
  if (writer.compare_exchange_strong(other, me)) return true;
  if (other == me) return !telling.load();
  for (int i = 0; i < 1000 && writer.load() == other; ++i) {
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
  return !telling.load() && writer.compare_exchange_strong(other, me);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const pid_t me = thread_id();
  if (Recording* const r = current.load(std::memory_order_acquire);
      signal == SIGBUS && info->si_code > 0 && r && r->lose_file(info->si_addr)) {
    errno = saved;
    return;
  }
  if (guarded.load() && writer.load() == me) siglongjmp(way_out, 1);
  Recording* const r = current.load(std::memory_order_acquire);
  if (r && take_turn(me)) {
    telling = true;
    write_crash(*r, signal, *info, context);
    telling = false;
    hand_over(signal, info, context);
    writer = 0;
  } else {
    hand_over(signal, info, context);
  }
  errno = saved;
}

[[noreturn]] void on_terminate() {
  if (const std::exception_ptr e = std::current_exception()) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& error) {
      last_words(error.what());
    } catch (...) {
      last_words("an exception that is no std::exception");
    }
  } else {
    last_words("std::terminate without an exception");
  }
  if (terminate_before) terminate_before();
  std::abort();
}

}  // namespace

void last_words(std::string_view words) noexcept {
  Recording* const r = current.load(std::memory_order_acquire);
  if (!r) return;
  const std::size_t n = std::min<std::size_t>(words.size(), kWords);
  for (std::size_t i = 0; i < n; ++i) r->crash->words[i] = words[i];
  set(r->crash->word_bytes, n);
}

void catch_signals() noexcept {
  if (installed) return;
  installed = true;
  Walk nothing{nullptr, 1, false};
  _Unwind_Backtrace(add_frame, &nothing);  // what unwinding sets up once is set up now
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  for (std::size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &ours, &before[i]);
  terminate_before = std::set_terminate(on_terminate);
}

// Only where nobody came after: who did hands over to us, and we to who was there before.
void release_signals() noexcept {
  if (!installed) return;
  for (std::size_t i = 0; i < kCount; ++i) {
    struct sigaction now {};
    if (sigaction(kSignals[i], nullptr, &now) != 0 || now.sa_sigaction != on_signal) return;
  }
  for (std::size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &before[i], nullptr);
  if (std::get_terminate() == on_terminate) std::set_terminate(terminate_before);
  installed = false;
}

void* take_stack() noexcept {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (!(now.ss_flags & SS_DISABLE) && now.ss_size >= kStackBytes / 4))
    return nullptr;
  void* const block = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  stack_t ours{};
  ours.ss_sp = block;
  ours.ss_size = kStackBytes;
  if (sigaltstack(&ours, nullptr) == 0) return block;
  munmap(block, kStackBytes);
  return nullptr;
}

void drop_stack(void* stack) noexcept {
  stack_t now{};
  if (!stack || sigaltstack(nullptr, &now) != 0) return;
  if (now.ss_sp == stack) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, nullptr) != 0) return;
  }
  munmap(stack, kStackBytes);
}

}  // namespace wp::trace
