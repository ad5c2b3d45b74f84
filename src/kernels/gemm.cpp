#include "kernels/gemm.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "kernels/scan.hpp"
#include "simd/gemm.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels {
namespace {

// Partial products of kDepth terms are added to C in order: the only cut along k, and always the same.
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kSerial = 64 * 64 * 64;    // multiply-adds below which threads do not pay
constexpr std::int64_t kPanelColumns = 4032;      // columns of B packed at once
constexpr std::int64_t kBlockBytes = 192 * 1024;  // of A per task: stays in the second-level cache
constexpr std::int64_t kTasks = 16;               // wanted, where the matrix is large enough

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Rows cut into tiles of nearly one height: body(first row, rows).
template <class Body>
void for_tiles(std::int64_t rows, std::int64_t tallest, Body&& body) {
  const std::int64_t tiles = ceil_div(rows, tallest), base = rows / tiles, taller = rows % tiles;
  std::int64_t i = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t r = base + (t < taller ? 1 : 0);
    body(i, r);
    i += r;
  }
}

// k × columns of B, padded with zeros to `width` columns: [k][width].
template <class T>
void pack_b(std::int64_t k, std::int64_t columns, std::int64_t width, View<T> b, T* to) {
  for (std::int64_t p = 0; p < k; ++p, to += width) {
    const T* const from = b.data + p * b.rows;
    if (b.columns == 1)
      std::copy_n(from, columns, to);
    else
      for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j * b.columns];
    for (std::int64_t j = columns; j < width; ++j) to[j] = T(0);
  }
}
// Complex: each row becomes a row of real and a row of imaginary parts.
template <class R>
void pack_b(std::int64_t k, std::int64_t columns, std::int64_t width, View<std::complex<R>> b, R* to) {
  for (std::int64_t p = 0; p < k; ++p, to += 2 * width) {
    const std::complex<R>* const from = b.data + p * b.rows;
    for (std::int64_t j = 0; j < columns; ++j) {
      to[j] = from[j * b.columns].real();
      to[width + j] = from[j * b.columns].imag();
    }
    for (std::int64_t j = columns; j < width; ++j) to[j] = to[width + j] = R(0);
  }
}

// rows × k of A: [k][rows].
template <std::int64_t rows, class T>
void pack_rows(std::int64_t k, View<T> a, T* to) {
  const T* from[rows];
  for (std::int64_t i = 0; i < rows; ++i) from[i] = a.data + i * a.rows;
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t i = 0; i < rows; ++i) to[p * rows + i] = from[i][p * a.columns];
}
template <class T>
void pack_a(std::int64_t rows, std::int64_t k, View<T> a, T* to) {
  switch (rows) {
    case 8: return pack_rows<8>(k, a, to);
    case 7: return pack_rows<7>(k, a, to);
    case 6: return pack_rows<6>(k, a, to);
    case 5: return pack_rows<5>(k, a, to);
    case 4: return pack_rows<4>(k, a, to);
    case 3: return pack_rows<3>(k, a, to);
    case 2: return pack_rows<2>(k, a, to);
    default: return pack_rows<1>(k, a, to);
  }
}
// Complex: rows (re, −im) and (im, re), so that A·B in real numbers gives a row of real and a row of imaginary parts.
template <class R>
void pack_a(std::int64_t rows, std::int64_t k, View<std::complex<R>> a, R* to) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      const std::complex<R> v = a.data[i * a.rows + p * a.columns];
      R* const at = to + 4 * p * rows + 2 * i;
      at[0] = v.real();
      at[1] = v.imag();
      at[2 * rows] = -v.imag();
      at[2 * rows + 1] = v.real();
    }
}

// C (+)= the tile, whose rows alternate between real and imaginary parts.
template <class R>
void merge(std::int64_t rows, std::int64_t columns, const R* tile, std::int64_t width, std::complex<R>* c,
           std::int64_t c_row, bool add) {
  for (std::int64_t i = 0; i < rows; ++i, c += c_row, tile += 2 * width)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::complex<R> v(tile[j], tile[width + j]);
      c[j] = add ? c[j] + v : v;
    }
}

// One strip of C, `columns` wide, from packed B and unpacked A.
template <class T>
void strip(std::int64_t m, std::int64_t k, View<T> a, const T* b, std::int64_t b_k, T* c, std::int64_t c_row,
           std::int64_t columns, bool add) {
  const simd::Products<T>& kernel = simd::products<T>();
  const auto* const tile = kernel.tile[a.rows == 1];
  const std::int64_t vectors = ceil_div(columns, kernel.width);
  for_tiles(m, kernel.rows, [&](std::int64_t i, std::int64_t r) {
    tile[r][vectors](k, a.data + i * a.rows, a.rows, a.columns, b, b_k, c + i * c_row, c_row, columns, add);
  });
}

// Small products: no threads, no heap. A is read where it is; so is B where its rows are whole vectors.
template <class T>
void small_gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, T* c) {
  const simd::Products<T>& kernel = simd::products<T>();
  const std::int64_t wide = kernel.vectors * kernel.width;
  alignas(64) T packed[kDepth * simd::kTileVectors * 64 / sizeof(T)];
  for (std::int64_t j = 0; j < n; j += wide) {
    const std::int64_t columns = std::min(wide, n - j), width = ceil_div(columns, kernel.width) * kernel.width;
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      const View<T> at{b.data + p * b.rows + j * b.columns, b.rows, b.columns};
      const bool direct = b.columns == 1 && columns == width && m <= 4 * kernel.rows;
      if (!direct) pack_b(depth, columns, width, at, packed);
      strip<T>(m, depth, {a.data + p * a.columns, a.rows, a.columns}, direct ? at.data : packed,
               direct ? b.rows : width, c + j, n, columns, p > 0);
    }
  }
}

// The other products: B is packed panel by panel and shared; tasks are blocks of C. In a task a strip of B stays in
// the first-level cache and the block of A in the second.
template <class T>
class Blocked {
  using R = typename RealOf<T>::type;
  static constexpr std::int64_t parts = RealOf<T>::parts, longest = kDepth / parts;

 public:
  Blocked(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, T* c, std::atomic<bool>* bad)
      : m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), bad_(bad), panel_(std::min(n, kPanelColumns / wide_ * wide_)) {
    // Few columns do not pay for packing A.
    direct_ = parts == 1 && panel_ <= 384;
    const std::int64_t most = kBlockBytes / (kDepth * static_cast<std::int64_t>(sizeof(T)));
    task_rows_ = std::min(m, std::clamp(ceil_div(m, kTasks), 4 * tile_rows_, most));
    const std::int64_t strips = ceil_div(panel_, wide_) * ceil_div(m, task_rows_);
    task_columns_ = std::max<std::int64_t>(2, ceil_div(strips, kTasks)) * wide_;
  }

  void run() {
    Buffer<R> packed(ceil_div(panel_, wide_) * wide_ * std::min(k_, longest) * parts);
    for (std::int64_t j0 = 0; j0 < n_; j0 += panel_)
      for (std::int64_t p = 0; p < k_; p += longest) {
        const std::int64_t depth = std::min(longest, k_ - p), columns = std::min(panel_, n_ - j0);
        const std::int64_t step = depth * parts * wide_;  // of packed B per strip
        parallel_for(ceil_div(columns, wide_), std::max<std::int64_t>(1, 32768 / step),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t s = begin; s < end; ++s)
                         pack_b(depth, std::min(wide_, columns - s * wide_), wide_, from(b_, p, j0 + s * wide_),
                                packed.data() + s * step);
                     });
        const std::int64_t across = ceil_div(columns, task_columns_);
        parallel_for(ceil_div(m_, task_rows_) * across, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t i = t / across * task_rows_, j = t % across * task_columns_;
            const std::int64_t here = std::min(task_columns_, columns - j);
            task(i, p, j0 + j, here, depth, packed.data() + j / wide_ * step);
            if (bad_ && p + depth == k_) look(i, j0 + j, here);
          }
        });
      }
  }

 private:
  static View<T> from(View<T> v, std::int64_t i, std::int64_t j) {
    return {v.data + i * v.rows + j * v.columns, v.rows, v.columns};
  }

  // Rows from i0 and `columns` columns from j0 of C (+)= A[:, p : p + depth] · packed B.
  void task(std::int64_t i0, std::int64_t p, std::int64_t j0, std::int64_t columns, std::int64_t depth, const R* b) {
    const std::int64_t rows = std::min(task_rows_, m_ - i0), step = depth * parts * wide_;
    T* const c = c_ + i0 * n_ + j0;
    if constexpr (parts == 1)
      if (direct_) {
        for (std::int64_t j = 0; j < columns; j += wide_, b += step)
          strip<T>(rows, depth, from(a_, i0, p), b, wide_, c + j, n_, std::min(wide_, columns - j), p > 0);
        return;
      }
    Buffer<R> a(rows * depth * parts * parts);
    for_tiles(rows, tile_rows_, [&](std::int64_t i, std::int64_t r) {
      pack_a(r, depth, from(a_, i0 + i, p), a.data() + i * depth * parts * parts);
    });
    for (std::int64_t j = 0; j < columns; j += wide_, b += step)
      packed_strip(rows, depth, a.data(), b, c + j, std::min(wide_, columns - j), p > 0);
  }

  void look(std::int64_t i0, std::int64_t j0, std::int64_t columns) {
    for (std::int64_t i = i0; i < std::min(m_, i0 + task_rows_); ++i)
      if (any_nonfinite(dtype_v<T>, c_ + i * n_ + j0, columns)) return bad_->store(true, std::memory_order_relaxed);
  }

  void packed_strip(std::int64_t rows, std::int64_t depth, const R* a, const R* b, T* c, std::int64_t columns,
                    bool add) {
    const std::int64_t vectors = ceil_div(columns, kernel_.width), k = depth * parts;
    for_tiles(rows, tile_rows_, [&](std::int64_t i, std::int64_t r) {
      const auto tile = kernel_.tile[1][parts * r][vectors];
      const R* const rows_of_a = a + i * k * parts;
      if constexpr (parts == 1) {
        tile(k, rows_of_a, 1, r, b, wide_, c + i * n_, n_, columns, add);
      } else {
        alignas(64) R part[simd::kTileRows * simd::kTileVectors * 64 / sizeof(R)];
        tile(k, rows_of_a, 1, parts * r, b, wide_, part, wide_, vectors * kernel_.width, false);
        merge(r, columns, part, wide_, c + i * n_, n_, add);
      }
    });
  }

  const simd::Products<R>& kernel_ = simd::products<R>();
  const std::int64_t wide_ = kernel_.vectors * kernel_.width, tile_rows_ = kernel_.rows / parts;
  const std::int64_t m_, n_, k_;
  const View<T> a_, b_;
  T* const c_;
  std::atomic<bool>* const bad_;
  const std::int64_t panel_;
  std::int64_t task_rows_, task_columns_;
  bool direct_;
};

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, T* c, std::atomic<bool>* bad) {
  const bool small = m * n <= kSerial && m * n * k <= kSerial;
  if constexpr (RealOf<T>::parts == 1)
    if (small) {
      small_gemm(m, n, k, a, b, c);
      if (bad && any_nonfinite(dtype_v<T>, c, m * n)) bad->store(true, std::memory_order_relaxed);
      return;
    }
  Blocked<T>(m, n, k, a, b, c, bad).run();
}

#define WP_INSTANTIATE(T) \
  template void gemm(std::int64_t, std::int64_t, std::int64_t, View<T>, View<T>, T*, std::atomic<bool>*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
WP_INSTANTIATE(std::complex<float>)
WP_INSTANTIATE(std::complex<double>)
WP_INSTANTIATE(std::uint32_t)
WP_INSTANTIATE(std::uint64_t)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
