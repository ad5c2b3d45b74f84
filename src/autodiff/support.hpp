// Structural zeros: elements whose derivative is zero because a choice (where, relu, clip, max, indexing) dropped
// them, not because a value happens to be zero. They annihilate also what is not finite.
#pragma once
#include <functional>

#include "autodiff/tape.hpp"

namespace wp::autodiff {

// Whether zeros that the op's rule gives are structural.
bool chooses(const Op& op) noexcept;

// The cotangents `found` of a step, in which something was not finite, without what belongs to dropped elements.
// `rule` is called once more, with values of dropped elements replaced where they are not finite.
Tensors masked_rule(const Tape& tape, std::size_t step, std::size_t end, std::span<const std::int32_t> targets,
                    const Tensors& found, const std::function<Tensors(const Saved&)>& rule);

}  // namespace wp::autodiff
