// WELLPOSED_LONG_TESTS=1: scripts/test --full asks for the long form of property tests.
#pragma once
#include <cstdlib>

inline bool long_tests() {
  const char* const text = std::getenv("WELLPOSED_LONG_TESTS");
  return text && *text && *text != '0';
}
