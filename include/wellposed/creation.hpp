// Shorter ways to call creation functions.
#pragma once
#include "wellposed/ops/creation.hpp"

namespace [[gnu::visibility("default")]] wp {

// arange(0, 10) and arange(10, 0, -2): the same as arange(start, {.stop = stop, .step = step}).
inline Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1, std::optional<DType> dtype = {},
                     std::source_location where = std::source_location::current()) {
  return arange(start, {.stop = stop, .step = step, .dtype = dtype}, where);
}

}  // namespace gnu::visibility("default")]]wp
