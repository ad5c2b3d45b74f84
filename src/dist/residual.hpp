// Residuals of distributed matrices in twice the working precision.
#pragma once
#include "dist/matrix.hpp"

namespace wp::dist {

// R = B − L − A X, or B − L − Aᴴ X, for vectors that every rank has, row-major with `columns` columns; L may be null.
// `sizes`, if given: |B| + |L| + |A||X| (|Aᴴ||X|), |z| = |re| + |im|. The same bits on every rank. Collective.
template <class T>
void residual(const Matrix& a, std::int64_t columns, bool adjoint, const T* b, const T* l, const T* x, T* r,
              typename kernels::RealOf<T>::type* sizes);

}  // namespace wp::dist
