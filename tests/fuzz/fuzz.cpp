// One libFuzzer program per format: WP_FUZZ_ENDING is its ending.
#include <cstddef>
#include <cstdint>

#include "files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wp::fuzz::read_as(*wp::io::format_of("x" WP_FUZZ_ENDING), {reinterpret_cast<const char*>(data), size});
  return 0;
}
