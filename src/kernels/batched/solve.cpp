#include "kernels/batched/entry.hpp"

namespace wp::kernels::batched {
namespace {
#define WP_PER_ISA "kernels/batched/solve.inl"
#include "simd/per_isa.inl"
}  // namespace

template <class T>
void solve(std::int64_t n, std::int64_t columns, Source<T> a, Source<T> b, Range range, T* x, bool refined,
           Marks marks) {
  chosen_for(range, baseline::solve<T>, avx2::solve<T>, avx512::solve<T>)(
      static_cast<int>(n), static_cast<int>(columns), a, b, range, x, refined, marks);
}
template void solve(std::int64_t, std::int64_t, Source<float>, Source<float>, Range, float*, bool, Marks);
template void solve(std::int64_t, std::int64_t, Source<double>, Source<double>, Range, double*, bool, Marks);

}  // namespace wp::kernels::batched
