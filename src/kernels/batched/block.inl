// Included once per instruction set. A block is as many matrices as a register has lanes of double: element e of all
// of them stands in one register, which is number e of an array.
#include "kernels/lines.inl"

using V = Vec<double>;
using M = Int<double>;  // masks (0 or −1) and numbers, lane by lane
inline constexpr int W = lanes_of<double>;
inline constexpr double kUnitOfDouble = 0x1p-53, kNineDigits = 1e-9;

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
// The same with numbers that the compiler knows: f gets std::integral_constant.
template <int from, int to, class F>
WP_PACK void unrolled(F f) {
  if constexpr (from < to) [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      (f(std::integral_constant<int, from + i>{}), ...);
    }
  (std::make_integer_sequence<int, to - from>{});
}
// f(k) for 0 ≤ k < to, which is n if the size is known: then f gets what the compiler knows.
template <class S, class F>
WP_PACK void all_steps(int to, F f) {
  if constexpr (S::fixed)
    unrolled<0, S::most>(f);
  else
    for (int k = 0; k < to; ++k) f(k);
}
#define WP_EACH(i) [&](int i) __attribute__((always_inline))
#define WP_KNOWN(i) [&](auto i) __attribute__((always_inline))
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
WP_PACK V larger(V a, V b) {  // b where one of them is NaN
  return greater(a, b);
}
// c − a·b.
WP_PACK V less(V a, V b, V c) {
  return fnma(a, b, c);
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

// Sizes from which on no digit of an answer in T is lost among the denormals; of one that is computed unscaled, with
// room for what a residual in twice the precision has below it.
template <class T>
inline constexpr double kLeastAnswer = std::is_same_v<T, float> ? 0x1p-126 : 0x1p-1020;
template <class T>
inline constexpr double kLeastUnscaled = std::is_same_v<T, float> ? 0x1p-126 : 0x1p-900;
// Where every column of X has an element of that size, or is 0 because its right-hand side is.
WP_PACK M large_enough(double least, int rows, int columns, const V* x, int right_rows, const V* b) {
  M good = ~M{};
  for (int c = 0; c < columns; ++c) {
    V size = V{}, right = V{};
    for (int i = 0; i < rows; ++i) size = larger(magnitude(x[i * columns + c]), size);
    if (!any(size < least)) continue;
    for (int i = 0; i < right_rows; ++i) right = larger(magnitude(b[i * columns + c]), right);
    good &= (size >= least) | (right == 0.0);
  }
  return good;
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
// Where pivots, of which the condition leaves 2⁻³⁰ of the norm at least, and their inverses are normal numbers.
WP_PACK M factored_in_range(V norm) {
  return (norm >= 0x1p-900) & (norm <= 0x1p900);
}
// Where products of four elements stay far from the ends of double.
WP_PACK M moderate(V norm) {
  return (norm >= 0x1p-200) & (norm <= 0x1p200);
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
// And something is to be told of those that are not plain.
WP_PACK void mark(M good, M plain, std::int64_t first, int have, std::uint8_t* redo) {
  mark(good & plain, first, have, redo);
  if (any(good & ~plain))
    for (int l = 0; l < have; ++l)
      if (good[l] && !plain[l]) redo[first + l] = 2;
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
// The same for m × n, of which only squares have sizes that the compiler knows.
template <class F>
WP_PACK void with_shape(int m, int n, F f) {
  if (m == n)
    with_size(n, [&](auto size) { f(size, size); });
  else
    f(Sized{m}, Sized{n});
}

// Whether a matrix has been turned, to have no more columns than rows.
template <class T>
WP_PACK bool made_tall(int& m, int& n, Source<T>& a) {
  if (n <= m) return false;
  std::swap(m, n);
  std::swap(a.rows, a.columns);
  return true;
}

// The largest size of some numbers, and their sum, which is not finite if one of them is not.
struct Extent {
  V largest = V{}, all = V{};
  WP_PACK void take(V v) {
    largest = larger(magnitude(v), largest);
    all += v;
  }
  WP_PACK M finite() const { return 0.0 * all == 0.0; }
  // Where the power of two next to the largest, and its inverse, are normal numbers.
  WP_PACK M scalable() const { return finite() & (largest >= kFarBelow) & (largest <= kFarAbove); }
};

#include "kernels/batched/members.inl"
