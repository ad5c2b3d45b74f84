// Included once per instruction set.

template <class F>
void block(const void* x, std::int64_t n, void* state) {
  using T = typename F::In;
  using S = typename F::State;
  const T* const a = static_cast<const T*>(x);
  S& s = *static_cast<S*>(state);
  if constexpr (requires { F::block(a, n, s); }) {
    F::block(a, n, s);
  } else {
    // Independent lanes, joined at the end: vectorises, and shortens the chain of roundings.
    constexpr std::int64_t lanes = 128 / sizeof(T);
    S lane[lanes];
    for (std::int64_t k = 0; k < lanes; ++k) F::start(lane[k]);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) F::push(lane[k], a[i + k]);
    for (std::int64_t k = 0; i < n; ++i, ++k) F::push(lane[k], a[i]);
    for (std::int64_t width = lanes / 2; width > 0; width /= 2)
      for (std::int64_t k = 0; k < width; ++k) F::join(lane[k], lane[k + width]);
    s = lane[0];
  }
}

template <class F>
void columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t w, void* states) {
  using T = typename F::In;
  using S = typename F::State;
  const T* a = static_cast<const T*>(x);
  S* __restrict s = static_cast<S*>(states);
  for (std::int64_t k = 0; k < w; ++k) F::start(s[k]);
  for (std::int64_t i = 0; i < rows; ++i, a += stride)
    for (std::int64_t k = 0; k < w; ++k) F::push(s[k], a[k]);
}
