// Included once per instruction set, after block.inl: forms of a matrix that functions of it share.

// Where a equals its transpose, and where there is nothing above or below its diagonal: its inverse and its
// exponential are like it.
struct Form {
  M symmetric, lower, upper;
};
template <class S>
WP_PACK Form form_of(S n, const V* a) {
  Form f{~M{}, ~M{}, ~M{}};
  steps<S>(
      1, n, WP_EACH(i) {
        each<S>(
            0, i, WP_EACH(j) {
              const V below = a[i * n + j], above = a[j * n + i];
              f.symmetric &= below == above;
              f.lower &= above == 0.0;
              f.upper &= below == 0.0;
            });
      });
  return f;
}
// The form, which rounding may have lost.
template <class S>
[[gnu::noinline]] void restore(S n, const Form& f, V* x) {
  for (int i = 1; i < n; ++i)
    for (int j = 0; j < i; ++j) {
      V &below = x[i * n + j], &above = x[j * n + i];
      const V mean = 0.5 * below + 0.5 * above;
      below = f.symmetric ? mean : below;
      above = f.symmetric ? mean : above;
      above = f.lower ? V{} : above;
      below = f.upper ? V{} : below;
    }
}
