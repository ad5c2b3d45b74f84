#include "kernels/gemm.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/packing.hpp"
#include "kernels/scan.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels {
namespace {

// Partial products of kDepth terms are added to C in order: the only cut along k, and always the same.
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kSerial = 64 * 64 * 64;    // multiply-adds below which threads do not pay
constexpr std::int64_t kPanelColumns = 4032;      // columns of B packed at once
constexpr std::int64_t kBlockBytes = 192 * 1024;  // of A per task: stays in the second-level cache
constexpr std::int64_t kTasks = 16;               // wanted, where the matrix is large enough

// What later blocks along k do to C.
constexpr Into next(Into into) {
  return into == Into::set ? Into::add : into;
}

// The columns of a row's part, from its diagonal's column (relative to the first of `columns`).
struct Range {
  std::int64_t begin, end;
};
constexpr Range columns_of(Part part, std::int64_t diagonal, std::int64_t columns) {
  return {part == Part::upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : 0,
          part == Part::lower ? std::clamp<std::int64_t>(diagonal + 1, 0, columns) : columns};
}
// How the part and a tile meet; `diagonal` is that of its first row.
enum class Meeting : std::uint8_t { apart, cut, inside };
constexpr Meeting meeting(Part part, std::int64_t diagonal, std::int64_t rows, std::int64_t columns) {
  if (part == Part::all) return Meeting::inside;
  const Range first = columns_of(part, diagonal, columns), last = columns_of(part, diagonal + rows - 1, columns);
  const Range least = part == Part::lower ? first : last, most = part == Part::lower ? last : first;
  if (most.begin >= most.end) return Meeting::apart;
  return least.end - least.begin == columns ? Meeting::inside : Meeting::cut;
}

// C op= the tile, whose rows are real; or alternate between real and imaginary parts.
template <class R, class T>
void merge(std::int64_t rows, std::int64_t columns, const R* tile, std::int64_t width, MutableView<T> c, Into into,
           Part part, std::int64_t diagonal) {
  for (std::int64_t i = 0; i < rows; ++i, c.data += c.rows, tile += RealOf<T>::parts * width) {
    const Range range = columns_of(part, diagonal + i, columns);
    for (std::int64_t j = range.begin; j < range.end; ++j) {
      T v;
      if constexpr (RealOf<T>::parts == 2)
        v = T(tile[j], tile[width + j]);
      else
        v = tile[j];
      T& to = c.data[j * c.columns];
      to = into == Into::set ? v : into == Into::add ? static_cast<T>(to + v) : static_cast<T>(to - v);
    }
  }
}

template <class R>
struct Scratch {
  alignas(64) R tile[simd::kTileRows * simd::kTileVectors * 64 / sizeof(R)];
};

// One strip of C, `columns` wide, from packed B and unpacked A. The diagonal crosses its first row at `diagonal`.
template <class T>
void strip(std::int64_t m, std::int64_t k, View<T> a, const T* b, std::int64_t b_k, T* c, std::int64_t c_row,
           std::int64_t columns, Into into, Part part, std::int64_t diagonal) {
  const simd::Products<T>& kernel = simd::products<T>();
  const auto* const tile = kernel.tile[a.rows == 1];
  const std::int64_t vectors = ceil_div(columns, kernel.width);
  for_tiles(m, kernel.rows, [&](std::int64_t i, std::int64_t r) {
    const Meeting met = meeting(part, diagonal + i, r, columns);
    if (met == Meeting::inside)
      return tile[r][vectors](k, a.data + i * a.rows, a.rows, a.columns, b, b_k, c + i * c_row, c_row, columns, into);
    if (met == Meeting::apart) return;
    Scratch<T> scratch;
    const std::int64_t width = vectors * kernel.width;
    tile[r][vectors](k, a.data + i * a.rows, a.rows, a.columns, b, b_k, scratch.tile, width, width, Into::set);
    merge<T, T>(r, columns, scratch.tile, width, {c + i * c_row, c_row, 1}, into, part, diagonal + i);
  });
}

// Small products: no threads, no heap. A is read where it is; so is B where its rows are whole vectors.
template <class T>
void small_gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, MutableView<T> c, Into into,
                Part part) {
  const simd::Products<T>& kernel = simd::products<T>();
  const std::int64_t wide = kernel.vectors * kernel.width;
  alignas(64) T packed[kDepth * simd::kTileVectors * 64 / sizeof(T)];
  for (std::int64_t j = 0; j < n; j += wide) {
    const std::int64_t columns = std::min(wide, n - j), width = ceil_div(columns, kernel.width) * kernel.width;
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      const View<T> at = b.from(p, j);
      const bool direct = b.columns == 1 && columns == width && m <= 4 * kernel.rows;
      if (!direct) pack_b(depth, columns, width, at, packed);
      strip<T>(m, depth, a.from(0, p), direct ? at.data : packed, direct ? b.rows : width, c.data + j, c.rows,
               columns, p > 0 ? next(into) : into, part, -j);
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
  Blocked(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, MutableView<T> c, Into into,
          Part part, std::atomic<bool>* bad)
      : m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        c_(c),
        into_(into),
        part_(part),
        bad_(bad),
        panel_(std::min(n, kPanelColumns / wide_ * wide_)) {
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
                         pack_b(depth, std::min(wide_, columns - s * wide_), wide_, b_.from(p, j0 + s * wide_),
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
  // Rows from i0 and `columns` columns from j0 of C op= A[:, p : p + depth] · packed B.
  void task(std::int64_t i0, std::int64_t p, std::int64_t j0, std::int64_t columns, std::int64_t depth, const R* b) {
    const std::int64_t rows = std::min(task_rows_, m_ - i0), step = depth * parts * wide_;
    if (meeting(part_, i0 - j0, rows, columns) == Meeting::apart) return;
    const Into into = p > 0 ? next(into_) : into_;
    const MutableView<T> c = c_.from(i0, j0);
    if constexpr (parts == 1)
      if (direct_) {
        for (std::int64_t j = 0; j < columns; j += wide_, b += step)
          strip<T>(rows, depth, a_.from(i0, p), b, wide_, c.data + j, c.rows, std::min(wide_, columns - j), into,
                   part_, i0 - j0 - j);
        return;
      }
    Buffer<R> a(rows * depth * parts * parts);
    for_tiles(rows, tile_rows_, [&](std::int64_t i, std::int64_t r) {
      pack_a(r, depth, a_.from(i0 + i, p), a.data() + i * depth * parts * parts);
    });
    for (std::int64_t j = 0; j < columns; j += wide_, b += step)
      packed_strip(rows, depth, a.data(), b, c.from(0, j), std::min(wide_, columns - j), into, i0 - j0 - j);
  }

  void look(std::int64_t i0, std::int64_t j0, std::int64_t columns) {
    for (std::int64_t i = i0; i < std::min(m_, i0 + task_rows_); ++i)
      if (any_nonfinite(dtype_v<T>, c_.from(i, j0).data, columns))
        return bad_->store(true, std::memory_order_relaxed);
  }

  void packed_strip(std::int64_t rows, std::int64_t depth, const R* a, const R* b, MutableView<T> c,
                    std::int64_t columns, Into into, std::int64_t diagonal) {
    const std::int64_t vectors = ceil_div(columns, kernel_.width), k = depth * parts;
    for_tiles(rows, tile_rows_, [&](std::int64_t i, std::int64_t r) {
      const Meeting met = meeting(part_, diagonal + i, r, columns);
      if (met == Meeting::apart) return;
      const auto tile = kernel_.tile[1][parts * r][vectors];
      const R* const rows_of_a = a + i * k * parts;
      const MutableView<T> to = c.from(i, 0);
      if constexpr (parts == 1)
        if (met == Meeting::inside) return tile(k, rows_of_a, 1, r, b, wide_, to.data, to.rows, columns, into);
      Scratch<R> scratch;
      tile(k, rows_of_a, 1, parts * r, b, wide_, scratch.tile, wide_, vectors * kernel_.width, Into::set);
      merge<R, T>(r, columns, scratch.tile, wide_, to, into, part_, diagonal + i);
    });
  }

  const simd::Products<R>& kernel_ = simd::products<R>();
  const std::int64_t wide_ = kernel_.vectors * kernel_.width, tile_rows_ = kernel_.rows / parts;
  const std::int64_t m_, n_, k_;
  const View<T> a_, b_;
  const MutableView<T> c_;
  const Into into_;
  const Part part_;
  std::atomic<bool>* const bad_;
  const std::int64_t panel_;
  std::int64_t task_rows_, task_columns_;
  bool direct_;
};

template <class T>
void set_to_zero(std::int64_t m, std::int64_t n, MutableView<T> c, Part part) {
  for (std::int64_t i = 0; i < m; ++i) {
    const Range range = columns_of(part, i, n);
    for (std::int64_t j = range.begin; j < range.end; ++j) *c.from(i, j).data = T(0);
  }
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, MutableView<T> c, Into into,
          Part part, std::atomic<bool>* bad) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (into == Into::set) set_to_zero(m, n, c, part);
    return;
  }
  if constexpr (RealOf<T>::parts == 1) {
    // Rows of C that run backwards are those of A, turned with them; likewise columns.
    if (part == Part::all && c.columns == -1) {
      c = c.transposed().reversed_rows(n).transposed();
      b = {b.data + (n - 1) * b.columns, b.rows, -b.columns};
    }
    if (part == Part::all && c.rows == -1) {
      c = c.reversed_rows(m);
      a = {a.data + (m - 1) * a.rows, -a.rows, a.columns};
    }
    if (n > 1 && c.columns != 1)  // Cᵀ = Bᵀ·Aᵀ has the same products in the same order
      return gemm<T>(n, m, k, b.transposed(), a.transposed(), c.transposed(), into,
                     part == Part::all     ? part
                     : part == Part::lower ? Part::upper
                                           : Part::lower,
                     bad);
    if (m * n <= kSerial && m * n * k <= kSerial) {
      small_gemm(m, n, k, a, b, c, into, part);
      const std::int64_t lines = c.rows == n ? 1 : m;  // of C's memory
      for (std::int64_t i = 0; bad && i < lines; ++i)
        if (any_nonfinite(dtype_v<T>, c.from(i, 0).data, m / lines * n)) bad->store(true, std::memory_order_relaxed);
      return;
    }
  }
  Blocked<T>(m, n, k, a, b, c, into, part, bad).run();
}

#define WP_INSTANTIATE(T)                                                                                    \
  template void gemm(std::int64_t, std::int64_t, std::int64_t, View<T>, View<T>, MutableView<T>, Into, Part, \
                     std::atomic<bool>*);
WP_FOR_FLOATS(WP_INSTANTIATE)
WP_INSTANTIATE(std::uint32_t)
WP_INSTANTIATE(std::uint64_t)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
