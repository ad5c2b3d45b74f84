// Included once per instruction set by math.inl, after sleef(). (g, x) ↦ g f′(x): ways back through functions of
// models in one pass, by the formulas of their rules.

// 1/(1 + e), e/(1 + e) with e = e^(−|x|): the sigmoid of |x| and of −|x|.
template <class T>
struct Sigmoids {
  Vec<T> high, low;
};
template <class T>
WP_PACK Sigmoids<T> sigmoids(Vec<T> x) {
  const Vec<T> e = exp<T>(-absolute<T>(x)), high = T(1) / (e + T(1));
  return {high, e * high};
}
template <class T>
WP_PACK Vec<T> sigmoid_slope(Vec<T> g, Vec<T> x) {
  const Sigmoids<T> s = sigmoids<T>(x);
  return g * (s.high * s.low);
}
// 1 − tanh² = 4 s(2x) s(−2x).
template <class T>
WP_PACK Vec<T> tanh_slope(Vec<T> g, Vec<T> x) {
  const Sigmoids<T> s = sigmoids<T>(x + x);
  return g * (T(4) * s.high * s.low);
}
// s(v) (1 + x v′ s(−v)), the derivative of x s(v).
template <class T>
WP_PACK Vec<T> times_sigmoid_slope(Vec<T> g, Vec<T> rise, Vec<T> v) {
  const Sigmoids<T> s = sigmoids<T>(v);
  const auto negative = v < T(0);
  return g * ((negative ? s.low : s.high) * (rise * (negative ? s.high : s.low) + T(1)));
}
template <class T>
WP_PACK Vec<T> silu_slope(Vec<T> g, Vec<T> x) {
  return times_sigmoid_slope<T>(g, x, x);
}
template <class T>
WP_PACK Vec<T> gelu_tanh_slope(Vec<T> g, Vec<T> x) {
  constexpr T k = T(1.5957691216057308), c = T(0.044715);  // 2 √(2/π)
  const Vec<T> xx = x * x, v = x * k * (xx * c + T(1));
  return times_sigmoid_slope<T>(g, x * (k * (xx * (3 * c) + T(1))), v);
}
// Φ(x) + x φ(x).
template <class T>
WP_PACK Vec<T> gelu_slope(Vec<T> g, Vec<T> x) {
  const Vec<T> a = at_most<T>(absolute<T>(x), Format<T>::gelu_zero);
  const Two<T> square = two_product<T>(a, a);
  const Scaled<T> e = exp_parts<T>(square.high * T(-0.5), square.low * T(-0.5));
  const Vec<T> mills = normal_tail<T>(a), chance = scale<T>(fma(mills, e.rest, mills), e.n);  // Φ(−a)
  const Vec<T> moment = a * scale<T>(e.p * T(0.3989422804014327), e.n);                       // a φ(a)
  return g * (x < T(0) ? chance - moment : (T(1) - chance) + moment);
}
