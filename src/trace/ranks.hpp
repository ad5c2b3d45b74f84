// Recordings of the ranks of one MPI program, read together.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "trace/report.hpp"

namespace wp::trace {

struct RankFact {
  int rank = 0;
  const Examined* of = nullptr;
  std::vector<const CallFact*> running;  // of the thread that matters, the outermost first
  double last = 0;                       // when it last began a call, in seconds since 1970
  bool dead = false;                     // it did not end in order
  // "dist.solve (main.cpp:41) > p?getrf > MPI_Recv from rank 2", or what it did last.
  std::string doing() const;
  bool waits() const;  // inside a function of MPI
};
// By rank; empty unless there are several, all of them called rank-N.wpr.
std::vector<RankFact> ranks_of(const std::vector<std::shared_ptr<const Examined>>& all);
// Who stopped first, as a sentence; empty: nobody has died.
std::string first_to_stop(const std::vector<RankFact>& ranks);
// One line per rank, and that sentence.
std::string ranks_text(const std::vector<RankFact>& ranks);

}  // namespace wp::trace
