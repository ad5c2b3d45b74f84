// Included once per instruction set. Whole packs, then one padded pack for the rest; what was written is watched
// block by block, while it is in cache.

template <Fn f, class T>
[[gnu::always_inline]] inline void math_pack(const T* x, const T* y, T* out) {
  using V = typename Packed<T>::type;
  V vx, vy, v;
  std::memcpy(&vx, x, sizeof vx);
  if constexpr (requires { apply(FnTag<f>{}, vx, vx); }) {
    std::memcpy(&vy, y, sizeof vy);
    v = apply(FnTag<f>{}, vx, vy);
  } else {
    v = apply(FnTag<f>{}, vx);
  }
  std::memcpy(out, &v, sizeof v);
}

template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status) {
  using V = typename Packed<T>::type;
  constexpr std::int64_t width = sizeof(V) / sizeof(T), block = 512;
  constexpr bool binary = requires(V v) {
    apply(FnTag<f>{}, v, v);
  };
  const T* const a = static_cast<const T*>(p[0]);
  const T* const b = static_cast<const T*>(p[1]);
  T* const r = static_cast<T*>(p[binary ? 2 : 1]);
  typename Watch<T>::State seen = 0;
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t end = at + block < n ? at + block : n;
    std::int64_t i = at;
    for (; i + width <= end; i += width) math_pack<f>(a + i, b + i, r + i);
    if (i < end) {
      T x[width], y[width], out[width];
      for (std::int64_t k = 0; k < width; ++k) {
        x[k] = a[i + k < end ? i + k : i];
        if constexpr (binary) y[k] = b[i + k < end ? i + k : i];
      }
      math_pack<f>(x, y, out);
      for (std::int64_t k = 0; i + k < end; ++k) r[i + k] = out[k];
    }
    for (i = at; i < end; ++i) Watch<T>::see(r[i], seen);
  }
  if (Watch<T>::bad(seen)) status->bits |= Status::nonfinite;
}
