#include "cli/command.hpp"

namespace wp::cli {

extern const Command ops_command, doctor_command, tour_command;

std::span<const Command> commands() {
  static const Command table[] = {tour_command, doctor_command, ops_command};
  return table;
}

}  // namespace wp::cli
