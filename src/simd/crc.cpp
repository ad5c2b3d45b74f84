#include "simd/crc.hpp"

#include <array>
#include <bit>

namespace wp::simd {
namespace {

static_assert(std::endian::native == std::endian::little, "recordings are little-endian");

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1) ? 0x82F63B78U : 0U);
    table[i] = c;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> table = make_table();

bool detect() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2");
#else
  return false;
#endif
}

}  // namespace

const bool has_crc_instruction = detect();

std::uint32_t crc32c(const void* bytes, std::size_t count) noexcept {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint32_t c = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < count; ++i) c = table[(c ^ at[i]) & 0xFF] ^ (c >> 8);
  return ~c;
}

std::uint64_t crc_word_by_table(std::uint64_t state, std::uint64_t word) noexcept {
  auto c = static_cast<std::uint32_t>(state);
  for (int i = 0; i < 8; ++i, word >>= 8) c = table[(c ^ word) & 0xFF] ^ (c >> 8);
  return c;
}

}  // namespace wp::simd
