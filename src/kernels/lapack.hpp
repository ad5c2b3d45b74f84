// The LAPACK underneath: typed calls on column-major memory. Element (i, j) of a matrix is data[i + j * ld].
// T: float, double, complex64, complex128. Everything runs on the calling thread.
//
// What is returned: 0, or LAPACK's info > 0 (did not converge, exactly singular: said at each function), or one of
// the codes below. Nothing is written when a code is returned. Empty matrices give 0.
#pragma once
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/gemm.hpp"

namespace wp::lapack {

// A size, or the workspace it asks for, is beyond Fortran's 32-bit INTEGER.
inline constexpr int kTooLarge = std::numeric_limits<int>::min();
// A NaN or an infinity in a matrix given to a routine that iterates or pivots: on those LAPACK loops for ever (gesdd,
// syevr), writes outside its arrays (geev) or reports success.
inline constexpr int kNotFinite = kTooLarge + 1;

template <class T>
using Real = typename kernels::RealOf<T>::type;
template <class T>
using Complex = std::complex<Real<T>>;
using Size = std::int64_t;
using Pivot = std::int32_t;  // as LAPACK numbers rows: from 1, negative in 2 × 2 blocks

enum class Triangle : char { lower = 'L', upper = 'U' };
enum class Side : char { left = 'L', right = 'R' };
enum class Op : char { none = 'N', transpose = 'T', adjoint = 'C' };  // adjoint is transpose for real T
enum class Form : char { symmetric, hermitian };                      // the same for real T

// ---- A = U·diag(s)·Vᴴ, s falling; k = min(m, n)
enum class Vectors : char { none, thin, full };  // U m × k and Vᴴ k × n, or U m × m and Vᴴ n × n
enum class SvdMethod : char {
  divide,  // gesdd: divide and conquer
  qr,      // gesvd: QR iteration
  jacobi,  // gesvj on the pivoted QR factor: tiny singular values of graded matrices keep their digits
};
// By one method. A is kept. Positive when it does not converge.
template <class T>
int svd_by(SvdMethod method, Vectors vectors, Size m, Size n, const T* a, Size lda, Real<T>* s, T* u, Size ldu, T* vh,
           Size ldvh);
// gesdd, or if that does not converge or its workspace (4k² and more) does not fit: gesvd. `used`, if given, gets the
// method.
template <class T>
int svd(Vectors vectors, Size m, Size n, const T* a, Size lda, Real<T>* s, T* u, Size ldu, T* vh, Size ldvh,
        SvdMethod* used = nullptr);
// L = X·diag(s)·Yᴴ for lower triangular n × n L with zeros above the diagonal, rows n apart, by one-sided Jacobi
// (gesvj). With `vectors` L becomes X, else it is destroyed.
template <class T>
int svd_lower(bool vectors, Size n, T* l, Real<T>* s);

// ---- A = Z·diag(w)·Zᴴ for symmetric (Hermitian) A, w rising; the other triangle of A is not read
enum class EighMethod : char {
  divide,    // syevd: divide and conquer; large real matrices: the same steps on the pool
  qr,        // syev: QR iteration
  relative,  // syevr: multiple relatively robust representations; its vectors are less orthogonal (up to 60 n u seen)
};
// By one method. A is kept. z null: values only. Positive when it does not converge.
template <class T>
int eigh_by(EighMethod method, Triangle triangle, Size n, const T* a, Size lda, Real<T>* w, T* z, Size ldz);
// divide, or if that does not converge or its workspace does not fit: qr. Never relative, whose vectors are worse.
template <class T>
int eigh(Triangle triangle, Size n, const T* a, Size lda, Real<T>* w, T* z, Size ldz, EighMethod* used = nullptr);
// A·Z = B·Z·diag(w), Zᴴ·B·Z = I, B positive definite (sygvd, itype 1). B becomes its Cholesky factor; with `vectors`
// A becomes Z, else it is destroyed. > n: the leading minor of order info − n of B is not positive.
template <class T>
int eigh_generalised(bool vectors, Triangle triangle, Size n, T* a, Size lda, T* b, Size ldb, Real<T>* w);

// ---- A·vr = w·vr, vlᴴ·A = w·vlᴴ for general A (geevx), vectors of 2-norm 1 with a real largest component
enum class Balance : char { none = 'N', permute = 'P', scale = 'S', both = 'B' };
// Each of them may be null: not wanted.
template <class T>
struct EigOutputs {
  Complex<T>* left = nullptr;
  Size ld_left = 0;
  Complex<T>* right = nullptr;
  Size ld_right = 0;
  Real<T>* value_rcond = nullptr;   // 1 / condition of each eigenvalue: |vlᴴ·vr|
  Real<T>* vector_rcond = nullptr;  // 1 / condition of each right vector (sep); costs as much again
  struct Balanced {
    Size low = 0, high = 0;        // values outside of low … high − 1 were found by permuting: they are exact
    Real<T> norm = 0;              // ‖·‖₁ of the balanced matrix
    Real<T> spread = 1;            // the largest factor that a row was scaled by over the least
    std::vector<Size> order = {};  // row and column i of the permuted matrix are order[i] of A
  }* balanced = nullptr;
};
// A is kept. The condition numbers are those of the balanced matrix: scaling changes them, permuting does not.
// i > 0: only the eigenvalues w[i…n−1] converged, no vectors.
template <class T>
int eig(Balance balance, Size n, const T* a, Size lda, Complex<T>* w, const EigOutputs<T>& out);

// ---- A = Z·S·Zᴴ (gees). A becomes S: upper triangular, for real T with standardised 2 × 2 blocks (equal diagonal,
// off-diagonal of opposite signs). z null: not wanted. Positive when it does not converge.
template <class T>
int schur(Size n, T* a, Size lda, Complex<T>* w, T* z, Size ldz);
// op(A)·X + sign·X·op(B) = scale·C with A m × m and B n × n in Schur form; C becomes X, scale ≤ 1 keeps it finite. 1:
// A and −sign·B have (nearly) common eigenvalues, perturbed ones were used. For complex T op is none or adjoint.
template <class T>
int sylvester(Op op_a, Op op_b, int sign, Size m, Size n, const T* a, Size lda, const T* b, Size ldb, T* c, Size ldc,
              Real<T>* scale);

// ---- A = Q·R; Q = H₀·H₁·…, Hᵢ = I − tauᵢ·vᵢ·vᵢᴴ with vᵢ below the diagonal of column i; k = min(m, n) reflectors
// (many of them by kernels/householder, on the pool)
template <class T>
int qr(Size m, Size n, T* a, Size lda, T* tau);
// One of them: x becomes (β, v without its first element, 1) with H x = β e₁; returns tau. 1 ≤ n < 2³¹.
template <class T>
T reflector(Size n, T* x);
// A·P = Q·R with |rᵢᵢ| falling: column j of A·P is column columns[j] (from 0) of A.
template <class T>
int qr_pivoted(Size m, Size n, T* a, Size lda, Size* columns, T* tau);
// A, k reflectors as qr leaves them, becomes the first n columns of Q; m ≥ n ≥ k.
template <class T>
int householder_product(Size m, Size n, Size k, T* a, Size lda, const T* tau);
// C (m × n) becomes op(Q)·C or C·op(Q). For complex T op is none or adjoint.
template <class T>
int apply_q(Side side, Op op, Size m, Size n, Size k, const T* a, Size lda, const T* tau, T* c, Size ldc);

// ---- A = P·L·D·Lᴴ·Pᵀ (Lᵀ when symmetric) from the lower triangle, D with 1 × 1 and 2 × 2 blocks, rook pivoting
// (Bunch & Kaufman; Ashcraft, Grimes & Lewis 1998: |L| is bounded). i > 0: D is exactly singular in place i − 1.
template <class T>
int ldl(Form form, Size n, T* a, Size lda, Pivot* pivots);
template <class T>
int ldl_solve(Form form, Size n, Size columns, const T* a, Size lda, const Pivot* pivots, T* b, Size ldb);
// The factors one by one: unit lower triangular L; D's diagonal, and below it n − 1 elements that are 0 between
// blocks; row i of Pᵀ·A·P is row rows[i] of A.
template <class T>
void ldl_unpack(Size n, const T* a, Size lda, const Pivot* pivots, T* l, Size ldl, T* diagonal, T* below, Size* rows);
struct Inertia {
  Size positive = 0, negative = 0, zero = 0;
};
// The signs of A's eigenvalues are those of D's (Sylvester). For real T or the hermitian form.
template <class T>
Inertia inertia(Size n, const T* a, Size lda, const Pivot* pivots);

// ---- banded A, kl diagonals below and ku above: aᵢⱼ is band[kl + ku + i − j + j * ld], ld ≥ 2 kl + ku + 1 (gbtrf);
// tridiagonal A (gttrf), whose `above2` (n − 2) is only written. i > 0: U is exactly singular in place i − 1.
template <class T>
int lu_banded(Size n, Size kl, Size ku, T* band, Size ld, Pivot* pivots);
template <class T>
int lu_banded_solve(Op op, Size n, Size kl, Size ku, Size columns, const T* band, Size ld, const Pivot* pivots, T* b,
                    Size ldb);
template <class T>
int lu_tridiagonal(Size n, T* below, T* diagonal, T* above, T* above2, Pivot* pivots);
template <class T>
int lu_tridiagonal_solve(Op op, Size n, Size columns, const T* below, const T* diagonal, const T* above,
                         const T* above2, const Pivot* pivots, T* b, Size ldb);

}  // namespace wp::lapack
