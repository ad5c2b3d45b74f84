#include "kernels/sort.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace wp::kernels {
namespace {

constexpr std::int64_t kRadix = 400;  // from this length on, sorting by digits beats comparing

// Elements as unsigned integers in the same order. `flip` is all ones to reverse it.
template <class U>
struct Unsigned {
  using Bits = U;
  static U key(U v, U flip) { return static_cast<U>(v ^ flip); }
};
template <class U>
struct Signed {
  using Bits = U;
  static constexpr U sign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  static U key(U v, U flip) { return static_cast<U>(v ^ sign ^ flip); }
};
template <class U, U infinity>
struct Float {
  using Bits = U;
  static constexpr U sign = Signed<U>::sign, all = std::numeric_limits<U>::max();
  static U key(U v, U flip) {
    const U size = static_cast<U>(v & (sign - 1));
    const U ordered = size == 0 ? sign : static_cast<U>(v & sign ? ~v : v | sign);
    return size > infinity ? all : static_cast<U>(ordered ^ flip);  // all ones is no number's key
  }
};

template <class F>
decltype(auto) with_order(DType d, F&& f) {
  switch (d) {
    case DType::boolean:
    case DType::u8: return f(Unsigned<std::uint8_t>{});
    case DType::u16: return f(Unsigned<std::uint16_t>{});
    case DType::u32: return f(Unsigned<std::uint32_t>{});
    case DType::u64: return f(Unsigned<std::uint64_t>{});
    case DType::i8: return f(Signed<std::uint8_t>{});
    case DType::i16: return f(Signed<std::uint16_t>{});
    case DType::i32: return f(Signed<std::uint32_t>{});
    case DType::i64: return f(Signed<std::uint64_t>{});
    case DType::f16: return f(Float<std::uint16_t, 0x7c00>{});
    case DType::bf16: return f(Float<std::uint16_t, 0x7f80>{});
    case DType::f32: return f(Float<std::uint32_t, 0x7f800000>{});
    default: return f(Float<std::uint64_t, 0x7ff0000000000000>{});
  }
}

// Sorts by the bytes of key(e), least first. Returns where the result stands: `a` or `spare`.
template <class E, class Key>
E* radix_sort(E* a, E* spare, std::int64_t n, Key key) {
  using U = decltype(key(*a));
  constexpr int passes = sizeof(U);
  std::array<std::array<std::int64_t, 256>, passes> counts{};
  for (std::int64_t i = 0; i < n; ++i) {
    const U k = key(a[i]);
    for (int p = 0; p < passes; ++p) ++counts[p][(k >> (8 * p)) & 255U];
  }
  for (int p = 0; p < passes; ++p) {
    std::array<std::int64_t, 256>& at = counts[p];
    if (at[(key(a[0]) >> (8 * p)) & 255U] == n) continue;  // all alike in this byte
    std::int64_t start = 0;
    for (std::int64_t& c : at) {
      const std::int64_t count = c;
      c = start;
      start += count;
    }
    for (std::int64_t i = 0; i < n; ++i) spare[at[(key(a[i]) >> (8 * p)) & 255U]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

template <class E, class Key>
void insertion_sort(E* a, std::int64_t n, Key key) {
  for (std::int64_t i = 1; i < n; ++i) {
    const E e = a[i];
    const auto k = key(e);
    std::int64_t j = i;
    for (; j > 0 && key(a[j - 1]) > k; --j) a[j] = a[j - 1];
    a[j] = e;
  }
}

template <class E, class Key>
void sort_stable(E* a, std::int64_t n, Key key) {
  if (n <= 32) return insertion_sort(a, n, key);
  if (n < kRadix) {
    std::stable_sort(a, a + n, [&](const E& x, const E& y) { return key(x) < key(y); });
    return;
  }
  const auto spare = std::make_unique_for_overwrite<E[]>(static_cast<std::size_t>(n));
  E* const sorted = radix_sort(a, spare.get(), n, key);
  if (sorted != a) std::memcpy(a, sorted, static_cast<std::size_t>(n) * sizeof(E));
}

template <class U, class I>
struct Keyed {
  U key;
  I at;
};

template <class Order, class I>
void argsort(const typename Order::Bits* x, std::int64_t* order, std::int64_t n, bool descending) {
  using U = typename Order::Bits;
  using E = Keyed<U, I>;
  const U flip = descending ? std::numeric_limits<U>::max() : U{0};
  const auto e = std::make_unique_for_overwrite<E[]>(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) e[i] = {Order::key(x[i], flip), static_cast<I>(i)};
  sort_stable(e.get(), n, [](const E& v) { return v.key; });
  for (std::int64_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(e[i].at);
}

// By the imaginary part, then, stably, by the real part.
template <class Order>
void argsort_complex(const typename Order::Bits* x, std::int64_t* order, std::int64_t n, bool descending) {
  using U = typename Order::Bits;
  using E = Keyed<U, std::int64_t>;
  constexpr U nan = std::numeric_limits<U>::max();
  const U flip = descending ? nan : U{0};
  const auto e = std::make_unique_for_overwrite<E[]>(static_cast<std::size_t>(n));
  for (int part = 1; part >= 0; --part) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = part == 1 ? i : e[i].at;
      const U own = Order::key(x[2 * at + part], flip), other = Order::key(x[2 * at + 1 - part], flip);
      e[i] = {other == nan ? nan : own, at};
    }
    sort_stable(e.get(), n, [](const E& v) { return v.key; });
  }
  for (std::int64_t i = 0; i < n; ++i) order[i] = e[i].at;
}

}  // namespace

void sort_line(DType dtype, const void* x, void* y, std::int64_t n, bool descending) {
  if (n == 0) return;
  with_order(dtype, [&](auto order) {
    using Order = decltype(order);
    using U = typename Order::Bits;
    const U flip = descending ? std::numeric_limits<U>::max() : U{0};
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(U));
    sort_stable(static_cast<U*>(y), n, [flip](U v) { return Order::key(v, flip); });
  });
}

void argsort_line(DType dtype, const void* x, std::int64_t* order, std::int64_t n, bool descending) {
  if (dtype == c64)
    return argsort_complex<Float<std::uint32_t, 0x7f800000>>(static_cast<const std::uint32_t*>(x), order, n,
                                                             descending);
  if (dtype == c128)
    return argsort_complex<Float<std::uint64_t, 0x7ff0000000000000>>(static_cast<const std::uint64_t*>(x), order, n,
                                                                     descending);
  with_order(dtype, [&](auto tag) {
    using Order = decltype(tag);
    const auto* const bits = static_cast<const typename Order::Bits*>(x);
    if (n <= std::numeric_limits<std::uint32_t>::max())
      argsort<Order, std::uint32_t>(bits, order, n, descending);
    else
      argsort<Order, std::uint64_t>(bits, order, n, descending);
  });
}

}  // namespace wp::kernels
