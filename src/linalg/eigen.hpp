// Eigenvalues and vectors of one Hermitian matrix, by the method that suits it.
#pragma once
#include "linalg/bounds.hpp"
#include "linalg/hermitian.hpp"

namespace wp::linalg {

// Values rising into w; vectors, if v, as columns of the row-major v. h.matrix is scaled by a power of two on the
// way, so that everything scales exactly with it. Where the rows of H differ widely in size Jacobi's methods are
// tried (jacobi.hpp), with `high` in any case; all others are tridiagonalised. On failure nothing that counts is
// written.
struct EigenResult {
  Status status = Status::ok;
  Bounds bounds;
  int info = 0;  // of LAPACK, where nothing else did
  void judge(std::int64_t n, Verdict& v) const;
};
template <class T>
EigenResult hermitian_eigen(std::int64_t n, Hermitian<T>& h, bool high, typename Hermitian<T>::Real* w, T* v);

}  // namespace wp::linalg
