#include "cli/command.hpp"

int main(int argc, char** argv) {
  return wp::cli::run(argc, argv);
}
