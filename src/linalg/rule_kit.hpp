// Further words of the rules of decompositions.
#pragma once
#include "linalg/rules.hpp"

namespace wp::linalg {

Tensor skew(const Tensor& z);  // (z − zᴴ)/2
// s as a row […, 1, k], and as a column […, k, 1].
Tensor row(const Tensor& s);
Tensor column(const Tensor& s);
Tensor recombined(const Tensor& u, const Tensor& s, const Tensor& v);  // U diag(s) Vᴴ
// a − b; undefined tensors are zero.
Tensor minus(const Tensor& a, const Tensor& b);
// The first k columns, and the others: undefined if there are none.
Tensor leading(const Tensor& x, std::int64_t k);
Tensor trailing(const Tensor& x, std::int64_t k);
// The largest |element| of each matrix, […, 1, 1], and of all.
Tensor size_of(const Tensor& x);
double largest(const Tensor& x);
// Normal numbers in the shape and dtype of x, the same for every call.
Tensor noise_like(const Tensor& x, std::uint64_t seed);

// Asks what follows a call; false where nothing does that could be asked, as in forward mode.
template <class F>
bool answered(F&& ask) {
  try {
    ask();
  } catch (const GradientError& e) {
    if (e.finding().code != "WP-GRD-001") throw;
    return false;
  }
  return true;
}

// Of the digits of cotangents that reach a call with results of this dtype.
double eps_of(const Backward& b, DType dtype);

// 2¹³ n ε: what rounding leaves, relative to the largest element of what it is computed from, of a part of a
// cotangent or tangent that is zero exactly, where vectors have length n. What exceeds it is a dependence on an
// arbitrary basis.
double gauge_rounding(double eps, std::int64_t n);
double gauge_rounding(DType dtype, std::int64_t n);

// What a loss may not depend on, because the matrix determines it not at all: k vanishes up to `tolerance`, or there
// is no derivative (WP-GRD-007).
void must_vanish(const Backward& b, const Tensor& k, const Tensor& tolerance, std::string_view what);
[[noreturn]] void refuse_gauge(std::string_view what, double measured, double tolerance);

}  // namespace wp::linalg
