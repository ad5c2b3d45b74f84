#include "kernels/batched/solve.inl"

// v as a mantissa in ±[1, 2), returned, and a power of two. v ≠ 0 is a normal number.
WP_PACK V mantissa_of(V v, M& power) {
  using Bits = simd::Format<double>;
  const M pattern = bits<double>(v);
  power += ((pattern & Bits::magnitude) >> Bits::mantissa) - Bits::bias;
  return std::bit_cast<V>((pattern & (Bits::mantissa_bits | ~Bits::magnitude)) | Bits::one_bits);
}

// Mantissa and exponent of the product of the diagonal of U.
template <class S>
[[gnu::noinline]] M determinant_block(S n, V* a, V* room, V& mantissa, V& exponent) {
  const Sums sums = sums_of(n, a);
  Elimination<S> e;
  eliminate(n, a, a, e);
  V rcond;
  const M good = sure(n, {nullptr, a, e, sums}, room, n, true, rcond) & factored_in_range(sums.columns.most);
  mantissa = V{} + 1.0;
  M power = M{};
  steps<S>(
      0, n, WP_EACH(k) {
        const V part = mantissa_of(e.diagonal[k], power);
        mantissa *= e.pivots[k] == k ? part : -part;
      });
  exponent = __builtin_convertvector(power, V);
  return good;
}
// From minors, or, where they cancel, by elimination.
template <class S>
WP_PACK M determinant_lanes(S n, V* a, V* room, V& mantissa, V& exponent) {
  if constexpr (by_minors<S>) {
    constexpr double kCancelled = 0x1p-10;
    V down = V{} + 1.0, kept[2];
    bool moved = false;
    const auto minors = [&]() __attribute__((always_inline)) {
      V terms, norm = column_sums(n, a).most;
      moved = brought_near(n * n, norm, a, down);
      const V det = determinant_of(n, a, terms), size = magnitude(det);
      M power = M{}, back = M{};
      mantissa = mantissa_of(det, power);
      if (moved) mantissa_of(down, back);
      exponent = __builtin_convertvector(power - static_cast<int>(n) * back, V);
      return moderate(norm) & (size >= kCancelled * terms) & (size >= 0x1p-1000);
    };
    const auto elimination = [&]() __attribute__((always_inline)) {
      for (int e = 0; moved && e < n * n; ++e) a[e] /= down;
      return determinant_block(n, a, room, mantissa, exponent);
    };
    return by_minors_or(minors, elimination, {{&mantissa, 1}, {&exponent, 1}}, kept);
  } else {
    return determinant_block(n, a, room, mantissa, exponent);
  }
}

template <class T>
void determinant(int n, Source<T> a, Range range, T* value, T* log, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const other = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, m);
      V mantissa, exponent;
      M good = determinant_lanes(size, m, other, mantissa, exponent);
      if (log) {
        constexpr double ln2 = 0.693147180559945309417;
        store_one<T>(fma(exponent, V{} + ln2, log_normal<double>(magnitude(mantissa), V{})), first, have, log);
        store_one<T>(mantissa < 0 ? V{} - 1.0 : V{} + 1.0, first, have, value);
      } else {
        constexpr double far = std::is_same_v<T, float> ? 90 : 980;  // with the mantissa, below 2³², a normal number
        good &= magnitude(exponent) < far;
        const V det = scale<double>(mantissa, __builtin_convertvector(good ? exponent : V{}, M));
        store_one<T>(det, first, have, value);
      }
      mark(good, first, have, marks.redo);
    });
  });
}
