#include "kernels/batched/exponential.hpp"

#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/exponential.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void exponential(std::int64_t n, Source<T> a, Range range, T* x, Marks marks) {
  chosen(baseline::exponential<T>, avx2::exponential<T>, avx512::exponential<T>)(static_cast<int>(n), a, range, x,
                                                                                 marks);
}
template void exponential(std::int64_t, Source<float>, Range, float*, Marks);
template void exponential(std::int64_t, Source<double>, Range, double*, Marks);

}  // namespace wp::kernels::batched
