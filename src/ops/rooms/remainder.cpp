#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_remainder;
namespace {

// x − y·trunc(x/y), exact. For quotients below 2^p (p the digits of T) fma gives it exactly, since it is a multiple
// of the last place of y and smaller than y; a quotient that was rounded up to an integer leaves the wrong sign, and
// |y| goes back on, again exactly. Other arguments are for fmod.
template <class T>
WP_FN T truncated(T x, T y) {
  const T n = std::trunc(x / y), size = std::fabs(y);
  if (!(std::fabs(n) < T(1) / std::numeric_limits<T>::epsilon() && size <= std::numeric_limits<T>::max()))
    return std::fmod(x, y);
  const T r = std::fma(-n, y, x);
  if (x > 0 ? r < 0 : r > 0) return x > 0 ? r + size : r - size;
  return r;
}

struct Remainder {
  template <std::integral T>
  WP_FN std::uint32_t bad(T, T b) {
    return b == 0 ? simd::Status::divided_by_zero : 0;
  }
  template <std::integral T>
  WP_FN T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the least integer % −1 traps
      const T r = static_cast<T>(a % b);
      return static_cast<T>((r != 0) & ((r < 0) != (b < 0)) ? r + b : r);
    } else {
      return static_cast<T>(a % b);
    }
  }
  // Python's %: the sign of y, also of a zero.
  template <std::floating_point T>
  WP_FN T apply(T x, T y) {
    const T r = truncated(x, y);
    if (r == 0) return std::copysign(T(0), y);
    return (r < 0) != (y < 0) ? r + y : r;
  }
};
constexpr simd::Loops loops = simd::loops2<Remainder>(simd::Reals{});

// x1 − x2 ⌊x1/x2⌋ between the jumps.
Tensors vjp(const Backward& b) {
  return {b.g(), b.wants(1) ? negative(multiply(b.g(), floor_divide(b.in[0], b.in[1]))) : Tensor()};
}
Tensors jvp(const Forward& f) {
  const Tensor t1 = f.tangents[0].defined() ? f.tangents[0] : zeros_for(f.facts[0]);
  if (!f.tangents[1].defined()) return {t1};
  return {subtract(t1, multiply(f.tangents[1], floor_divide(f.in[0], f.in[1])))};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = elementwise_samples(op_remainder, {{{7, 2}},
                                                               {{6, 3}},
                                                               {{-7, 2}},
                                                               {{7, -2}},
                                                               {{-7, -2}},
                                                               {{-6, 3}},
                                                               {{0, 5}},
                                                               {{0, -5}},
                                                               {{-128, -1}, "the least i8 by -1"},
                                                               {{1.5, 0.1}},
                                                               {{1, 0.1}},
                                                               {{-1e-300, 1e300}},
                                                               {{1e300, 3.5e-5}, "a quotient beyond 2^53"},
                                                               {{-1e20, 0.7}},
                                                               {{0.5, 0}, "x2 = 0: nan"},
                                                               {{0, 0}, "0 % 0: nan"},
                                                               {{HUGE_VAL, 2}, "x1 = inf: nan"},
                                                               {{3, HUGE_VAL}, "x2 = inf"},
                                                               {{-3, HUGE_VAL}, "x2 = inf, other sign: x2"},
                                                               {{3, -HUGE_VAL}, "x2 = inf, other sign: x2"},
                                                               {{NAN, 1.5}}});
  // Integers refuse 0 % 0.
  std::erase_if(all, [](const Sample& s) { return is_integer(s.in[0].dtype()) && s.covers == "0 % 0: nan"; });
  return all;
}
}  // namespace

const Op op_remainder = elementwise({
    .name = "remainder",
    .group = "element-wise",
    .doc = "What is left of x1 after floor_divide(x1, x2), element by element: it has the sign of x2, as in Python. "
           "Integers are refused when x2 is 0.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .operator_ = "%",
    .loops = &loops,
    .domain = "x2 != 0",
    .inside = [](std::span<const double> v) { return v[1] != 0; },
    .advice = "Mask the input, not the result: remainder(x1, where(x2 != 0, x2, 1)).",
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 3,
    .for_others = 1,
    .for_itself = 2,
    .branches = {"the least i8 by -1", "a quotient beyond 2^53", "x2 = 0: nan", "0 % 0: nan", "x1 = inf: nan",
                 "x2 = inf", "x2 = inf, other sign: x2"},
    .samples = samples,
});
}  // namespace wp
