#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/cholesky.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void cholesky(std::int64_t n, Source<T> a, Reads reads, bool upper, Range range, T* l, Marks marks) {
  chosen(baseline::cholesky<T>, avx2::cholesky<T>, avx512::cholesky<T>)(static_cast<int>(n), a, reads, upper, range,
                                                                        l, marks);
}
template void cholesky(std::int64_t, Source<float>, Reads, bool, Range, float*, Marks);
template void cholesky(std::int64_t, Source<double>, Reads, bool, Range, double*, Marks);

}  // namespace wp::kernels::batched
