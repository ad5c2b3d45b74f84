// What rules of the caller's compute outside of wellposed (NumPy, another framework): no tape sees what that depends
// on.
#pragma once
#include <vector>

#include "ops/op.hpp"

namespace wp::autodiff {

// Lives while a rule runs. What the rule gives away of tensors that somebody differentiates, and takes back as memory
// or numbers of others, depends on them in a way that nobody knows.
class [[nodiscard]] OutsideOf {
 public:
  explicit OutsideOf(const Saved& rule);
  ~OutsideOf();
  OutsideOf(const OutsideOf&) = delete;
  OutsideOf& operator=(const OutsideOf&) = delete;

 private:
  friend void given_away(const Tensor& t);
  friend Tensor taken_back(const Tensor& t);
  const Saved& rule_;
  OutsideOf* const outer_;
  std::vector<Tensor> given_;
};

// Somebody else may read the elements of t.
void given_away(const Tensor& t);
// t, whose elements are somebody else's. Within a rule that has given away what is differentiated it is the result of
// an op that depends on that and has no derivative.
Tensor taken_back(const Tensor& t);

}  // namespace wp::autodiff
