#include "kernels/few.hpp"

#include <cstdlib>

#include "simd/pack.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/few.inl"
#include "simd/per_isa.inl"

template <class R>
using Run = void (*)(std::int64_t, const R*, std::int64_t, std::int64_t, R*, std::int64_t);

template <class R, bool unit>
Run<R> run_of(bool by_rows) {
  static constexpr Run<R> all[2][simd::kIsas] = {
      {baseline::few_by_columns<R, unit>, avx2::few_by_columns<R, unit>, avx512::few_by_columns<R, unit>},
      {baseline::few_by_rows<R, unit>, avx2::few_by_rows<R, unit>, avx512::few_by_rows<R, unit>}};
  return all[by_rows][static_cast<int>(simd::isa())];
}

template <class R>
using RunLine = void (*)(std::int64_t, const R*, std::int64_t, R*);
#define WP_LINE(isa, R, unit, upper) \
  { isa::line_by_columns<R, unit, upper>, isa::line_by_rows<R, unit, upper> }
template <class R, bool unit, bool upper>
RunLine<R> line_of(bool by_rows) {
  static constexpr RunLine<R> all[simd::kIsas][2] = {WP_LINE(baseline, R, unit, upper), WP_LINE(avx2, R, unit, upper),
                                                     WP_LINE(avx512, R, unit, upper)};
  return all[static_cast<int>(simd::isa())][by_rows];
}
#undef WP_LINE

}  // namespace

template <class T>
void solve_one(Triangle triangle, std::int64_t n, View<T> a, T* x) {
  const bool by_rows = a.columns == 1;
  const RunLine<T> run = triangle.unit
                             ? (triangle.upper ? line_of<T, true, true> : line_of<T, true, false>)(by_rows)
                             : (triangle.upper ? line_of<T, false, true> : line_of<T, false, false>)(by_rows);
  run(n, a.data, by_rows ? a.rows : a.columns, x);
}
template void solve_one(Triangle, std::int64_t, View<float>, float*);
template void solve_one(Triangle, std::int64_t, View<double>, double*);

template <class T>
void solve_few(Triangle triangle, std::int64_t n, View<T> a, T* x) {
  if (n == 0) return;
  const bool by_rows = std::abs(a.columns) <= std::abs(a.rows);
  const Run<T> run = triangle.unit ? run_of<T, true>(by_rows) : run_of<T, false>(by_rows);
  if (triangle.upper) {
    const View<T> lower = a.reversed(n, n);
    run(n, lower.data, lower.rows, lower.columns, x + (n - 1) * kFew, -kFew);
  } else {
    run(n, a.data, a.rows, a.columns, x, kFew);
  }
}

template void solve_few(Triangle, std::int64_t, View<float>, float*);
template void solve_few(Triangle, std::int64_t, View<double>, double*);

}  // namespace wp::kernels
