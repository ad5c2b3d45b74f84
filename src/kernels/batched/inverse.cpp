#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/inverse.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void inverse(std::int64_t n, Source<T> a, Range range, T* x, Marks marks) {
  chosen_for(range, baseline::inverse<T>, avx2::inverse<T>, avx512::inverse<T>)(static_cast<int>(n), a, range, x,
                                                                                marks);
}
template <class T>
void condition(std::int64_t n, Source<T> a, Range range, Marks marks) {
  inverse<T>(n, a, range, nullptr, marks);
}
template void inverse(std::int64_t, Source<float>, Range, float*, Marks);
template void inverse(std::int64_t, Source<double>, Range, double*, Marks);
template void condition(std::int64_t, Source<float>, Range, Marks);
template void condition(std::int64_t, Source<double>, Range, Marks);

}  // namespace wp::kernels::batched
