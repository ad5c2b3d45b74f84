#include "base/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "base/fork.hpp"
#include "base/groups.hpp"
#include "base/scope.hpp"
#include "base/text.hpp"
#include "base/watcher.hpp"
#include "wellposed/context.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WP_PLAIN_MALLOC 1  // let the sanitizers see every block
#else
#define WP_PLAIN_MALLOC 0
#endif

namespace wp::memory {

constinit thread_local ThreadLists* ThreadLists::mine = nullptr;
constinit std::atomic<Watcher*> watcher{nullptr};

namespace {

constexpr std::size_t kSlab = 64 * 1024, kMapped = 256 * 1024;
constexpr std::size_t kListed = 1 << 20, kPage = 4096, kHuge = 2 << 20;

// ---- small blocks: a thread's surplus goes to a common store ---------------------------------------------------
struct CommonLists {
  std::mutex mutex;
  FreeBlock* head[kClasses] = {};
};
CommonLists& common() {
  static CommonLists* c = new CommonLists;  // outlives every thread
  return *c;
}

struct OwnedLists : ThreadLists {
  ~OwnedLists() {
    for (std::size_t k = 0; k < kClasses; ++k) give(k, count[k]);
    mine = nullptr;
    gone = true;
  }
  // Moves `n` blocks of class k to the common store.
  void give(std::size_t k, std::uint32_t n) {
    if (n == 0) return;
    FreeBlock* const first = head[k];
    FreeBlock* last = first;
    for (std::uint32_t i = 1; i < n; ++i) last = last->next;
    head[k] = last->next;
    count[k] -= n;
    CommonLists& c = common();
    const std::lock_guard lock(c.mutex);
    last->next = c.head[k];
    c.head[k] = first;
  }
  void refill(std::size_t k) {
    CommonLists& c = common();
    {
      const std::lock_guard lock(c.mutex);
      while (c.head[k] && count[k] < 32) {
        FreeBlock* const b = c.head[k];
        c.head[k] = b->next;
        push(k, b);
      }
    }
    if (head[k]) return;
    const std::size_t size = (k + 1) * kStep;
    char* const slab = static_cast<char*>(std::aligned_alloc(kAlignment, kSlab));
    if (!slab) throw std::bad_alloc();
    for (std::size_t at = 0; at + size <= kSlab; at += size) push(k, slab + at);
  }
  static inline constinit thread_local bool gone = false;  // tensors may die after this thread's lists
};

// This thread's lists; null while the thread ends.
OwnedLists* own_lists() {
  if (OwnedLists::gone) return nullptr;
  static thread_local OwnedLists lists;
  ThreadLists::mine = &lists;
  return &lists;
}

// ---- large blocks: classes with 8 steps per power of two, cached for reuse (page faults cost more than the work)
// ---
std::size_t round_up(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, kAlignment);
  return (bytes + step - 1) / step * step;
}

std::size_t class_of(std::size_t rounded) {
  const std::size_t floor = std::bit_floor(rounded);
  return 8 * static_cast<std::size_t>(std::countr_zero(floor)) + (rounded - floor) / (floor / 8);
}

struct Cached {
  void* block;
  std::size_t bytes;
  std::uint64_t since;
};
struct Large {
  std::mutex mutex;
  std::vector<Cached> cache[8 * 64];  // by class, newest last
  std::map<void*, Live> listed;
  std::size_t live = 0, peak = 0, cached = 0, budget = 0, colour = 0;
  std::uint64_t clock = 0;
};
Large& large() {
  static Large* l = new Large;
  return *l;
}

[[gnu::constructor]] void prepare_for_fork() {
  open_in_children(common().mutex);
  open_in_children(large().mutex);
}

std::size_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  const std::size_t pages = read_number("/proc/self/statm", "");
  const std::size_t used = pages == ~std::size_t{0} ? 0 : pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

void unmap(void* block, std::size_t bytes) noexcept {
  if (bytes >= kMapped) {
    auto base = reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{kPage - 1};
    munmap(reinterpret_cast<void*>(base), bytes + kPage);
  } else {
    std::free(block);
  }
}

// Blocks of one size class start at different offsets in their page, so that streams over several of them do not
// compete for the same cache sets.
void* map(std::size_t bytes, std::size_t colour) noexcept {
  if (bytes < kMapped) return std::aligned_alloc(kAlignment, bytes);
  void* base = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (bytes >= kHuge) madvise(base, bytes + kPage, MADV_HUGEPAGE);
  return static_cast<char*>(base) + colour;
}

// Gives back the oldest cached blocks until at most `keep` bytes are left.
void shrink_cache(Large& l, std::size_t keep) noexcept {
  while (l.cached > keep) {
    std::vector<Cached>* oldest = nullptr;
    for (std::vector<Cached>& c : l.cache)
      if (!c.empty() && (!oldest || c.front().since < oldest->front().since)) oldest = &c;
    const Cached gone = oldest->front();
    oldest->erase(oldest->begin());
    l.cached -= gone.bytes;
    unmap(gone.block, gone.bytes);
  }
}

// " By scope: 24.0 MiB in model/layer7; 8.0 MiB in no scope."
std::string scopes_text(const std::map<std::string, std::size_t>& by_scope) {
  std::vector<std::pair<std::size_t, std::string>> all;
  for (const auto& [scope, bytes] : by_scope) all.emplace_back(bytes, scope);
  std::sort(all.rbegin(), all.rend());
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 5); ++i)
    out += say(i ? "; " : " By scope: ", bytes_text(static_cast<double>(all[i].first)), " in ",
               all[i].second.empty() ? "no scope" : all[i].second);
  return all.empty() ? out : out + '.';
}

[[noreturn]] void refuse_memory(std::string_view why, std::size_t left) {
  std::string message = say(why, "; ", bytes_text(static_cast<double>(left)), " (", left, " bytes) are available.");
  std::vector<Live> live = largest(~std::size_t{0});
  std::map<std::string, std::size_t> by_scope;
  for (const Live& b : live) by_scope[b.scope] += b.bytes;
  live.resize(std::min<std::size_t>(live.size(), 3));
  if (!live.empty()) message += " Largest live blocks:";
  for (const Live& b : live) {
    message += say(" ", bytes_text(static_cast<double>(b.bytes)), " by ", b.op.empty() ? "?" : b.op);
    if (b.place.known()) message += " at " + b.place.text();
    if (!b.scope.empty()) message += " in " + b.scope;
    message += ';';
  }
  if (!live.empty()) message.back() = '.';
  message += scopes_text(by_scope);
  refuse<OutOfMemory>("WP-MEM-001", std::move(message),
                      "Nothing was allocated. Use a smaller shape, a smaller dtype, or free tensors first.");
}
[[noreturn]] void out_of_memory(std::size_t asked, std::size_t left) {
  if (Watcher* const w = watcher.load(std::memory_order_acquire)) w->refused(asked, left);
  refuse_memory(say("asked for ", bytes_text(static_cast<double>(asked)), " (", asked, " bytes)"), left);
}

void list(Large& l, void* block, std::size_t bytes) {
  const Context& c = context();
  l.live += bytes;
  l.peak = std::max(l.peak, l.live);
  if (bytes >= kListed)
    l.listed[block] = {bytes, c.scope ? c.scope->path : "", c.running ? c.running->op : "",
                       c.running ? *c.running->place : Place()};
  if (Watcher* const w = watcher.load(std::memory_order_acquire)) [[unlikely]]
    w->taken(block, bytes, {l.live, l.peak, l.cached});
}

void* allocate_large(std::size_t asked) {
  const std::size_t bytes = round_up(asked);
  Large& l = large();
  std::unique_lock lock(l.mutex);
  if (std::vector<Cached>& hits = l.cache[class_of(bytes)]; !hits.empty()) {
    void* const block = hits.back().block;
    hits.pop_back();
    l.cached -= bytes;
    list(l, block, bytes);
    return block;
  }
  if (bytes > l.budget) {  // look at the machine again
    std::size_t left = available();
    if (bytes > left && l.cached) {
      shrink_cache(l, 0);
      left = available();
    }
    if (Watcher* const w = watcher.load(std::memory_order_acquire)) w->looked(left);
    if (bytes > left) {
      lock.unlock();
      out_of_memory(asked, left);
    }
    l.budget = bytes + (left - bytes) / 16;
  }
  l.colour = (l.colour + 5 * kAlignment) % kPage;
  void* block = map(bytes, l.colour);
  if (!block) {
    shrink_cache(l, 0);
    block = map(bytes, l.colour);
  }
  if (!block) {
    lock.unlock();
    out_of_memory(asked, available());
  }
  l.budget -= bytes;
  list(l, block, bytes);
  return block;
}

void release_large(void* block, std::size_t asked) noexcept {
  const std::size_t bytes = round_up(asked);
  Large& l = large();
  const std::lock_guard lock(l.mutex);
  l.live -= bytes;
  if (bytes >= kListed) l.listed.erase(block);
  if (Watcher* const w = watcher.load(std::memory_order_acquire)) [[unlikely]]
    w->released(block, bytes, {l.live, l.peak, l.cached});
  const std::size_t keep = std::max<std::size_t>(std::size_t{256} << 20, l.peak / 2);
  if (bytes > keep) return unmap(block, bytes);
  shrink_cache(l, keep - bytes);
  try {
    l.cache[class_of(bytes)].push_back({block, bytes, ++l.clock});
    l.cached += bytes;
  } catch (const std::bad_alloc&) {
    unmap(block, bytes);
  }
}

}  // namespace

void refuse_scratch() {
  refuse_memory("the memory that it works in could not be had", available());
}

std::size_t available() noexcept {
  const std::size_t kib = read_number("/proc/meminfo", "MemAvailable:");
  const std::size_t machine = kib == ~std::size_t{0} ? kib : kib * 1024;
  return std::min({machine, group_memory().left, address_space_left()});
}

void* allocate_slow(std::size_t bytes) {
  if (bytes > kSmall) return allocate_large(bytes);
  const std::size_t k = bytes == 0 ? 0 : (bytes - 1) / kStep;
  const auto plain = [k] { return std::aligned_alloc(kAlignment, (k + 1) * kStep); };
  if constexpr (WP_PLAIN_MALLOC) return plain();
  OwnedLists* const t = own_lists();
  if (!t) return plain();
  if (!t->head[k]) t->refill(k);
  return t->pop(k);
}

void release_slow(void* block, std::size_t bytes) noexcept {
  if (bytes > kSmall) return release_large(block, bytes);
  if constexpr (WP_PLAIN_MALLOC) return std::free(block);
  const std::size_t k = bytes == 0 ? 0 : (bytes - 1) / kStep;
  OwnedLists* const t = own_lists();
  if (!t) return;  // the thread is ending: at most a few blocks stay with the process
  if (t->count[k] >= kKept) t->give(k, kKept / 2);
  t->push(k, block);
}

Stats stats() noexcept {
  Large& l = large();
  const std::lock_guard lock(l.mutex);
  return {l.live, l.peak, l.cached};
}

void trim() noexcept {
  Large& l = large();
  const std::lock_guard lock(l.mutex);
  shrink_cache(l, 0);
}

std::vector<Live> largest(std::size_t count) {
  Large& l = large();
  const std::lock_guard lock(l.mutex);
  std::vector<Live> all;
  for (const auto& [block, live] : l.listed) all.push_back(live);
  std::sort(all.begin(), all.end(), [](const Live& a, const Live& b) { return a.bytes > b.bytes; });
  if (all.size() > count) all.resize(count);
  return all;
}

}  // namespace wp::memory
