// What functions and rules of the caller's compute outside of wellposed (NumPy, another framework): no tape sees what
// that depends on.
#pragma once
#include <vector>

#include "ops/op.hpp"

namespace wp::autodiff {

// Lives while a function runs that is differentiated, or a rule that may be. What it gives away of tensors that
// somebody differentiates, and takes back as memory or numbers of others, depends on them in a way that nobody knows.
class [[nodiscard]] OutsideOf {
 public:
  explicit OutsideOf(const Place& place);  // of the call that differentiates a function
  explicit OutsideOf(const Saved& rule);
  explicit OutsideOf(const Call& forward);  // of an op that has a rule: what surrounds it does not count
  ~OutsideOf();
  OutsideOf(const OutsideOf&) = delete;
  OutsideOf& operator=(const OutsideOf&) = delete;

 private:
  friend void given_away(const Tensor& t);
  friend Tensor taken_back(const Tensor& t);
  const Op* const rule_;  // null: a function
  const Place place_;
  OutsideOf* const outer_;
  const bool counts_outer_ = true;
  std::vector<Tensor> given_;
};

// Somebody else may read the elements of t.
void given_away(const Tensor& t);
// t, whose elements are somebody else's. Within one that has given away what is differentiated it is the result of
// an op that depends on that and has no derivative.
Tensor taken_back(const Tensor& t);

}  // namespace wp::autodiff
