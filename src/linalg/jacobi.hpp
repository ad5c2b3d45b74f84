// Eigenvalues of Hermitian matrices whose rows differ widely in size (H = D·B·D, D diagonal, B of small condition):
// Jacobi methods give even the least of them with digits, where methods that tridiagonalise lose all below u·‖H‖.
#pragma once
#include "kernels/gemm.hpp"

namespace wp::linalg {

// Values rising into w, vectors (if v) as columns of the row-major n × n matrix v; h row-major, its largest element
// in [1/2, 1), both triangles filled. |ŵ − w| ≤ relative·|w|.
struct Jacobi {
  bool done = false;  // else nothing was written that counts: the method does not pay, or did not converge
  double relative = 0;
};

// H = L·Lᴴ, then one-sided Jacobi on L = X·S·Yᴴ: H = X·S²·Xᴴ (Veselić & Hari 1989). The error is that of B's
// condition (Demmel & Veselić 1992). Not done if H is not positive definite, or unless `always` if D does not matter
// more than B.
template <class T>
Jacobi jacobi_definite(std::int64_t n, const T* h, bool always, typename kernels::RealOf<T>::type* w, T* v);

// H = X·D·Xᴴ with D diagonal and X of small condition (LDLᴴ with rook pivoting), from which a singular value
// decomposition of high relative accuracy follows (Demmel et al. 1999, algorithm 3.1); signs from the products of
// left and right vectors (Dopico, Molera & Moro 2003), which two-sided Jacobi separates where values of opposite sign
// are close. The error is measured on the result.
template <class T>
Jacobi jacobi_indefinite(std::int64_t n, const T* h, bool always, typename kernels::RealOf<T>::type* w, T* v);

// Of a 2 × 2 matrix by one rotation, always.
template <class T>
Jacobi jacobi_pair(const T* h, typename kernels::RealOf<T>::type* w, T* v);

// Does scaling by D gain a factor of 64 over what an error of u·‖H‖ leaves? spread: log₂ max d²/min d².
bool scaling_pays(int spread, double condition);

}  // namespace wp::linalg
