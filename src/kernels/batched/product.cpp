#include "kernels/batched/product.hpp"

#include "kernels/batched/entry.hpp"
#include "kernels/scan.hpp"
#include "simd/partial.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels::batched {
namespace {

// Members first … first + count − 1 of a product, and where C of member `first` begins.
template <class T>
struct Some {
  int m, n, k;
  Source<T> a, b;  // data: of member `first`
  std::int64_t count;
  T* c;
};

#define WP_PER_ISA "kernels/batched/product.inl"
#include "simd/per_isa.inl"

// Right factors whose rows are not contiguous, as such.
template <class T>
Source<T> packed(const Some<T>& s, T* to) {
  const std::int64_t count = s.b.step == 0 ? 1 : s.count;
  if (s.b.rows == 1) {
    chosen(baseline::turn<T>, avx2::turn<T>, avx512::turn<T>)(s, count, to);
  } else {
    T* at = to;
    for (std::int64_t i = 0; i < count; ++i)
      for (int p = 0; p < s.k; ++p)
        for (int j = 0; j < s.n; ++j) *at++ = s.b.data[i * s.b.step + p * s.b.rows + j * s.b.columns];
  }
  return {to, s.b.step == 0 ? 0 : static_cast<std::int64_t>(s.k) * s.n, s.n, 1};
}

}  // namespace

template <class T>
bool product(std::int64_t m, std::int64_t n, std::int64_t k, Source<T> a, Source<T> b, Range range, T* c) {
  // One row is a column of Bᵀ·Aᵀ.
  const bool row = m == 1 && n > 1, column = n == 1;
  const Source<T> left = row ? Source<T>{b.data, b.step, b.columns, b.rows} : a;
  const Source<T> right = row ? Source<T>{a.data, a.step, a.columns, a.rows} : b;
  Some<T> some{static_cast<int>(row ? n : m), static_cast<int>(row ? 1 : n), static_cast<int>(k), left, right, 0,
               c + range.begin * m * n};
  const auto run = row || column ? chosen(baseline::dots<T>, avx2::dots<T>, avx512::dots<T>)
                                 : chosen(baseline::multiply<T>, avx2::multiply<T>, avx512::multiply<T>);
  // So few members at a time that what belongs to them stays in the first-level cache.
  const std::int64_t bytes = (m * k + k * n + m * n) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = std::clamp<std::int64_t>(16384 / bytes, 1, 64);
  const bool pack = !row && !column && right.columns != 1;
  Buffer<T> room(pack ? most * k * n : 1);
  bool finite = true;
  for (std::int64_t i = range.begin; i < range.end; i += most) {
    some.count = std::min(most, range.end - i);
    some.a.data = left.data + i * left.step;
    some.b.data = right.data + i * right.step;
    if (pack) {
      Some<T> other = some;
      other.b = packed(some, room.data());
      run(other);
    } else {
      run(some);
    }
    finite = finite && !any_nonfinite(dtype_v<T>, some.c, some.count * m * n);
    some.c += some.count * m * n;
  }
  return finite;
}
template bool product(std::int64_t, std::int64_t, std::int64_t, Source<float>, Source<float>, Range, float*);
template bool product(std::int64_t, std::int64_t, std::int64_t, Source<double>, Source<double>, Range, double*);

}  // namespace wp::kernels::batched
