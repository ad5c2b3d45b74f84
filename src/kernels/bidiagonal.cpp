#include "kernels/bidiagonal.hpp"

#include <algorithm>

#include "kernels/lapack_call.hpp"
#include "kernels/one_pass.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPanel = 32;

// k columns of numbers.
template <class T>
struct Columns {
  std::int64_t rows;
  Buffer<T> memory{kPanel * rows};
  T* at(std::int64_t i, std::int64_t j) { return memory.data() + j * rows + i; }
  View<T> from(std::int64_t i) { return {at(i, 0), 1, rows}; }
  // Column j: zeros before row i, 1, and the rest of a reflector.
  void put(std::int64_t i, std::int64_t j, std::int64_t count, const T* rest) {
    std::fill_n(at(0, j), i, T(0));
    *at(i, j) = T(1);
    std::copy_n(rest, count, at(i + 1, j));
  }
};

// What the panel has taken from A so far: V Yᵀ + X Uᵀ, V and X with the rows of A, Y and U with its columns.
template <class T>
struct Panel {
  Columns<T> v, x, y, u;
  T factors[kPanel];

  // z −= A (row i of B)ᵀ, rows `from` on, `known` columns.
  void take_row(Columns<T>& a, std::int64_t from, Columns<T>& b, std::int64_t i, std::int64_t known, T* z) {
    for (std::int64_t k = 0; k < known; ++k) factors[k] = -*b.at(i, k);
    add_product<T>(a.rows - from, known, a.at(from, 0), a.rows, factors, z);
  }
  // z −= A (Bᵀ s), s with the rows of B from `s_from` on.
  void take(Columns<T>& a, std::int64_t from, Columns<T>& b, std::int64_t s_from, const T* s, std::int64_t known,
            T* z) {
    transposed_product<T>(b.rows - s_from, known, b.at(s_from, 0), b.rows, s, factors);
    for (std::int64_t k = 0; k < known; ++k) factors[k] = -factors[k];
    add_product<T>(a.rows - from, known, a.at(from, 0), a.rows, factors, z);
  }
};

template <class T>
void scale(std::int64_t n, T by, T* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}

}  // namespace

template <class T>
void bidiagonalise(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* p, std::int64_t ldp, T* d, T* e,
                   T* tau_q, T* tau_p) {
  for (std::int64_t first = 0, width; first < n; first += width) {
    width = std::min(kPanel, n - first);
    Panel<T> t{{m - first}, {m - first}, {n - first}, {n - first}};
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t i = first + j, below = m - i - 1, after = n - i - 1;
      T* const c = a + i * lda + i;
      t.take_row(t.v, j, t.y, j, j, c);
      t.take_row(t.x, j, t.u, j, j, c);
      tau_q[i] = lapack::reflector<T>(below + 1, c);
      d[i] = c[0];
      t.v.put(j, j, below, c + 1);
      if (after == 0) break;

      T *const v = t.v.at(j, j), *const y = t.y.at(j + 1, j);
      transposed_product<T>(below + 1, after, c + lda, lda, v, y);
      t.take(t.y, j + 1, t.v, j, v, j, y);
      t.take(t.u, j + 1, t.x, j, v, j, y);
      scale(after, tau_q[i], y);

      T* const r = p + i * ldp + i + 1;
      for (std::int64_t k = 0; k < after; ++k) r[k] = c[(k + 1) * lda];
      t.take_row(t.y, j + 1, t.v, j, j + 1, r);
      t.take_row(t.u, j + 1, t.x, j, j, r);
      tau_p[i] = lapack::reflector<T>(after, r);
      e[i] = r[0];
      t.u.put(j + 1, j, after - 1, r + 1);

      T *const u = t.u.at(j + 1, j), *const x = t.x.at(j + 1, j);
      std::fill_n(x, below, T(0));
      add_product<T>(below, after, c + lda + 1, lda, u, x);
      t.take(t.v, j + 1, t.y, j + 1, u, j + 1, x);
      t.take(t.x, j + 1, t.u, j + 1, u, j, x);
      scale(below, tau_p[i], x);
    }
    const std::int64_t rows = m - first - width, columns = n - first - width;
    const MutableView<T> rest{a + (first + width) * (lda + 1), 1, lda};
    gemm<T>(rows, columns, width, t.v.from(width), t.y.from(width).transposed(), rest, Into::subtract);
    gemm<T>(rows, columns, width, t.x.from(width), t.u.from(width).transposed(), rest, Into::subtract);
  }
}

#define WP_INSTANTIATE(T) \
  template void bidiagonalise(std::int64_t, std::int64_t, T*, std::int64_t, T*, std::int64_t, T*, T*, T*, T*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
