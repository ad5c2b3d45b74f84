// Those that are told of every finding beside the handler.
#pragma once
#include <list>

#include "wellposed/context.hpp"

namespace wp {

// While it lives, the function is called for every finding of the process, one at a time, by the thread that reports
// it. It may report findings itself.
class [[nodiscard]] AlsoTold {
 public:
  explicit AlsoTold(FindingHandler f);
  ~AlsoTold();
  AlsoTold(const AlsoTold&) = delete;
  AlsoTold& operator=(const AlsoTold&) = delete;

 private:
  std::list<FindingHandler>::iterator at_;
};

}  // namespace wp
