// The smallest part of a data set with which something still fails.
#pragma once
#include <functional>
#include <vector>

#include "wellposed/progress.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct Bisection {
  std::vector<std::int64_t> rows;  // of the data: leaving out any one of them, it does not fail any more
  Tensor data;                     // those rows
  std::int64_t tries = 0;          // how often `fails` was asked
  bool minimal = true;             // false: `most_tries` were used up before
};
struct BisectOptions {
  std::int64_t most_tries = 10000;
  std::function<void(std::int64_t tries, std::int64_t rows)> on_try = {};  // for progress
};

// Delta debugging over the entries of the first axis (Zeller & Hildebrandt 2002). Throws ArgumentError if it does not
// fail with all rows.
Bisection bisect(const Tensor& data, const std::function<bool(const Tensor&)>& fails,
                 const BisectOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace gnu::visibility("default")]]wp
