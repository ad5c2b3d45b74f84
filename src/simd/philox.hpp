// Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11): a block of four
// 32-bit words is a function of a 128-bit counter and a 64-bit key; there is no other state.
//
// A stream here is a key and a 64-bit block number. The upper half of the counter, `lane`, selects one of 2^64
// streams beside it: samplers that reject a draw take the same block number in the next lane, so that what one
// element needs never moves another.
#pragma once
#include <cstdint>

#include "simd/loop.hpp"

namespace wp::simd {

struct Block {
  std::uint32_t word[4];
  std::uint64_t low() const noexcept { return word[0] | std::uint64_t{word[1]} << 32; }
  std::uint64_t high() const noexcept { return word[2] | std::uint64_t{word[3]} << 32; }
};

namespace philox {
inline constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio, √3 − 1
inline constexpr int kRounds = 10;
}  // namespace philox

// One block: words 0 and 1 of the counter are the block number, words 2 and 3 the lane.
WP_FN Block philox_block(std::uint64_t key, std::uint64_t number, std::uint64_t lane) {
  auto c0 = static_cast<std::uint32_t>(number), c1 = static_cast<std::uint32_t>(number >> 32);
  auto c2 = static_cast<std::uint32_t>(lane), c3 = static_cast<std::uint32_t>(lane >> 32);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < philox::kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{philox::kMultiplier0} * c0, p1 = std::uint64_t{philox::kMultiplier1} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    k0 += philox::kWeyl0;
    k1 += philox::kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

// Blocks number, number + 1, … (modulo 2^64) of a lane: two 64-bit integers each, low() then high(), which in memory
// are the four words in order.
using Philox = void (*)(std::uint64_t key, std::uint64_t number, std::uint64_t lane, std::uint64_t* out,
                        std::int64_t blocks);
extern const Philox philox_blocks[kIsas];

}  // namespace wp::simd
