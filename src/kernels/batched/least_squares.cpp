#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/least_squares.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void least_squares(std::int64_t m, std::int64_t n, std::int64_t columns, Source<T> a, Source<T> b, Limits limits,
                   Range range, T* x, bool refined, Marks marks) {
  chosen_for(range, baseline::least_squares<T>, avx2::least_squares<T>, avx512::least_squares<T>)(
      static_cast<int>(m), static_cast<int>(n), static_cast<int>(columns), a, b, limits, range, x, refined, marks);
}
template <class T>
void pseudo_inverse(std::int64_t m, std::int64_t n, Source<T> a, Limits limits, Range range, T* x, bool refined,
                    Marks marks) {
  chosen_for(range, baseline::pseudo_inverse<T>, avx2::pseudo_inverse<T>, avx512::pseudo_inverse<T>)(
      static_cast<int>(m), static_cast<int>(n), a, limits, range, x, refined, marks);
}
template void least_squares(std::int64_t, std::int64_t, std::int64_t, Source<float>, Source<float>, Limits, Range,
                            float*, bool, Marks);
template void least_squares(std::int64_t, std::int64_t, std::int64_t, Source<double>, Source<double>, Limits, Range,
                            double*, bool, Marks);
template void pseudo_inverse(std::int64_t, std::int64_t, Source<float>, Limits, Range, float*, bool, Marks);
template void pseudo_inverse(std::int64_t, std::int64_t, Source<double>, Limits, Range, double*, bool, Marks);

}  // namespace wp::kernels::batched
