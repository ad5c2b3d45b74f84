// What the LAPACK calls share: arguments as Fortran takes them, workspaces, scans and copies.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/gate.hpp"
#include "kernels/lapack.hpp"
#include "kernels/numbers.hpp"

namespace wp::lapack {

using Int = std::int32_t;        // Fortran INTEGER
using Length = std::size_t;      // hidden length of a CHARACTER argument, after all others (gfortran 8 and later)
inline constexpr Int kAsk = -1;  // as lwork: only say how much is best
inline constexpr Size kMaxInt = std::numeric_limits<Int>::max();
template <class T>
inline constexpr bool is_complex = !std::is_arithmetic_v<T>;
template <class T>
using Buffer = kernels::Buffer<T>;

// The routine of T among the four of a name.
template <class T, class S, class D, class C, class Z>
constexpr auto pick(S s, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>)
    return s;
  else if constexpr (std::is_same_v<T, double>)
    return d;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return c;
  else
    return z;
}

template <class... A>
bool fit(A... sizes) {
  return ((static_cast<Size>(sizes) <= kMaxInt) && ...);
}

// Also that squares of sizes stay far from 2⁶³: no machine holds a matrix beyond.
inline bool fit_matrix(Size m, Size n, Size ld) {
  return fit(m, n, ld) && m * n <= Size{1} << 48;
}

// ---- one call: f(args…, &info, lengths…), sizes as INTEGER, values by address, pointers as they are
inline Int held(Size v) {
  return static_cast<Int>(v);
}
template <class A>
A held(A v) {
  return v;
}
template <class A>
const A* address(const A& v) {
  return &v;
}
template <class A>
A* address(A* const& p) {
  return p;
}
inline std::nullptr_t address(const std::nullptr_t&) {
  return nullptr;
}
template <class F, class... A>
int call_held(F* f, const A&... args) {
  Int info = 0;
  constexpr int characters = (0 + ... + int{std::is_same_v<A, char>});
  const blas::Gate gate;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    f(address(args)..., &info, (static_cast<void>(i), Length{1})...);
  }
  (std::make_index_sequence<characters>{});
  return info;
}
template <class F, class... A>
int call(F* f, const A&... args) {
  const auto small = []<class V>(const V& v) {
    if constexpr (std::is_same_v<V, Size>)
      return v <= kMaxInt;
    else
      return true;
  };
  return (small(args) && ...) ? call_held(f, held(args)...) : kTooLarge;
}

// ---- workspaces
inline Size at_least_one(Size n) {
  return std::max<Size>(n, 1);
}
// The best length as a query gives it: in T, so rounded, perhaps down; or overflowed, and then the least is taken.
template <class T>
Int best_length(T first, Size least) {
  const double asked = std::ceil(std::real(first) * (1 + 2.0 * std::numeric_limits<Real<T>>::epsilon()));
  const bool usable = asked >= static_cast<double>(least) && asked <= static_cast<double>(kMaxInt);
  return usable ? static_cast<Int>(asked) : static_cast<Int>(at_least_one(least));
}
// routine(work, lwork), first to ask, then to do it. `least` is what its documentation asks for, in 64 bits.
template <class T, class F>
int with_work(Size least, F&& routine) {
  if (!fit(least)) return kTooLarge;
  T first(0);
  if (const int info = routine(&first, kAsk)) return info;
  const Int length = best_length(first, least);
  Buffer<T> work(length);
  return routine(work.data(), length);
}
template <class T>
Buffer<T> scratch(Size n) {
  return Buffer<T>(at_least_one(n));
}

// Runs the calls in turn until one returns 0 or finds the input wanting; says which one it was.
template <class... F>
int first_that_works(int& used, F&&... calls) {
  int info = kTooLarge;
  used = -1;
  const auto next = [&](auto& run) {
    ++used;
    info = run();
    return info > 0 || info == kTooLarge;
  };
  static_cast<void>((next(calls) && ...));
  return info;
}

// ---- matrices
template <class T>
bool finite_line(Size n, const T* x) {
  const auto* const parts = reinterpret_cast<const Real<T>*>(x);
  const Size count = n * kernels::RealOf<T>::parts;
  int bad = 0;
  for (Size i = 0; i < count; ++i) bad |= !(std::abs(parts[i]) <= std::numeric_limits<Real<T>>::max());
  return bad == 0;
}
template <class T>
bool finite(Size m, Size n, const T* a, Size lda) {
  for (Size j = 0; j < n; ++j)
    if (!finite_line(m, a + j * lda)) return false;
  return true;
}
template <class T>
bool finite(Triangle triangle, Size n, const T* a, Size lda) {
  for (Size j = 0; j < n; ++j) {
    const bool lower = triangle == Triangle::lower;
    if (!finite_line(lower ? n - j : j + 1, a + j * lda + (lower ? j : 0))) return false;
  }
  return true;
}
// Whether the largest element is so far from the ends of the range that nothing overflows or vanishes where a matrix
// is reduced; LAPACK's drivers scale others.
template <class R>
bool moderate(R largest) {
  constexpr int far = std::numeric_limits<R>::max_exponent / 2;
  return largest >= std::ldexp(R(1), -far) && largest <= std::ldexp(R(1), far);
}
// Rows from which on real matrices are reduced to condensed form on the pool, not by LAPACK.
inline constexpr Size kOnPool = 48;

template <class T>
void copy(Size m, Size n, const T* a, Size lda, T* b, Size ldb) {
  for (Size j = 0; j < n; ++j) std::copy_n(a + j * lda, m, b + j * ldb);
}
// B (n × m) = Aᴴ.
template <class T>
void adjoint(Size m, Size n, const T* a, Size lda, T* b, Size ldb) {
  constexpr Size tile = 32;
  for (Size i0 = 0; i0 < m; i0 += tile)
    for (Size j = 0; j < n; ++j)
      for (Size i = i0; i < std::min(i0 + tile, m); ++i) b[j + i * ldb] = conjugate(a[i + j * lda]);
}
// As Fortran spells it: the adjoint of a real matrix is its transpose.
template <class T>
char letter(Op op) {
  return !is_complex<T> && op == Op::adjoint ? 'T' : static_cast<char>(op);
}

}  // namespace wp::lapack

// Instantiates M for the four types.
#define WP_LAPACK_TYPES(M) M(float) M(double) M(std::complex<float>) M(std::complex<double>)
