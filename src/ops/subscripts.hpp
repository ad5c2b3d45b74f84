// The index notation of einsum: "ij,jk->ik".
#pragma once
#include <string_view>
#include <vector>

#include "ops/op.hpp"

namespace wp {

// Labels are numbers: letters first (A…Z, a…z), then the axes that "..." stands for, counted from the last.
inline constexpr std::int64_t kLetters = 52;
struct Subscripts {
  std::vector<Dims> in;                 // the label of each axis of each operand
  Dims out;                             // the labels of the result's axes
  std::vector<std::int64_t> length;     // of each label; −1: not used
  bool sums(std::int64_t label) const;  // is it summed over?
};
// Throws ArgumentError for bad notation, ShapeError when shapes do not fit it.
Subscripts parse_subscripts(std::string_view text, Inputs operands);

// The rule of einsum.
Tensors einsum_vjp(const Backward& b);

}  // namespace wp
