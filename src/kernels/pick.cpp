#include "kernels/pick.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/walk.hpp"

namespace wp::kernels {
namespace {

using Set = Combiner<Combine::set>;

std::int64_t count_of(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

template <class T, class F>
bool run(T* d, std::int64_t ds, const T* s, std::int64_t ss, std::int64_t n, F) {
  if constexpr (std::is_same_v<F, Set>)
    if (ds == 1 && ss == 1 && n > 8) {
      std::memcpy(d, s, static_cast<std::size_t>(n) * sizeof(T));
      return false;
    }
  bool bad = false;
  for (std::int64_t i = 0; i < n; ++i) bad |= F::apply(d[i * ds], s[i * ss]);
  return bad;
}

// A block of the inner axes from axis k on; `from`..`to` cuts the first of them.
template <class T, class F>
bool block(const Pick& p, std::size_t k, T* d, const T* s, std::int64_t from, std::int64_t to, F f) {
  if (k == p.inner.size()) return f.apply(*d, *s);
  const std::int64_t ds = p.to.inner[k], ss = p.from.inner[k];
  if (k + 1 == p.inner.size()) return run(d + from * ds, ds, s + from * ss, ss, to - from, f);
  bool bad = false;
  for (std::int64_t i = from; i < to; ++i) bad |= block(p, k + 1, d + i * ds, s + i * ss, 0, p.inner[k + 1], f);
  return bad;
}

// List entries [begin, end) at one outer position.
template <class T, class F>
bool entries(const Pick& p, T* d, const T* s, std::int64_t begin, std::int64_t end, std::int64_t from,
             std::int64_t to, F f) {
  bool bad = false;
  if (p.inner.empty() && p.from.places && !p.to.places)
    for (std::int64_t k = begin; k < end; ++k) bad |= f.apply(d[k * p.to.step], s[p.from.places[k]]);
  else if (p.inner.empty())
    for (std::int64_t k = begin; k < end; ++k) bad |= f.apply(d[p.to.at(k)], s[p.from.at(k)]);
  else
    for (std::int64_t k = begin; k < end; ++k) bad |= block(p, 0, d + p.to.at(k), s + p.from.at(k), from, to, f);
  return bad;
}

struct Offsets {
  std::int64_t to = 0, from = 0;
};
Offsets outer_offsets(const Pick& p, std::int64_t position) {
  Offsets o;
  for (std::size_t k = p.outer.size(); k-- > 0;) {
    o.to += position % p.outer[k] * p.to.outer[k];
    o.from += position % p.outer[k] * p.from.outer[k];
    position /= p.outer[k];
  }
  return o;
}

Pick joined(Pick p) {
  Dims* inner[] = {&p.to.inner, &p.from.inner};
  coalesce(p.inner, inner, 2);
  Dims* outer[] = {&p.to.outer, &p.from.outer};
  coalesce(p.outer, outer, 2);
  return p;
}

}  // namespace

void pick(const Pick& given, char* dst, const char* src, std::size_t item) {
  const std::int64_t outer = count_of(given.outer), inner = count_of(given.inner);
  if (outer * inner * given.n == 0) return;
  const Pick p = joined(given);
  with_size(item, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const d = reinterpret_cast<T*>(dst);
    const T* const s = reinterpret_cast<const T*>(src);
    const std::int64_t first = p.inner.empty() ? 1 : p.inner[0];
    parallel_for(outer * p.n, std::max<std::int64_t>(1, kGrain / inner), [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t o = begin / p.n, k = begin % p.n, stop = std::min(p.n, k + end - begin);
        const Offsets at = outer_offsets(p, o);
        entries(p, d + at.to, s + at.from, k, stop, 0, first, Set{});
        begin += stop - k;
      }
    });
  });
}

bool put(const Pick& given, char* dst, const char* src, DType dtype, Combine mode) {
  const std::int64_t outer = count_of(given.outer), inner = count_of(given.inner);
  if (outer * inner * given.n == 0) return false;
  const Pick p = joined(given);
  // One piece goes through the whole list for a part of the rest: repeated places keep their order.
  const std::int64_t first = p.inner.empty() ? 1 : p.inner[0];
  const std::int64_t width =
      std::clamp<std::int64_t>(kGrain / p.n / (inner / first), 64, std::max<std::int64_t>(first, 64));
  const std::int64_t parts = (first + width - 1) / width;
  return with_combiner(dtype, mode, [&](auto tag, auto f) {
    using T = typename decltype(tag)::type;
    T* const d = reinterpret_cast<T*>(dst);
    const T* const s = reinterpret_cast<const T*>(src);
    std::atomic<bool> bad{false};
    const std::int64_t work = std::max<std::int64_t>(1, p.n * std::min(width, first) * (inner / first));
    parallel_for(outer * parts, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
      bool seen = false;
      for (std::int64_t piece = begin; piece < end; ++piece) {
        const Offsets at = outer_offsets(p, piece / parts);
        const std::int64_t from = piece % parts * width, to = std::min(first, from + width);
        seen |= entries(p, d + at.to, s + at.from, 0, p.n, from, to, f);
      }
      if (seen) bad.store(true, std::memory_order_relaxed);
    });
    return bad.load();
  });
}

namespace {

// Offsets of a position on all axes but `skip` and the last.
struct RowOffsets {
  std::int64_t indexed = 0, plain = 0, index = 0;
};
RowOffsets row_offsets(const Along& a, std::int64_t position, bool skip_axis) {
  RowOffsets o;
  for (std::size_t k = a.shape.size() - 1; k-- > 0;) {
    if (skip_axis && k == a.axis) continue;
    const std::int64_t i = position % a.shape[k];
    position /= a.shape[k];
    if (k != a.axis) o.indexed += i * a.indexed[k];
    o.plain += i * a.plain[k];
    o.index += i * a.index_strides[k];
  }
  return o;
}

}  // namespace

void take_along(const Along& a, char* dst, const char* src, std::size_t item) {
  const std::int64_t count = count_of(a.shape);
  if (count == 0) return;
  const std::size_t last = a.shape.size() - 1;
  const std::int64_t n = a.shape[last], axis = a.indexed[a.axis], step = last == a.axis ? 0 : a.indexed[last];
  with_size(item, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(count / n, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const RowOffsets o = row_offsets(a, row, false);
        T* const d = reinterpret_cast<T*>(dst) + o.plain;
        const T* const s = reinterpret_cast<const T*>(src) + o.indexed;
        const std::int64_t* const index = a.index + o.index;
        const std::int64_t ds = a.plain[last], is = a.index_strides[last];
        for (std::int64_t i = 0; i < n; ++i) d[i * ds] = s[i * step + index[i * is] * axis];
      }
    });
  });
}

bool put_along(const Along& a, char* dst, const char* src, DType dtype, Combine mode) {
  const std::int64_t count = count_of(a.shape);
  if (count == 0) return false;
  const std::size_t last = a.shape.size() - 1;
  const bool across = last != a.axis;  // neighbours of a row write to different lines
  const std::int64_t n = a.shape[last], lines = across ? a.shape[a.axis] : 1;
  const std::int64_t width = across ? std::min<std::int64_t>(n, 256) : n, parts = (n + width - 1) / width;
  const std::int64_t axis = a.indexed[a.axis], step = across ? a.indexed[last] : 0;
  return with_combiner(dtype, mode, [&](auto tag, auto f) {
    using T = typename decltype(tag)::type;
    std::atomic<bool> bad{false};
    parallel_for(
        count / n / lines * parts, std::max<std::int64_t>(1, kGrain / (width * lines)),
        [&](std::int64_t begin, std::int64_t end) {
          bool seen = false;
          for (std::int64_t piece = begin; piece < end; ++piece) {
            const RowOffsets o = row_offsets(a, piece / parts, across);
            const std::int64_t c0 = piece % parts * width, c1 = std::min(n, c0 + width);
            T* const d = reinterpret_cast<T*>(dst) + o.indexed;
            for (std::int64_t j = 0; j < lines; ++j) {
              const T* const s = reinterpret_cast<const T*>(src) + o.plain + (across ? j * a.plain[a.axis] : 0);
              const std::int64_t* const index = a.index + o.index + (across ? j * a.index_strides[a.axis] : 0);
              for (std::int64_t i = c0; i < c1; ++i)
                seen |= f.apply(d[i * step + index[i * a.index_strides[last]] * axis], s[i * a.plain[last]]);
            }
          }
          if (seen) bad.store(true, std::memory_order_relaxed);
        });
    return bad.load();
  });
}

}  // namespace wp::kernels
