// Included once per instruction set, after pack.hpp and sleef(), SLEEF's functions of that set.

// Where SLEEF leaves its own bounds: results near the largest number, arguments beyond √max, and denormals.
template <Fn f, class T>
WP_PACK Vec<T> patched(Vec<T> x) {
  constexpr T tiny = Format<T>::mantissa == 23 ? T(0x1p-13) : T(0x1p-28);  // f(x) = x + O(x³), |x|² < ulp/4
  constexpr T large = Format<T>::mantissa == 23 ? T(0x1p30) : T(0x1p60);   // log(x + 1) = log x
  const Vec<T> a = absolute<T>(x);
  Vec<T> y = sleef(FnTag<f>{}, x);
  if constexpr (f == Fn::tan) y = a < tiny ? x : y;
  if constexpr (f == Fn::log1p) {
    y = a < tiny * tiny ? x : y;
    if (any(x > large)) [[unlikely]]
      y = x > large ? log<T>(a) : y;
  }
  if constexpr (f == Fn::asinh || f == Fn::acosh) {  // log(2|x|) + O(x⁻²)
    if (any(a > large)) [[unlikely]] {
      const Vec<T> far = log_normal<T>(at_most<T>(a, Format<T>::largest), all<T>(1));
      const Vec<T> end = a > Format<T>::largest ? a : far;
      if constexpr (f == Fn::asinh) y = a > large ? with_sign<T>(end, x) : y;
      if constexpr (f == Fn::acosh) y = x > large ? end : y;
    }
    if constexpr (f == Fn::asinh) y = a < tiny ? x : y;
  }
  if constexpr (f == Fn::erfc && std::is_same_v<T, float>) {  // results near the denormals
    if (any(x > 9.0F)) [[unlikely]]
      for (std::size_t k = 0; k < sizeof x / sizeof(T); ++k)
        if (x[k] > 9.0F) y[k] = static_cast<float>(std::erfc(static_cast<double>(x[k])));
  } else if constexpr (f == Fn::erfc) {  // denormal results
    if (any(x > 26.55)) [[unlikely]]
      y = x > 26.55 ? erfc_roughly<T>(x) : y;
  }
  if constexpr (f == Fn::lgamma) {  // x (log x − 1) + O(log x)
    constexpr T last = Format<T>::largest * T(0x1p-12);
    if (any(x > last)) [[unlikely]]
      y = x > last ? x * (log<T>(a) - T(1)) : y;
  }
  if constexpr (f == Fn::sinh || f == Fn::cosh) {  // e^|x| / 2
    constexpr T high = Format<T>::exp_overflow - 10;
    if (any(a > high)) [[unlikely]] {
      const Scaled<T> e = exp_parts<T>(at_most<T>(a, Format<T>::exp_overflow + 2));
      const Vec<T> far = scale<T>(e.p, std::bit_cast<Int<T>>(subtract_bits<T>(e.n, Int<T>{} + 1)));
      y = a > high ? (f == Fn::sinh ? with_sign<T>(far, x) : far) : y;
    }
  }
  return y;
}

WP_PACK Vec<double> digamma(Vec<double> x) {
  constexpr double pi = 3.14159265358979312;
  const auto negative = x < 0.0;
  Vec<double> y = digamma_positive(x, negative ? 1.0 - x : x);
  if (any(~(x > 0x1p-60))) [[unlikely]] {
    const Vec<double> f = x - ((x - 0x1p52) + 0x1p52), a = absolute<double>(f);  // negative x = integer + f
    const auto far = a > 0.25;
    const Vec<double> share = far ? 0.5 - a : a;
    Two<double> turn = two_product<double>(share, all<double>(pi));
    turn.low += share * 1.2246467991473532e-16;  // π − pi
    const Vec<double> t = sleef(FnTag<Fn::tan>{}, turn.high);
    const Vec<double> tangent = fma(turn.low, fma(t, t, all<double>(1)), t);
    const Vec<double> cot = with_sign<double>(far ? tangent * pi : pi / tangent, f);  // π cot πx
    y = negative ? y - cot : y;
    y = absolute<double>(x) < 0x1p-60 ? -1.0 / x : y;  // −1/x − γ
    const auto pole = negative & ((f == 0.0) | (x <= -0x1p52));
    y = pole ? all<double>(Format<double>::nan) : y;
  }
  return y;
}
// In f64, rounded.
WP_PACK Vec<float> digamma(Vec<float> x) {
  using Half = Pack<float>::Half;
  struct Halves {
    Half low, high;
  };
  const Halves in = std::bit_cast<Halves>(x);
  const Vec<double> low = digamma(__builtin_convertvector(in.low, Vec<double>));
  const Vec<double> high = digamma(__builtin_convertvector(in.high, Vec<double>));
  const Halves out = {__builtin_convertvector(low, Half), __builtin_convertvector(high, Half)};
  return std::bit_cast<Vec<float>>(out);
}

// SLEEF's overflows a little early: there the result is the square of |x|^(y/2), with its sign.
template <class T>
WP_PACK Vec<T> power(Vec<T> x, Vec<T> y) {
  Vec<T> z = sleef(FnTag<Fn::pow>{}, x, y);
  const Vec<T> a = absolute<T>(x);
  const auto over = (absolute<T>(z) > Format<T>::largest) & (a > T(0)) & (a <= Format<T>::largest);
  if (any(over)) [[unlikely]] {
    const Vec<T> root = sleef(FnTag<Fn::pow>{}, a, y * T(0.5));
    z = over ? (y == T(1) ? x : with_sign<T>(root * root, z)) : z;
  }
  return z;
}

template <Fn f, class T>
WP_PACK Vec<T> apply(Vec<T> x) {
  if constexpr (f == Fn::exp)
    return exp<T>(x);
  else if constexpr (f == Fn::log)
    return log<T>(x);
  else if constexpr (f == Fn::tanh)
    return tanh<T>(x);
  else if constexpr (f == Fn::sigmoid)
    return sigmoid<T>(x);
  else if constexpr (f == Fn::silu)
    return silu<T>(x);
  else if constexpr (f == Fn::softplus)
    return softplus<T>(x);
  else if constexpr (f == Fn::gelu)
    return gelu<T>(x);
  else if constexpr (f == Fn::gelu_tanh)
    return gelu_tanh<T>(x);
  else if constexpr (f == Fn::erf)
    return erf<T>(x);
  else if constexpr (f == Fn::digamma)
    return digamma(x);
  else
    return patched<f, T>(x);
}
#include "simd/slopes.inl"
template <Fn f, class T>
WP_PACK Vec<T> apply(Vec<T> x, Vec<T> y) {
  if constexpr (f == Fn::logaddexp)
    return logaddexp<T>(x, y);
  else if constexpr (f == Fn::sigmoid_slope)
    return sigmoid_slope<T>(x, y);
  else if constexpr (f == Fn::tanh_slope)
    return tanh_slope<T>(x, y);
  else if constexpr (f == Fn::silu_slope)
    return silu_slope<T>(x, y);
  else if constexpr (f == Fn::softplus_slope)
    return x * sigmoid<T>(y);
  else if constexpr (f == Fn::gelu_slope)
    return gelu_slope<T>(x, y);
  else if constexpr (f == Fn::gelu_tanh_slope)
    return gelu_tanh_slope<T>(x, y);
  else if constexpr (f == Fn::expm1_slope)
    return x * exp<T>(y);
  else if constexpr (f == Fn::sin_slope)
    return x * sleef(FnTag<Fn::cos>{}, y);
  else if constexpr (f == Fn::cos_slope)
    return -(x * sleef(FnTag<Fn::sin>{}, y));
  else if constexpr (f == Fn::pow)
    return power<T>(x, y);
  else
    return sleef(FnTag<f>{}, x, y);
}

// Whole packs, then one padded pack for the rest; what is written is watched in the register (as Watch does).
template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status) {
  constexpr std::int64_t width = kPackBytes / sizeof(T);
  constexpr auto below_infinity = std::bit_cast<std::remove_const_t<decltype(Format<T>::bias)>>(Format<T>::largest);
  const T* const a = static_cast<const T*>(p[0]);
  const T* const b = static_cast<const T*>(p[takes_two(f) ? 1 : 0]);
  T* const r = static_cast<T*>(p[takes_two(f) ? 2 : 1]);
  Int<T> seen{};
  const auto pack = [&](const T* x, const T* y, T* out) [[gnu::always_inline]] {
    Vec<T> vx, v;
    std::memcpy(&vx, x, sizeof vx);
    if constexpr (takes_two(f)) {
      Vec<T> vy;
      std::memcpy(&vy, y, sizeof vy);
      v = apply<f, T>(vx, vy);
    } else {
      v = apply<f, T>(vx);
    }
    seen |= below_infinity - (bits<T>(v) & Format<T>::magnitude);
    std::memcpy(out, &v, sizeof v);
  };
  std::int64_t i = 0;
  for (; i + width <= n; i += width) pack(a + i, b + i, r + i);
  if (i < n) {
    T x[width], y[width], out[width];
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t at = i + k < n ? i + k : i;
      x[k] = a[at];
      y[k] = b[at];
    }
    pack(x, y, out);
    for (std::int64_t k = 0; i + k < n; ++k) r[i + k] = out[k];
  }
  if (any(seen < 0)) status->bits |= Status::nonfinite;
}
