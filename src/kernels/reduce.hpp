// Reductions over any axes of any layout. Partial results are cut by the problem's size only and joined pairwise in a
// fixed order, so results do not depend on threads, and rounding errors grow with log n.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "simd/loop.hpp"
#include "wellposed/error.hpp"

namespace wp::kernels {

inline constexpr std::int64_t kReduceBlock = 4096;  // elements of a row in one partial result
inline constexpr std::int64_t kColumnRows = 128;    // rows of a strip of columns in one partial result
inline constexpr std::int64_t kColumnWidth = 4096;  // columns in a strip, at most
inline constexpr std::int64_t kChain = 16;          // elements pushed one after the other into one state
inline constexpr std::size_t kStateBytes = 96;      // the largest partial result

// How one input dtype is reduced.
struct Reduction {
  DType in = f64, out = f64;
  std::size_t state = 0;  // bytes of a partial result
  void (*start)(void* state) = nullptr;
  void (*block[simd::kIsas])(const void* x, std::int64_t n, void* state) = {};  // fresh partial result of n elements
  // For w ≤ kColumnWidth neighbouring columns: folds up to `rows` rows, `stride` elements apart, into w fresh states.
  // Null: runs are taken one by one.
  void (*columns[simd::kIsas])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t w,
                               void* states) = {};
  std::int64_t rows = kColumnRows;
  void (*joins[simd::kIsas])(void* into, const void* from, std::int64_t count) = {};  // into: the earlier elements
  void (*finish)(const void* state, std::int64_t n, double param, void* out, simd::Status* status) = nullptr;

  explicit operator bool() const noexcept { return finish != nullptr; }
  void join(void* into, const void* from, std::int64_t count) const {
    joins[static_cast<int>(simd::isa())](into, from, count);
  }
};
using Reductions = std::array<Reduction, kDTypes>;

// x viewed with the kept axes first: out is row-major over `kept`.
struct ReducePlan {
  const char* x;
  DType dtype;  // as stored; converted to the reduction's input dtype on the way
  Dims kept, kept_strides, reduced, reduced_strides;
  char* out;
  double param = 0;  // e.g. the correction of a variance
};
std::uint32_t reduce(const Reduction& r, ReducePlan plan);

// F gives: In, Out, State; start(State&); push(State&, In); join(State&, const State&); finish(const State&, n,
// param); and maybe whole forms: block(const In*, n, State&), columns(const In*, stride, rows, w, State*) with
// column_rows.
#define WP_PER_ISA "kernels/reduce.inl"
#include "simd/per_isa.inl"

template <class F>
void finish(const void* state, std::int64_t n, double param, void* out, simd::Status* status) {
  using Watch = simd::Watch<typename F::Out>;
  const typename F::Out v = F::finish(*static_cast<const typename F::State*>(state), n, param);
  *static_cast<typename F::Out*>(out) = v;
  typename Watch::State seen = 0;
  Watch::see(v, seen);
  if (Watch::bad(seen)) status->bits |= simd::Status::nonfinite;
}

template <class F>
constexpr std::int64_t column_rows() {
  if constexpr (requires { F::column_rows; })
    return F::column_rows;
  else
    return kColumnRows;
}

template <class F>
constexpr Reduction reduction() {
  using S = typename F::State;
  static_assert(sizeof(S) <= kStateBytes);
  return {dtype_v<typename F::In>,
          dtype_v<typename F::Out>,
          sizeof(S),
          [](void* s) { F::start(*static_cast<S*>(s)); },
          {baseline::block<F>, avx2::block<F>, avx512::block<F>},
          {baseline::columns<F>, avx2::columns<F>, avx512::columns<F>},
          column_rows<F>(),
          {baseline::joins<F>, avx2::joins<F>, avx512::joins<F>},
          finish<F>};
}
// One instruction set, one run at a time: for what is rarely needed.
template <class F>
constexpr Reduction rare_reduction() {
  return {dtype_v<typename F::In>,
          dtype_v<typename F::Out>,
          sizeof(typename F::State),
          [](void* s) { F::start(*static_cast<typename F::State*>(s)); },
          {baseline::block<F>, baseline::block<F>, baseline::block<F>},
          {},
          0,
          {baseline::joins<F>, baseline::joins<F>, baseline::joins<F>},
          finish<F>};
}
template <template <class> class F, class... T>
constexpr Reductions reductions(simd::Types<T...>) {
  Reductions all{};
  ((all[static_cast<std::size_t>(dtype_v<T>)] = reduction<F<T>>()), ...);
  return all;
}

// The same partial results with the last step of another F.
template <template <class> class F, class... T>
constexpr Reductions refinished(Reductions table, simd::Types<T...>) {
  ((table[static_cast<std::size_t>(dtype_v<T>)].finish = finish<F<T>>), ...);
  return table;
}
template <template <class> class F, class... T>
constexpr Reductions rare_reductions(simd::Types<T...>) {
  Reductions all{};
  ((all[static_cast<std::size_t>(dtype_v<T>)] = rare_reduction<F<T>>()), ...);
  return all;
}

}  // namespace wp::kernels
