#include "kernels/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "simd/transpose.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPiece = 1 << 16;  // elements per piece of parallel work

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
void copy_run(T* __restrict d, std::int64_t ds, const T* __restrict s, std::int64_t ss, std::int64_t n) {
  if (ds == 1 && ss == 1) {
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
    copy_run(dst + d, l.to[last], src + s, l.from[last], run);
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
}

// A K × K tile, K elements being one cache line: every line of src is read once and every line of dst written once,
// whatever the strides do to the cache's sets.
template <class T, int K>
void tile(T* __restrict d, std::int64_t d_row, const T* __restrict s, std::int64_t s_row, std::int64_t s_col) {
  alignas(64) T block[K][K];
  if (s_row == 1) {
    constexpr int n = simd::kSquare<T>;
    for (int c = 0; c < K; ++c) std::memcpy(block[c], s + c * s_col, sizeof block[c]);
    for (int r = 0; r < K; r += n)
      for (int c = 0; c < K; c += n) simd::transpose_square(d + r * d_row + c, d_row, &block[c][r], K);
    return;
  }
  for (int c = 0; c < K; ++c)
    for (int r = 0; r < K; ++r) block[r][c] = s[c * s_col + r * s_row];
  for (int r = 0; r < K; ++r) std::memcpy(d + r * d_row, block[r], sizeof block[r]);
}

// dst runs along the last axis, src along `fast`. Strips of several tiles' rows, so that src is read in long pieces.
template <class T>
void copy_blocks(const Layout& l, std::size_t fast, T* dst, const T* src) {
  constexpr int K = 64 / static_cast<int>(sizeof(T));
  constexpr std::int64_t strip = 4 * K;
  const std::size_t last = l.shape.size() - 1;
  const std::int64_t rows = l.shape[fast], cols = l.shape[last], strips = (rows + strip - 1) / strip;
  const std::int64_t dr = l.to[fast], sr = l.from[fast], sc = l.from[last];
  parallel_for(l.count / rows / cols * strips, std::max<std::int64_t>(1, kPiece / (strip * cols)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t row0 = piece % strips * strip, row1 = std::min(rows, row0 + strip);
                   T* d = dst;
                   const T* s = src;
                   std::int64_t rest = piece / strips;
                   for (std::size_t k = last; k-- > 0;) {
                     if (k == fast) continue;
                     d += rest % l.shape[k] * l.to[k];
                     s += rest % l.shape[k] * l.from[k];
                     rest /= l.shape[k];
                   }
                   for (std::int64_t c = 0; c < cols; c += K)
                     for (std::int64_t r = row0; r < row1; r += K) {
                       if (c + K <= cols && r + K <= row1) {
                         tile<T, K>(d + r * dr + c, dr, s + r * sr + c * sc, sr, sc);
                         continue;
                       }
                       for (std::int64_t i = r; i < std::min(r + K, row1); ++i)
                         for (std::int64_t j = c; j < std::min(c + K, cols); ++j) d[i * dr + j] = s[i * sr + j * sc];
                     }
                 }
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
  with_size(item, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v;
    std::memcpy(&v, value, sizeof v);
    parallel_for(n, kPiece, [&](std::int64_t begin, std::int64_t end) {
      std::fill_n(reinterpret_cast<T*>(dst) + begin, end - begin, v);
    });
  });
}

}  // namespace wp::kernels
