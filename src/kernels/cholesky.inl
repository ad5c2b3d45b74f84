#include "kernels/lines.inl"

// Rows first … end − 1 of U in A = UᴴU by elimination among themselves, in the place of A: rows of `width` numbers
// (whole packs), kBase apart. Returns the first row whose pivot is not positive, or −1.
template <class T>
std::int64_t factor_rows(std::int64_t first, std::int64_t end, std::int64_t width, T* a) {
  using R = typename RealOf<T>::type;
  constexpr std::int64_t parts = RealOf<T>::parts, lanes = lanes_of<R>;
  alignas(64) R turned[parts == 2 ? kBase * 2 : 1];  // (−im, re)
  for (std::int64_t j = first; j < end; ++j) {
    R* const pivots = reinterpret_cast<R*>(a + j * kBase);
    const R d = pivots[parts * j];
    if (!(d > 0)) return j;
    const R root = std::sqrt(d),
            inverse = R(1) / root;  // no overflow: the root of the least number is not that small
    const std::int64_t from = parts * j / lanes * lanes;
    for (std::int64_t c = from; c < parts * width; c += lanes) {
      const Vec<R> v = load_pack(pivots + c) * inverse;
      store_pack(pivots + c, v);
      if constexpr (parts == 2)
        for (std::int64_t s = 0; s < lanes; s += 2) {
          turned[c + s] = -v[s + 1];
          turned[c + s + 1] = v[s];
        }
    }
    pivots[parts * j] = root;
    if constexpr (parts == 2) pivots[parts * j + 1] = 0;
    for (std::int64_t i = j + 1; i < end; ++i) {  // a[i] −= conj(u[j, i]) u[j]
      R* const to = reinterpret_cast<R*>(a + i * kBase);
      const Vec<R> re = Vec<R>{} - pivots[parts * i];
      Vec<R> im = {};
      if constexpr (parts == 2) im = pivots[parts * i + 1] - im;
      for (std::int64_t c = parts * i / lanes * lanes; c < parts * width; c += lanes) {
        Vec<R> v = fma(re, load_pack(pivots + c), load_pack(to + c));
        if constexpr (parts == 2) v = fma(im, load_pack(turned + c), v);
        store_pack(to + c, v);
      }
    }
  }
  return -1;
}
