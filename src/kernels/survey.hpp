// One pass over a matrix for all that is asked of it before it is factored. T: float, double, complex64, complex128.
#pragma once
#include <cstdint>
#include <optional>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// Of an m × n matrix. What is not finite leaves only `finite` behind.
template <class T>
class Survey {
 public:
  using Real = typename RealOf<T>::type;
  // Copies A to `copy` on the way, row-major, unless null. a.conjugate is not read: sizes do not depend on it.
  Survey(std::int64_t m, std::int64_t n, View<T> a, T* copy);

  bool finite() const noexcept { return finite_; }
  // The largest max(|re|, |im|) of every row, of every column.
  const Real* rows() const noexcept { return tops_.data(); }
  const Real* columns() const noexcept { return tops_.data() + m_; }
  // ‖A‖₁ and max |aᵢⱼ|, bit for bit those of norms(). None of complex matrices, nor of sizes so near to the ends of
  // the range that sums must be scaled.
  struct Norms {
    double one, largest;
  };
  const std::optional<Norms>& norms() const noexcept { return norms_; }

 private:
  void look(std::int64_t first, std::int64_t columns, View<T> a, T* copy, Real* rows, Real* across, double* sums);
  void conclude(View<T> a, const double* sums);

  const std::int64_t m_, n_;
  Buffer<Real> tops_;
  bool finite_ = true;
  std::optional<Norms> norms_;
};

// Whether all elements are.
template <class T>
bool all_finite(std::int64_t m, std::int64_t n, View<T> a);

// max |aᵢⱼ| of m rows of n contiguous real numbers, `row` apart, or of a part of them; NaN if there is one, 0 of
// nothing.
template <class R>
R largest_of_lines(std::int64_t m, std::int64_t n, const R* a, std::int64_t row, Part part = Part::all);

}  // namespace wp::kernels
