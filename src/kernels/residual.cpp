#include "kernels/residual.hpp"

#include <algorithm>
#include <cmath>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "simd/isa.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kLanes = kResidualLanes;
constexpr std::int64_t kGrainTerms = 32768;  // products per piece of parallel work
constexpr std::int64_t kPanel = 16;          // rows of A brought into cache at once …
constexpr std::int64_t kCopied = 16;         // … and where they must be copied to be contiguous

// Σ of the terms of lane t = sum[t] + rest[t].
struct Sums {
  alignas(64) double sum[kLanes] = {}, rest[kLanes] = {}, size[kLanes] = {};
};

namespace baseline {
// Dekker's product after Veltkamp's splitting (Dekker 1971); NaN for factors beyond 2⁹⁹⁶.
[[gnu::always_inline]] inline double product_error(double a, double b, double p) {
  const double s = 0x1.0000002p27 * a, t = 0x1.0000002p27 * b;
  const double ah = s - (s - a), bh = t - (t - b), al = a - ah, bl = b - bh;
  return al * bl - (((p - ah * bh) - al * bh) - ah * bl);
}
#include "kernels/residual.inl"
}  // namespace baseline
#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
[[gnu::always_inline]] inline double product_error(double a, double b, double p) {
  return __builtin_fma(a, b, -p);
}
#include "kernels/residual.inl"
}  // namespace avx2
WP_END_ISA
WP_BEGIN_AVX512
namespace avx512 {
[[gnu::always_inline]] inline double product_error(double a, double b, double p) {
  return __builtin_fma(a, b, -p);
}
#include "kernels/residual.inl"
}  // namespace avx512
WP_END_ISA
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif
// For what splitting overflows on.
namespace exact {
inline double product_error(double a, double b, double p) {
  return std::fma(a, b, -p);
}
#include "kernels/residual.inl"
}  // namespace exact

using DoubleDot = void (*)(std::int64_t, const double*, const double*, Sums&);
using FloatDot = void (*)(std::int64_t, const float*, const double*, Sums&);
constexpr DoubleDot double_dots[simd::kIsas][2] = {
    {baseline::dot_double<false>, baseline::dot_double<true>},
    {avx2::dot_double<false>, avx2::dot_double<true>},
    {avx512::dot_double<false>, avx512::dot_double<true>},
};
constexpr FloatDot float_dots[simd::kIsas][2] = {
    {baseline::dot_float<false>, baseline::dot_float<true>},
    {avx2::dot_float<false>, avx2::dot_float<true>},
    {avx512::dot_float<false>, avx512::dot_float<true>},
};

// b − Σ, the lanes added to b in order.
struct Result {
  double value, low, size;  // value + low: the sum in twice the precision
};
// Of several elements at once: each is a chain of dependent additions.
template <int count>
void finish(const double* b, const Sums* s, Result* to) {
  double sum[count], rest[count] = {}, size[count];
  for (int k = 0; k < count; ++k) sum[k] = b[k], size[k] = std::fabs(b[k]);
  for (std::int64_t t = 0; t < kLanes; ++t)
    for (int k = 0; k < count; ++k) {
      const double p = -s[k].sum[t], next = sum[k] + p, z = next - sum[k];
      rest[k] += ((sum[k] - (next - z)) + (p - z)) - s[k].rest[t];
      sum[k] = next;
      size[k] += s[k].size[t];
    }
  for (int k = 0; k < count; ++k) {
    const double value = sum[k] + rest[k], z = value - sum[k];
    to[k] = {value, (sum[k] - (value - z)) + (rest[k] - z), size[k]};
  }
}

// Of rows a_row apart.
template <int count, class R>
void dots(std::int64_t n, const R* a, std::int64_t a_row, const double* x, const double* l, const double* b,
          bool sized, Result* to) {
  Sums s[count];
  const auto run = [&] {
    if constexpr (std::is_same_v<R, float>)
      return float_dots[static_cast<int>(simd::isa())][sized];
    else
      return double_dots[static_cast<int>(simd::isa())][sized];
  }();
  for (int k = 0; k < count; ++k) {
    run(n, a + k * a_row, x, s[k]);
    if (l) run(n, a + k * a_row, l, s[k]);
  }
  finish<count>(b, s, to);
  if constexpr (std::is_same_v<R, double>)
    for (int k = 0; k < count && simd::isa() == simd::Isa::baseline; ++k)
      if (std::isnan(to[k].value)) {
        Sums again;
        exact::dot_double<true>(n, a + k * a_row, x, again);
        if (l) exact::dot_double<true>(n, a + k * a_row, l, again);
        finish<1>(b + k, &again, to + k);
      }
}

template <class T>
class Residual {
  using R = typename RealOf<T>::type;
  static constexpr std::int64_t parts = RealOf<T>::parts;
  static constexpr int kTogether = 4;  // rows whose sums are finished side by side

 public:
  Residual(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> x, View<T> l, View<T> b)
      : m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        low_(l.data != nullptr),
        factors_(std::max<std::int64_t>(1, 2 * k * step())) {
    for (std::int64_t c = 0; c < k; ++c) {
      pack(x, c, factors_.data() + c * step());
      if (low_) pack(l, c, factors_.data() + (k + c) * step());
    }
  }

  void run(T* r, R* sizes, T* low) const {
    const std::int64_t terms = std::max<std::int64_t>(1, n_ * k_ * parts * parts);
    const std::int64_t rows = direct() ? std::clamp<std::int64_t>(kGrainTerms / terms, 1, kPanel) : kCopied;
    parallel_for((m_ + rows - 1) / rows, std::max<std::int64_t>(1, kGrainTerms / (terms * rows)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t p = begin; p < end; ++p)
                     panel(p * rows, std::min(rows, m_ - p * rows), r, sizes, low);
                 });
  }

 private:
  bool direct() const { return a_.columns == 1 || n_ == 1; }
  std::int64_t step() const { return n_ * parts * parts; }

  // Column c as factors of a row of A; complex: (re, −im) for the real part of the product, (im, re) for the other.
  void pack(View<T> x, std::int64_t c, double* to) const {
    for (std::int64_t j = 0; j < n_; ++j) {
      const T v = x.data[j * x.rows + c * x.columns];
      if constexpr (parts == 1) {
        to[j] = static_cast<double>(v);
      } else {
        const double re = static_cast<double>(v.real()), im = static_cast<double>(v.imag());
        to[2 * j] = re;
        to[2 * j + 1] = -im;
        to[2 * n_ + 2 * j] = im;
        to[2 * n_ + 2 * j + 1] = re;
      }
    }
  }

  void panel(std::int64_t first, std::int64_t rows, T* r, R* sizes, T* low) const {
    const std::int64_t length = n_ + 64 / static_cast<std::int64_t>(sizeof(T));  // rows do not meet in one cache set
    Buffer<T> copied(direct() ? 1 : rows * length);
    if (!direct())
      for (std::int64_t j = 0; j < n_; ++j)
        for (std::int64_t i = 0; i < rows; ++i)
          copied.data()[i * length + j] = a_.data[(first + i) * a_.rows + j * a_.columns];
    const std::int64_t a_row = direct() ? a_.rows : length;
    const T* const lines = direct() ? a_.data + first * a_.rows : copied.data();
    for (std::int64_t c = 0; c < k_; ++c) {
      std::int64_t i = 0;
      const auto at = [&] { return (first + i) * k_ + c; };
      for (; i + kTogether <= rows; i += kTogether)
        elements<kTogether>(lines + i * a_row, a_row, first + i, c, r + at(), sizes ? sizes + at() : nullptr,
                            low ? low + at() : nullptr);
      for (; i < rows; ++i)
        elements<1>(lines + i * a_row, a_row, first + i, c, r + at(), sizes ? sizes + at() : nullptr,
                    low ? low + at() : nullptr);
    }
  }

  // Those of rows i … i + count − 1 and column c.
  template <int count>
  void elements(const T* row, std::int64_t a_row, std::int64_t i, std::int64_t c, T* r, R* size, T* low) const {
    const double* const x = factors_.data() + c * step();
    const double* const l = low_ ? x + k_ * step() : nullptr;
    const R* const numbers = reinterpret_cast<const R*>(row);
    double b[parts][count];
    Result value[parts][count];
    for (int k = 0; k < count; ++k) {
      const T v = b_.data[(i + k) * b_.rows + c * b_.columns];
      b[0][k] = static_cast<double>(std::real(v));
      if constexpr (parts == 2) b[1][k] = static_cast<double>(v.imag());
    }
    for (std::int64_t p = 0; p < parts; ++p)
      dots<count>(parts * n_, numbers, parts * a_row, x + p * 2 * n_, l ? l + p * 2 * n_ : l, b[p], size != nullptr,
                  value[p]);
    const auto rest = [](const Result& v) {
      return static_cast<R>((v.value - static_cast<double>(static_cast<R>(v.value))) + v.low);
    };
    for (int k = 0; k < count; ++k) {
      if (low) {
        if constexpr (parts == 1)
          low[k * k_] = rest(value[0][k]);
        else
          low[k * k_] = T(rest(value[0][k]), rest(value[1][k]));
      }
      if constexpr (parts == 1) {
        r[k * k_] = static_cast<R>(value[0][k].value);
        if (size) size[k * k_] = static_cast<R>(value[0][k].size);
      } else {
        r[k * k_] = T(static_cast<R>(value[0][k].value), static_cast<R>(value[1][k].value));
        if (size) size[k * k_] = static_cast<R>(value[0][k].size + value[1][k].size);
      }
    }
  }

  std::int64_t m_, n_, k_;
  View<T> a_, b_;
  bool low_;
  mutable Buffer<double> factors_;
};

}  // namespace

template <class T>
void residual(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> x, View<T> l, View<T> b, T* r,
              typename RealOf<T>::type* sizes, T* low) {
  if (m > 0 && k > 0) Residual<T>(m, n, k, a, x, l, b).run(r, sizes, low);
}

#define WP_INSTANTIATE(T)                                                                                  \
  template void residual(std::int64_t, std::int64_t, std::int64_t, View<T>, View<T>, View<T>, View<T>, T*, \
                         typename RealOf<T>::type*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
