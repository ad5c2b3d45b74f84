// One way back over a tape.
#pragma once
#include "autodiff/support.hpp"
#include "autodiff/tape.hpp"

namespace wp::autodiff {

class RuleCall;

class Reverse {
 public:
  Reverse(Tape& tape, const Request& request);
  // One gradient per source; undefined: the targets do not depend on it.
  std::vector<Tensor> run();
  // Whether what was differentiated is itself a derivative.
  bool of_derivative() const noexcept { return of_derivative_; }
  const std::vector<Suspicion>& suspected() const noexcept { return suspected_; }

 private:
  friend class RuleCall;
  void seed();
  void mark_needed();
  void mark_counting();
  // Whether some call of a derivative's rule rests on what the step gave.
  bool leads_to_rule(std::size_t step) const;
  double eps_after(std::size_t step) const;
  // Visits the steps that rest on what the step gave, and, unless visit(step) returns true, those that rest on them.
  template <class F>
  void follow(std::size_t step, F&& visit) const;
  void go_back(std::size_t step);
  // What a rule gives, and in which of it there is doubt.
  Tensors ruled(const RuleCall& rule, std::size_t step);
  Tensors apply_rule(std::size_t step, std::span<const Tensor> cotangents, std::span<const bool> wanted);
  void add_to(std::int32_t slot, Tensor g);
  Tensor finished(std::int32_t slot, bool keep);
  Tensors replayed_cotangents(std::size_t step, std::span<const Tensor> outputs, std::span<const Tensor> inputs);
  // A result that does not vary, with its dtype.
  struct Obstacle {
    std::size_t step;
    DType dtype;
  };
  // The first one on the way from the source to a target, of an op that has no rule, or of any that is no float. Ways
  // through a derivative do not count where zeros are asked for: a slope may be constant.
  std::optional<Obstacle> first_obstacle(std::int32_t source, bool without_rule);
  void explain_blocked(std::int32_t source);

  Tape& tape_;
  const Request& request_;
  std::vector<std::int32_t> targets_, sources_;
  std::vector<Tensor> seeds_;
  std::vector<Tensor> cotangents_;  // by slot
  std::vector<char> needed_;        // by slot: a source lies before it
  std::vector<char> is_source_;     // by slot
  std::size_t end_;                 // steps when it began: the tape may record what follows
  std::vector<char> made_;          // by slot: by a step, not watched
  std::vector<char> hooked_;        // by slot: a hook has changed its gradient; empty: none has
  bool* chose_;                     // Saved::chose
  std::vector<char> counts_;        // by slot: the targets rest on it; empty: all that was computed has one dtype
  bool of_derivative_ = false;
  std::vector<Suspicion> suspected_;
  std::uint64_t draws_ = 0;           // of last digits
  std::unique_ptr<Support> support_;  // once something is not finite
};

// Brings a rule's result to the shape and dtype of the input it belongs to.
Tensor fitted(Tensor g, const Fact& fact, const Op& op);

}  // namespace wp::autodiff
