// Included once per instruction set, after block.inl: residuals in twice the precision.

// What a residual starts from: B − P, where each is given.
struct Start {
  const V *b = nullptr, *p = nullptr;
};

// R = B − P − A X, rows × columns, each element summed in twice the precision; a(i, j) is an element of A, which has
// n columns.
template <class R, class S, class A>
WP_PACK void residual(R rows, S n, int columns, A a, Start start, const V* x, V* r) {
  steps<R>(
      0, rows, WP_EACH(i) {
        for (int c = 0; c < columns; ++c) {
          const int at = i * columns + c;
          V sum = start.b ? start.b[at] : V{}, rest = V{};
          const auto subtract = [&](V high, V low) __attribute__((always_inline)) {
            const Two<double> next = two_sum<double>(sum, -high);
            sum = next.high;
            rest += next.low - low;
          };
          if (start.p) subtract(start.p[at], V{});
          each<S>(
              0, n, WP_EACH(j) {
                const Two<double> product = two_product<double>(a(i, j), x[j * columns + c]);
                subtract(product.high, product.low);
              });
          r[at] = sum + rest;
        }
      });
}
