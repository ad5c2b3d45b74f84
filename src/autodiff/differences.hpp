// Derivatives by differences.
#pragma once
#include <functional>
#include <vector>

namespace wp::autodiff {

using Values = std::vector<double>;

struct Estimate {
  Values value, error, noise, size;  // noise: the part of the error that rounding makes; size: of the results seen
  std::vector<char> still;           // the result did not move by one bit
  Values bend;  // by how much the quotients of the last step, to the right and to the left, differ
};

// Difference quotients of steps h, h/2, h/4, … extrapolated to h = 0 (C. Ridders, Adv. Eng. Software 4 (1982) 75-76):
// of each result the extrapolation that moved least, or as little as rounding lets it. `side` 0: central, else
// one-sided; `size`: the magnitudes of the results.
Estimate differences(const std::function<Values(double)>& f, const Values& at, const Values& size, double h,
                     int side);

}  // namespace wp::autodiff
