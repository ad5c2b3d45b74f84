// Included once per instruction set, after `V` (a pack of 64-bit lanes) and `multiply` (low 32 bits × low 32 bits →
// 64) are defined. A lane holds one word in its low half; the upper half is rubbish until the end, since multiply
// does not read it.

inline constexpr int kLanes = sizeof(V) / sizeof(std::uint64_t);
inline constexpr int kPacks = 3;  // independent chains hide the multiplier's latency

[[gnu::always_inline]] inline void philox_packs(const std::uint64_t (&keys)[2 * philox::kRounds], V first,
                                                std::uint64_t lane, std::uint64_t* out) {
  V c0[kPacks], c1[kPacks], c2[kPacks], c3[kPacks];
  for (int p = 0; p < kPacks; ++p) {
    c0[p] = first + static_cast<std::uint64_t>(p * kLanes);
    c1[p] = c0[p] >> 32;
    c2[p] = V{} + lane;
    c3[p] = V{} + (lane >> 32);
  }
  const V m0 = V{} + philox::kMultiplier0, m1 = V{} + philox::kMultiplier1;
#pragma GCC unroll 10
  for (int round = 0; round < philox::kRounds; ++round)
    for (int p = 0; p < kPacks; ++p) {
      const V p0 = multiply(m0, c0[p]), p1 = multiply(m1, c2[p]);
      c0[p] = (p1 >> 32) ^ c1[p] ^ keys[2 * round];
      c2[p] = (p0 >> 32) ^ c3[p] ^ keys[2 * round + 1];
      c1[p] = p1;
      c3[p] = p0;
    }
  for (int p = 0; p < kPacks; ++p) {
    const V low = (c0[p] & 0xffffffffU) | c1[p] << 32, high = (c2[p] & 0xffffffffU) | c3[p] << 32;
    interleave(low, high, out + 2 * p * kLanes);
  }
}

void fill(std::uint64_t key, std::uint64_t number, std::uint64_t lane, std::uint64_t* out, std::int64_t blocks) {
  std::uint64_t keys[2 * philox::kRounds];
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < philox::kRounds; ++round) {
    keys[2 * round] = k0;
    keys[2 * round + 1] = k1;
    k0 += philox::kWeyl0;
    k1 += philox::kWeyl1;
  }
  V first;
  for (int i = 0; i < kLanes; ++i) first[i] = number + static_cast<std::uint64_t>(i);
  constexpr std::int64_t step = kLanes * kPacks;
  std::int64_t at = 0;
  for (; at + step <= blocks; at += step) {
    philox_packs(keys, first, lane, out + 2 * at);
    first += static_cast<std::uint64_t>(step);
  }
  if (at == blocks) return;
  std::uint64_t rest[2 * step];
  philox_packs(keys, first, lane, rest);
  std::memcpy(out + 2 * at, rest, static_cast<std::size_t>(blocks - at) * 16);
}
