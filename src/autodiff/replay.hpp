// What comes after a step, computed again from other values.
#pragma once
#include "autodiff/tape.hpp"

namespace wp::autodiff {

// What a way back was asked for, the slots whose gradients hooks have changed (empty: none), and of Request reseed.
struct Asked {
  std::span<const std::int32_t> target_slots, source_slots;
  std::span<const Tensor> targets, seeds;
  std::span<const char> hooked;
  const Reseed* reseed;
};

// The targets if some slots had other values: calls of steps [from, end) that rest on them are made again (the tape
// may grow meanwhile: it may record this). `values`, by slot, holds the other values (undefined: as recorded). Hooks
// that changed gradients go over to `inner`, which records the calls.
std::vector<Tensor> replayed(const Tape& tape, std::size_t from, std::size_t end, std::vector<Tensor> values,
                             const Asked& asked, Tape& inner);

// The cotangents of a step's outputs, and then of those inputs that are given, as far as they are used again, had
// they been these.
Tensors cotangents_by_replay(const Tape& tape, std::size_t step, std::size_t end, std::span<const Tensor> outputs,
                             std::span<const Tensor> inputs, const Asked& asked);

}  // namespace wp::autodiff
