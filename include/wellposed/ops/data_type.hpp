// Generated from the op table by tools/generate.py; edit the room, not this file.
// Data type functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct AstypeOptions {
  bool copy = true;  // false: x itself if it has that dtype.
};
// x converted to a dtype. Floats lose their fraction in integers; what an integer dtype cannot hold (NaN, Inf,
// values out of its range) is refused; anything but 0 is true. Complex numbers become no real ones. dtype: The dtype
// of the result.
Tensor astype(const In& x, DType dtype, const AstypeOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
