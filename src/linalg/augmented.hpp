// Least squares and shortest solutions by one system, improved to working precision.
#pragma once
#include <vector>

#include "kernels/gemm.hpp"
#include "linalg/spectral.hpp"

namespace wp::linalg {

// The relative error of one column x of size `size` with a residual `rest` of b, where singular values from most to
// rcond · most count (Wedin 1973; Higham 2002, §20.1).
double wedin(double u, double rcond, double most, double size, double rest);

// [1 M; Mᴴ 0] [p; q] = [c; d], M m × n of full column rank. With d = 0 the q that minimises |M q − c|, with c = 0 the
// shortest p with Mᴴ p = d. T: float, double, complex64, complex128. The matrix and its decomposition must outlive
// it.
template <class T>
class Augmented {
 public:
  // M = A where A is tall or square, M = Aᴴ where it is wide. `units`: errors of X are asked for after its rows are
  // multiplied by 2^units; empty: as they are.
  Augmented(std::int64_t rows, std::int64_t columns, kernels::View<T> a, const Spectral<T>& svd,
            const std::vector<int>& units = {});

  // X (columns of A × k) from B (rows of A × k), row-major. `improve`: with residuals of twice the precision until
  // nothing changes (Björck 1967), else once from the decomposition. Returns the error of X relative to its largest
  // element, of the worst column: from the corrections, or Wedin's bound.
  double solve(std::int64_t k, kernels::View<T> b, kernels::MutableView<T> x, bool improve) const;

 private:
  using Real = typename kernels::RealOf<T>::type;
  struct Unknowns;
  void residual(const Unknowns& right, const Unknowns& z, Unknowns& r) const;
  void apply(Unknowns& r) const;
  void take(const Unknowns& r, Unknowns& z, std::int64_t column) const;  // z += r
  double improved(const Unknowns& right, Unknowns& z) const;
  double estimated(const Unknowns& z) const;
  double size_of(const Unknowns& z, std::int64_t column) const;    // of the part that is asked for
  double in_units(const Unknowns& z, std::int64_t column) const;   // the same in units, over the largest of these
  double given(const Unknowns& right, std::int64_t column) const;  // length of the part that is given

  std::int64_t m_, n_;
  bool wide_;
  int exponent_;                      // the matrix is multiplied by 2^exponent_
  kernels::Buffer<T> own_, adjoint_;  // M and Mᴴ, row-major
  kernels::View<T> u_, vh_;
  std::vector<double> sigma_, weights_;  // weights: units over the largest, or none
};

// Whether Aᴴb = 0 exactly for a column b of B, so that x = 0: [I b; Aᴴ 0] has rank m then, and only then. False for
// more than 300 rows or columns, where nobody looks.
template <class T>
bool fits_nothing(std::int64_t m, std::int64_t n, kernels::View<T> a, kernels::View<T> b, std::int64_t column);

struct Minimised {
  std::int64_t kept = 0;  // singular values above the threshold
  double rcond = 1;       // the least of them over the largest
  double error = 0;       // of X, relative to its largest element, of the worst column
};
// The shortest X that minimises |A X − B|, A m × n, B m × k, from the singular values above `least`. `units`: of the
// error, where none is dropped.
template <class T>
Minimised least_squares(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a, const Spectral<T>& svd,
                        double least, kernels::View<T> b, kernels::MutableView<T> x,
                        const std::vector<int>& units = {});

}  // namespace wp::linalg
