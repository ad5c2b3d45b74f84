// Stacks of small real matrices, one matrix per lane of a register: what is done to one is done to as many as there
// are lanes. Members whose answer is not beyond doubt are marked and left to the careful way; a member's bits depend
// on its own values only, never on its place or its neighbours. All numbers are computed in double. T: float, double.
#pragma once
#include <cstdint>

namespace wp::kernels::batched {

inline constexpr std::int64_t kLargest = 32;  // rows and columns

// Member i stands at data + (i − first) · step, its rows `rows` and its columns `columns` numbers apart.
template <class T>
struct Source {
  const T* data;
  std::int64_t step, rows, columns, first = 0;
};

// Members begin … end − 1 of a stack. Results of member i follow those of member i − 1.
struct Range {
  std::int64_t begin, end;
};

// Where a function leaves what it thinks of its answers, one entry per member.
struct Marks {
  std::uint8_t* redo;       // 1: in doubt; what was written means nothing. 2: good, but with something to be told
  double* rcond = nullptr;  // 1/(‖A‖₁‖A⁻¹‖₁), where asked for
  double* error = nullptr;  // of least squares, relative, from above, where asked for
  bool as_given = false;    // members that are good after scaling only are in doubt: rcond is that of A itself
};

// X = A⁻¹ by LU with partial pivoting, where that leaves 9 digits. Of a symmetric A it is symmetric.
template <class T>
void inverse(std::int64_t n, Source<T> a, Range range, T* x, Marks marks);

// A X = B, X n × columns, columns ≤ kLargest; where A leaves 9 digits. `refined`: and X is corrected once, with a
// residual in twice the precision, to the last digit or so. rcond: from below.
template <class T>
void solve(std::int64_t n, std::int64_t columns, Source<T> a, Source<T> b, Range range, T* x, bool refined,
           Marks marks);

// 1/(‖A‖₁‖A⁻¹‖₁) alone.
template <class T>
void condition(std::int64_t n, Source<T> a, Range range, Marks marks);

// A[P] = L U by partial pivoting, m × n: P m numbers, L m × k, U k × n. A pivot that is 0 is in doubt.
template <class T>
void lu(std::int64_t m, std::int64_t n, Source<T> a, Range range, std::int64_t* p, T* l, T* u, Marks marks);

// det A, where 9 digits of it are known and it is a normal number; or its sign and the logarithm of its size. Nearer
// to 1 than kNearOne, that is Σ log|pivot| to the last digit, however much cancels.
inline constexpr double kNearOne = 0x1p-6;
template <class T>
void determinant(std::int64_t n, Source<T> a, Range range, T* value, T* log, Marks marks);

// A = L Lᵀ of the symmetric part of A, or of the triangle that is read; zeros above, or Lᵀ if `upper`. rcond: the
// least share of a diagonal element that elimination left.
enum class Reads : std::uint8_t { both, lower, upper };
template <class T>
void cholesky(std::int64_t n, Source<T> a, Reads reads, bool upper, Range range, T* l, Marks marks);

// The eigenvalues of the symmetric part, rising, and vectors (columns of v, unless null). Graded matrices are in
// doubt; with rcond, which gets the error relative to each value (infinite: to the largest one), only those that are
// not positive definite.
template <class T>
void eigh(std::int64_t n, Source<T> a, Reads reads, Range range, T* values, T* v, Marks marks);

// A = U diag(s) Vᵀ, m × n, k = min(m, n): U m × k, s falling, Vᵀ k × n (both unless null); `full`: both square.
template <class T>
void svd(std::int64_t m, std::int64_t n, bool full, Source<T> a, Range range, T* u, T* s, T* vh, Marks marks);

// Which matrices have full rank beyond doubt: σ₁ and the least σ are compared as linalg/members.hpp says.
struct Limits {
  double rtol, atol;
};
// The shortest X (n × columns) that minimises |A X − B|, A m × n, where A has full rank and X nine digits, by QR of
// A, or of Aᵀ if that is the tall one. `refined`, and where there are fewer than nine: X and its residual are
// corrected once, with residuals in twice the precision (Björck 1967), to the last digit or so.
template <class T>
void least_squares(std::int64_t m, std::int64_t n, std::int64_t columns, Source<T> a, Source<T> b, Limits limits,
                   Range range, T* x, bool refined, Marks marks);
// A⁺ (n × m), by the shortest solutions of A X = 1 or Aᵀ X = 1.
template <class T>
void pseudo_inverse(std::int64_t m, std::int64_t n, Source<T> a, Limits limits, Range range, T* x, bool refined,
                    Marks marks);

// A = Q R, m × n, by reflections: Q m × width, R width × n; width: min(m, n), or m.
template <class T>
void qr(std::int64_t m, std::int64_t n, std::int64_t width, Source<T> a, Range range, T* q, T* r, Marks marks);

}  // namespace wp::kernels::batched
