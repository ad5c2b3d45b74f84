// The witness: two parts of a record for every call.
#include <algorithm>
#include <cmath>
#include <new>

#include "base/scope.hpp"
#include "simd/ticks.hpp"
#include "trace/facts.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {

constinit std::atomic<Recording*> current{nullptr};
[[gnu::tls_model("initial-exec")]] constinit thread_local Rows rows;

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Local* mine = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool gone = false;  // ops may run while the thread ends

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
  put_words(&r.steps[(row.sequence - 1) & r.step_mask], &row, sizeof row);
  l.step = step;
  look_at_memory(r, now);
}

inline void push_row(Local& l, const CallPart& c) noexcept {
  ThreadRow* const row = l.row;
  if (!row) return;
  if (l.depth < kDepth) {
    const Running running{c.sequence, c.names, c.line};
    put_words(&row->running[l.depth], &running, sizeof running);
  }
  set(row->last, c.sequence);
  set(row->calls, l.calls);
  set(row->depth, l.depth + 1);
}

// The record's place may have been taken by others meanwhile: then the call is told once more.
void write_result(Local& l, const Call& c, ResultPart& p) noexcept {
  Recording& r = *l.recording;
  CallRecord* slot = &r.ring[(p.sequence - 1) & r.mask];
  if (get(slot->call.sequence) != p.sequence) [[unlikely]] {
    CallPart again{};
    again.sequence = p.sequence = word(r.live->head).fetch_add(1, std::memory_order_relaxed) + 1;
    again.thread = l.number;
    again.depth = static_cast<std::uint8_t>(std::min<std::uint32_t>(l.depth, 255));
    again.ticks = p.ticks;
    again.step = l.step;
    again.names = l.names_of(c.op, context().scope, c.place());
    again.line = c.place().line;
    seal(again, covered(again));
    slot = &r.ring[(p.sequence - 1) & r.mask];
    put_words(&slot->call, &again, covered(again));
  }
  seal(p, covered(p));
  put_words(&slot->result, &p, covered(p));
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
    Recording& r = *l->recording;
    const Context& here = context();
    CallPart p;
    p.ticks = simd::ticks();
    if (here.step != l->step) [[unlikely]]
      write_step(*l, here.step, p.ticks);
    p.crc = 0;
    p.thread = l->number;
    p.depth = static_cast<std::uint8_t>(l->depth);
    p.inputs = static_cast<std::uint8_t>(std::min<std::size_t>(c.in.size(), 255));
    p.step = here.step;
    p.names = l->names_of(c.op, here.scope, c.place());
    p.line = c.place().line;
    p.zero = 0;
    p.first_row = rows.first;
    p.rows = rows.count;
    const std::size_t told = std::min(c.in.size(), kInputs);
    for (std::size_t i = 0; i < told; ++i) describe(c.in[i], p.in[i]);
    p.sequence = word(r.live->head).fetch_add(1, std::memory_order_relaxed) + 1;
    seal(p, covered(p));
    put_words(&r.ring[(p.sequence - 1) & r.mask].call, &p, covered(p));
    ++l->calls;
    push_row(*l, p);
    l->frames[l->depth++] = {&c, p.sequence};
  }

  void after(const Call& c) noexcept override { finish(c, State::done); }
  void left(const Call& c) noexcept override { finish(c, State::left); }

  static void finish(const Call& c, State state) noexcept {
    const Local::Frame* const frame = pop(mine, c);
    if (!frame) return;
    Local& l = *mine;
    ResultPart p;
    p.sequence = frame->sequence;
    p.crc = 0;
    p.state = static_cast<std::uint8_t>(state);
    p.outputs = state == State::left ? 0 : static_cast<std::uint8_t>(std::min<std::size_t>(c.out.size(), 255));
    p.flags = (c.status.bits & simd::Status::nonfinite) ? Fact::made : 0;
    p.zero = 0;
    p.ticks = simd::ticks();
    p.live = get(l.recording->live->live);
    const std::size_t told = std::min<std::size_t>(p.outputs, kOutputs);
    for (std::size_t i = 0; i < told; ++i) {
      describe(c.out[i], p.out[i]);
      p.flags |= p.out[i].flags;
      if (p.out[i].samples) {
        const float size = std::max(std::fabs(p.out[i].min), std::fabs(p.out[i].max));
        if (size > l.largest && !std::isinf(size)) l.largest = size;
      }
    }
    if (p.flags & (Fact::made | Fact::nan | Fact::inf)) ++l.nonfinite;
    write_result(l, c, p);
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
  n.op = o.key == &op && o.other == op.name.data()
             ? o.id
             : remember(o, &op, op.name.data(), intern_op(*recording, op));
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
  return mine;
}

}  // namespace wp::trace

void wp::set_rows(std::int64_t first, std::int64_t count) noexcept {
  trace::rows = {first, count};
}
