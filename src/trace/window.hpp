// The calls that ran last, with their tensors.
#pragma once
#include <atomic>
#include <optional>

#include "ops/dispatch.hpp"
#include "ops/witness.hpp"
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

  Kept() noexcept = default;
  explicit Kept(const Call& c);
  std::size_t bytes() const noexcept;
  std::string name() const;  // "multiply in the derivative of tanh"
};

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
  const Kept& operator[](std::size_t i) const noexcept { return slots_[(first_ + i) % slots_.size()]; }
  void push(Kept&& k);
  Kept pop() noexcept;

 private:
  std::vector<Kept> slots_;
  std::size_t first_ = 0, count_ = 0;
};

class Window : public Witness {
 public:
  explicit Window(const TraceOptions& options) : options_(options) {}
  void after(const Call& c) noexcept override;

  std::size_t size() const;
  std::size_t bytes() const;
  std::size_t let_go() const;
  void clear();
  // A copy: what is asked while other threads go on.
  std::vector<Kept> calls() const;

  static Window* innermost() noexcept;

 private:
  friend class wp::Trace;
  void keep(Kept&& kept);
  bool too_much(std::int64_t step) const noexcept;
  TraceOptions options_;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Ring calls_;
  std::size_t bytes_ = 0, let_go_ = 0;
  Window* outer_ = nullptr;
};

}  // namespace wp::trace
