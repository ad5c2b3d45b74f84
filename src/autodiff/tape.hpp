// The tape: an observer that keeps what the derivative rules of the recorded calls need.
#pragma once
#include <array>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/slots.hpp"
#include "autodiff/step.hpp"
#include "ops/follower.hpp"

namespace wp::autodiff {

// The seeds of the targets, had these and (as far as they are defined) the sources been other ones.
using Reseed = std::function<Tensors(std::span<const Tensor> targets, std::span<const Tensor> sources)>;

// What a rule suspects of its part of a derivative (Backward::suspect): by what three others differ from it.
struct Suspicion {
  std::size_t step;
  Finding finding;
  std::array<Tensor, 3> off;
};

struct Request {
  std::span<const Tensor> targets, seeds, sources;  // seeds: one per target; undefined: ones
  bool zero_unconnected = false;
  bool refuse_blocked = false;  // zeros, but not where what was recorded has no derivative on the only way
  std::optional<bool> verify = std::nullopt;
  Place place;
  std::string_view function = "gradient";
  const Reseed* reseed = nullptr;          // none: seeds do not vary
  std::uint64_t rounding = 0;              // not 0: cotangents get other last digits, drawn with this
  std::span<const Suspicion> shaken = {};  // and what these rules give is as they showed it then
};

class Reverse;

class Tape : public Follower {
 public:
  explicit Tape(bool persistent);
  ~Tape() override;
  void after(Call& c) override;
  bool follows(const Tensor& t) const noexcept override {
    const std::int32_t slot = slots_.find(t);
    return slot >= 0 && !stopped_.contains(slot);
  }
  bool goes_back() const noexcept override { return true; }

  void watch(const Tensor& x);
  // One per source; undefined: the targets do not depend on it.
  std::vector<Tensor> gradient(const Request& r);
  // Several ways back: while Passes lives, passes() gives one after the other; then a tape that is not persistent is
  // used up.
  class Passes {
   public:
    Passes(Tape& tape, const Request& r);
    ~Passes();
    Passes(const Passes&) = delete;
    Passes& operator=(const Passes&) = delete;

   private:
    Tape& tape_;
    Running running_;
    detail::Restore<&Context::running> restore_;
    bool outermost_;
  };
  std::vector<Tensor> passes(const Request& r);
  bool forgets() const noexcept { return !persistent_ && !keeps_ && !in_passes_; }

  void start();
  void stop() noexcept;
  bool listening() const noexcept { return listener_ != nullptr; }
  void reset();

  const Steps& steps() const noexcept { return steps_; }
  Steps& steps() noexcept { return steps_; }
  const Slots& slots() const noexcept { return slots_; }
  // What the tape must know of a tensor that a caller names.
  std::int32_t slot_of(const Tensor& x, std::string_view what) const;
  void hook(const Tensor& x, std::function<Tensor(const Tensor&)> f);
  const std::vector<std::function<Tensor(const Tensor&)>>* hooks(std::int32_t slot) const;
  void find(Finding f);
  const std::vector<Finding>& findings() const noexcept { return findings_; }
  std::size_t bytes() const;
  // Throws if memory of somebody else that a step kept has been changed since.
  void check_unchanged(const Step& s) const;

 private:
  void record(const Call& c, std::span<const std::int32_t> in);
  void keep(Step& s, std::uint32_t i, const Tensor& t);
  void judge_rounding(const Request& r, const Reverse& way, std::span<const Tensor> found);
  void see_borrowed(const Call& c, Step& s, std::uint32_t i);

  bool persistent_, keeps_ = false, used_up_ = false, in_passes_ = false;
  Listener* listener_ = nullptr;
  const Running* began_in_ = nullptr;  // the rule that runs around this tape, if one does
  Slots slots_;
  Steps steps_;
  std::unordered_set<std::int32_t> stopped_;  // results of stop_gradient
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  // threads that share a context record one after the other
  std::unordered_map<std::int32_t, std::vector<std::function<Tensor(const Tensor&)>>> hooks_;
  std::unordered_map<const Tensor*, std::size_t> checksums_;  // of large borrowed memory, by where the step keeps it
  std::unordered_map<std::int32_t, std::size_t> first_sums_;  // of borrowed variables, when a call first read them
  std::vector<Finding> findings_;
};

bool stops_gradients(const Op& op) noexcept;

// Watches those of xs that can vary, and gives them.
std::vector<Tensor> watch_floating(Tape& tape, const std::vector<Tensor>& xs);
// What belongs to those, in the places of all; undefined for the others.
std::vector<Tensor> in_places_of(const std::vector<Tensor>& xs, std::span<const Tensor> found);

// The cotangents of x, if g is that of what f computes from them, by a tape of its own.
Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g, const Place& place);

// Outputs that are one of the inputs become tensors of their own: a tensor has one number.
void separate_outputs(Call& c);

}  // namespace wp::autodiff
