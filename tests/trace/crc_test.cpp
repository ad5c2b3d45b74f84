#include "simd/crc.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace wp::simd;

TEST(Crc, GivesTheValuesOfRfc3720) {
  unsigned char bytes[32] = {};
  EXPECT_EQ(crc32c(bytes, 32), 0x8A9136AAU);
  std::memset(bytes, 0xFF, 32);
  EXPECT_EQ(crc32c(bytes, 32), 0x62A8AB43U);
  for (unsigned char i = 0; i < 32; ++i) bytes[i] = i;
  EXPECT_EQ(crc32c(bytes, 32), 0x46DD794EU);
}

TEST(Crc, IsTheSameByInstructionByTableAndByBytes) {
  std::mt19937_64 random(7);
  std::uint64_t words[32];
  for (std::uint64_t& w : words) w = random();
  for (std::size_t n = 0; n <= 32; ++n) {
    Crc whole;
    std::uint64_t table = 0xFFFFFFFFU, instruction = 0xFFFFFFFFU;
    for (std::size_t i = 0; i < n; ++i) {
      whole.add(words[i]);
      table = crc_word_by_table(table, words[i]);
      if (has_crc_instruction) instruction = crc_word_by_instruction(instruction, words[i]);
    }
    EXPECT_EQ(whole.value(), crc32c(words, 8 * n));
    EXPECT_EQ(~static_cast<std::uint32_t>(table), whole.value());
    if (has_crc_instruction) {
      EXPECT_EQ(~static_cast<std::uint32_t>(instruction), whole.value());
    }
  }
}
