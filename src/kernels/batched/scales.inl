// Included once per instruction set, after block.inl: rows and columns of one size.

// A ← R A C with powers of two that bring the largest element of every row, and then of every column, to [1/2, 1).
// Where are these sizes that allow it?
template <class S>
[[gnu::noinline]] M equilibrate(S n, V* a, V* rows, V* columns) {
  M possible = ~M{};
  const auto scale_of = [&](V top) __attribute__((always_inline)) {
    const M here = (top >= kFarBelow) & (top <= kFarAbove);
    possible &= here;
    return power_of(here ? top : V{} + 0.5).down;
  };
  for (int i = 0; i < n; ++i) {
    V top = V{};
    for (int j = 0; j < n; ++j) top = larger(magnitude(a[i * n + j]), top);
    rows[i] = scale_of(top);
    for (int j = 0; j < n; ++j) a[i * n + j] *= rows[i];
  }
  for (int j = 0; j < n; ++j) {
    V top = V{};
    for (int i = 0; i < n; ++i) top = larger(magnitude(a[i * n + j]), top);
    columns[j] = scale_of(top);
    for (int i = 0; i < n; ++i) a[i * n + j] *= columns[j];
  }
  return possible;
}

// What is small beside all of y may be large beside x = C y. By how much more may errors of x count in a good lane?
inline constexpr double kLittleWorse = 8;
// x ← C x · right, element c of n rows. Where do errors count little more, and is x a number with all its digits?
template <class T>
WP_PACK M unscale(int n, int step, const V* columns, V right, V* x) {
  V most = V{}, before = V{}, after = V{};
  for (int i = 0; i < n; ++i) {
    const V scale = columns[i] * right;
    V& v = x[i * step];
    most = larger(scale, most);
    before = larger(magnitude(v), before);
    v *= scale;
    after = larger(magnitude(v), after);
  }
  return (before == 0.0) | ((most * before <= kLittleWorse * after) & (after >= kLeastAnswer<T>)&in_range<T>(after));
}
