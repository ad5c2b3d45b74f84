// Small matrices in doubt are brought together and judged by linalg itself: all ranks take what rank 0 finds.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "dist/matrix.hpp"
#include "linalg/verdict.hpp"

namespace wp::dist {

// Rows and columns up to which that is done: those up to which linalg searches for better scales.
inline constexpr std::int64_t kOnePlace = 1000;
inline bool fits_one_place(const Matrix& a) {
  return std::max(a.rows(), a.columns()) <= kOnePlace;
}

// The whole of a matrix on every rank. Collective, as all below.
Tensor brought_together(const Matrix& a);
// The other way: every rank has the whole, contiguous, and keeps its part.
Matrix spread(const Tensor& whole, const Layout& layout, bool vector = false);

// f runs on rank 0; its values and its verdict are on every rank. What it throws is thrown on all.
struct Found {
  std::vector<Tensor> values;
  linalg::Verdict verdict;
};
Found in_one_place(const std::function<std::pair<std::vector<Tensor>, linalg::Diagnosis>()>& f);

// Refuses what is there for matrices of this size only (WP-MPI-007).
void need_one_place(const Matrix& a, std::string_view what, std::string_view advice);

}  // namespace wp::dist
