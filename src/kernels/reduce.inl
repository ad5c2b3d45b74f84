// Included once per instruction set.

// Independent lanes, joined at the end: vectorises, and shortens the chains of roundings.
template <class F>
[[gnu::always_inline]] inline void block_lanes(const typename F::In* a, std::int64_t n, typename F::State& s) {
  using S = typename F::State;
  constexpr std::int64_t lanes = 128 / sizeof(typename F::In);
  S total[lanes];
  for (std::int64_t k = 0; k < lanes; ++k) {
    F::start(total[k]);
    if (k < n) F::push(total[k], a[k]);
  }
  std::int64_t i = lanes;
  while (i + lanes <= n) {
    S part[lanes];
    for (std::int64_t k = 0; k < lanes; ++k) {
      F::start(part[k]);
      F::push(part[k], a[i + k]);
    }
    const std::int64_t end = i + kChain * lanes < n ? i + kChain * lanes : n;
    for (i += lanes; i + lanes <= end; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) F::push(part[k], a[i + k]);
    for (std::int64_t k = 0; k < lanes; ++k) F::join(total[k], part[k]);
  }
  for (std::int64_t k = 0; i < n; ++i, ++k) F::push(total[k], a[i]);
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k) F::join(total[k], total[k + width]);
  s = total[0];
}

template <class F>
void block(const void* x, std::int64_t n, void* state) {
  using S = typename F::State;
  const auto* const a = static_cast<const typename F::In*>(x);
  S& s = *static_cast<S*>(state);
  if constexpr (requires { F::block(a, n, s); }) {
    F::block(a, n, s);
  } else if (n <= kChain) {
    S one;
    F::start(one);
    for (std::int64_t i = 0; i < n; ++i) F::push(one, a[i]);
    s = one;
  } else {
    block_lanes<F>(a, n, s);
  }
}

// Pushes up to kChain rows, four at a time, so that states are loaded and stored a quarter as often.
template <class F>
[[gnu::always_inline]] inline void push_rows(const typename F::In* a, std::int64_t stride, std::int64_t rows,
                                             std::int64_t w, typename F::State* __restrict s) {
  using T = typename F::In;
  for (std::int64_t k = 0; k < w; ++k) F::start(s[k]);
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4, a += 4 * stride) {
    const T *b = a + stride, *c = b + stride, *d = c + stride;
    for (std::int64_t k = 0; k < w; ++k) {
      typename F::State t = s[k];
      F::push(t, a[k]);
      F::push(t, b[k]);
      F::push(t, c[k]);
      F::push(t, d[k]);
      s[k] = t;
    }
  }
  for (; i < rows; ++i, a += stride)
    for (std::int64_t k = 0; k < w; ++k) F::push(s[k], a[k]);
}

template <class F>
void columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t w, void* states) {
  using S = typename F::State;
  const auto* const a = static_cast<const typename F::In*>(x);
  S* __restrict s = static_cast<S*>(states);
  if constexpr (requires { F::columns(a, stride, rows, w, s); }) {
    F::columns(a, stride, rows, w, s);
  } else {
    push_rows<F>(a, stride, rows < kChain ? rows : kChain, w, s);
    for (std::int64_t i = kChain; i < rows; i += kChain) {
      S part[kColumnWidth];
      push_rows<F>(a + i * stride, stride, rows - i < kChain ? rows - i : kChain, w, part);
      for (std::int64_t k = 0; k < w; ++k) F::join(s[k], part[k]);
    }
  }
}

template <class F>
void joins(void* into, const void* from, std::int64_t count) {
  using S = typename F::State;
  S* __restrict a = static_cast<S*>(into);
  const S* __restrict b = static_cast<const S*>(from);
  for (std::int64_t k = 0; k < count; ++k) F::join(a[k], b[k]);
}
