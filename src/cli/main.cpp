#include <cstring>
#include <iostream>

#include "cli/ops_json.hpp"
#include "cli/samples_json.hpp"

int main(int argc, char** argv) {
  const bool samples = argc > 2 && std::strcmp(argv[2], "--samples") == 0;
  std::cout << (samples ? wp::cli::samples_json() : wp::cli::ops_json()).dump(1) << "\n";
}
