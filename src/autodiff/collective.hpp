// Ops that several processes run together, each on its part.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ops/derivative.hpp"
#include "wellposed/autodiff.hpp"

namespace wp::autodiff {

// Every process calls it, and its rule once on the way back, whatever its own part holds: where one would run the
// rule again because of what it sees (elements that are not finite, or that a choice has dropped), it would wait for
// ever. Every result rests on every argument. What is not finite in them is noted by the caller, who can ask the
// others.
struct CollectiveOp {
  std::string name;
  TensorsFunction forward;
  std::function<std::vector<Tensor>(const Backward&)> rule = {};
  std::string no_derivative = {};  // why there is none, if there is no rule
};
std::vector<Tensor> run_collective(const CollectiveOp& op, const std::vector<Tensor>& x, const Place& place);

}  // namespace wp::autodiff
