// Memory by scope: who took the blocks that are in use.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/scope.hpp"
#include "simd/ticks.hpp"
#include "trace/addresses.hpp"
#include "trace/layout.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {
namespace {

constexpr std::size_t kToldOf = 1 << 20;

class BlockWatcher final : public memory::Watcher {
  void taken(const void* block, std::size_t bytes, const memory::Stats& now) noexcept override {
    Recording* const r = fresh();
    if (!r) return;
    set_stats(*r, now);
    const Context& here = context();
    const std::uint32_t row = row_of(*r, here.scope);
    try {
      blocks_.at(block).row = row;
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
    const Block* const known = blocks_.find(block);
    if (!known) return;
    change(*r, known->row, -static_cast<std::int64_t>(bytes));
    blocks_.erase(known);
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
      add_row(r, scope, scope ? r.intern(scope->path) : kNoName);
    } else if (rows_.size() == last) {
      add_row(r, nullptr, r.intern("(other scopes)"));
    }
    return last_row_ = static_cast<std::uint32_t>(rows_.size() - 1);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  void add_row(Recording& r, const ScopeName* scope, std::uint16_t name) {
    ScopeRow row{};
    row.scope = name;
    seal(row);
    put_words(&r.scopes[rows_.size()], &row, sizeof row);
    rows_.push_back({scope, 0, 0, 0});
  }
  void change(Recording& r, std::uint32_t at, std::int64_t bytes) noexcept {
    if (at >= rows_.size()) return;
    Known& known = rows_[at];
    ScopeRow& row = r.scopes[at];
    set(row.live, known.live += static_cast<std::uint64_t>(bytes));
    set(row.blocks, known.blocks += bytes > 0 ? 1U : ~std::uint64_t{0});
    if (known.live > known.peak) set(row.peak, known.peak = known.live);
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
    std::uint64_t live, peak, blocks;
  };
  struct Block {
    const void* key = nullptr;
    std::uint32_t row = 0;
  };
  Recording* seen_ = nullptr;
  Addresses<Block> blocks_;
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
