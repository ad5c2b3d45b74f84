// Included once per instruction set. A block is as many matrices as a register has lanes of double: element e of all
// of them stands in one register, which is number e of an array.
#include "kernels/lines.inl"

using V = Vec<double>;
using M = Int<double>;  // masks (0 or −1) and numbers, lane by lane
inline constexpr int W = lanes_of<double>;

// A size that the compiler knows, for which loops are unrolled, or one that it does not.
template <int N>
struct Fixed {
  static constexpr bool fixed = true;
  static constexpr int most = N;
  constexpr operator int() const { return N; }  // NOLINT
};
struct Sized {
  static constexpr bool fixed = false;
  static constexpr int most = kLargest;
  int n;
  operator int() const { return n; }  // NOLINT
};

// f(i) for from ≤ i < to. each: innermost loops, unrolled if the size is known. steps: loops around them, which are
// unrolled only if the whole block fits into registers.
template <class S, class F>
WP_PACK void each(int from, int to, F f) {
  if constexpr (S::fixed) {
#pragma GCC unroll 8
    for (int i = from; i < to; ++i) f(i);
  } else {
    for (int i = from; i < to; ++i) f(i);
  }
}
template <class S, class F>
WP_PACK void steps(int from, int to, F f) {
  if constexpr (S::fixed && S::most <= 4) {
#pragma GCC unroll 4
    for (int i = from; i < to; ++i) f(i);
  } else {
#pragma GCC unroll 1
    for (int i = from; i < to; ++i) f(i);
  }
}
#define WP_EACH(i) [&](int i) __attribute__((always_inline))
#define WP_EACH2(i, k) [&](int i, int k) __attribute__((always_inline))

// The same number, of which the compiler knows nothing: for loops that must stay loops. (Unrolled, masks become
// constants that g++ 12 fails on.)
WP_PACK int opaque(int n) {
  asm("" : "+r"(n));
  return n;
}

WP_PACK V magnitude(V a) {
  return absolute<double>(a);
}
WP_PACK V larger(V a, V b) {
  return a > b ? a : b;
}
// c − a·b.
WP_PACK V less(V a, V b, V c) {
  return fma(-a, b, c);
}
template <class E>
WP_PACK void exchange(M where, E& a, E& b) {  // E: V, M
  const E old = a;
  a = where ? b : a;
  b = where ? old : b;
}

// Whether a size, or the sum of sizes, is a number in T.
template <class T>
WP_PACK M in_range(V size) {
  return size <= static_cast<double>(std::numeric_limits<T>::max());
}

// 2^−e with 2^(e − 1) ≤ largest < 2^e, and 2^e; for sizes whose powers of two are normal numbers.
struct PowerOfTwo {
  V down, up;
};
WP_PACK PowerOfTwo power_of(V largest) {
  using Bits = simd::Format<double>;
  const M exponent = (bits<double>(largest) >> Bits::mantissa) - Bits::bias + 1;
  return {power_of_two<double>(-exponent), power_of_two<double>(exponent)};
}
inline constexpr double kFarBelow = 0x1p-1000, kFarAbove = 0x1p1000;

// ---- members to lanes and back ------------------------------------------------------------------------------------
template <int... k>
WP_PACK V low_halves(V a, V b, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, b, (k / 2 + k % 2 * W)...);
}
template <int... k>
WP_PACK V high_halves(V a, V b, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, b, (k / 2 + W / 2 + k % 2 * W)...);
}
// W registers: each round interleaves register i with register i + W/2 (as in simd/transpose.hpp).
WP_PACK void transpose(V* a) {
  constexpr auto all = std::make_integer_sequence<int, W>{};
#pragma GCC unroll 4
  for (int round = W; round > 1; round /= 2) {
    V b[W];
#pragma GCC unroll 8
    for (int i = 0; i < W / 2; ++i) {
      b[2 * i] = low_halves(a[i], a[i + W / 2], all);
      b[2 * i + 1] = high_halves(a[i], a[i + W / 2], all);
    }
#pragma GCC unroll 8
    for (int i = 0; i < W; ++i) a[i] = b[i];
  }
}

template <class T>
struct Line {  // W numbers in a row
  typedef T type __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
WP_PACK V line(const T* p) {
  return __builtin_convertvector(*reinterpret_cast<const typename Line<T>::type*>(p), V);
}
template <class T>
WP_PACK void put_line(T* p, V v) {
  typedef T Numbers __attribute__((vector_size(W * sizeof(T))));
  *reinterpret_cast<typename Line<T>::type*>(p) = __builtin_convertvector(v, Numbers);
}

// Number e of all members, made in a register: parts that are stored one by one cannot be loaded at once.
template <class T, int... l>
WP_PACK V number_of_all(const T* const* from, int e, std::integer_sequence<int, l...>) {
  return V{static_cast<double>(from[l][e])...};
}

// `count` numbers that follow each other in every member: to[e] gets number e of all. What is left beyond a multiple
// of W is read again with its neighbours.
template <class T>
WP_PACK void gather(const T* const* from, int count, V* to) {
  if (count < W) {
    for (int e = 0; e < count; ++e) to[e] = number_of_all<T>(from, e, std::make_integer_sequence<int, W>{});
    return;
  }
  for (int e = 0; e < count; e += W) {
    const int first = e + W <= count ? e : count - W;
    V lines[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; ++l) lines[l] = line(from[l] + first);
    transpose(lines);
#pragma GCC unroll 8
    for (int l = 0; l < W; ++l) to[first + l] = lines[l];
  }
}

// What follows in memory is asked for before its turn: hardware does not see that lanes walk through it side by side.
template <class T>
WP_PACK void fetch_ahead(const T* data, std::int64_t bytes) {
  constexpr std::int64_t kAhead = 4096, kLine = 64;
  const char* const from = reinterpret_cast<const char*>(data) + std::max(kAhead, bytes);
  for (std::int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(from + at);
}

// `count` numbers of each member that will be written when the block is done: their lines are asked for before.
template <class T>
WP_PACK void fetch_to_write(int count, std::int64_t first, int have, T* to) {
  constexpr std::int64_t kMost = 16384, kLine = 64;  // more would drive the block out of the nearest cache
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(T)) * have * count;
  const char* const from = reinterpret_cast<const char*>(to + first * count);
  for (std::int64_t at = 0; bytes <= kMost && at < bytes; at += kLine) __builtin_prefetch(from + at, 1, 2);
}

// The m × n members first … first + have − 1; lanes beyond hold the last one again.
template <class T>
[[gnu::noinline]] void load(int m, int n, Source<T> a, std::int64_t first, int have, V* to) {
  const std::int64_t each = static_cast<std::int64_t>(m) * n;
  if (have == W && a.step == each)
    fetch_ahead(a.data + first * each, W * each * static_cast<std::int64_t>(sizeof(T)));
  const T* from[W];
  for (int l = 0; l < W; ++l) from[l] = a.data + (first + (l < have ? l : have - 1)) * a.step;
  if (a.columns == 1 && a.rows == n) return gather<T>(from, m * n, to);
  for (int i = 0; i < m; ++i) {
    if (a.columns == 1) {
      gather<T>(from, n, to + i * n);
    } else {
      for (int j = 0; j < n; ++j)
#pragma GCC unroll 8
        for (int l = 0; l < W; ++l) to[i * n + j][l] = static_cast<double>(from[l][j * a.columns]);
    }
    for (int l = 0; l < W; ++l) from[l] += a.rows;
  }
}

// `count` numbers of each of the first `have` lanes, which follow those of member `first` − 1.
template <class T>
[[gnu::noinline]] void store(int count, const V* from, std::int64_t first, int have, T* to) {
  to += first * count;
  if (count < W || have < W) {
    for (int l = 0; l < have; ++l)
      for (int e = 0; e < count; ++e) to[l * count + e] = static_cast<T>(from[e][l]);
    return;
  }
  for (int e = 0; e < count; e += W) {
    const int at = e + W <= count ? e : count - W;
    V lines[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; ++l) lines[l] = from[at + l];
    transpose(lines);
#pragma GCC unroll 8
    for (int l = 0; l < W; ++l) put_line(to + l * count + at, lines[l]);
  }
}
// One number of each lane.
template <class T>
WP_PACK void store_one(V v, std::int64_t first, int have, T* to) {
  if (have == W) return put_line(to + first, v);
  for (int l = 0; l < have; ++l) to[first + l] = static_cast<T>(v[l]);
}
// Lanes that are not good are in doubt.
WP_PACK void mark(M good, std::int64_t first, int have, std::uint8_t* redo) {
  if (!any(~good)) {
    if (have == W)
      std::memset(redo + first, 0, W);
    else
      std::memset(redo + first, 0, static_cast<std::size_t>(have));
    return;
  }
  for (int l = 0; l < have; ++l) redo[first + l] = good[l] ? 0 : 1;
}
WP_PACK void mark(M good, M symmetric, std::int64_t first, int have, std::uint8_t* redo) {
  mark(good & symmetric, first, have, redo);
  if (any(good & ~symmetric))
    for (int l = 0; l < have; ++l)
      if (good[l] && !symmetric[l]) redo[first + l] = 2;
}

// f(first, have) for every block of a range.
template <class F>
WP_PACK void blocks(Range range, F f) {
  for (std::int64_t i = range.begin; i < range.end; i += W)
    f(i, static_cast<int>(std::min<std::int64_t>(W, range.end - i)));
}

// Registers of a block, on the heap of the calling thread.
class Registers {
 public:
  explicit Registers(int count) : buffer_(static_cast<std::int64_t>(count + 1) * W) {
    const auto at = reinterpret_cast<std::uintptr_t>(buffer_.data());
    first_ = reinterpret_cast<V*>((at + sizeof(V) - 1) / sizeof(V) * sizeof(V));
  }
  V* take(int count) {
    V* const out = first_;
    first_ += count;
    return out;
  }

 private:
  Buffer<double> buffer_;
  V* first_;
};

// Calls f(Fixed<n>) for n ≤ 8, else f(Sized{n}).
template <class F>
WP_PACK void with_size(int n, F f) {
  switch (n) {
    case 1: return f(Fixed<1>{});
    case 2: return f(Fixed<2>{});
    case 3: return f(Fixed<3>{});
    case 4: return f(Fixed<4>{});
    case 5: return f(Fixed<5>{});
    case 6: return f(Fixed<6>{});
    case 7: return f(Fixed<7>{});
    case 8: return f(Fixed<8>{});
    default: return f(Sized{n});
  }
}
