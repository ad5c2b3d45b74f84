// The calls that ran last, with their tensors.
#pragma once
#include <atomic>
#include <optional>

#include "base/busy.hpp"
#include "ops/dispatch.hpp"
#include "ops/witness.hpp"
#include "trace/holdings.hpp"
#include "wellposed/blame.hpp"

namespace wp::trace {

struct Kept {
  const Op* op = nullptr;
  const char* rule = nullptr;  // the op whose derivative it belongs to, or null
  Place place;
  const ScopeName* scope = nullptr;
  std::int64_t step = -1;
  SmallVector<Tensor, 3> in;
  SmallVector<Tensor, 1> out;
  std::vector<Attr> attrs;
  // An input in memory of others, which may write to it later: copied (small), summed up (large), or neither, where
  // the result shows the same memory or holds all that was read of it.
  struct Lent {
    std::size_t input = 0;
    Tensor copy = {};
    std::optional<std::size_t> sum = std::nullopt;
  };
  std::vector<Lent> lent;
  std::size_t most_bytes = 0;  // that live because of it, if nobody else and no other call holds them

  static std::vector<Lent> lent_to(const Call& c);
  void keep(const Call& c, std::vector<Lent>&& its_lent);  // over what was here; memory is used again
  const Lent* lent_as(std::size_t input) const noexcept;   // null: it is not lent
  const Tensor& read(std::size_t input) const noexcept;    // as the call read it, if that is known
  bool changed(std::size_t input) const;                   // since the call read it
  std::string changed_words(std::size_t input) const;  // "Memory that was lent to exp (f64 [3]) was changed since"
  std::string name() const;                            // "multiply in the derivative of tanh"
  template <class F>
  void each_tensor(const F& f) const {
    for (const Tensor& t : in) f(t);
    for (const Tensor& t : out) f(t);
    for (const Lent& l : lent) f(l.copy);
  }
};

// Whether both show the same elements of one memory.
bool shows_the_same(const Tensor& a, const Tensor& b) noexcept;

// A kept call as the dispatch saw it, so that its flow can be asked.
class Recalled {
 public:
  explicit Recalled(const Kept& k);
  Recalled(const Recalled&) = delete;
  Recalled& operator=(const Recalled&) = delete;

 private:
  std::vector<const Tensor*> in_;

 public:
  Call call;
};

// What this thread computes while it lives is for the library's own use: no window keeps it, no tape records it.
class [[nodiscard]] Aside : Unseen, detail::Restore<&Context::level> {
 public:
  Aside() noexcept : outer_(aside_) {
    aside_ = true;
    context().level = CheckLevel::off;
  }
  ~Aside() { aside_ = outer_; }
  static bool here() noexcept { return aside_; }

 private:
  static thread_local bool aside_;
  bool outer_;
};

// Calls, the oldest first, in memory that is used again.
class Ring {
 public:
  std::size_t size() const noexcept { return count_; }
  const Kept& operator[](std::size_t i) const noexcept { return slots_[(first_ + i) & mask_]; }
  // The place behind the last; push() makes it the last.
  Kept& next();
  void push() noexcept { ++count_; }
  Kept& first() noexcept { return slots_[first_]; }
  Kept& at(std::size_t i) noexcept { return slots_[(first_ + i) & mask_]; }
  void pop() noexcept;  // its tensors are gone already

 private:
  std::vector<Kept> slots_;  // none, or a power of two
  std::size_t first_ = 0, count_ = 0, mask_ = 0;
};

class Window : public Witness {
 public:
  explicit Window(const TraceOptions& options) : options_(options) {}
  void after(const Call& c) noexcept override;
  void overwritten(const Tensor& t) noexcept override;

  std::size_t size() const;
  std::size_t bytes() const;
  std::size_t let_go() const;
  void clear();
  // A copy: what is asked while other threads go on.
  std::vector<Kept> calls() const;

  static Window* innermost() noexcept;
  static void hold_all() noexcept;
  static void free_all() noexcept;

 private:
  friend class wp::Trace;
  struct Gone {  // tensors go after the lock: their memory may be somebody's to release
    SmallVector<Tensor, 16> tensors;
    std::vector<Kept::Lent> lent;
    std::vector<Attr> attrs;
  };
  void keep(const Call& c);
  std::size_t let_go_first(Gone& to);  // gives the bytes that this frees
  bool too_old(std::int64_t step) const noexcept;
  std::size_t own() const noexcept;
  void count_all(Holdings& to) const;
  void keep_within_bytes(Gone& to);
  void keep_copy(const Tensor& t, Gone& to);

  TraceOptions options_;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::optional<Busy> for_fork_;
  Ring calls_;
  std::size_t most_bytes_ = 0;  // of all calls; it is counted exactly from when this goes beyond the limit
  bool counts_ = false;
  mutable Holdings held_;
  std::size_t look_at_bytes_ = 0, look_at_call_ = 0;  // when it is looked again at who else holds what
  std::size_t kept_ = 0, let_go_ = 0;
  Window* outer_ = nullptr;
};

}  // namespace wp::trace
