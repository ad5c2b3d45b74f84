// CRC-32C (Castagnoli, reflected 0x82F63B78, as in iSCSI, RFC 3720): by the SSE4.2 instruction where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wp::simd {

std::uint32_t crc32c(const void* bytes, std::size_t count, std::uint32_t before = 0) noexcept;
// The same of whole words of 8 bytes, by the instruction or by the table.
std::uint32_t crc32c_words_by_instruction(const std::uint64_t* words, std::size_t count) noexcept;
std::uint32_t crc32c_words_by_table(const std::uint64_t* words, std::size_t count) noexcept;
extern const bool has_crc_instruction;

inline std::uint32_t crc32c_words(const std::uint64_t* words, std::size_t count) noexcept {
  return has_crc_instruction ? crc32c_words_by_instruction(words, count) : crc32c_words_by_table(words, count);
}

}  // namespace wp::simd
