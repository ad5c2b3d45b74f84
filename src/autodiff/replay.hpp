// What comes after a step, computed again from other values.
#pragma once
#include "autodiff/tape.hpp"

namespace wp::autodiff {

// The targets if some slots had other values: calls of steps [from, end) that
// rest on them are made again (the tape may grow meanwhile: it may record this). `values`,
// by slot, holds the other values (undefined: as recorded).
std::vector<Tensor> replayed(const Tape& tape, std::size_t from, std::size_t end, std::vector<Tensor> values,
                             std::span<const std::int32_t> target_slots, std::span<const Tensor> targets);

// The cotangents of a step's outputs, had they (and its inputs, where they are used again) been these.
Tensors cotangents_by_replay(const Tape& tape, std::size_t step, std::size_t end, std::span<const Tensor> outputs,
                             std::span<const Tensor> inputs, std::span<const std::int32_t> target_slots,
                             std::span<const Tensor> targets, std::span<const Tensor> seeds);

}  // namespace wp::autodiff
