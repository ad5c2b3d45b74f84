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

// A K × K tile, K elements being one cache line: every line of src is read once and every line of dst written once,
// whatever the strides do to the cache's sets. `next` is the tile whose lines are asked for meanwhile.
template <class T, int K>
void tile(T* __restrict d, std::int64_t d_row, const T* __restrict s, std::int64_t s_row, std::int64_t s_col,
          const T* next, bool stream) {
  constexpr int n = simd::kSquare<T>;
  alignas(64) T block[K][K];
  if (s_row != 1) {
    for (int c = 0; c < K; ++c)
      for (int r = 0; r < K; ++r) block[r][c] = s[c * s_col + r * s_row];
    for (int r = 0; r < K; ++r) std::memcpy(d + r * d_row, block[r], sizeof block[r]);
    return;
  }
  for (int c = 0; c < K; ++c) __builtin_prefetch(next + c * s_col);
  for (int c = 0; c < K; ++c) std::memcpy(block[c], s + c * s_col, sizeof block[c]);
  for (int r = 0; r < K; r += n) {
    alignas(64) T lines[n][K];
    for (int c = 0; c < K; c += n) simd::transpose_square(&lines[0][c], K, &block[c][r], K);
    for (int i = 0; i < n; ++i)
      if (stream)
        simd::stream_line(d + (r + i) * d_row, lines[i]);
      else
        std::memcpy(d + (r + i) * d_row, lines[i], sizeof lines[i]);
  }
}

// dst runs along the last axis, src along `fast`. Pieces are long along `fast`, so that src is read in long runs.
template <class T>
void copy_blocks(const Layout& l, std::size_t fast, T* dst, const T* src) {
  constexpr std::int64_t K = 64 / static_cast<std::int64_t>(sizeof(T)), kRows = 1024, kCols = 256;
  const std::size_t last = l.shape.size() - 1;
  const std::int64_t rows = l.shape[fast], cols = l.shape[last];
  const std::int64_t strips = (rows + kRows - 1) / kRows, parts = (cols + kCols - 1) / kCols;
  const std::int64_t dr = l.to[fast], sr = l.from[fast], sc = l.from[last];
  const bool large = static_cast<std::size_t>(l.count) * sizeof(T) >= simd::stream_threshold();
  const auto piece = [&](std::int64_t number) {
    const std::int64_t row0 = number % strips * kRows, row1 = std::min(rows, row0 + kRows);
    const std::int64_t col0 = number / strips % parts * kCols, col1 = std::min(cols, col0 + kCols);
    T* d = dst;
    const T* s = src;
    std::int64_t rest = number / strips / parts;
    for (std::size_t k = last; k-- > 0;) {
      if (k == fast) continue;
      d += rest % l.shape[k] * l.to[k];
      s += rest % l.shape[k] * l.from[k];
      rest /= l.shape[k];
    }
    const bool stream = large && reinterpret_cast<std::uintptr_t>(d) % 64 == 0 && dr % K == 0;
    for (std::int64_t c = col0; c < col1; c += K)
      for (std::int64_t r = row0; r < row1; r += K) {
        if (c + K <= col1 && r + K <= row1) {
          const std::int64_t ahead = c + 2 * K <= col1 ? c + K : c;
          tile<T, K>(d + r * dr + c, dr, s + r * sr + c * sc, sr, sc, s + r * sr + ahead * sc, stream);
          continue;
        }
        for (std::int64_t i = r; i < std::min(r + K, row1); ++i)
          for (std::int64_t j = c; j < std::min(c + K, col1); ++j) d[i * dr + j] = s[i * sr + j * sc];
      }
    if (stream) simd::stream_fence();
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
