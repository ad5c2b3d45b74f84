// The witness: two parts of a record for every call.
#include <algorithm>
#include <limits>
#include <new>

#include "base/scope.hpp"
#include "simd/ticks.hpp"
#include "tensor/label.hpp"
#include "trace/facts.hpp"
#include "trace/layout.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {

constinit std::atomic<Recording*> current{nullptr};
[[gnu::tls_model("initial-exec")]] constinit thread_local Rows rows;

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Local* mine = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool gone = false;  // ops may run while the thread ends

// Reading the counter costs as much as all the rest: of calls that take microseconds at most, every eighth does it.
constexpr std::uint64_t kPerReading = 8;
inline std::int64_t quick_elements(const Op& op) noexcept {
  return op.loops || op.notes == Notes::moves ? 16384 : 256;  // one pass over the elements, or anything
}

// Ends this thread's row.
struct Leave {
  ~Leave() {
    gone = true;
    Local* const l = std::exchange(mine, nullptr);
    if (!l) return;
    if (l->row && l->recording == current.load(std::memory_order_acquire)) set(l->row->state, 2);
    drop_stack(l->stack);
    delete l;
  }
};

std::uint16_t remember(KnownName& at, const void* key, const void* other, std::uint16_t id) noexcept {
  at = {key, other, id};
  return id;
}

[[gnu::noinline]] std::uint16_t intern_op(Recording& r, const Op& op) noexcept try {
  return r.intern(op.ns.empty() ? std::string(op.name) : std::string(op.ns).append(".").append(op.name));
} catch (const std::bad_alloc&) {
  return kNoName;
}

// What the steps before saw, and that another begins.
[[gnu::noinline]] void write_step(Local& l, std::int64_t step, std::uint64_t now) noexcept {
  Recording& r = *l.recording;
  StepRow row{};
  row.sequence = word(r.live->step_head).fetch_add(1, std::memory_order_relaxed) + 1;
  row.thread = l.number;
  row.step = step;
  row.ticks = now;
  row.live = get(r.live->live);
  row.calls = l.calls;
  row.largest = std::exchange(l.largest, 0.0F);
  row.nonfinite = std::exchange(l.nonfinite, 0U);
  row.first_row = rows.first;
  seal(row);
  put_words(&r.steps[(row.sequence - 1) % kStepRows], &row, sizeof row);
  l.step = step;
  look_at_memory(r, now);
}

// Puts words into the file and into a CRC; the second word, which holds the CRC, comes last.
template <class Crc>
class Put {
 public:
  Put(std::uint64_t* to, std::uint64_t first, std::uint64_t second) noexcept
      : start_(to), to_(start_ + 2), second_(second) {
    word(*start_).store(first, std::memory_order_relaxed);
    crc_.add(first);
    crc_.add(second);
  }
  void operator()(std::uint64_t w) noexcept {
    word(*to_++).store(w, std::memory_order_relaxed);
    crc_.add(w);
  }
  // The last of `Most` has a place apart.
  template <std::size_t Most>
  void operator()(const FactWords (&facts)[Most], std::size_t count, std::uint64_t* last) noexcept {
    for (std::size_t i = 0; i < std::min(count, Most); ++i) {
      if (i == Most - 1) to_ = last;
      for (const std::uint64_t w : facts[i].word) (*this)(w);
    }
  }
  ~Put() { word(start_[1]).store(second_ | crc_.value(), std::memory_order_relaxed); }
  Put(const Put&) = delete;
  Put& operator=(const Put&) = delete;

 private:
  std::uint64_t *start_, *to_, second_;
  Crc crc_;
};
// f(Put): asks once whether the processor computes CRCs.
template <class F>
inline void put_sealed(std::uint64_t* to, std::uint64_t first, std::uint64_t second, const F& f) noexcept {
  if (simd::has_crc_instruction) [[likely]] {
    Put<simd::CrcBy<true>> put(to, first, second);
    f(put);
  } else {
    Put<simd::CrcBy<false>> put(to, first, second);
    f(put);
  }
}

[[gnu::noinline]] void see_rows(const Tensor& t) noexcept {
  const std::shared_ptr<const Label> label = label_of(t);
  if (label && !label->rows.empty())
    rows = {label->rows[0], static_cast<std::int64_t>(label->rows.size()), !label->in_order};
}

inline std::uint64_t packed(const Names& n) noexcept {
  return std::uint64_t{n.op} | std::uint64_t{n.scope} << 16 | std::uint64_t{n.file} << 32;
}

// The place of the next record, which nobody has touched for long, comes into the cache while this call computes.
inline void fetch_next(const Recording& r, std::uint64_t sequence) noexcept {
  const char* const next = reinterpret_cast<const char*>(&r.ring[sequence & r.mask]);
  for (std::size_t at = 0; at < sizeof(CallRecord) - 64; at += 64) __builtin_prefetch(next + at, 1);
}

// The first half of a record (CallPart).
inline void put_call(Local& l, std::uint64_t sequence, const Call& c, std::int64_t step, std::uint64_t names,
                     const FactWords (&facts)[kInputs], std::size_t inputs) noexcept {
  CallRecord& record = l.recording->ring[(sequence - 1) & l.recording->mask];
  put_sealed(record.call, sequence,
             std::uint64_t{l.number} << 32 | std::uint64_t{l.depth} << 48 | std::uint64_t{inputs} << 56,
             [&](auto& put) {
               put(l.now);
               put(static_cast<std::uint64_t>(step));
               put(names);
               put(c.place().line | std::uint64_t{rows.scattered} << 32);
               put(static_cast<std::uint64_t>(rows.first));
               put(static_cast<std::uint64_t>(rows.count));
               put(facts, inputs, record.last_in);
             });
}

// Memory of others may be gone: what is known without looking into it is written down before it is looked into.
[[gnu::noinline]] void put_unseen(Local& l, std::uint64_t sequence, const Call& c, std::int64_t step,
                                  std::uint64_t names, std::size_t inputs) noexcept {
  FactWords facts[kInputs];
  for (std::size_t i = 0; i < std::min(inputs, kInputs); ++i)
    if (c.in[i].defined() && c.in[i].node()->borrowed)
      describe_unseen(c.in[i], facts[i]);
    else
      l.facts.recall(c.in[i], facts[i]);
  put_call(l, sequence, c, step, names, facts, inputs);
}

// The op may never read its operands, only make views of them: then nobody may.
inline bool only_shows(const Call& c) noexcept {
  return c.op.notes == Notes::moves;
}

inline void push_row(Local& l, std::uint64_t sequence, std::uint64_t names, std::uint64_t line) noexcept {
  ThreadRow* const row = l.row;
  if (!row) return;
  if (l.depth < kDepth) {
    auto* const to = reinterpret_cast<std::uint64_t*>(&row->running[l.depth]);
    set(to[0], sequence);
    set(to[1], names);
    set(to[2], line);
  }
  set(row->last, sequence);
  set(row->calls, l.calls);
  set(row->depth, l.depth + 1);
}

// The frame of a call that before() saw on this thread, taken off; null: none.
inline const Local::Frame* pop(Local* l, const Call& c) noexcept {
  if (!l || l->depth == 0 || l->recording != current.load(std::memory_order_acquire)) return nullptr;
  if (l->depth > Local::kFramesKept) {
    --l->depth;
    return nullptr;
  }
  const Local::Frame& top = l->frames[l->depth - 1];
  if (top.call != &c) return nullptr;
  --l->depth;
  if (l->row) set(l->row->depth, l->depth);
  return &top;
}

class RecordingWitness final : public Witness {
  void before(const Call& c) noexcept override {
    Local* l = mine;
    if (!l || l->recording != current.load(std::memory_order_acquire)) [[unlikely]]
      if (l = enter(); !l) return;
    if (l->depth >= Local::kFramesKept) [[unlikely]] {
      ++l->depth;
      return;
    }
    const Context& here = context();
    const std::size_t inputs = std::min<std::size_t>(c.in.size(), 255);
    const std::int64_t quick = quick_elements(c.op);
    bool large = false, borrowed = false;
    for (std::size_t i = 0; i < std::min(inputs, kInputs); ++i) {
      if (!c.in[i].defined()) continue;
      const detail::Node& n = *c.in[i].node();
      large |= n.size > quick;
      borrowed |= n.borrowed;
      if (n.labelled) [[unlikely]]
        see_rows(c.in[i]);
    }
    if (large || l->long_ago || l->calls % kPerReading == 0) l->now = simd::ticks();
    l->long_ago = large;
    if (here.step != l->step) [[unlikely]]
      write_step(*l, here.step, l->now = simd::ticks());
    const std::uint64_t names = packed(l->names_of(c.op, here.scope, c.place())),
                        sequence = l->recording->next_sequence();
    ++l->calls;
    push_row(*l, sequence, names, c.place().line);
    if (borrowed) [[unlikely]]
      put_unseen(*l, sequence, c, here.step, names, inputs);
    if (!borrowed || !only_shows(c)) [[likely]] {
      FactWords facts[kInputs];
      for (std::size_t i = 0; i < std::min(inputs, kInputs); ++i) l->facts.recall(c.in[i], facts[i]);
      put_call(*l, sequence, c, here.step, names, facts, inputs);
    }
    fetch_next(*l->recording, sequence);
    l->frames[l->depth++] = {&c, sequence};
  }

  void after(const Call& c) noexcept override { finish(c, State::done); }
  void left(const Call& c) noexcept override { finish(c, State::left); }

  static void finish(const Call& c, State state) noexcept {
    const Local::Frame* const frame = pop(mine, c);
    if (!frame || state == State::left) [[unlikely]]
      for (const Tensor& t : c.out) KnownFacts::forget(t);
    if (!frame) return;
    Local& l = *mine;
    Recording& r = *l.recording;
    FactWords facts[kOutputs];
    const std::size_t outputs = state == State::left ? 0 : std::min<std::size_t>(c.out.size(), 255);
    std::uint64_t flags = (c.status.bits & simd::Status::nonfinite) ? Fact::made : 0;
    for (std::size_t i = 0; i < std::min(outputs, kOutputs); ++i) {
      l.facts.see(c.out[i], facts[i], only_shows(c));
      if (c.out[i].node()->labelled) [[unlikely]]
        see_rows(c.out[i]);
      flags |= facts[i].flags();
      l.long_ago |= c.out[i].size() > quick_elements(c.op);
      const float size = facts[i].largest();
      if (size > l.largest && size <= std::numeric_limits<float>::max()) l.largest = size;
    }
    if (flags & (Fact::made | Fact::nan | Fact::inf)) ++l.nonfinite;
    std::uint64_t sequence = frame->sequence;
    // The record's place may have been taken by others meanwhile: then the call is told once more.
    if (get(r.ring[(sequence - 1) & r.mask].call[0]) != sequence) [[unlikely]] {
      sequence = r.next_sequence();
      l.now = simd::ticks();
      put_call(l, sequence, c, l.step, packed(l.names_of(c.op, context().scope, c.place())), {}, 0);
    }
    CallRecord& record = r.ring[(sequence - 1) & r.mask];
    put_sealed(record.result, sequence,
               static_cast<std::uint64_t>(state) << 32 | std::uint64_t{outputs} << 40 | flags << 48, [&](auto& put) {
                 put(0);
                 put(get(r.live->live));
                 put(facts, outputs, record.last_out);
               });
  }
};

}  // namespace

Witness& recording_witness() noexcept {
  static RecordingWitness* const w = new RecordingWitness;  // outlives every thread
  return *w;
}

Names Local::names_of(const Op& op, const ScopeName* scope, const Place& place) noexcept {
  Names n{};
  KnownName& o = ops.at(&op);
  n.op =
      o.key == &op && o.other == op.name.data() ? o.id : remember(o, &op, op.name.data(), intern_op(*recording, op));
  if (scope) {
    KnownName& s = scopes.at(scope);
    n.scope = s.key == scope ? s.id : remember(s, scope, nullptr, recording->intern(scope->path));
  }
  if (place.file) {
    KnownName& f = files.at(place.file);
    n.file = f.key == place.file ? f.id : remember(f, place.file, nullptr, recording->intern(place.file));
  }
  return n;
}

Local* entered() noexcept {
  return mine;
}

Local* enter() noexcept {
  if (gone) return nullptr;
  Recording* r = current.load(std::memory_order_acquire);
  if (!r && !(r = open_due())) return nullptr;
  if (mine && mine->recording == r) return mine;
  static thread_local Leave leave;
  (void)leave;
  if (!mine) {
    mine = new (std::nothrow) Local;
    if (!mine) return nullptr;
    mine->stack = take_stack();
  } else {  // of a recording before: its names mean nothing here
    void* const stack = mine->stack;
    *mine = Local();
    mine->stack = stack;
  }
  mine->recording = r;
  mine->row = r->enter_thread(mine->number);
  mine->facts.begin(mine->number);
  return mine;
}

}  // namespace wp::trace

void wp::set_rows(std::int64_t first, std::int64_t count) noexcept {
  trace::rows = {first, count, false};
}
