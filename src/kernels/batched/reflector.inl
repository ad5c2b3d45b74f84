// Included once per instruction set: exact scales and Householder's reflections.
#include "kernels/batched/block.inl"

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

// A vector x of `count` elements, `row` apart, to βe₁ by H = I − τ v vᵀ, v₀ = 1: v in the place of x but for v₀, whose
// place keeps x₀. Returns β.
WP_PACK V reflector(int count, V* x, int row, V& tau) {
  V rest = V{};
  for (int i = 1; i < count; ++i) rest = fma(x[i * row], x[i * row], rest);
  const V head = x[0], size = square_root(fma(head, head, rest));
  const M none = rest == 0.0;
  const V beta = none ? head : with_sign<double>(size, -head);
  tau = none ? V{} : (beta - head) / beta;
  const V scale = none ? V{} : 1.0 / (head - beta);
  for (int i = 1; i < count; ++i) x[i * row] *= scale;
  return beta;
}
