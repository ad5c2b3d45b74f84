#include "linalg/schur_form.hpp"

#include <algorithm>

#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"

namespace wp::linalg {

template <class T>
Spectrum schur_form(const Dense<T>& a, SchurForm<T>& out) {
  const std::int64_t n = a.n;
  Spectrum s;
  s.real = true;
  if (a.upper()) {  // also where LAPACK would balance or deflate in another order: nothing is rounded
    out = {a, Dense<T>::identity(n)};
    for (std::int64_t i = 0; i < n; ++i) {
      const T v = a(i, i);
      s.real = s.real && std::imag(v) == 0;
      if (std::imag(v) == 0 && std::real(v) < 0) {
        s.negative = true;
        s.most_negative = std::min(s.most_negative, static_cast<double>(std::real(v)));
      }
    }
    return s;
  }
  Dense<T> t = a.transposed(), z(n, n);  // column-major
  std::vector<lapack::Complex<T>> w(static_cast<std::size_t>(n));
  s.info = lapack::schur<T>(n, t.data.data(), n, w.data(), z.data.data(), n);
  out = {t.transposed(), z.transposed()};
  for (const auto& v : w) {
    s.real = s.real && v.imag() == 0;
    if (v.imag() == 0 && v.real() < 0) {
      s.negative = true;
      s.most_negative = std::min(s.most_negative, static_cast<double>(v.real()));
    }
  }
  return s;
}

template <class T>
SchurForm<std::complex<T>> complex_form(const SchurForm<T>& real) {
  using C = std::complex<T>;
  const std::int64_t n = real.t.n;
  SchurForm<C> f{Dense<C>(n, n), Dense<C>(n, n)};
  for (std::size_t i = 0; i < real.t.data.size(); ++i) {
    f.t.data[i] = real.t.data[i];
    f.z.data[i] = real.z.data[i];
  }
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    const T b = real.t(k, k + 1), c = real.t(k + 1, k), a = real.t(k, k);
    if (c == 0) continue;
    // [[a, b], [c, a]] with bc < 0 has eigenvalues a ± i√(−bc) and the vector (b, i√(−bc)), here of length 1.
    const T size = std::sqrt(std::fabs(b)) * std::sqrt(std::fabs(c)), length = std::hypot(b, size);
    const C x = b / length, y = C(0, size / length);
    for (std::int64_t j = 0; j < n; ++j) {  // rows: Qᴴ from the left, Q = [[x, −ȳ], [y, x̄]]
      const C p = f.t(k, j), q = f.t(k + 1, j);
      f.t(k, j) = times(std::conj(x), p) + times(std::conj(y), q);
      f.t(k + 1, j) = times(-y, p) + times(x, q);
    }
    const auto columns = [&](Dense<C>& m) {
      for (std::int64_t i = 0; i < n; ++i) {
        const C p = m(i, k), q = m(i, k + 1);
        m(i, k) = times(p, x) + times(q, y);
        m(i, k + 1) = times(p, -std::conj(y)) + times(q, std::conj(x));
      }
    };
    columns(f.t);
    columns(f.z);
    f.t(k + 1, k) = 0;
    f.t(k, k) = C(a, size);
    f.t(k + 1, k + 1) = C(a, -size);
    ++k;
  }
  return f;
}

template <class T, class S>
Dense<T> turned_back(const SchurForm<S>& form, const Dense<S>& x) {
  const Dense<S> y = form.z * x * form.z.adjoint();
  if constexpr (std::is_same_v<T, S>) {
    return y;
  } else {
    Dense<T> out(y.m, y.n);
    for (std::size_t i = 0; i < y.data.size(); ++i) out.data[i] = y.data[i].real();
    return out;
  }
}

namespace {

template <class S>
Dense<typename Dense<S>::Real> sizes(const Dense<S>& a) {
  Dense<typename Dense<S>::Real> out(a.m, a.n);
  for (std::size_t i = 0; i < a.data.size(); ++i) out.data[i] = std::abs(a.data[i]);
  return out;
}

}  // namespace

template <class T, class S>
Dense<T> uncertainty(const Dense<T>& a, const SchurForm<S>& form) {
  using R = typename Dense<T>::Real;
  Dense<R> e = sizes(a);
  if (a.upper()) {
    e *= static_cast<R>(Dense<T>::u);
  } else {
    Dense<T> residual = turned_back<T>(form, form.t);
    residual -= a;
    Dense<S> skewness = form.z.adjoint() * form.z;
    skewness -= Dense<S>::identity(a.n);
    Dense<R> middle = sizes(skewness);
    for (std::int64_t i = 0; i < a.n; ++i) middle(i, i) += static_cast<R>(Dense<T>::u);
    e = sizes(form.z) * sizes(form.t) * middle * sizes(form.z.adjoint());
    e += sizes(residual);
  }
  Dense<T> out(a.n, a.n);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.data[i] = T(state >> 63 ? e.data[i] : -e.data[i]);
  }
  return out;
}

template <class S>
bool put_on_cut(Dense<S>& t, const Dense<S>& doubt) {
  bool moved = false;
  if constexpr (kernels::RealOf<S>::parts == 2)
    for (std::int64_t i = 0; i < t.n; ++i)
      if (S& v = t(i, i); v.real() < 0 && (v.imag() == 0 || std::fabs(v.imag()) <= 4 * std::abs(doubt(i, i)))) {
        moved = moved || doubt(i, i) != S(0);
        v = {v.real(), 0};
      }
  return moved;
}

template <class S>
Dense<S> triangular_root(const Dense<S>& t, bool* exists) {
  const std::int64_t n = t.n;
  Dense<S> u(n, n);
  for (std::int64_t i = n; i-- > 0;) {
    u(i, i) = std::sqrt(t(i, i));
    S* const x = u.row(i);
    std::copy(t.row(i) + i + 1, t.row(i) + n, x + i + 1);
    for (std::int64_t j = i + 1; j < n; ++j) {
      const S sum = x[i] + u(j, j);
      if (sum == S(0)) {
        if (exists && x[j] != S(0)) *exists = false;
        x[j] = S(0);
        continue;
      }
      x[j] /= sum;
      const S* const below = u.row(j);
      for (std::int64_t k = j + 1; k < n; ++k) x[k] -= times(x[j], below[k]);
    }
  }
  return u;
}

#define WP_SCHUR(T)                                                          \
  template Spectrum schur_form(const Dense<T>&, SchurForm<T>&);              \
  template Dense<T> turned_back<T, T>(const SchurForm<T>&, const Dense<T>&); \
  template Dense<T> uncertainty(const Dense<T>&, const SchurForm<T>&);       \
  template Dense<T> triangular_root(const Dense<T>&, bool*);                 \
  template bool put_on_cut(Dense<T>&, const Dense<T>&);
WP_FOR_FLOATS(WP_SCHUR)
#undef WP_SCHUR
template SchurForm<complex64> complex_form(const SchurForm<float>&);
template SchurForm<complex128> complex_form(const SchurForm<double>&);
template Dense<float> uncertainty(const Dense<float>&, const SchurForm<complex64>&);
template Dense<double> uncertainty(const Dense<double>&, const SchurForm<complex128>&);
template Dense<float> turned_back<float, complex64>(const SchurForm<complex64>&, const Dense<complex64>&);
template Dense<double> turned_back<double, complex128>(const SchurForm<complex128>&, const Dense<complex128>&);

}  // namespace wp::linalg
