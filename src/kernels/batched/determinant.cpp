#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/determinant.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void determinant(std::int64_t n, Source<T> a, Range range, T* value, T* log, Marks marks) {
  chosen_for(range, baseline::determinant<T>, avx2::determinant<T>, avx512::determinant<T>)(static_cast<int>(n), a,
                                                                                            range, value, log, marks);
}
template void determinant(std::int64_t, Source<float>, Range, float*, float*, Marks);
template void determinant(std::int64_t, Source<double>, Range, double*, double*, Marks);

}  // namespace wp::kernels::batched
