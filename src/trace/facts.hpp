// What a recording keeps of a tensor.
#pragma once
#include "trace/format.hpp"
#include "wellposed/tensor.hpp"

namespace wp::trace {

// A Fact as it is stored. Words, not fields: loads of words that were stored in parts would wait for the stores.
struct FactWords {
  std::uint64_t word[4];
  std::uint8_t flags() const noexcept { return static_cast<std::uint8_t>(word[0] >> 8); }
  std::uint64_t elements() const noexcept { return word[3] >> 32; }
  float largest() const noexcept;  // |sampled element|; 0 if there is none
};
// dtype, shape, flags, and the range of at most 8 elements that are spread over it (floating-point dtypes).
void describe(const Tensor& t, FactWords& to) noexcept;

}  // namespace wp::trace
