// LU with partial pivoting, P A = L U, of row-major matrices; what follows from the factors. Bit-equal for any number
// of threads. T: float, double, complex64, complex128.
#pragma once
#include <cstdint>
#include <span>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// Factors A (m × n, rows `row` numbers apart) in place: L below the diagonal, its ones not stored, U on and above it.
// Row i was swapped with row pivots[i] ≥ i, for i = 0, 1, … min(m, n) − 1 in this order; pivots are the largest by
// |re| + |im|, the first of equals, NaN last. Returns the first i with a pivot that is exactly 0, or −1; the
// factorisation goes on past it.
template <class T>
std::int64_t lu_factor(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots);

// X ← P X, or Pᵀ X, with P of `pivots`.
enum class Order : std::uint8_t { forward, backward };
template <class T>
void swap_rows(std::span<const std::int64_t> pivots, std::int64_t columns, MutableView<T> x, Order order);

// A X = B, Aᵀ X = B or Aᴴ X = B in place (X, n × columns, holds B) from the factors of a square A.
enum class Form : std::uint8_t { plain, transposed, adjoint };
template <class T>
void lu_solve(Form form, std::int64_t n, std::int64_t columns, View<T> lu, const std::int64_t* pivots,
              MutableView<T> x);

// The plain form for X [n][kFew] (kernels/few.hpp). T: float, double.
template <class T>
void lu_solve_few(std::int64_t n, View<T> lu, const std::int64_t* pivots, T* x);

// A⁻¹, rows `row` numbers apart, from the factors: U⁻¹, then X L = U⁻¹, then columns back in order; 4/3 n³ operations
// (Higham 2002, §14.3, method B). May not overlap the factors.
template <class T>
void lu_inverse(std::int64_t n, View<T> lu, const std::int64_t* pivots, T* inverse, std::int64_t row);

// max |a[i, j]|, NaN if there is one; 0 of nothing. With Part::upper only on and above the diagonal, with Part::lower
// on and below it.
template <class T>
typename RealOf<T>::type largest(std::int64_t m, std::int64_t n, View<T> a, Part part = Part::all);
// How much elimination made the numbers grow: max|U| / max|A| (Wilkinson 1961); 1 for a zero matrix.
template <class T>
typename RealOf<T>::type lu_growth(std::int64_t m, std::int64_t n, View<T> lu, typename RealOf<T>::type largest_of_a);

}  // namespace wp::kernels
