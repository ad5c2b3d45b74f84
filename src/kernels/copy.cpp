#include "kernels/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "simd/stream.hpp"
#include "simd/transpose.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPiece = 1 << 16;     // elements per piece of parallel work
constexpr std::size_t kStreamRun = 1 << 12;  // bytes of a run from which streaming pays

struct Layout {
  Dims shape, to, from;
  std::int64_t count = 1;
};

// Axes in the order of dst's memory, neighbours joined.
Layout arrange(const Dims& shape, const Dims& to, const Dims& from) {
  Layout l{shape, to, from};
  for (const std::int64_t d : shape) l.count *= d;
  if (l.count == 0) return l;
  Dims* both[] = {&l.to, &l.from};
  coalesce(l.shape, both, 2);
  for (std::size_t k = 1; k < l.shape.size(); ++k)
    for (std::size_t j = k; j > 0 && std::abs(l.to[j - 1]) < std::abs(l.to[j]); --j) {
      std::swap(l.shape[j - 1], l.shape[j]);
      std::swap(l.to[j - 1], l.to[j]);
      std::swap(l.from[j - 1], l.from[j]);
    }
  coalesce(l.shape, both, 2);
  return l;
}

template <class T>
void copy_run(T* __restrict d, std::int64_t ds, const T* __restrict s, std::int64_t ss, std::int64_t n, bool stream) {
  if (ds == 1 && ss == 1 && stream) {
    simd::stream_copy(d, s, static_cast<std::size_t>(n) * sizeof(T));
  } else if (ds == 1 && ss == 1) {
    std::memcpy(d, s, static_cast<std::size_t>(n) * sizeof(T));
  } else if (ds == 1 && ss == 0) {
    std::fill_n(d, n, *s);
  } else if (ds == 1 && ss == -1) {
    for (std::int64_t i = 0; i < n; ++i) d[i] = s[-i];
  } else if (ds == 1) {
    for (std::int64_t i = 0; i < n; ++i) d[i] = s[i * ss];
  } else {
    for (std::int64_t i = 0; i < n; ++i) d[i * ds] = s[i * ss];
  }
}

// Elements [begin, end) in the order of the layout.
template <class T>
void copy_rows(const Layout& l, T* dst, const T* src, std::int64_t begin, std::int64_t end) {
  const std::size_t last = l.shape.size() - 1;
  const bool stream = static_cast<std::size_t>(l.count) * sizeof(T) >= simd::stream_threshold() &&
                      static_cast<std::size_t>(l.shape[last]) * sizeof(T) >= kStreamRun;
  Dims index(l.shape.size(), 0);
  std::int64_t d = 0, s = 0, rest = begin, n = end - begin;
  for (std::size_t k = l.shape.size(); k-- > 0;) {
    index[k] = rest % l.shape[k];
    rest /= l.shape[k];
    d += index[k] * l.to[k];
    s += index[k] * l.from[k];
  }
  while (n > 0) {
    const std::int64_t run = std::min(n, l.shape[last] - index[last]);
    copy_run(dst + d, l.to[last], src + s, l.from[last], run, stream);
    n -= run;
    index[last] += run;
    d += run * l.to[last];
    s += run * l.from[last];
    for (std::size_t k = last; k > 0 && index[k] == l.shape[k]; --k) {
      d += l.to[k - 1] - l.shape[k] * l.to[k];
      s += l.from[k - 1] - l.shape[k] * l.from[k];
      index[k] = 0;
      ++index[k - 1];
    }
  }
  if (stream) simd::stream_fence();
}

template <class T>
inline constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));  // elements of a cache line

// Writes a square of one line per row past the caches; `next` is asked for meanwhile. src runs along rows.
template <class T>
void stream_tile(T* __restrict d, std::int64_t d_row, const T* __restrict s, std::int64_t s_col, const T* next) {
  constexpr std::int64_t K = kLine<T>, n = simd::kSquare<T>;
  alignas(64) T block[K][K];
  for (std::int64_t c = 0; c < K; ++c) __builtin_prefetch(next + c * s_col);
  for (std::int64_t c = 0; c < K; ++c) std::memcpy(block[c], s + c * s_col, sizeof block[c]);
  for (std::int64_t r = 0; r < K; r += n) {
    alignas(64) T lines[n][K];
    for (std::int64_t c = 0; c < K; c += n) simd::transpose_square(&lines[0][c], K, &block[c][r], K);
    for (std::int64_t i = 0; i < n; ++i) simd::stream_line(d + (r + i) * d_row, lines[i]);
  }
}

struct Block {  // of a matrix whose rows lie along dst and whose columns along src
  std::int64_t d_row, s_row, s_col, rows, cols;
};

// Rows of 1 KiB are put together in the second cache and written in one run each. Good for any stride, also those
// that map all rows to one set of the cache, and for rows that do not start on a line.
template <class T>
void copy_block(const Block& b, T* d, const T* s, bool stream) {
  constexpr std::int64_t kRows = 64, kCols = 16 * kLine<T>, kPitch = kCols + kLine<T>, n = simd::kSquare<T>;
  alignas(64) T buffer[kRows * kPitch];
  for (std::int64_t r0 = 0; r0 < b.rows; r0 += kRows)
    for (std::int64_t c0 = 0; c0 < b.cols; c0 += kCols) {
      const std::int64_t rows = std::min(kRows, b.rows - r0), cols = std::min(kCols, b.cols - c0);
      const T* const from = s + r0 * b.s_row + c0 * b.s_col;
      const std::int64_t whole_rows = b.s_row == 1 ? rows / n * n : 0, whole_cols = cols / n * n;
      for (std::int64_t c = 0; c < whole_cols; c += n) {
        const std::int64_t ahead = std::min(c + 2 * n, cols - n);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t r = 0; r < whole_rows; r += kLine<T>)
            __builtin_prefetch(from + (ahead + i) * b.s_col + r);
        for (std::int64_t r = 0; r < whole_rows; r += n)
          simd::transpose_square(buffer + r * kPitch + c, kPitch, from + c * b.s_col + r, b.s_col);
      }
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c)
          buffer[r * kPitch + c] = from[r * b.s_row + c * b.s_col];
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const to = d + (r0 + r) * b.d_row + c0;
        if (stream)
          simd::stream_copy(to, buffer + r * kPitch, static_cast<std::size_t>(cols) * sizeof(T));
        else
          std::memcpy(to, buffer + r * kPitch, static_cast<std::size_t>(cols) * sizeof(T));
      }
    }
}

// Whether lines can be streamed one by one: they start on a boundary, and rows do not share the sets of the cache.
template <class T>
bool streams_lines(const Block& b, const T* d) {
  constexpr std::int64_t K = kLine<T>;
  return b.s_row == 1 && reinterpret_cast<std::uintptr_t>(d) % 64 == 0 && b.d_row % K == 0 && b.rows % K == 0 &&
         b.cols % K == 0 && b.s_col % (64 * K) != 0;
}

// dst runs along the last axis, src along `fast`. Pieces are long along `fast`, so that src is read in long runs.
template <class T>
void copy_blocks(const Layout& l, std::size_t fast, T* dst, const T* src) {
  constexpr std::int64_t K = kLine<T>, kRows = 1024, kCols = 256;
  const std::size_t last = l.shape.size() - 1;
  const std::int64_t rows = l.shape[fast], cols = l.shape[last];
  const std::int64_t strips = (rows + kRows - 1) / kRows, parts = (cols + kCols - 1) / kCols;
  const bool large = static_cast<std::size_t>(l.count) * sizeof(T) >= simd::stream_threshold();
  const auto piece = [&](std::int64_t number) {
    const std::int64_t row = number % strips * kRows, col = number / strips % parts * kCols;
    const Block b{l.to[fast], l.from[fast], l.from[last], std::min(kRows, rows - row), std::min(kCols, cols - col)};
    T* d = dst + row * b.d_row + col;
    const T* s = src + row * b.s_row + col * b.s_col;
    std::int64_t rest = number / strips / parts;
    for (std::size_t k = last; k-- > 0;) {
      if (k == fast) continue;
      d += rest % l.shape[k] * l.to[k];
      s += rest % l.shape[k] * l.from[k];
      rest /= l.shape[k];
    }
    if (large && streams_lines(b, d)) {
      for (std::int64_t c = 0; c < b.cols; c += K)
        for (std::int64_t r = 0; r < b.rows; r += K)
          stream_tile(d + r * b.d_row + c, b.d_row, s + r + c * b.s_col, b.s_col,
                      s + r + (c + K < b.cols ? c + K : c) * b.s_col);
    } else {
      copy_block(b, d, s, large);
    }
    if (large) simd::stream_fence();
  };
  const std::int64_t size = std::min(rows, kRows) * std::min(cols, kCols);
  parallel_for(l.count / rows / cols * strips * parts, std::max<std::int64_t>(1, kPiece / size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t number = begin; number < end; ++number) piece(number);
               });
}

constexpr std::size_t kNone = ~std::size_t{0};

// The axis along which src is read best, when it is not dst's and the block is worth it.
std::size_t fast_axis(const Layout& l, std::size_t item) {
  const std::size_t last = l.shape.size() - 1;
  if (l.to[last] != 1 || l.count < 4096 || l.shape[last] < 8 || l.from[last] == 0) return kNone;
  std::size_t best = kNone;
  for (std::size_t k = 0; k < last; ++k)
    if (l.shape[k] >= 8 && l.from[k] != 0 && (best == kNone || std::abs(l.from[k]) < std::abs(l.from[best])))
      best = k;
  const auto line = static_cast<std::int64_t>(64 / item);  // elements; a stride below it still shares cache lines
  if (best == kNone || std::abs(l.from[best]) > line || std::abs(l.from[last]) < 2 * std::abs(l.from[best]))
    return kNone;
  return best;
}

}  // namespace

void copy(char* dst, const Dims& to, const char* src, const Dims& from, const Dims& shape, std::size_t item) {
  const Layout l = arrange(shape, to, from);
  if (l.count == 0) return;
  if (l.shape.empty()) {
    std::memcpy(dst, src, item);
    return;
  }
  const std::size_t fast = fast_axis(l, item);
  with_size(item, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const d = reinterpret_cast<T*>(dst);
    const T* const s = reinterpret_cast<const T*>(src);
    if (fast != kNone) return copy_blocks(l, fast, d, s);
    parallel_for(l.count, kPiece, [&](std::int64_t begin, std::int64_t end) { copy_rows(l, d, s, begin, end); });
  });
}

void fill(char* dst, const void* value, std::size_t item, std::int64_t n) {
  const bool stream = static_cast<std::size_t>(n) * item >= simd::stream_threshold();
  with_size(item, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v;
    std::memcpy(&v, value, sizeof v);
    T* const d = reinterpret_cast<T*>(dst);
    parallel_for(n, kPiece, [&](std::int64_t begin, std::int64_t end) {
      if (!stream) {
        std::fill_n(d + begin, end - begin, v);
        return;
      }
      constexpr std::int64_t kPattern = 4096 / sizeof(T);
      alignas(64) T pattern[kPattern];
      std::fill_n(pattern, kPattern, v);
      for (std::int64_t i = begin; i < end; i += kPattern)
        simd::stream_copy(d + i, pattern, static_cast<std::size_t>(std::min(kPattern, end - i)) * sizeof(T));
      simd::stream_fence();
    });
  });
}

}  // namespace wp::kernels
