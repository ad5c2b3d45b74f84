// Included once per instruction set, after pack.inl. exp, log and tanh as inlined packs, and the parts that other
// functions are made of. fma is a·b + c rounded twice where the set has no fused one; the bounds hold for both.

template <class T>
WP_PACK Vec<T> all(T v) {
  return Vec<T>{} + v;
}
template <class T>
WP_PACK Int<T> bits(Vec<T> v) {
  return std::bit_cast<Int<T>>(v);
}
// Sums of bit patterns wrap around: lanes that hold Inf or NaN go through too, and are replaced afterwards.
template <class T>
WP_PACK Uint<T> add_bits(Int<T> a, Int<T> b) {
  return std::bit_cast<Uint<T>>(a) + std::bit_cast<Uint<T>>(b);
}
template <class T>
WP_PACK Uint<T> subtract_bits(Int<T> a, Int<T> b) {
  return std::bit_cast<Uint<T>>(a) - std::bit_cast<Uint<T>>(b);
}
template <class T>
WP_PACK Vec<T> absolute(Vec<T> x) {
  return std::bit_cast<Vec<T>>(bits<T>(x) & Format<T>::magnitude);
}
template <class T>
WP_PACK Vec<T> with_sign(Vec<T> magnitude, Vec<T> sign) {  // magnitude ≥ 0
  return std::bit_cast<Vec<T>>(bits<T>(magnitude) | (bits<T>(sign) & ~Format<T>::magnitude));
}
// NaN stays NaN.
template <class T>
WP_PACK Vec<T> at_most(Vec<T> x, T limit) {
  return lesser(all<T>(limit), x);
}

template <class T, std::size_t n, std::size_t... k>
WP_PACK Vec<T> horner(Vec<T> x, const T (&c)[n], std::index_sequence<k...>) {
  Vec<T> y = all<T>(c[n - 1]);
  ((y = fma(y, x, all<T>(c[n - 2 - k]))), ...);
  return y;
}
// c[0] + c[1] x + c[2] x² + …
template <class T, std::size_t n>
WP_PACK Vec<T> polynomial(Vec<T> x, const T (&c)[n]) {
  return horner<T>(x, c, std::make_index_sequence<n - 1>{});
}

// ---- sums of two numbers
// -------------------------------------------------------------------------------------------
template <class T>
struct Two {
  Vec<T> high, low;
};
// a + b exactly (Knuth).
template <class T>
WP_PACK Two<T> two_sum(Vec<T> a, Vec<T> b) {
  const Vec<T> s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// a·b exactly.
template <class T>
WP_PACK Two<T> two_product(Vec<T> a, Vec<T> b) {
  const Vec<T> p = a * b;
  if constexpr (kFused) return {p, fma(a, b, -p)};
  // Dekker, split by the bits: a = ah + al, and the products of the halves are exact.
  const auto head = [](Vec<T> v) { return std::bit_cast<Vec<T>>(bits<T>(v) & Format<T>::upper_half); };
  const Vec<T> ah = head(a), al = a - ah, bh = head(b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
// 1 / (s.high + s.low) from an estimate within some ulps: one step of Newton's.
template <class T>
WP_PACK Vec<T> reciprocal(Two<T> s, Vec<T> estimate) {
  const Two<T> p = two_product<T>(estimate, s.high);
  return fma(estimate, (T(1) - p.high) - fma(estimate, s.low, p.low), estimate);
}

// ---- exp
// ----------------------------------------------------------------------------------------------------------- p · 2ⁿ;
// kept apart where a factor must come in before the result may become denormal.
template <class T>
struct Scaled {
  Vec<T> p;
  Int<T> n;
  Vec<T> rest;  // p − 1, before p was rounded
};
template <class T>
WP_PACK Vec<T> power_of_two(Int<T> n) {
  return std::bit_cast<Vec<T>>(add_bits<T>(n, Int<T>{} + Format<T>::bias) << Format<T>::mantissa);
}
// Two factors, each a normal number: the last product rounds once, into the denormals too. |n| < 2 · bias.
template <class T>
WP_PACK Vec<T> scale(Vec<T> p, Int<T> n) {
  const Int<T> half = std::bit_cast<Int<T>>(add_bits<T>(n, Int<T>{} + 4096) >> 1) - 2048;
  return p * power_of_two<T>(half) * power_of_two<T>(std::bit_cast<Int<T>>(subtract_bits<T>(n, half)));
}
// The same where p and p · 2ⁿ are normal (NaN is not): adds to the exponent.
template <class T>
WP_PACK Vec<T> scale_normal(Vec<T> p, Int<T> n) {
  return std::bit_cast<Vec<T>>(std::bit_cast<Uint<T>>(p) + (std::bit_cast<Uint<T>>(n) << Format<T>::mantissa));
}

// e^(x + tail), |tail| ≤ ulp(x): n = round(x / ln 2), r = x − n ln 2 (Cody and Waite), p = 1 + r + r² q(r).
template <class T, class... Tail>
WP_PACK Scaled<T> exp_parts(Vec<T> x, Tail... tail) {
  const Vec<T> round = all<T>(Format<T>::to_integer);
  const Vec<T> t = fma(x, all<T>(Format<T>::log2e), round), k = t - round;
  const Vec<T> head = fma(k, all<T>(-Format<T>::ln2_high), x);
  const Vec<T> r = fma(k, all<T>(-Format<T>::ln2_low), (head + ... + tail));
  const Vec<T> rest = fma(r * r, polynomial<T>(r, Format<T>::exp), r);
  return {rest + T(1), std::bit_cast<Int<T>>(subtract_bits<T>(bits<T>(t), bits<T>(round))), rest};
}
template <class T>
WP_PACK Vec<T> exp(Vec<T> x) {
  if (any(~(absolute<T>(x) <= Format<T>::exp_normal))) [[unlikely]] {
    x = at_most<T>(x, Format<T>::exp_overflow);
    x = x < Format<T>::exp_underflow ? all<T>(Format<T>::exp_underflow) : x;
    const Scaled<T> e = exp_parts<T>(x);
    return scale<T>(e.p, e.n);
  }
  const Scaled<T> e = exp_parts<T>(x);
  return scale_normal<T>(e.p, e.n);
}

// ---- log
// ----------------------------------------------------------------------------------------------------------- k ln 2
// + log(1 + f), 1 + f in [√½, √2], k an integer.
template <class T>
WP_PACK Vec<T> log_parts(Vec<T> k, Vec<T> f) {
  Vec<T> tail;
  if constexpr (sizeof(T) == 4) {
    tail = f * f * fma(f, polynomial<T>(f, coefficients::log24), all<T>(-0.5f));
  } else {  // s = f / (2 + f): log(1 + f) = 2s + s³ R(s²) = f − f²/2 + s (f²/2 + s² R)
    const Vec<T> s = f / (f + T(2)), q = s * s, h = f * f * T(0.5);
    tail = fma(s, fma(q, polynomial<T>(q, coefficients::log53), h), -h);
  }
  tail = fma(k, all<T>(Format<T>::ln2_low), tail);
  const Vec<T> head = k * Format<T>::ln2_high,
               sum = head + f;  // |head| > |f|, or it is 0: the rest of the sum is exact
  return sum + (((head - sum) + f) + tail);
}
// log(2^shift · x) for normal x > 0.
template <class T>
WP_PACK Vec<T> log_normal(Vec<T> x, Vec<T> shift) {
  constexpr auto half_root = Format<T>::sqrt_half_bits, one = Format<T>::one_bits;
  const Uint<T> moved = add_bits<T>(bits<T>(x), Int<T>{} + (one - half_root));  // the exponent steps at √½, not at 1
  const Uint<T> k = moved >> Format<T>::mantissa;
  const Vec<T> m = std::bit_cast<Vec<T>>((std::bit_cast<Int<T>>(moved) & Format<T>::mantissa_bits) + half_root);
  const Vec<T> exponent = std::bit_cast<Vec<T>>(std::bit_cast<Int<T>>(k) | Format<T>::integer_bits) -
                          (Format<T>::integer_base + Format<T>::bias);
  return log_parts<T>(exponent + shift, m - T(1));
}
template <class T>
[[gnu::noinline]] Vec<T> log_special(Vec<T> x) {
  const Vec<T> up = x < Format<T>::smallest ? x * Format<T>::two_mantissa : x;
  const Vec<T> shift = x < Format<T>::smallest ? all<T>(-Format<T>::mantissa - 1) : Vec<T>{};
  Vec<T> y = log_normal<T>(up, shift);
  y = x == T(0) ? all<T>(-Format<T>::infinity) : y;
  y = x == Format<T>::infinity ? x : y;
  return x >= T(0) ? y : all<T>(Format<T>::nan);
}
template <class T>
WP_PACK Vec<T> log(Vec<T> x) {
  if (any((x < Format<T>::smallest) | ~(x <= Format<T>::largest))) [[unlikely]]
    return log_special<T>(x);
  return log_normal<T>(x, Vec<T>{});
}
// log(1 + x), 0 ≤ x ≤ 1.
template <class T>
WP_PACK Vec<T> log1p_unit(Vec<T> x) {
  const auto upper = x > T(0.41421356237309503);
  return log_parts<T>(upper ? all<T>(1) : Vec<T>{}, upper ? (x - T(1)) * T(0.5) : x);
}

// ---- tanh
// ---------------------------------------------------------------------------------------------------------- x + x³
// P(x²) below 0.55, 1 − 2/(e^(2|x|) + 1) above.
template <class T>
WP_PACK Vec<T> tanh(Vec<T> x) {
  const Vec<T> a = absolute<T>(x), q = a * a;
  const Vec<T> low = fma(a * q, polynomial<T>(q, Format<T>::tanh), a);
  const Vec<T> b = at_most<T>(a, Format<T>::tanh_one);
  const Scaled<T> e = exp_parts<T>(b + b);
  const Vec<T> high = T(1) - T(2) / fma(e.p, power_of_two<T>(e.n), all<T>(1));
  return with_sign<T>(a < T(0.55) ? low : high, x);
}
