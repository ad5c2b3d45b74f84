#include "kernels/softmax.hpp"

#include "simd/math.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kGroup = kSoftmaxBack;  // elements of short lines taken together

template <class T>
[[gnu::always_inline]] inline T larger(T m, T v) {
  return ((v > m) | (v != v)) ? v : m;
}

// y = f(x), also in its place: the one place where these kernels call functions.
template <simd::Fn f, class T>
void function_of(const T* x, T* y, std::int64_t n) {
  static constexpr simd::Loops loops = simd::math_loops<f>();
  void* const p[] = {const_cast<T*>(x), y};
  simd::Status ignored;
  loops[static_cast<std::size_t>(dtype_v<T>)].active()(p, n, &ignored);
}
template <class T>
void exp_of(const T* x, T* y, std::int64_t n) {
  function_of<simd::Fn::exp>(x, y, n);
}
template <class T>
void expm1_of(const T* x, T* y, std::int64_t n) {
  function_of<simd::Fn::expm1>(x, y, n);
}

// log Σ exp x = m + log(1 + s), m the largest x. Nothing: m = −inf, s = −1. For infinite m, s is not read.
struct LogSum {
  double m, s;
};

void join(LogSum& a, const LogSum& b) {
  const bool swap = b.m > a.m || std::isnan(b.m);
  const LogSum big = swap ? b : a, small = swap ? a : b;
  a = big;
  if (small.m > -std::numeric_limits<double>::infinity())
    a.s = big.s + (1 + small.s) * (small.m == big.m ? 1.0 : std::exp(small.m - big.m));
}

#define WP_PER_ISA "kernels/softmax.inl"
#include "simd/per_isa.inl"

template <class T>
void run(bool log, const void* x, void* y, std::int64_t count, std::int64_t n) {
  using Lines = void (*)(const T*, T*, std::int64_t, std::int64_t);
  static constexpr Lines plain[] = {baseline::softmax_lines<T>, avx2::softmax_lines<T>, avx512::softmax_lines<T>};
  static constexpr Lines logs[] = {baseline::log_softmax_lines<T>, avx2::log_softmax_lines<T>,
                                   avx512::log_softmax_lines<T>};
  (log ? logs : plain)[static_cast<int>(simd::isa())](static_cast<const T*>(x), static_cast<T*>(y), count, n);
}

template <class T>
void run_back(const void* y, const void* g, void* out, std::int64_t count, std::int64_t n) {
  using Lines = void (*)(const T*, const T*, T*, std::int64_t, std::int64_t);
  static constexpr Lines lines[] = {baseline::log_softmax_back_lines<T>, avx2::log_softmax_back_lines<T>,
                                    avx512::log_softmax_back_lines<T>};
  lines[static_cast<int>(simd::isa())](static_cast<const T*>(y), static_cast<const T*>(g), static_cast<T*>(out),
                                       count, n);
}

template <class T>
constexpr Reduction log_sum() {
  return {dtype_v<T>,
          dtype_v<T>,
          sizeof(LogSum),
          [](void* s) {
            *static_cast<LogSum*>(s) = {-std::numeric_limits<double>::infinity(), -1};
          },
          {baseline::log_sum_block<T>, avx2::log_sum_block<T>, avx512::log_sum_block<T>},
          {baseline::log_sum_columns<T>, avx2::log_sum_columns<T>, avx512::log_sum_columns<T>},
          kColumnRows,
          {},
          [](const void* state, std::int64_t, double, void* out, simd::Status* status) {
            const LogSum& s = *static_cast<const LogSum*>(state);
            const double v = std::isinf(s.m) ? s.m : s.m + std::log1p(s.s);
            *static_cast<T*>(out) = static_cast<T>(v);
            if (!std::isfinite(static_cast<T>(v))) status->bits |= simd::Status::nonfinite;
          }};
}

constexpr Reductions make_log_sums() {
  Reductions all{};
  all[static_cast<std::size_t>(f32)] = log_sum<float>();
  all[static_cast<std::size_t>(f64)] = log_sum<double>();
  for (Reduction& r : all)
    for (auto& joins : r.joins)
      joins = [](void* into, const void* from, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k)
          join(static_cast<LogSum*>(into)[k], static_cast<const LogSum*>(from)[k]);
      };
  return all;
}
constexpr Reductions sums = make_log_sums();

}  // namespace

void softmax(DType dtype, bool log, const void* x, void* y, std::int64_t count, std::int64_t n) {
  dtype == f32 ? run<float>(log, x, y, count, n) : run<double>(log, x, y, count, n);
}

void log_softmax_back(DType dtype, const void* y, const void* g, void* out, std::int64_t count, std::int64_t n) {
  dtype == f32 ? run_back<float>(y, g, out, count, n) : run_back<double>(y, g, out, count, n);
}

const Reductions& log_sums() {
  return sums;
}

}  // namespace wp::kernels
