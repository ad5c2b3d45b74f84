// What this rank is doing: for errors, for recordings, and for whoever asks where it hangs.
#pragma once
#include <exception>
#include <memory>
#include <string_view>

#include "ops/op.hpp"

namespace wp::dist {

// While it lives, errors carry this name and line, and a recorder has it among the calls that run. `own`: a function
// that a program calls; else a part of one ("p?getrf", "MPI_Recv from rank 2").
class Stage {
 public:
  Stage(std::string_view name, const Place& place, bool own = true);
  explicit Stage(std::string_view part);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  Place place_;
  std::unique_ptr<Call> call_;  // only while somebody records
  Running running_;
  const Running* outer_;
  int unwinding_;
  bool own_;
};

// The line that asked for the call that runs.
Place running_place();

// For the cost of what was done; see Traffic.
void count_flops(double flops) noexcept;

}  // namespace wp::dist
