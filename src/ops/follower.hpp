// Observers that differentiate.
#pragma once
#include "ops/dispatch.hpp"

namespace wp {

class Follower : public Observer {
 public:
  // Whether it differentiates what is computed from this tensor.
  virtual bool follows(const Tensor& t) const noexcept = 0;
};

}  // namespace wp
