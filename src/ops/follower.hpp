// Observers that differentiate.
#pragma once
#include "ops/dispatch.hpp"

namespace wp {

class Follower : public Observer {
 public:
  // Whether it differentiates what is computed from this tensor.
  virtual bool follows(const Tensor& t) const noexcept = 0;
  // Whether it will go back over what it saw.
  virtual bool goes_back() const noexcept = 0;
};

// Whether anybody who listens differentiates what is computed from t; `back`: by going back.
inline bool followed(const Tensor& t, bool back = false) {
  for (const Listener* l = context().listeners; l; l = l->outer)
    if (const auto* const f = dynamic_cast<const Follower*>(l->observer);
        f && f->follows(t) && (!back || f->goes_back()))
      return true;
  return false;
}

}  // namespace wp
