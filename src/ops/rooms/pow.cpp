#include <algorithm>
#include <cstring>

#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "ops/follower.hpp"
#include "simd/math.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_pow;
namespace {

// Repeated squaring; wraps around.
struct IntegerPower {
  template <std::integral T>
  WP_FN std::uint32_t bad(T, T b) {
    return b < 0 ? simd::Status::bad_argument : 0;
  }
  template <std::integral T>
  WP_FN T apply(T a, T b) {
    std::uint64_t base = static_cast<std::uint64_t>(a), result = 1;
    for (std::uint64_t e = b < 0 ? 0 : static_cast<std::uint64_t>(b); e; e >>= 1) {
      if (e & 1U) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

// √x with the special cases of x^0.5: no negative zero, and +inf for −inf.
struct HalfPower {
  template <class T>
  WP_FN T apply(T x) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    return x == -inf ? inf : std::sqrt(x) + T(0);
  }
};

// Exponents with an exactly rounded answer of one instruction.
template <class T>
bool is_simple(T y) {
  return y == T(1) || y == T(2) || y == T(0.5) || y == T(-1);
}
template <class T>
T simple_power(T x, T y) {
  return y == T(1) ? x : y == T(2) ? x * x : y == T(-1) ? 1 / x : HalfPower::apply(x);
}

// x^y in blocks: a block with one simple exponent (a scalar, mostly) takes its own loop; in a mixed block the
// elements with simple exponents get the same values as there.
template <class T, simd::Inner general, simd::Inner same, simd::Inner square, simd::Inner half, simd::Inner inverse>
void power(void* const* p, std::int64_t n, simd::Status* status) {
  constexpr std::int64_t block = 512;
  const T* const x = static_cast<const T*>(p[0]);
  const T* const y = static_cast<const T*>(p[1]);
  T* const r = static_cast<T*>(p[2]);
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t m = std::min(block, n - at);
    const T* const e = y + at;
    void* const all[] = {const_cast<T*>(x + at), const_cast<T*>(e), r + at};
    if (std::memcmp(e, e + 1, static_cast<std::size_t>(m - 1) * sizeof(T)) == 0) {  // one exponent
      void* const both[] = {all[0], all[2]};
      if (is_simple(e[0]))
        (e[0] == T(2) ? square : e[0] == T(1) ? same : e[0] == T(-1) ? inverse : half)(both, m, status);
      else
        general(all, m, status);
      continue;
    }
    general(all, m, status);
    typename simd::Watch<T>::State seen = 0;
    for (std::int64_t i = 0; i < m; ++i)
      if (is_simple(e[i])) {
        r[at + i] = simple_power(x[at + i], e[i]);
        simd::Watch<T>::see(r[at + i], seen);
      }
    if (simd::Watch<T>::bad(seen)) status->bits |= simd::Status::nonfinite;
  }
}

#define WP_POWER(isa, T)                                                                                  \
  power<T, simd::isa::math<simd::Fn::pow, T>, simd::isa::map1<Same, T, T>, simd::isa::map1<Square, T, T>, \
        simd::isa::map1<HalfPower, T, T>, simd::isa::map1<Reciprocal, T, T>>
template <class T>
constexpr simd::Loop real_power() {
  return {dtype_v<T>, dtype_v<T>, {WP_POWER(baseline, T), WP_POWER(avx2, T), WP_POWER(avx512, T)}};
}
#undef WP_POWER

// x^y = exp(y log x) in the next wider type; whole exponents up to 8 by multiplication there.
struct ComplexPower {
  template <class T>
  WP_FN T apply(T x, T y) {
    return evaluate(x, y);
  }

 private:
  template <class W>
  static W whole_power(W x, int n) {
    W result(1);
    for (int e = n < 0 ? -n : n; e; e >>= 1) {
      if (e & 1) result *= x;
      x *= x;
    }
    return n < 0 ? W(1) / result : result;
  }
  template <class T>
  [[gnu::noinline]] static T evaluate(T x, T y) {
    using R = typename T::value_type;
    using W = std::complex<typename Wider<R>::type>;
    constexpr R inf = std::numeric_limits<R>::infinity(), nan = std::numeric_limits<R>::quiet_NaN();
    if (y == T(0)) return T(1);
    if (y == T(1)) return x;
    if (y == T(2)) return Square::apply(x);
    if (x == T(0)) return y.real() > 0 ? T(0) : y.real() < 0 ? T(inf, nan) : T(nan, nan);
    const W wx(x.real(), x.imag()), wy(y.real(), y.imag());
    const bool whole = y.imag() == 0 && std::fabs(y.real()) <= 8 && y.real() == std::trunc(y.real());
    const W z = whole ? whole_power(wx, static_cast<int>(y.real())) : std::exp(wy * std::log(wx));
    return T(static_cast<R>(z.real()), static_cast<R>(z.imag()));
  }
};

constexpr simd::Loops loops = [] {
  simd::Loops all =
      simd::join(simd::loops2<IntegerPower>(simd::Integers{}), simd::loops2<ComplexPower>(simd::Complexes{}));
  all[static_cast<std::size_t>(f32)] = real_power<float>();
  all[static_cast<std::size_t>(f64)] = real_power<double>();
  return all;
}();

// p x^(p−1) and y log x. x⁰ is flat, also at x = 0; 0^p does not vary with p ≥ 0 (at p = 0: to the right of it).
Tensor partial(const Saved& s, std::size_t i) {
  const DType d = s.output(0).dtype;
  const auto brought = [d](const Tensor& t) { return t.dtype() == d ? t : astype(t, d); };
  const Tensor x = brought(s.in[0]), p = brought(s.in[1]);
  if (i == 0) {
    if (p.size() == 1 && value_at(p, 0) != complex128(0)) return multiply(p, pow(x, subtract(p, 1)));
    if (p.size() == 1 && !followed(s.in[1])) return {};  // 0 x⁻¹ would overflow where x is small, in the end
    const Tensor flat = logical_and(equal(x, 0), equal(p, 0));
    return where(flat, 0, multiply(p, pow(where(flat, 1, x), subtract(p, 1))));
  }
  const Tensor flat = logical_and(equal(x, 0), greater_equal(real(p), 0));
  return where(flat, 0, multiply(s.out[0], log(where(flat, 1, x))));
}

std::vector<Sample> samples() {
  std::vector<Sample> all = elementwise_samples(op_pow,
                                                {{{2, 10}},
                                                 {{3, 4}},
                                                 {{-3, 3}},
                                                 {{7, 0}},
                                                 {{0, 0}},
                                                 {{5, 1}},
                                                 {{1.5, 2}},
                                                 {{1.5, 2.5}},
                                                 {{0.1, -3.7}},
                                                 {{10, 0.5}},
                                                 {{-2.5, -1}},
                                                 {{-2.5, -3}},
                                                 {{1.0000001, 1e7}},
                                                 {{100, 9}, "wraps in i8"},
                                                 {{0, -2.5}, "0 to a negative power: inf"},
                                                 {{-0.0, -3}, "-0 to a negative odd power: -inf"},
                                                 {{-0.0, 3}},
                                                 {{-2.5, 0.5}, "x1 < 0, x2 not whole: nan"},
                                                 {{-0.0, 0.5}},
                                                 {{-HUGE_VAL, 0.5}},
                                                 {{1e200, 2.5}, "overflow: inf"},
                                                 {{1, NAN}, "1 to the nan: 1"},
                                                 {{NAN, 0}, "nan to the 0: 1"},
                                                 {{NAN, 2.5}},
                                                 {{-HUGE_VAL, 3}, "x1 = inf"},
                                                 {{-HUGE_VAL, -3}, "x1 = inf"},
                                                 {{HUGE_VAL, 0.3}, "x1 = inf"},
                                                 {{-1, HUGE_VAL}, "x2 = inf"},
                                                 {{0.5, HUGE_VAL}, "x2 = inf"},
                                                 {{2.5, -HUGE_VAL}, "x2 = inf"}},
                                                {{{1, 2}, {0.5, -3}},
                                                 {{-1, 0}, {0, 1}},
                                                 {{1, 1}, {2, 0}},
                                                 {{1, -2}, {3, 0}},
                                                 {{0.5, 0.25}, {-4, 0}},
                                                 {{0.3, 0.4}, {0, 0}},
                                                 {{0.3, 0.4}, {1, 0}},
                                                 {{0, 0}, {2, 1}},
                                                 {{0, 0}, {0, 0}},
                                                 {{-2, 0}, {0.5, 0}},
                                                 {{1.25, -0.5}, {17, 30}}});
  // Integers refuse negative exponents.
  std::erase_if(all, [](const Sample& s) { return is_integer(s.in[0].dtype()) && s.covers.starts_with("-0"); });
  return all;
}
}  // namespace

const Op op_pow = elementwise({
    .name = "pow",
    .group = "element-wise",
    .doc =
        "x1 to the power x2, element by element. Integers wrap around and refuse negative exponents. Exponents 1, 2, "
        "0.5 and -1 give the rounded exact value.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .loops = &loops,
    .domain = "x1 > 0, or x1 = 0 and x2 >= 0, or x1 < 0 and x2 a whole number",
    .inside =
        [](std::span<const double> v) { return v[0] > 0 || (v[0] == 0 ? v[1] >= 0 : v[1] == std::floor(v[1])); },
    .advice = "Mask the input, not the result: pow(where(x1 > 0, x1, 1), x2).",
    .partial = partial,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .outputs_for = 2,
    .branches = {"wraps in i8", "0 to a negative power: inf", "-0 to a negative odd power: -inf",
                 "x1 < 0, x2 not whole: nan", "overflow: inf", "1 to the nan: 1", "nan to the 0: 1", "x1 = inf",
                 "x2 = inf"},
    .samples = samples,
});
}  // namespace wp
