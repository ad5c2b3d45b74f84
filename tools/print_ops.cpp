// Prints the op table as JSON for tools/generate.py. It uses no function that is generated, so that rooms can change
// before what is derived from them does.
#include <iostream>

#include "cli/ops_json.hpp"

int main() {
  std::cout << wp::cli::ops_json().dump(1) << '\n';
}
