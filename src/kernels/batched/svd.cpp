#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/svd.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void svd(std::int64_t m, std::int64_t n, bool full, Source<T> a, Range range, T* u, T* s, T* vh, Marks marks) {
  chosen(baseline::svd<T>, avx2::svd<T>, avx512::svd<T>)(static_cast<int>(m), static_cast<int>(n), full, a, range, u,
                                                         s, vh, marks);
}
template void svd(std::int64_t, std::int64_t, bool, Source<float>, Range, float*, float*, float*, Marks);
template void svd(std::int64_t, std::int64_t, bool, Source<double>, Range, double*, double*, double*, Marks);

}  // namespace wp::kernels::batched
