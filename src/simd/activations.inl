// Included once per instruction set, after elementary.inl. Functions of models, with their tails to the last
// denormal: a factor joins e^(−a) before it is scaled down, and exponents of large magnitude are sums of two numbers.

// x · s(w) for sign ≥ 0, else x · s(−w), with s(w) = 1/(1 + e^(−w)), w the sum of its parts, w ≥ 0.
template <class T, class... Tail>
WP_PACK Vec<T> times_sigmoid(Vec<T> x, Vec<T> sign, Vec<T> w, Tail... tail) {
  const Scaled<T> e = exp_parts<T>(-w, -tail...);
  const auto negative = sign < T(0);
  if (any(~(w <= Format<T>::exp_normal))) [[unlikely]] {
    const Vec<T> y = (negative ? x * e.p : x) / (scale<T>(e.p, e.n) + T(1));
    return scale<T>(y, negative ? e.n : Int<T>{});
  }
  const Vec<T> small = scale_normal<T>(e.p, e.n);
  return x * (negative ? small : all<T>(1)) / (small + T(1));
}
template <class T>
WP_PACK Vec<T> sigmoid(Vec<T> x) {
  return times_sigmoid<T>(all<T>(1), x, at_most<T>(absolute<T>(x), Format<T>::silu_zero));
}
template <class T>
WP_PACK Vec<T> silu(Vec<T> x) {
  const Vec<T> factor = x < -Format<T>::silu_zero ? all<T>(-Format<T>::silu_zero) : x;
  return times_sigmoid<T>(factor, x, at_most<T>(absolute<T>(x), Format<T>::silu_zero));
}
// max(x, 0) + log(1 + e^(−|x|)).
template <class T>
WP_PACK Vec<T> softplus(Vec<T> x) {
  return (x > T(0) ? x : Vec<T>{}) + log1p_unit<T>(exp<T>(-absolute<T>(x)));
}

// Φ(−a) e^(a²/2), a ≥ 0: a polynomial in u = (a − k)/(a + k), nearly constant, over 1 + a (after Shepherd and
// Laframboise, Math. Comp. 36, 1981). One division serves both quotients; only 1/(1 + a) needs its last bits.
template <class T>
WP_PACK Vec<T> normal_tail(Vec<T> a) {
  constexpr T k = Format<T>::mills_centre;
  const Two<T> low = two_sum<T>(a, all<T>(1));
  const Vec<T> sum = a + k, inverse = T(1) / (low.high * sum), u = (a - k) * (low.high * inverse);
  return reciprocal<T>(low, sum * inverse) * polynomial<T>(u, Format<T>::mills);
}
// x Φ(x). a² is exact, for its error would be multiplied by a².
template <class T>
WP_PACK Vec<T> gelu(Vec<T> x) {
  const Vec<T> a = at_most<T>(absolute<T>(x), Format<T>::gelu_zero);
  const Two<T> square = two_product<T>(a, a);
  const Scaled<T> e = exp_parts<T>(square.high * T(-0.5), square.low * T(-0.5));
  const Vec<T> mills = normal_tail<T>(a), tail = fma(mills, e.rest, mills);
  if (any(~(square.high <= T(2) * (Format<T>::exp_normal - 10)))) [[unlikely]] {
    const Vec<T> below = scale<T>(-a * tail, e.n);
    return x < T(0) ? below : x * (T(1) - scale<T>(tail, e.n));
  }
  const Vec<T> chance = scale_normal<T>(tail, e.n);  // Φ(−a)
  return x * (x < T(0) ? chance : T(1) - chance);
}
// erfc(a) = 2 Φ(−√2 a), a ≥ 0; within 4 ulp: for erf, and where the result is denormal.
template <class T>
WP_PACK Vec<T> erfc_roughly(Vec<T> a) {
  a = at_most<T>(a, Format<T>::erfc_zero);
  const Two<T> square = two_product<T>(a, a);
  const Scaled<T> e = exp_parts<T>(-square.high, -square.low);
  const Vec<T> mills = normal_tail<T>(a * T(1.4142135623730951));
  return scale<T>(fma(mills, e.rest, mills), std::bit_cast<Int<T>>(add_bits<T>(e.n, Int<T>{} + 1)));
}
// x + x P(x²) up to 1, 1 − erfc(|x|) beyond.
template <class T>
WP_PACK Vec<T> erf(Vec<T> x) {
  const Vec<T> a = absolute<T>(x);
  const Vec<T> low = fma(a, polynomial<T>(a * a, Format<T>::erf), a);
  return with_sign<T>(a < T(1) ? low : T(1) - erfc_roughly<T>(a), x);
}
// x/2 (1 + tanh(√(2/π)(x + 0.044715 x³))) = x s(2√(2/π) a (1 + 0.044715 a²)), a = |x|.
template <class T>
WP_PACK Vec<T> gelu_tanh(Vec<T> x) {
  using C = Format<T>;
  const Vec<T> a = at_most<T>(absolute<T>(x), C::gelu_tanh_zero);
  const Two<T> square = two_product<T>(a, a);
  Two<T> cubic = two_product<T>(all<T>(C::gelu_cubic_high), square.high);
  cubic.low += C::gelu_cubic_high * square.low + C::gelu_cubic_low * square.high;
  const Two<T> sum = two_sum<T>(cubic.high, all<T>(C::gelu_scale_high));
  Two<T> w = two_product<T>(sum.high, a);
  w.low += (sum.low + (cubic.low + C::gelu_scale_low)) * a;
  return times_sigmoid<T>(x < -C::gelu_tanh_zero ? all<T>(-C::gelu_tanh_zero) : x, x, w.high, w.low);
}

// log(eˣ + eʸ) = max + log(1 + e^(−|x − y|)); the difference is exact.
template <class T>
WP_PACK Vec<T> logaddexp(Vec<T> x, Vec<T> y) {
  const auto less = x < y;
  const Vec<T> most = less ? y : x, least = less ? x : y;
  Two<T> d = two_sum<T>(least, -most);  // ≤ 0; NaN for two infinities
  d.high = least == most ? Vec<T>{} : d.high;
  d.high = d.high < -Format<T>::silu_zero ? all<T>(-Format<T>::silu_zero) : d.high;
  d.low = (d.high < T(0)) & (d.high > -Format<T>::silu_zero) ? d.low : Vec<T>{};
  const Scaled<T> e = exp_parts<T>(d.high, d.low);
  return most + log1p_unit<T>(scale<T>(e.p, e.n));
}

// ψ. Above 2: log x − 1/(2x) − h(1/x)/x². Below: (y − y0) P(y) on [1, 2] around the root y0, and ψ(x) = ψ(x + 1) −
// 1/x. Negative x: ψ(x) = ψ(1 − x) − π cot πx.
WP_PACK Vec<double> digamma_positive(Vec<double> x, Vec<double> y) {
  const Vec<double> z = 1.0 / y;
  Vec<double> value = log<double>(y) - fma(z * z, polynomial<double>(z, coefficients::psi_high), z * 0.5);
  const auto low = y < 2.0;
  if (any(low)) {
    const Vec<double> u = x < 0.0 ? -x : (x < 1.0 ? x : x - 1.0);
    const Vec<double> from_root = (u - coefficients::psi_root_high) - coefficients::psi_root_low;
    Vec<double> close = from_root * polynomial<double>(u - 0.5, coefficients::psi_low);
    close = y < 1.0 ? close - z : close;
    value = low ? close : value;
  }
  return value;
}
