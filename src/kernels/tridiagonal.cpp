#include "kernels/tridiagonal.hpp"

#include <algorithm>

#include "kernels/lapack_call.hpp"
#include "kernels/one_pass.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPanel = 32;

// V and W, whose rows begin one below the first row of the panel.
template <class T>
struct Panel {
  std::int64_t rows;
  Buffer<T> memory{2 * kPanel * rows};
  T factors[kPanel];
  T* v(std::int64_t j) { return memory.data() + j * rows; }
  T* w(std::int64_t j) { return memory.data() + (kPanel + j) * rows; }
};

// Column j of the panel, c from the diagonal on: c −= V (W's row)ᵀ + W (V's row)ᵀ.
template <class T>
void update_column(Panel<T>& p, std::int64_t j, std::int64_t m, T* c) {
  if (j == 0) return;
  const std::int64_t row = j - 1;
  for (std::int64_t k = 0; k < j; ++k) p.factors[k] = -p.w(k)[row];
  add_product<T>(m, j, p.v(0) + row, p.rows, p.factors, c);
  for (std::int64_t k = 0; k < j; ++k) p.factors[k] = -p.v(k)[row];
  add_product<T>(m, j, p.w(0) + row, p.rows, p.factors, c);
}

// w = τ (A v − V Wᵀv − W Vᵀv), less so much of v that A − v wᵀ − w vᵀ = H A H.
template <class T>
void second_vector(Panel<T>& p, std::int64_t j, std::int64_t m, const T* a, std::int64_t lda, T tau) {
  const T* const v = p.v(j) + j;
  T* const w = p.w(j) + j;
  const auto take = [&](const T* from, const T* along) {
    transposed_product<T>(m, j, along, p.rows, v, p.factors);
    for (T& f : p.factors) f = -f;
    add_product<T>(m, j, from, p.rows, p.factors, w);
  };
  symmetric_product<T>(m, a, lda, v, w);
  take(p.v(0) + j, p.w(0) + j);
  take(p.w(0) + j, p.v(0) + j);
  T along;
  transposed_product<T>(m, 1, w, m, v, &along);
  along *= tau * tau / 2;
  for (std::int64_t i = 0; i < m; ++i) w[i] = tau * w[i] - along * v[i];
}

}  // namespace

template <class T>
void tridiagonalise(std::int64_t n, T* a, std::int64_t lda, T* d, T* e, T* tau) {
  for (std::int64_t first = 0, width; first < n - 1; first += width) {
    width = std::min(kPanel, n - 1 - first);
    Panel<T> p{n - first - 1};
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t i = first + j, m = n - i - 1;
      T* const c = a + i * lda + i;
      update_column(p, j, m + 1, c);
      d[i] = c[0];
      tau[i] = lapack::reflector<T>(m, c + 1);
      e[i] = c[1];
      T* const v = p.v(j);
      std::fill_n(v, j, T(0));
      v[j] = T(1);
      std::copy_n(c + 2, m - 1, v + j + 1);
      second_vector(p, j, m, c + lda + 1, lda, tau[i]);
    }
    const std::int64_t m = n - first - width, row = width - 1;
    const View<T> v{p.v(0) + row, 1, p.rows}, w{p.w(0) + row, 1, p.rows};
    const MutableView<T> rest{a + (first + width) * (lda + 1), 1, lda};
    gemm<T>(m, m, width, v, w.transposed(), rest, Into::subtract, Part::lower);
    gemm<T>(m, m, width, w, v.transposed(), rest, Into::subtract, Part::lower);
  }
  if (n > 0) d[n - 1] = a[(n - 1) * (lda + 1)];
}

#define WP_INSTANTIATE(T) template void tridiagonalise(std::int64_t, T*, std::int64_t, T*, T*, T*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
