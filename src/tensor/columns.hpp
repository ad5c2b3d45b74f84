// Numbers as aligned text, by NumPy's rules: all elements of an array get one format.
#pragma once
#include <string>
#include <vector>

#include "wellposed/tensor.hpp"

namespace wp {

// The texts of these elements of t (row-major numbers), all of one width. Floats show the fewest digits that tell
// them apart from their neighbours, at most 8 after the point; one exponent format serves all of them when the
// largest is large, the smallest small, or their ratio above 1000.
std::vector<std::string> columns(const Tensor& t, const std::vector<std::int64_t>& elements);

}  // namespace wp
