// What writes the recording while the process runs: the witness of all calls, the watcher of all blocks, the signals.
#pragma once
#include "base/watcher.hpp"
#include "ops/witness.hpp"
#include "trace/facts.hpp"
#include "trace/recording.hpp"

namespace wp::trace {

// The recording that is open; null: none, or not yet. Threads compare it with the one they entered.
extern std::atomic<Recording*> current;

// Opens the recording that is due: that of the environment at the first op, that of a child at its first op. Null
// when there is none; then nobody watches from now on.
Recording* open_due() noexcept;

// Makes it the current one, or lets go of the current one.
void begin(Recording* r);
void end(End how) noexcept;

// What a rank of an MPI program has sent and computed so far.
struct Traffic {
  std::uint64_t messages = 0, bytes = 0, flops = 0;
};
void note_traffic(const Traffic& so_far) noexcept;

// Writes every call into the current recording.
Witness& recording_witness() noexcept;

// ---- threads
// -------------------------------------------------------------------------------------------------------
struct KnownName {
  const void *key = nullptr, *other = nullptr;
  std::uint16_t id = kNoName;
};
template <std::size_t N>
struct KnownNames {  // by address; entries that share a place take turns
  KnownName entries[N];
  KnownName& at(const void* key) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(key);
    return entries[(bits >> 4 ^ bits >> 11) % N];
  }
};
// What this thread wrote down of tensors, by address. Tensors are values, so it holds until the tensor is gone; then
// another may stand at its address, which is not marked as seen by this thread until it is described here. Memory of
// others may change, and is looked at each time.
class KnownFacts {
 public:
  // Thread `number`; 0 and numbers beyond a byte: nothing is kept.
  void begin(std::uint32_t number) noexcept { mark_ = number <= 255 ? static_cast<std::uint8_t>(number) : 0; }
  // As an operand: what is known of it, or a look.
  [[gnu::always_inline]] void recall(const Tensor& t, FactWords& to) noexcept {
    if (!t.defined() || !mark_) return describe_any(t, to);
    detail::Node& n = *t.node();
    if (n.borrowed) [[unlikely]]
      return look_at_lent_memory(t, to);
    Entry& e = at(n);
    if (e.node == &n && std::atomic_ref(n.seen).load(std::memory_order_relaxed) == mark_) [[likely]] {
      to = e.facts;
      if (n.note) to.word[0] |= std::uint64_t{Fact::noted} << 8;  // checks may find out later
      return;
    }
    see(t, to);
  }
  // As a result: a look. Where memory of others was only shown, not even that: it may be gone.
  [[gnu::noinline]] void see(const Tensor& t, FactWords& to, bool shown = false) noexcept {
    if (t.defined() && t.node()->borrowed) [[unlikely]]
      return shown ? describe_unseen(t, to) : look_at_lent_memory(t, to);
    describe(t, to);
    if (!t.defined() || !mark_) return;
    detail::Node& n = *t.node();
    at(n) = {&n, to};
    std::atomic_ref(n.seen).store(mark_, std::memory_order_relaxed);
  }
  // A result that nobody looked at may have been written into memory that was known.
  static void forget(const Tensor& t) noexcept {
    if (t.defined()) std::atomic_ref(t.node()->seen).store(0, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    const detail::Node* node = nullptr;
    FactWords facts;
  };
  static constexpr std::size_t kEntries = 128;
  Entry& at(const detail::Node& n) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(&n);
    return entries_[(bits >> 6 ^ bits >> 13) % kEntries];
  }
  Entry entries_[kEntries];
  std::uint8_t mark_ = 0;
};
// This thread's part.
struct Local {
  static constexpr std::uint32_t kFramesKept = 64;
  struct Frame {
    const Call* call;
    std::uint64_t sequence;
  };
  Recording* recording = nullptr;
  ThreadRow* row = nullptr;  // null: none was free
  std::uint16_t number = 0;
  std::uint32_t depth = 0;
  std::int64_t step = -1;
  std::uint64_t calls = 0;
  std::uint64_t now = 0;  // the counter when it was last read
  bool long_ago = true;   // the call before may have taken long
  float largest = 0;      // since the last step row
  std::uint32_t nonfinite = 0;
  Frame frames[kFramesKept];
  KnownNames<256> ops;
  KnownNames<64> scopes, files;
  KnownFacts facts;
  void* stack = nullptr;  // for signal handlers

  Names names_of(const Op& op, const ScopeName* scope, const Place& place) noexcept;
};
// This thread's part for the current recording; null: it does not record.
Local* enter() noexcept;
// The same if it exists already; safe in signal handlers.
Local* entered() noexcept;

// The rows that this thread computes with: those of the last tensor with numbered rows, or those that it was told.
struct Rows {
  std::int64_t first = 0, count = 0;
  bool scattered = false;  // they do not follow each other
};
extern thread_local Rows rows;

// ---- memory: blocks.cpp
// --------------------------------------------------------------------------------------------
memory::Watcher& block_watcher() noexcept;
// Looks at what is left and at the resident size, at most every quarter of a second.
void look_at_memory(Recording& r, std::uint64_t now) noexcept;

// ---- signals: signals.cpp
// ------------------------------------------------------------------------------------------
void catch_signals() noexcept;
void release_signals() noexcept;
// The words of an exception that ends what is recorded.
void last_words(std::string_view words) noexcept;
// A stack for handlers on this thread, unless it has one; the returned block is given back to drop_stack.
void* take_stack() noexcept;
void drop_stack(void* stack) noexcept;

}  // namespace wp::trace
