// Structural zeros: elements whose derivative is zero because a choice (where, relu, clip, max, indexing) dropped
// them, not because a value happens to be zero. They annihilate also what is not finite.
#pragma once
#include <functional>

#include "autodiff/tape.hpp"

namespace wp::autodiff {

// Whether zeros that the op's rule gives are structural.
bool chooses(const Op& op) noexcept;

// What a rule of the caller's may see of a way back.
struct OnWay : Backward {
  using Backward::Backward;
  // Where values that are not finite were replaced, as the targets do not rest on them: of each output a bool mask of
  // the elements that they rest on (undefined: none). Else empty.
  std::span<const Tensor> rests;
};

// Which elements the targets rest on, step by step on one way back. It is made when something is not finite, and goes
// on from there: every step is looked at once.
class Support {
 public:
  // Steps before `end` count.
  Support(const Tape& tape, std::size_t end, std::span<const std::int32_t> targets)
      : tape_(tape), targets_(targets), next_(end), by_slot_(tape.slots().size()) {}
  // The cotangents `found` of a step, in which something was not finite, without what belongs to dropped elements.
  // `rule` is called once more, with values of dropped elements replaced where they are not finite, and the masks of
  // the outputs. Steps come from the last to the first.
  using Rule = std::function<Tensors(const Saved& finite, std::span<const Tensor> rests)>;
  Tensors masked(std::size_t step, const Tensors& found, const Rule& rule);

 private:
  // Masks of the outputs and inputs of one step: bool tensors; undefined: nothing.
  struct Masks {
    std::vector<Tensor> outputs, inputs;
  };
  Masks at(std::size_t step);
  static Tensors without_dropped(const Step& s, const Masks& m, Tensors found);
  std::vector<Tensor> of_outputs(const Step& s) const;

  const Tape& tape_;
  std::span<const std::int32_t> targets_;
  std::size_t next_;  // steps from here on have given their masks to their inputs
  std::vector<Tensor> by_slot_;
};

}  // namespace wp::autodiff
