// Residuals in twice the working precision, for iterative refinement.
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// R = B − A·(X + L), A m × n, X and L n × k, B m × k, R row-major m × k. L may be null: with it X + L is an
// unevaluated sum. Every element is as if computed in twice the working precision and then rounded: with N = n·(1 or
// 2, with L)·(1 or 2, complex) + 1 terms t of size S = Σ|t|, its error (of each part, if complex) is at most
//   u |r| + γ² S + 8 N η,   γ = M u / (1 − M u), M = 2 N + kResidualTerms,   η the least denormal
// (Ogita, Rump, Oishi 2005: Dot2, in kResidualLanes interleaved sums; float: S·(N + kResidualTerms)·2⁻⁵³ in place of
// the second term). Elements of which a partial sum overflows are not finite.
// `sizes`, if given: |B| + |A|·(|X| + |L|), row-major m × k, summed in working precision (float: in double);
// |z| = |re| + |im|.
// `low`, if given: what R leaves of the sums, so that R + low is the residual in twice the precision, row-major m ×
// k. T: float, double, complex64, complex128. Bits depend on an element's row, column and n only.
inline constexpr std::int64_t kResidualLanes = 16, kResidualTerms = 64;
template <class T>
void residual(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> x, View<T> l, View<T> b, T* r,
              typename RealOf<T>::type* sizes, T* low = nullptr);

}  // namespace wp::kernels
