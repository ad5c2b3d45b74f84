// Included once per instruction set, inside its namespace and target region. F::apply is inlined here and vectorised.
// A functor with bad(a, b) has arguments it refuses; it returns the Status bits to set. Its apply must be defined for
// them too (any value will do): bits are collected without a branch, so that the loop still vectorises.

template <class F, class R, class T>
void map1(void* const* p, std::int64_t n, Status* status) {
  const T* __restrict a = static_cast<const T*>(p[0]);
  R* __restrict r = static_cast<R*>(p[1]);
  typename Watch<R>::State seen = 0;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const R v = F::apply(load(a, i));
    store(r, i, v);
    Watch<R>::see(v, seen);
  }
  if (Watch<R>::bad(seen)) status->bits |= Status::nonfinite;
}

template <class F, class R, class T>
void map2(void* const* p, std::int64_t n, Status* status) {
  const T* __restrict a = static_cast<const T*>(p[0]);
  const T* __restrict b = static_cast<const T*>(p[1]);
  R* __restrict r = static_cast<R*>(p[2]);
  typename Watch<R>::State seen = 0;
  UnsignedOf<T> refused = 0;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (requires { F::bad(a[i], b[i]); })
      refused = static_cast<UnsignedOf<T>>(refused | static_cast<UnsignedOf<T>>(F::bad(a[i], b[i])));
    const R v = F::apply(load(a, i), load(b, i));
    store(r, i, v);
    Watch<R>::see(v, seen);
  }
  status->bits |= static_cast<std::uint32_t>(refused);
  if (Watch<R>::bad(seen)) status->bits |= Status::nonfinite;
}

template <class F, class R, class T>
void map3(void* const* p, std::int64_t n, Status* status) {
  const bool* __restrict c = static_cast<const bool*>(p[0]);
  const T* __restrict a = static_cast<const T*>(p[1]);
  const T* __restrict b = static_cast<const T*>(p[2]);
  R* __restrict r = static_cast<R*>(p[3]);
  typename Watch<R>::State seen = 0;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const R v = F::apply(load(c, i), load(a, i), load(b, i));
    store(r, i, v);
    Watch<R>::see(v, seen);
  }
  if (Watch<R>::bad(seen)) status->bits |= Status::nonfinite;
}
