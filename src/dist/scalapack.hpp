// ScaLAPACK, PBLAS and BLACS, one function for the four types. Thin: descriptors in, info out. Matrices are whole
// (they begin at (1, 1)); all ranks of the grid call together.
#pragma once
#include <vector>

#include "dist/matrix.hpp"
#include "kernels/gemm.hpp"

namespace wp::dist::scalapack {

template <class T>
using Real = typename kernels::RealOf<T>::type;

// A = P L U in place; pivots as they come (local rows + block). Returns info: > 0 for a zero pivot.
template <class T>
int getrf(Local<T> a, std::vector<int>& pivots);
// X ← A⁻¹X, A⁻ᴴX (adjoint).
template <class T>
int getrs(bool adjoint, Local<T> factors, const std::vector<int>& pivots, Local<T> x);
template <class T>
int getri(Local<T> factors, const std::vector<int>& pivots);
// A = L Lᴴ in the lower triangle, which alone is read.
template <class T>
int potrf(Local<T> a);
template <class T>
int potrs(Local<T> factors, Local<T> x);
template <class T>
int potri(Local<T> factors);
template <class T>
int trtrs(bool upper, bool adjoint, bool unit, Local<T> a, Local<T> x, std::int64_t n);
template <class T>
int trtri(bool upper, Local<T> a);
// A = Q R, m × n.
template <class T>
int geqrf(Local<T> a, std::vector<T>& tau);
// C ← Q C or Qᴴ C with the k reflectors in a.
template <class T>
int apply_q(bool adjoint, std::int64_t k, Local<T> a, const std::vector<T>& tau, Local<T> c);
// The columns of Q in the place of the k reflectors, as many as a has.
template <class T>
int make_q(std::int64_t k, Local<T> a, const std::vector<T>& tau);
// A = U diag(s) Vᴴ, thin; overwrites a. No vectors: u and vh null.
template <class T>
int gesvd(Local<T> a, std::vector<Real<T>>& s, Local<T>* u, Local<T>* vh);
// A = Z diag(w) Zᴴ of a Hermitian A, its lower triangle; overwrites a.
template <class T>
int eigh(Local<T> a, std::vector<Real<T>>& w, Local<T>& z);
// C ← α op(A) op(B) + β C.
template <class T>
void gemm(bool adjoint_a, bool adjoint_b, T alpha, Local<T> a, Local<T> b, T beta, Local<T> c);
// to ← Aᵀ, or Aᴴ.
template <class T>
void transpose(bool conjugate, Local<T> a, Local<T> to);
// m × n elements from `from` of a on to `into` of b; any two grids of all ranks.
struct Corner {
  std::int64_t row = 0, column = 0;
};
template <class T>
void redistribute(std::int64_t m, std::int64_t n, Local<T> a, Corner from, Local<T> to, Corner into, int context);

// BLACS.
int new_context(int rows, int columns);

}  // namespace wp::dist::scalapack
