#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/qr.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void qr(std::int64_t m, std::int64_t n, std::int64_t width, Source<T> a, Range range, T* q, T* r, Marks marks) {
  chosen_for(range, baseline::qr<T>, avx2::qr<T>, avx512::qr<T>)(static_cast<int>(m), static_cast<int>(n),
                                                                 static_cast<int>(width), a, range, q, r, marks);
}
template void qr(std::int64_t, std::int64_t, std::int64_t, Source<float>, Range, float*, float*, Marks);
template void qr(std::int64_t, std::int64_t, std::int64_t, Source<double>, Range, double*, double*, Marks);

}  // namespace wp::kernels::batched
