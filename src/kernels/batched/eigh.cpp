#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/eigh.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void eigh(std::int64_t n, Source<T> a, Reads reads, Range range, T* values, T* v, Marks marks) {
  chosen(baseline::eigh<T>, avx2::eigh<T>, avx512::eigh<T>)(static_cast<int>(n), a, reads, range, values, v, marks);
}
template void eigh(std::int64_t, Source<float>, Reads, Range, float*, float*, Marks);
template void eigh(std::int64_t, Source<double>, Reads, Range, double*, double*, Marks);

}  // namespace wp::kernels::batched
