#pragma once
#include <atomic>

#include "ops/op.hpp"

namespace wp {

// Sees every call of the process, whoever else listens and also where calls are unseen: the flight recorder. Told
// before the listeners and after them. None of the three may throw or compute.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void before(const Call&) noexcept = 0;  // arguments are checked, nothing is computed
  virtual void after(const Call&) noexcept = 0;
  virtual void left(const Call&) noexcept = 0;  // by an exception
};
// At most one; null: none. It must outlive every thread that may still run an op.
extern std::atomic<Witness*> witness;

}  // namespace wp
