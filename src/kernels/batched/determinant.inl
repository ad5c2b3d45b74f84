#include "kernels/batched/solve.inl"

// Mantissa and exponent of the product of the diagonal of U.
template <class S>
[[gnu::noinline]] M determinant_block(S n, V* a, V* room, V& mantissa, V& exponent) {
  const LineSums by_rows = row_sums(n, a), by_columns = column_sums(n, a);
  Elimination<S> e;
  eliminate(n, a, e);
  V rcond;
  const M good = sure(n, a, e, by_rows, by_columns, room, n, rcond);
  using Bits = simd::Format<double>;
  mantissa = V{} + 1.0;
  M power = M{};
  steps<S>(0, n, WP_EACH(k) {
    const M pattern = bits<double>(e.diagonal[k]);
    power += ((pattern & Bits::magnitude) >> Bits::mantissa) - Bits::bias;
    const V part = std::bit_cast<V>((pattern & (Bits::mantissa_bits | ~Bits::magnitude)) | Bits::one_bits);
    mantissa *= e.pivots[k] == k ? part : -part;
  });
  exponent = __builtin_convertvector(power, V);
  return good;
}

template <class T>
void determinant(int n, Source<T> a, Range range, T* value, T* log, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const other = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, m);
      V mantissa, exponent;
      M good = determinant_block(size, m, other, mantissa, exponent);
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
