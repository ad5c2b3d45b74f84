// Memory by scope: who took the blocks that are in use.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/scope.hpp"
#include "simd/ticks.hpp"
#include "trace/layout.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {
namespace {

constexpr std::size_t kToldOf = 1 << 20;

// Blocks by address: open addressing, linear probing, deletion by shifting back (Knuth, TAOCP 3, 6.4, algorithm R).
class Blocks {
 public:
  struct Block {
    const void* address = nullptr;
    std::uint32_t row = 0;
  };
  void insert(const void* address, std::uint32_t row) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    std::size_t i = home(address);
    while (slots_[i].address && slots_[i].address != address) i = next(i);
    if (!slots_[i].address) ++used_;
    slots_[i] = {address, row};
  }
  // The row of a block, which is taken out; −1: not known.
  std::int64_t take(const void* address) noexcept {
    if (slots_.empty()) return -1;
    std::size_t i = home(address);
    while (slots_[i].address != address) {
      if (!slots_[i].address) return -1;
      i = next(i);
    }
    const std::uint32_t row = slots_[i].row;
    --used_;
    for (std::size_t j = next(i); slots_[j].address; j = next(j)) {
      const std::size_t mask = slots_.size() - 1;
      if (((j - home(slots_[j].address)) & mask) < ((j - i) & mask)) continue;
      slots_[i] = slots_[j];
      i = j;
    }
    slots_[i] = {};
    return row;
  }
  void clear() noexcept {
    slots_.clear();
    used_ = 0;
  }

 private:
  std::size_t home(const void* address) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) >> 6) * 0x9E3779B97F4A7C15U >> 20 & (slots_.size() - 1);
  }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }
  void grow() {
    std::vector<Block> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Block& b : old)
      if (b.address) insert(b.address, b.row);
  }
  std::vector<Block> slots_;  // a power of two
  std::size_t used_ = 0;
};

class BlockWatcher final : public memory::Watcher {
  void taken(const void* block, std::size_t bytes, const memory::Stats& now) noexcept override {
    Recording* const r = fresh();
    if (!r) return;
    set_stats(*r, now);
    const Context& here = context();
    const std::uint32_t row = row_of(*r, here.scope);
    try {
      blocks_.insert(block, row);
    } catch (const std::bad_alloc&) {
      return;
    }
    change(*r, row, static_cast<std::int64_t>(bytes));
    if (bytes < kToldOf) return;
    set(r->live->taken, bytes);
    set_names(*r, here, r->live->taken_names, r->live->taken_line);
    look_at_memory(*r, simd::ticks());
  }
  void released(const void* block, std::size_t bytes, const memory::Stats& now) noexcept override {
    Recording* const r = fresh();
    if (!r) return;
    set_stats(*r, now);
    if (const std::int64_t row = blocks_.take(block); row >= 0)
      change(*r, static_cast<std::uint32_t>(row), -static_cast<std::int64_t>(bytes));
  }
  void looked(std::size_t left) noexcept override {
    Recording* const r = fresh();
    if (!r) return;
    set(r->live->left, left);
    set(r->live->left_ticks, simd::ticks());
  }
  void refused(std::size_t asked, std::size_t left) noexcept override {
    Recording* const r = current.load(std::memory_order_acquire);
    if (!r) return;
    set(r->live->refused_left, left);
    set(r->live->refused_ticks, simd::ticks());
    set_names(*r, context(), r->live->refused_names, r->live->refused_line);
    set(r->live->refused, asked);
  }

  // The current recording; rows and blocks of another are forgotten.
  Recording* fresh() noexcept {
    Recording* const r = current.load(std::memory_order_acquire);
    if (r == seen_) return r;
    seen_ = r;
    blocks_.clear();
    rows_.clear();
    last_scope_ = nullptr;
    last_row_ = ~std::uint32_t{0};
    return r;
  }
  static void set_stats(Recording& r, const memory::Stats& now) noexcept {
    set(r.live->live, now.live);
    set(r.live->peak, now.peak);
    set(r.live->cached, now.cached);
  }
  // The last row stands for all scopes for which there was none.
  std::uint32_t row_of(Recording& r, const ScopeName* scope) noexcept try {
    if (scope == last_scope_ && last_row_ != ~std::uint32_t{0}) return last_row_;
    last_scope_ = scope;
    const std::size_t last = kScopeRows - 1;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].scope == scope) return last_row_ = static_cast<std::uint32_t>(i);
    if (rows_.size() < last) {
      ScopeRow row{};
      row.scope = scope ? r.intern(scope->path) : kNoName;
      rows_.push_back({scope, row});
    } else if (rows_.size() == last) {
      rows_.push_back({nullptr, {}});
      rows_.back().row.scope = r.intern("(other scopes)");
    }
    return last_row_ = static_cast<std::uint32_t>(rows_.size() - 1);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  void change(Recording& r, std::uint32_t at, std::int64_t bytes) noexcept {
    if (at >= rows_.size()) return;
    ScopeRow& row = rows_[at].row;
    row.live += static_cast<std::uint64_t>(bytes);
    row.blocks += bytes > 0 ? 1U : ~std::uint64_t{0};
    row.peak = std::max(row.peak, row.live);
    row.crc = 0;
    seal(row);
    put_words(&r.scopes[at], &row, sizeof row);
  }
  static void set_names(Recording& r, const Context& here, std::uint64_t& names, std::uint64_t& line) noexcept {
    Names n{};
    if (here.running) n.op = r.intern(here.running->op);
    if (here.scope) n.scope = r.intern(here.scope->path);
    if (here.running && here.running->place->file) n.file = r.intern(here.running->place->file);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &n, sizeof bits);
    set(names, bits);
    set(line, here.running ? here.running->place->line : 0);
  }

  struct Known {
    const ScopeName* scope;
    ScopeRow row;
  };
  Recording* seen_ = nullptr;
  Blocks blocks_;
  std::vector<Known> rows_;
  const ScopeName* last_scope_ = nullptr;
  std::uint32_t last_row_ = ~std::uint32_t{0};
};

}  // namespace

void note_traffic(const Traffic& so_far) noexcept {
  Recording* const r = current.load(std::memory_order_acquire);
  if (!r) return;
  set(r->live->messages, so_far.messages);
  set(r->live->sent, so_far.bytes);
  set(r->live->flops, so_far.flops);
}

memory::Watcher& block_watcher() noexcept {
  static BlockWatcher* const w = new BlockWatcher;  // outlives every thread
  return *w;
}

void look_at_memory(Recording& r, std::uint64_t now) noexcept {
  const std::uint64_t last = get(r.live->left_ticks);
  if (last != 0 && static_cast<double>(now - last) < 0.25 * r.ticks_per_second) return;
  set(r.live->left_ticks, now);
  set(r.live->left, memory::available());
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[128] = {};
  if (read(fd, text, sizeof text - 1) > 0) {
    char* at = nullptr;
    (void)std::strtoull(text, &at, 10);
    set(r.live->resident, std::strtoull(at, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  }
  close(fd);
}

}  // namespace wp::trace
