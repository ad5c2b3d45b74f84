#pragma once
#include <cstdint>

namespace wp {

inline constexpr std::uint64_t kMixStep = 0x9E3779B97F4A7C15U;  // between neighbours
// A number whose bits look independent of those of z (SplitMix64: Steele, Lea & Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace wp
