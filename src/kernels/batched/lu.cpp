#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/lu_factors.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void lu(std::int64_t m, std::int64_t n, Source<T> a, Range range, std::int64_t* p, T* l, T* u, Marks marks) {
  chosen_for(range, baseline::lu<T>, avx2::lu<T>, avx512::lu<T>)(static_cast<int>(m), static_cast<int>(n), a, range,
                                                                 p, l, u, marks);
}
template void lu(std::int64_t, std::int64_t, Source<float>, Range, std::int64_t*, float*, float*, Marks);
template void lu(std::int64_t, std::int64_t, Source<double>, Range, std::int64_t*, double*, double*, Marks);

}  // namespace wp::kernels::batched
