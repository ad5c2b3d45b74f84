// wp_io_worker SOURCE TARGET [copy]: saves what it loads, for tests in other languages. Exit code 3 for bad input.
#include <cstdio>
#include <string_view>

#include "wellposed/wellposed.hpp"

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  const bool copy = argc > 3 && std::string_view(argv[3]) == "copy";
  wp::save(argv[2], wp::load(argv[1], {.copy = copy}));
  return 0;
} catch (const wp::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 3;
}
