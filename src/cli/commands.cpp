#include "cli/command.hpp"

namespace wp::cli {

extern const Command ops_command, doctor_command, tour_command, diagnose_command, inv_command, solve_command,
    lstsq_command, pinv_command, svd_command, cond_command, rank_command, validate_command, schema_command,
    bisect_command, postmortem_command, events_command, plot_command;

std::span<const Command> commands() {
  static const Command table[] = {
      tour_command,   doctor_command, ops_command,        diagnose_command, inv_command,  solve_command,
      lstsq_command,  pinv_command,   svd_command,        cond_command,     rank_command, validate_command,
      schema_command, bisect_command, postmortem_command, events_command,   plot_command};
  return table;
}

}  // namespace wp::cli
