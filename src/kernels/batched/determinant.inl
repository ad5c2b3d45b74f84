#include "kernels/batched/solve.inl"

// v as a mantissa in ±[1, 2), returned, and a power of two. v ≠ 0 is a normal number.
WP_PACK V mantissa_of(V v, M& power) {
  using Bits = simd::Format<double>;
  const M pattern = bits<double>(v);
  power += ((pattern & Bits::magnitude) >> Bits::mantissa) - Bits::bias;
  return std::bit_cast<V>((pattern & (Bits::mantissa_bits | ~Bits::magnitude)) | Bits::one_bits);
}

// (mantissa + rest) · 2^exponent, the rest below the last digit of the mantissa.
struct Product {
  V mantissa, rest, exponent;
};
// log|det|, relative to itself also beside 0.
WP_PACK V log_of(const Product& det) {
  M power = M{};
  V size = mantissa_of(magnitude(det.mantissa), power);
  V rest = with_sign<double>(V{} + 1.0, det.mantissa) * det.rest * power_of_two<double>(-power);
  V exponent = det.exponent + __builtin_convertvector(power, V);
  const M above = size > M_SQRT2;
  size = above ? 0.5 * size : size;
  rest = above ? 0.5 * rest : rest;
  exponent = above ? exponent + 1.0 : exponent;
  return log_parts<double>(exponent, (size - 1.0) + rest);
}
// Where |det| is near 1.
WP_PACK M near_one(V mantissa, V exponent) {
  const V size = exponent == -1.0 ? 0.5 * magnitude(mantissa) : magnitude(mantissa);
  return ((exponent == 0.0) | (exponent == -1.0)) & (magnitude(size - 1.0) < kNearOne);
}

// The product of the diagonal of U, in twice the precision: near 1, its digits are those of 1.
template <class S>
[[gnu::noinline]] M determinant_block(S n, V* a, V* room, Product& det) {
  const Sums sums = sums_of(n, a);
  Elimination<S> e;
  eliminate(n, a, a, e);
  V rcond;
  const M good = sure(n, {nullptr, a, e, sums}, room, n, true, rcond) & factored_in_range(sums.columns.most);
  V mantissa = V{} + 1.0, rest = V{};
  M power = M{};
  steps<S>(
      0, n, WP_EACH(k) {
        V part = mantissa_of(e.diagonal[k], power);
        part = e.pivots[k] == k ? part : -part;
        const Two<double> next = two_product<double>(mantissa, part);
        rest = fma(rest, part, next.low);
        mantissa = next.high;
      });
  det.mantissa = mantissa + rest;
  det.rest = (mantissa - det.mantissa) + rest;
  det.exponent = __builtin_convertvector(power, V);
  return good;
}
// From minors, or, where they cancel (or say too little of a logarithm), by elimination.
template <class S>
WP_PACK M determinant_lanes(S n, V* a, V* room, bool log, Product& det) {
  if constexpr (by_minors<S>) {
    constexpr double kCancelled = 0x1p-10;
    V down = V{} + 1.0, kept[3];
    bool moved = false;
    const auto minors = [&]() __attribute__((always_inline)) {
      V terms, norm = column_sums(n, a).most;
      moved = brought_near(n * n, norm, a, down);
      const V value = determinant_of(n, a, terms), size = magnitude(value);
      M power = M{}, back = M{};
      det.mantissa = mantissa_of(value, power);
      det.rest = V{};
      if (moved) mantissa_of(down, back);
      det.exponent = __builtin_convertvector(power - static_cast<int>(n) * back, V);
      const M good = moderate(norm) & (size >= kCancelled * terms) & (size >= 0x1p-1000);
      return log ? good & ~near_one(det.mantissa, det.exponent) : good;
    };
    const auto elimination = [&]() __attribute__((always_inline)) {
      for (int e = 0; moved && e < n * n; ++e) a[e] /= down;
      return determinant_block(n, a, room, det);
    };
    return by_minors_or(minors, elimination, {{&det.mantissa, 1}, {&det.rest, 1}, {&det.exponent, 1}}, kept);
  } else {
    return determinant_block(n, a, room, det);
  }
}

template <class T>
void determinant(int n, Source<T> a, Range range, T* value, T* log, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const other = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, m);
      Product det;
      M good = determinant_lanes(size, m, other, log != nullptr, det);
      if (log) {
        store_one<T>(log_of(det), first, have, log);
        store_one<T>(det.mantissa < 0 ? V{} - 1.0 : V{} + 1.0, first, have, value);
      } else {
        constexpr double far = std::is_same_v<T, float> ? 90 : 980;  // with the mantissa, below 2³², a normal number
        good &= magnitude(det.exponent) < far;
        store_one<T>(scale<double>(det.mantissa, __builtin_convertvector(good ? det.exponent : V{}, M)), first, have,
                     value);
      }
      mark(good, first, have, marks.redo);
    });
  });
}
