// A sample of bounded size for histograms: of every 2^j neighbours one, chosen by a hash of their place, so that it
// does not depend on how the data came. j is a function of the number of elements; each sample is a part of the one
// before.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "data/tile.hpp"
#include "wellposed/validate.hpp"

namespace wp::data {

class Sample {
 public:
  static constexpr std::size_t kMost = 1 << 12;
  using Taken = std::vector<std::pair<std::int64_t, double>>;  // place and value
  // What the tile has of the sample of all elements up to its end.
  static Taken look(const Tile& t);
  void join(const Taken& taken, std::int64_t end);
  // Bins of equal width over the finite values.
  void histogram(FieldReport& r) const;

 private:
  int level_ = 0;
  Taken taken_;
};

}  // namespace wp::data
