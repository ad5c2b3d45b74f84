// Included once per instruction set: packs from and to memory of any alignment.
using namespace simd::WP_ISA;

template <class R>
struct UnalignedPack {
  typedef R type __attribute__((vector_size(kPackBytes), aligned(alignof(R)), may_alias));
};
template <class R>
inline constexpr int lanes_of = kPackBytes / static_cast<int>(sizeof(R));
template <class R>
[[gnu::always_inline]] inline Vec<R> load_pack(const R* p) {
  return *reinterpret_cast<const typename UnalignedPack<R>::type*>(p);
}
template <class R>
[[gnu::always_inline]] inline void store_pack(R* p, Vec<R> v) {
  *reinterpret_cast<typename UnalignedPack<R>::type*>(p) = v;
}
