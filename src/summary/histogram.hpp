// Histograms of tensors.
#pragma once
#include <cstdint>
#include <vector>

#include "summary/event.hpp"

namespace wp::summary {

struct Histogram {
  std::vector<Bucket> rows;  // `bins` of one width between the least and the largest finite value; of none: empty
  std::int64_t nan = 0, inf = 0;
};
// Complex numbers count by their moduli.
Histogram histogram_of(const Tensor& x, std::int64_t bins);

}  // namespace wp::summary
