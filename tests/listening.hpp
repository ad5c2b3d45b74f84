// Keeps the findings that are told while it lives, instead of printing them.
#pragma once
#include <vector>

#include "wellposed/context.hpp"

namespace wp::tests {

class [[nodiscard]] Listening {
 public:
  Listening() : before_(on_finding([this](const Finding& f) { told.push_back(f); })) {}
  ~Listening() { on_finding(before_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  std::vector<Finding> told;

 private:
  FindingHandler before_;
};

}  // namespace wp::tests
