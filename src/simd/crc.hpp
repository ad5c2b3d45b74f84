// CRC-32C (Castagnoli, reflected 0x82F63B78, as in iSCSI, RFC 3720): by the SSE4.2 instruction where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wp::simd {

std::uint32_t crc32c(const void* bytes, std::size_t count) noexcept;

extern const bool has_crc_instruction;
std::uint64_t crc_word_by_table(std::uint64_t state, std::uint64_t word) noexcept;
inline std::uint64_t crc_word_by_instruction(std::uint64_t state, std::uint64_t word) noexcept {
#if defined(__x86_64__)
  asm("crc32q %1, %0" : "+r"(state) : "rm"(word));
  return state;
#else
  return crc_word_by_table(state, word);
#endif
}

// The same, word by word:  Crc c; c.add(w); …; c.value(). CrcBy<has_crc_instruction> where that is asked once.
template <bool instruction>
class CrcBy {
 public:
  void add(std::uint64_t word) noexcept {
    state_ = instruction ? crc_word_by_instruction(state_, word) : crc_word_by_table(state_, word);
  }
  std::uint32_t value() const noexcept { return ~static_cast<std::uint32_t>(state_); }

 private:
  std::uint64_t state_ = 0xFFFFFFFFU;
};
class Crc {
 public:
  void add(std::uint64_t word) noexcept { fast_ ? by_instruction_.add(word) : by_table_.add(word); }
  std::uint32_t value() const noexcept { return fast_ ? by_instruction_.value() : by_table_.value(); }

 private:
  bool fast_ = has_crc_instruction;
  CrcBy<true> by_instruction_;
  CrcBy<false> by_table_;
};

}  // namespace wp::simd
