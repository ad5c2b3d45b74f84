// Included once per instruction set, after jacobi.inl: graded positive definite matrices, whose small eigenvalues
// keep their digits (Veselić & Hari 1989; Demmel & Veselić 1992).

// H = D B D with D = diag(2^x), elements of the diagonal of B near 1, rows in falling order of their diagonal.
struct GradedRoom {
  V *h, *l, *columns, *vectors, *values;
};

// L of B = L Lᵀ in r.l, and ‖L⁻¹‖² ≥ ‖B⁻¹‖ (Frobenius). Where is B positive definite beyond doubt?
WP_PACK M factor_graded(int n, const GradedRoom& r, V& inverse) {
  V* const l = r.l;
  M good = ~M{};
  for (int k = 0; k < n; ++k) {
    V pivot = l[k * n + k];
    for (int j = 0; j < k; ++j) pivot = less(l[k * n + j], l[k * n + j], pivot);
    const M positive = pivot >= 4e3 * n * kUnitOfDouble;
    good &= positive;
    const V root = square_root(positive ? pivot : V{} + 1.0), over = 1.0 / root;
    l[k * n + k] = root;
    for (int i = k + 1; i < n; ++i) {
      V sum = l[i * n + k];
      for (int j = 0; j < k; ++j) sum = less(l[i * n + j], l[k * n + j], sum);
      l[i * n + k] = sum * over;
    }
  }
  inverse = inverse_size(n, l, nullptr);
  return good;
}

// Eigenvalues, rising, and vectors as columns, of H, whose lower triangle is given with elements up to 1, by
// one-sided Jacobi on its Cholesky factor. `relative`: the error of each value. Where is that beyond doubt?
template <class S>
[[gnu::noinline]] M diagonalise_graded(S n, const GradedRoom& r, V& relative) {
  using Bits = simd::Format<double>;
  V d[S::most];
  M x[S::most], order[S::most], good = ~M{};
  for (int i = 0; i < n; ++i) {
    d[i] = r.h[i * n + i];
    const M large = d[i] >= 0x1p-400;
    good &= large;
    d[i] = large ? d[i] : V{} + 1.0;
    x[i] = ((bits<double>(d[i]) >> Bits::mantissa) - Bits::bias + 1) >> 1;
    order[i] = M{} + i;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      r.l[i * n + j] = r.l[j * n + i] = r.h[i * n + j] * power_of_two<double>(-x[i] - x[j]);
  for (int end = n - 1; end > 0; --end)
    for (int i = 0; i < end; ++i) {
      const M wrong = d[i] < d[i + 1];
      if (!any(wrong)) continue;
      exchange(wrong, d[i], d[i + 1]);
      exchange(wrong, x[i], x[i + 1]);
      exchange(wrong, order[i], order[i + 1]);
      for (int k = 0; k < n; ++k) exchange(wrong, r.l[i * n + k], r.l[(i + 1) * n + k]);
      for (int k = 0; k < n; ++k) exchange(wrong, r.l[k * n + i], r.l[k * n + i + 1]);
    }
  V inverse;
  good &= factor_graded(opaque(n), r, inverse);
  inverse = larger(inverse, V{} + 1.0);
  relative = inverse * (16 * std::sqrt(static_cast<double>(n)) * kUnitOfDouble);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) r.columns[j * n + i] = j > i ? V{} : r.l[i * n + j] * power_of_two<double>(x[i]);
  SingularBlock block{};
  block.b = r.columns;
  block.good = block.moving = good;
  sweep(n, n, false, 1, &block);
  good &= ~block.moving;
  block.measure(n, n);
  for (int j = 0; j < n; ++j) {
    const V inverse_length = 1.0 / square_root(block.size[j]);
    r.values[j] = block.size[j];
    for (int i = 0; i < n; ++i) r.columns[j * n + i] *= inverse_length;
  }
  sort<false>(n, r.values, r.columns);
  for (int t = 0; t < n; ++t)
    for (int j = 0; j < n; ++j) {
      V element = V{};
      for (int i = 0; i < n; ++i) element = order[i] == t ? r.columns[j * n + i] : element;
      r.vectors[t * n + j] = element + 0.0;
    }
  return good;
}
