// Classes and rows of tables by their numbers.
#pragma once
#include "wellposed/nn.hpp"

namespace wp::nn {

// Throws IndexError for the first number that is not 0 … count − 1: unlike indices, these do not count from the end
// (−1 is how others write "no label"). Of tensors of another kind the op that takes them speaks.
void need_numbers(const Tensor& numbers, std::int64_t count, std::string_view function, std::string_view what,
                  Where where);

}  // namespace wp::nn
