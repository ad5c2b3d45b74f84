// Included once per instruction set: Householder's reflections.
#include "kernels/batched/block.inl"

// A vector x of `count` elements, `row` apart, to βe₁ by H = I − τ v vᵀ, v₀ = 1: v in the place of x but for v₀,
// whose place keeps x₀. Returns β. Elements whose squares lose digits to underflow are dropped: matrices come here
// scaled to 1, and H would not be orthogonal.
WP_PACK V reflector(int count, V* x, int row, V& tau) {
  V rest = V{};
  for (int i = 1; i < count; ++i) rest = fma(x[i * row], x[i * row], rest);
  const V head = x[0], size = square_root(fma(head, head, rest));
  const M none = rest < 0x1p-960;
  const V beta = none ? head : with_sign<double>(size, -head);
  tau = none ? V{} : (beta - head) / beta;
  const V scale = none ? V{} : 1.0 / (head - beta);
  for (int i = 1; i < count; ++i) x[i * row] *= scale;
  return beta;
}
