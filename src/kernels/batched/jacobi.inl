// Included once per instruction set, after tridiagonal.inl: one-sided Jacobi rotations (Hestenes 1958).

// Rotates rows p and q of b (and of v) until they are orthogonal; size: the squares of the rows' lengths, of which
// those up to `least` do not count. Returns where something was done.
template <class S>
WP_PACK M make_orthogonal(S n, int m, int p, int q, V* b, V* v, V* size, V least) {
  V along = V{};
  for (int k = 0; k < m; ++k) along = fma(b[p * m + k], b[q * m + k], along);
  const V x = size[p], y = size[q];
  const double limit = kUnitOfDouble * kUnitOfDouble * m;
  const M here = (along * along > limit * x * y) & (x > least) & (y > least);
  if (!any(here)) return here;
  const V zeta = (y - x) / (2.0 * along), root = square_root(fma(zeta, zeta, V{} + 1.0));
  const V tangent = 1.0 / (zeta + with_sign<double>(root, zeta));
  V s, c;
  rotation(tangent, V{} + 1.0, s, c);
  s = here ? s : V{};
  c = here ? c : V{} + 1.0;
  const auto turn = [&](V & left, V & right) __attribute__((always_inline)) {
    const V old = left;
    left = fma(c, old, -(s * right));
    right = fma(s, old, c * right);
  };
  for (int k = 0; k < m; ++k) turn(b[p * m + k], b[q * m + k]);
  if (v)
    each<S>(
        0, n, WP_EACH(k) { turn(v[p * n + k], v[q * n + k]); });
  size[p] = here ? less(tangent, along, x) : x;
  size[q] = here ? fma(tangent, along, y) : y;
  return here;
}

// A block (m × n, m ≥ n) on its way to S (falling), b: the columns of U as rows, v: those of V.
struct SingularBlock {
  V *a, *b, *v, *values;
  M good, moving;  // moving: where the last sweep did something
  V size[kLargest], negligible, up;
  bool turns;

  WP_PACK void measure(int n, int m) {
    for (int j = 0; j < n; ++j) {
      V sum = V{};
      for (int k = 0; k < m; ++k) sum = fma(b[j * m + k], b[j * m + k], sum);
      size[j] = sum;
    }
  }
};
template <class S>
WP_PACK void sweep(S n, int m, bool vectors, int count, SingularBlock* blocks) {
  constexpr int kSweeps = 8;  // noise of a singular matrix shrinks for ever, and ends here
  const int columns = opaque(n);
  for (int done = 0; done < kSweeps; ++done) {
    bool more = false;
    for (int i = 0; i < count; ++i) {
      SingularBlock& block = blocks[i];
      block.turns = any(block.moving);
      more |= block.turns;
      if (!block.turns) continue;
      block.measure(columns, m);
      block.moving = M{};
    }
    if (!more) return;
    for (int p = 0; p + 1 < columns; ++p)
      for (int q = p + 1; q < columns; ++q)
        for (int i = 0; i < count; ++i)
          if (SingularBlock& block = blocks[i]; block.turns)
            block.moving |=
                make_orthogonal(n, m, p, q, block.b, vectors ? block.v : nullptr, block.size, block.negligible);
  }
}
