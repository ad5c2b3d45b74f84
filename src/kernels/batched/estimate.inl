// Included once per instruction set, after lu.inl: ‖A⁻¹‖₁ from the factors, without the inverse.

// x ← L⁻ᵀ U⁻ᵀ x.
WP_PACK void substitute_turned(int n, const V* a, V* x) {
  // x[from … to − 1] −= Σ a(row + p, ·) x[row + p] over `count` ≤ kTall rows.
  const auto subtract = [&](int from, int to, int row, int count) __attribute__((always_inline)) {
    const auto rows = [&](auto known) __attribute__((always_inline)) {
      constexpr int R = decltype(known)::most;
      V factors[R];
      unrolled<0, R>(WP_KNOWN(p) { factors[p] = x[row + p]; });
      for (int j = from; j < to; ++j) {
        V sum = x[j];
        unrolled<0, R>(WP_KNOWN(p) { sum = less(a[(row + p) * n + j], factors[p], sum); });
        x[j] = sum;
      }
    };
    count == kTall ? rows(Fixed<kTall>{})
    : count == 3   ? rows(Fixed<3>{})
    : count == 2   ? rows(Fixed<2>{})
                   : rows(Fixed<1>{});
  };
  for (int first = 0; first < n; first += kTall) {
    const int next = std::min(n, first + kTall);
    for (int k = first; k < next; ++k) {
      x[k] *= a[k * n + k];
      subtract(k + 1, next, k, 1);
    }
    subtract(next, n, first, next - first);
  }
  for (int first = (n - 1) / kTall * kTall; first >= 0; first -= kTall) {
    const int next = std::min(n, first + kTall);
    for (int k = next - 1; k > first; --k) subtract(first, k, k, 1);
    subtract(0, first, first, next - first);
  }
}

// Σ|x| over `count` numbers, `step` apart.
WP_PACK V size_of(int count, int step, const V* x) {
  V sum = V{};
  for (int i = 0; i < count; ++i) sum += magnitude(x[i * step]);
  return sum;
}

// ‖A⁻¹‖₁ from below, mostly within a factor of 3: the first two vectors of Higham's estimator and the unit vector
// that they lead to (Hager 1984; Higham 1988). Rows that were exchanged do not change it.
[[gnu::noinline]] inline LineSums inverse_from_below(int n, const V* factors) {
  V x[2 * kLargest], z[kLargest];
  for (int i = 0; i < n; ++i) {
    x[2 * i] = V{} + 1.0 / n;
    x[2 * i + 1] = V{} + (i % 2 ? -1.0 : 1.0) * (1.0 + static_cast<double>(i) / (n - 1));
  }
  substitute(Sized{n}, 2, factors, x);
  LineSums out;
  out.take(size_of(n, 2, x));
  out.take(size_of(n, 2, x + 1) * (2.0 / (3 * n)));
  for (int i = 0; i < n; ++i) z[i] = with_sign<double>(V{} + 1.0, x[2 * i]);
  substitute_turned(n, factors, z);
  V best = V{};
  M place = M{};
  for (int i = 0; i < n; ++i) {
    const V size = magnitude(z[i]);
    place = size > best ? M{} + i : place;
    best = larger(size, best);
  }
  for (int i = 0; i < n; ++i) z[i] = place == i ? V{} + 1.0 : V{};
  substitute(Sized{n}, 1, factors, z);
  out.take(size_of(n, 1, z));
  return out;
}
