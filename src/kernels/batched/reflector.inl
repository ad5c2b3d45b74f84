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

// A ← (I − τ v vᵀ) A for columns from … n − 1 and rows k … m − 1; v₀ = 1, the rest of v in column k of `v`, whose
// rows are `row` apart.
template <class R, class S>
WP_PACK void reflect(R m, S n, int k, int from, const V* v, int row, V tau, V* a) {
  V w[S::most];
  each<S>(
      from, n, WP_EACH(j) { w[j] = a[k * n + j]; });
  steps<R>(
      k + 1, m, WP_EACH(i) {
        each<S>(
            from, n, WP_EACH(j) { w[j] = fma(v[i * row + k], a[i * n + j], w[j]); });
      });
  each<S>(
      from, n, WP_EACH(j) {
        w[j] *= tau;
        a[k * n + j] -= w[j];
      });
  steps<R>(
      k + 1, m, WP_EACH(i) {
        each<S>(
            from, n, WP_EACH(j) { a[i * n + j] = less(v[i * row + k], w[j], a[i * n + j]); });
      });
}

// A (m × n) to R in its upper triangle and the reflections below; m ≥ n if n is known.
template <class R, class S>
WP_PACK void triangularise(R m, S n, V* a, V* tau) {
  all_steps<S>(
      std::min<int>(m, n), WP_KNOWN(k) {
        V* const column = a + k * n + k;
        const V beta = reflector(m - k, column, n, tau[k]);
        reflect(m, n, k, k + 1, a, n, tau[k], a);
        column[0] = beta;
      });
}
