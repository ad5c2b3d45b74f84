#include "base/pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "wellposed/context.hpp"
#include "wellposed/threads.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wp {
namespace {

constexpr int kMaxThreads = 256;

int default_threads() {
  if (const char* text = std::getenv("WELLPOSED_THREADS"); text && *text) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (*end == '\0' && n >= 1 && n <= kMaxThreads) return static_cast<int>(n);
    std::fprintf(stderr, "wellposed: WELLPOSED_THREADS='%s' is not a number from 1 to %d; ignored.\n", text,
                 kMaxThreads);
  }
  cpu_set_t set;
  const int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(cpus, 1, kMaxThreads);
}

inline void pause_cpu() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// One job at a time; whoever finds the pool busy runs in line.
std::atomic<InterruptHook> interrupt_hook{nullptr};

struct Job {
  Piece piece = nullptr;
  void* state = nullptr;
  std::int64_t n = 0, grain = 1;
  Context context;
  std::atomic<std::int64_t> next{0};
  std::mutex error_mutex;
  std::int64_t error_at = -1;
  std::exception_ptr error;

  // asks: on the thread that wants the work done, which may be told to stop.
  void work(bool asks) {
    const InterruptHook hook = asks ? interrupt_hook.load(std::memory_order_relaxed) : nullptr;
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) return;
      if (hook && begin > 0 && hook()) [[unlikely]] {
        const std::lock_guard lock(error_mutex);
        next.store(n, std::memory_order_relaxed);
        error_at = 0;
        error = std::make_exception_ptr(Interrupted());
        return;
      }
      try {
        piece(state, begin, std::min(begin + grain, n));
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (error_at < 0 || begin < error_at) {
          error_at = begin;
          error = std::current_exception();
        }
      }
    }
  }
};

class Pool {
 public:
  explicit Pool(int count) {
    for (int i = 1; i < count; ++i) workers_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& w : workers_) w.join();
  }
  // Waits for the workers that took part, not for those that a busy machine has not woken yet.
  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      round_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load(std::memory_order_acquire) > 0) wake_.notify_all();
    job.work(true);
    {
      const std::lock_guard lock(mutex_);
      job_ = nullptr;
    }
    for (int spin = 0; working_.load(std::memory_order_acquire) > 0; ++spin)
      spin < 4000 ? pause_cpu() : std::this_thread::yield();
  }

 private:
  void serve();
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> working_{0}, sleeping_{0};
  Job* job_ = nullptr;  // null: nothing to join
  bool stop_ = false;
};

thread_local bool inside = false;  // on a worker, or in the caller's own piece

void Pool::serve() {
  inside = true;
  std::uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < 20000 && round_.load(std::memory_order_acquire) == seen; ++spin) pause_cpu();
    if (round_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return round_.load(std::memory_order_acquire) != seen; });
      sleeping_.fetch_sub(1);
    }
    Job* job = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      seen = round_.load(std::memory_order_acquire);
      job = job_;
      if (!job) continue;  // done without this worker
      working_.fetch_add(1, std::memory_order_relaxed);
    }
    {
      const Attach here(job->context);
      job->work(false);
    }
    working_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

struct Shared {
  std::mutex mutex;  // held while a job runs; taken by fork
  int wanted = default_threads();
  Pool* pool = nullptr;
};
Shared& shared() {
  static Shared* s = [] {
    auto* fresh = new Shared;
    // A child has only the thread that forked: it starts a pool of its own when it first needs one.
    pthread_atfork(
        [] {
          if (!inside) shared().mutex.lock();
        },
        [] {
          if (!inside) shared().mutex.unlock();
        },
        [] {
          shared().pool = nullptr;  // its threads do not exist here; the object is left alone
          if (!inside) shared().mutex.unlock();
        });
    return fresh;
  }();
  return *s;
}

}  // namespace

int threads() noexcept {
  return shared().wanted;
}

void set_threads(int count) {
  if (count < 1 || count > kMaxThreads)
    raise<ArgumentError>("WP-ARG-001", "set_threads", say("needs 1 to ", kMaxThreads, " threads; got ", count, "."));
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  if (count == s.wanted) return;
  delete s.pool;
  s.pool = nullptr;
  s.wanted = count;
}

void set_interrupt_hook(InterruptHook hook) noexcept {
  interrupt_hook.store(hook, std::memory_order_relaxed);
}

void run_parallel(std::int64_t n, std::int64_t grain, Piece piece, void* state) {
  Shared& s = shared();
  std::unique_lock lock(s.mutex, std::defer_lock);
  Job job;
  job.piece = piece;
  job.state = state;
  job.n = n;
  job.grain = grain;
  if (inside || s.wanted == 1 || !lock.try_lock()) {
    job.work(!inside);
  } else {
    if (!s.pool) s.pool = new Pool(s.wanted);
    job.context = context();
    inside = true;
    s.pool->run(job);
    inside = false;
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace wp
