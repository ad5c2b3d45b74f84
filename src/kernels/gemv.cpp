#include <algorithm>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/gemm.hpp"
#include "simd/gemm.hpp"

namespace wp::kernels {
namespace {

// Dot products are taken over blocks of k, whose results are added in order.
constexpr std::int64_t kBlock = 65536;
constexpr std::int64_t kGrainTerms = 65536;  // multiply-adds per piece of parallel work

// Rows first … first + m of A, k terms from p, as contiguous rows.
template <class T>
void copy_rows(std::int64_t m, std::int64_t k, View<T> a, std::int64_t p, T* to) {
  for (std::int64_t i = 0; i < m; ++i, to += k)
    for (std::int64_t j = 0; j < k; ++j) to[j] = a.data[i * a.rows + (p + j) * a.columns];
}

// y = A[:, p : p + k]·x with x[0] the factor of column p.
template <class T>
void part(std::int64_t m, std::int64_t k, View<T> a, std::int64_t p, const T* x, T* y) {
  const simd::Products<T>& kernel = simd::products<T>();
  const T* const first = a.data + p * a.columns;
  if (a.columns == 1 || k == 1) return kernel.dot_rows(m, k, first, a.rows, x, y);
  if (a.rows == 1 || m == 1) return kernel.dot_columns(m, k, first, a.columns, x, y);
  Buffer<T> row(k);
  for (std::int64_t i = 0; i < m; ++i) {
    copy_rows<T>(1, k, {a.data + i * a.rows, a.rows, a.columns}, p, row.data());
    kernel.dot_rows(1, k, row.data(), k, x, y + i);
  }
}

// A complex row (re, im, re, im, …) times two real vectors gives the real and the imaginary part:
// (a + ib)(x + iy) = (a, b)·(x, −y) + i (a, b)·(y, x);  (a − ib)(x + iy) = (a, b)·(x, y) + i (a, b)·(y, −x).
template <class R>
void split(std::int64_t k, const std::complex<R>* x, bool conjugate, R* re, R* im) {
  const R sign = conjugate ? R(1) : R(-1);
  for (std::int64_t j = 0; j < k; ++j) {
    re[2 * j] = x[j].real();
    re[2 * j + 1] = sign * x[j].imag();
    im[2 * j] = x[j].imag();
    im[2 * j + 1] = -sign * x[j].real();
  }
}

template <class R>
void part(std::int64_t m, std::int64_t k, View<std::complex<R>> a, std::int64_t p, const R* re, const R* im,
          std::complex<R>* y) {
  using T = std::complex<R>;
  const simd::Products<R>& kernel = simd::products<R>();
  const bool contiguous = a.columns == 1 || k == 1;
  Buffer<T> row(contiguous ? 1 : k);
  for (std::int64_t i = 0; i < m; ++i) {
    const T* from = a.data + i * a.rows + p * a.columns;
    if (!contiguous) {
      copy_rows<T>(1, k, {a.data + i * a.rows, a.rows, a.columns}, p, row.data());
      from = row.data();
    }
    R value[2];
    kernel.dot_rows(1, 2 * k, reinterpret_cast<const R*>(from), 0, re, &value[0]);
    kernel.dot_rows(1, 2 * k, reinterpret_cast<const R*>(from), 0, im, &value[1]);
    y[i] = {value[0], value[1]};
  }
}

// Runs dot(rows, terms, first row, first term, y) over all rows and blocks of k.
template <class T, class Dot>
void over_blocks(std::int64_t m, std::int64_t k, T* y, const Dot& dot) {
  const std::int64_t blocks = (k + kBlock - 1) / kBlock, terms = std::min(k, kBlock);
  const std::int64_t rows = std::max<std::int64_t>(1, kGrainTerms / terms), pieces = (m + rows - 1) / rows;
  Buffer<T> partial(blocks > 1 ? blocks * m : 1);
  T* const to = blocks > 1 ? partial.data() : y;
  parallel_for(pieces * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = t / blocks * rows, block = t % blocks;
      dot(std::min(rows, m - i), std::min(kBlock, k - block * kBlock), i, block * kBlock, to + block * m + i);
    }
  });
  if (blocks == 1) return;
  for (std::int64_t i = 0; i < m; ++i) {
    T sum = to[i];
    for (std::int64_t block = 1; block < blocks; ++block) sum = static_cast<T>(sum + to[block * m + i]);
    y[i] = sum;
  }
}

}  // namespace

template <class T>
void gemv(std::int64_t m, std::int64_t k, View<T> a, const T* x, std::int64_t x_stride, T* y, bool conjugate) {
  if (x_stride != 1 && k > 1) {
    Buffer<T> line(k);
    copy_rows<T>(1, k, {x, 0, x_stride}, 0, line.data());
    return gemv<T>(m, k, a, line.data(), 1, y, conjugate);
  }
  const auto from = [&](std::int64_t i) { return View<T>{a.data + i * a.rows, a.rows, a.columns}; };
  if constexpr (RealOf<T>::parts == 1) {
    if (k <= kBlock && m * k <= kGrainTerms) return part<T>(m, k, a, 0, x, y);
    over_blocks(m, k, y, [&](std::int64_t rows, std::int64_t terms, std::int64_t i, std::int64_t p, T* to) {
      part<T>(rows, terms, from(i), p, x + p, to);
    });
  } else {
    using R = typename RealOf<T>::type;
    Buffer<R> factors(4 * k);
    R *const re = factors.data(), *const im = re + 2 * k;
    split(k, x, conjugate, re, im);
    over_blocks(m, k, y, [&](std::int64_t rows, std::int64_t terms, std::int64_t i, std::int64_t p, T* to) {
      part<R>(rows, terms, from(i), p, re + 2 * p, im + 2 * p, to);
    });
  }
}

#define WP_INSTANTIATE(T) template void gemv(std::int64_t, std::int64_t, View<T>, const T*, std::int64_t, T*, bool);
WP_FOR_FLOATS(WP_INSTANTIATE)
WP_INSTANTIATE(std::uint32_t)
WP_INSTANTIATE(std::uint64_t)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
