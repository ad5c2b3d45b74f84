// Observers that differentiate.
#pragma once
#include "ops/dispatch.hpp"

namespace wp {

class Follower : public Observer {
 public:
  // Whether it differentiates what is computed from this tensor.
  virtual bool follows(const Tensor& t) const noexcept = 0;
};

// Whether anybody who listens differentiates what is computed from t.
inline bool followed(const Tensor& t) {
  for (const Listener* l = context().listeners; l; l = l->outer)
    if (const auto* const f = dynamic_cast<const Follower*>(l->observer); f && f->follows(t)) return true;
  return false;
}

}  // namespace wp
