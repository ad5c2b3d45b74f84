// Residuals of distributed matrices in twice the working precision.
#pragma once
#include <vector>

#include "dist/matrix.hpp"

namespace wp::dist {

// What rows and columns of a matrix are multiplied with, as exponents of 2; both empty: 1.
struct Scales {
  const std::vector<int>&rows, &columns;
};

// R = B − L − S X, or B − L − Sᴴ X, S = 2^rows A 2^columns, for vectors that every rank has, row-major with `columns`
// columns; L may be null. `sizes`, if given: |B| + |L| + |S||X| (|Sᴴ||X|), |z| = |re| + |im|. The same bits on every
// rank; S is made some rows at a time. Collective.
template <class T>
void residual(const Matrix& a, const Scales& scales, std::int64_t columns, bool adjoint, const T* b, const T* l,
              const T* x, T* r, typename kernels::RealOf<T>::type* sizes);

}  // namespace wp::dist
