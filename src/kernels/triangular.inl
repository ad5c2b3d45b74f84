#include "kernels/lines.inl"

// Substitution in a few rows: X[i] = (X[i] − Σ_{j<i} A[i, j] X[j]) / d[i]. A is real with rows of a_row; complex rows
// are pairs of real ones, and the block of a pair on the diagonal is left to the division. X has rows of `width`,
// whole packs; several independent chains run side by side.
template <class T, bool unit>
void substitute(std::int64_t rows, const typename RealOf<T>::type* a, std::int64_t a_row, typename RealOf<T>::type* x,
                std::int64_t width, const Divisor<T>* d) {
  using R = typename RealOf<T>::type;
  constexpr std::int64_t parts = RealOf<T>::parts, lanes = lanes_of<R>;
  for (std::int64_t i = 0; i < rows; i += parts) {
    R* const to = x + i * width;
    for (std::int64_t c = 0; c < width; c += lanes) {
      Vec<R> value[parts];
      for (std::int64_t s = 0; s < parts; ++s) {
        const R* const line = a + (i + s) * a_row;
        Vec<R> v = load_pack(to + s * width + c);
        for (std::int64_t j = 0; j < i; ++j) v = fma(Vec<R>{} - line[j], load_pack(x + j * width + c), v);
        value[s] = v;
      }
      if constexpr (!unit) {
        const Divisor<T>& by = d[i / parts];
        for (std::int64_t s = 0; s < parts; ++s) value[s] = value[s] / by.scale;
        if constexpr (parts == 2) {
          const Vec<R> re = value[0], im = value[1];
          value[0] = re * by.re - im * by.im;
          value[1] = re * by.im + im * by.re;
        }
      }
      for (std::int64_t s = 0; s < parts; ++s) store_pack(to + s * width + c, value[s]);
    }
  }
}
