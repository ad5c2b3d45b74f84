// Derivatives of the digamma function.
#pragma once

namespace wp::kernels {

// ψ⁽ⁿ⁾(x), n a whole number from 1 to kMostPolygamma; NaN for other n, and where it has no value.
inline constexpr double kMostPolygamma = 1000;
double polygamma(double n, double x);

}  // namespace wp::kernels
