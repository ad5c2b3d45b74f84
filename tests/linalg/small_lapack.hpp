// What a loop over LAPACK gives for one small matrix, in T: float, double. Matrices are given and returned by rows.
#pragma once
#include <cmath>
#include <vector>

#include "kernels/lapack_call.hpp"
#include "small_kinds.hpp"

extern "C" {
#define WP_ROUTINES(letter, T)                                                                                     \
  void letter##getrf_(const int*, const int*, T*, const int*, int*, int*);                                         \
  void letter##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);                               \
  void letter##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);                          \
  void letter##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);                                 \
  void letter##gels_(const char*, const int*, const int*, const int*, T*, const int*, T*, const int*, T*,          \
                     const int*, int*, std::size_t);                                                               \
  void letter##gelsd_(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, int*, T*,  \
                      const int*, int*, int*);                                                                     \
  void letter##gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, \
                     const T*, const int*, const T*, T*, const int*, std::size_t, std::size_t);
WP_ROUTINES(s, float)
WP_ROUTINES(d, double)
#undef WP_ROUTINES
}

namespace small_lapack {

using small_kinds::Problem;
using wp::lapack::pick;
using wp::lapack::Size;
using Numbers = std::vector<double>;
using Outputs = std::vector<Numbers>;

// Column-major, as LAPACK wants it.
template <class T>
std::vector<T> columns_of(int m, int n, const Numbers& a) {
  std::vector<T> out;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) out.push_back(static_cast<T>(a[static_cast<std::size_t>(i * n + j)]));
  return out;
}
// The leading m × n part by rows; ld: from column to column.
template <class T>
Numbers rows_of(int m, int n, const std::vector<T>& a, int ld) {
  Numbers out;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out.push_back(static_cast<double>(a[static_cast<std::size_t>(i + j * ld)]));
  return out;
}
template <class T>
std::size_t count(T n) {
  return static_cast<std::size_t>(n);
}
inline Outputs nothing(std::size_t size, std::size_t outputs = 1) {
  return Outputs(outputs, Numbers(size, std::nan("")));
}
template <class F, class... A>
int call(F* f, A... args) {
  return wp::lapack::call(f, args...);
}

template <class T>
struct Factored {  // P A = L U, both in one; rows as LAPACK numbers them
  std::vector<T> lu;
  std::vector<int> pivots;
  int info;
};
template <class T>
Factored<T> factored(const Problem& p) {
  Factored<T> f{columns_of<T>(p.m, p.n, p.a), std::vector<int>(count(std::min(p.m, p.n))), 0};
  f.info = call(pick<T>(sgetrf_, dgetrf_, nullptr, nullptr), Size(p.m), Size(p.n), f.lu.data(), Size(p.m),
                f.pivots.data());
  return f;
}
template <class T>
Outputs inv(const Problem& p) {
  Factored<T> f = factored<T>(p);
  std::vector<T> work(count(64 * p.n));
  const int info = f.info + call(pick<T>(sgetri_, dgetri_, nullptr, nullptr), Size(p.n), f.lu.data(), Size(p.n),
                                 f.pivots.data(), work.data(), Size(64 * p.n));
  return info ? nothing(p.a.size()) : Outputs{rows_of(p.n, p.n, f.lu, p.n)};
}
template <class T>
std::vector<T> solved(int n, int columns, std::vector<T> a, std::vector<T> b, int& info) {
  std::vector<int> pivots(count(n));
  info = call(pick<T>(sgesv_, dgesv_, nullptr, nullptr), Size(n), Size(columns), a.data(), Size(n), pivots.data(),
              b.data(), Size(n));
  return b;
}
template <class T>
Outputs solve(const Problem& p) {
  int info = 0;
  const std::vector<T> x =
      solved(p.n, p.columns, columns_of<T>(p.n, p.n, p.a), columns_of<T>(p.n, p.columns, p.b), info);
  return info ? nothing(p.b.size()) : Outputs{rows_of(p.n, p.columns, x, p.n)};
}
template <class T>
Outputs det(const Problem& p) {
  const Factored<T> f = factored<T>(p);
  T product = 1;
  for (int k = 0; k < p.n; ++k) product *= f.lu[count(k + k * p.n)] * (f.pivots[count(k)] == k + 1 ? 1 : -1);
  return {{static_cast<double>(product)}};
}
template <class T>
Outputs slogdet(const Problem& p) {
  const Factored<T> f = factored<T>(p);
  T log = 0, sign = 1;
  for (int k = 0; k < p.n; ++k) {
    const T pivot = f.lu[count(k + k * p.n)];
    log += std::log(std::abs(pivot));
    const int own = pivot > 0 ? 1 : pivot < 0 ? -1 : 0;
    sign *= static_cast<T>(f.pivots[count(k)] == k + 1 ? own : -own);
  }
  return {{static_cast<double>(sign)}, {static_cast<double>(log)}};
}
template <class T>
Outputs lu(const Problem& p) {
  const Factored<T> f = factored<T>(p);
  const int k = std::min(p.m, p.n);
  Numbers order(count(p.m)), l = rows_of(p.m, k, f.lu, p.m), u = rows_of(k, p.n, f.lu, p.m);
  for (int i = 0; i < p.m; ++i) order[count(i)] = i;
  for (int i = 0; i < k; ++i) std::swap(order[count(i)], order[count(f.pivots[count(i)] - 1)]);
  for (int i = 0; i < p.m; ++i)
    for (int j = i; j < k; ++j) l[count(i * k + j)] = i == j ? 1 : 0;
  for (int i = 0; i < k; ++i) std::fill_n(u.begin() + i * p.n, i, 0.0);
  return {order, l, u};
}
template <class T>
Outputs cholesky(const Problem& p) {
  std::vector<T> a = columns_of<T>(p.n, p.n, p.a);
  if (call(pick<T>(spotrf_, dpotrf_, nullptr, nullptr), 'L', Size(p.n), a.data(), Size(p.n)))
    return nothing(p.a.size());
  Numbers l = rows_of(p.n, p.n, a, p.n);
  for (int i = 0; i < p.n; ++i) std::fill(l.begin() + i * p.n + i + 1, l.begin() + (i + 1) * p.n, 0.0);
  return {l};
}
template <class T>
Outputs qr(const Problem& p) {
  std::vector<T> a = columns_of<T>(p.m, p.n, p.a);
  const int k = std::min(p.m, p.n);
  std::vector<T> tau(count(k));
  wp::lapack::qr<T>(p.m, p.n, a.data(), p.m, tau.data());
  Numbers r = rows_of(k, p.n, a, p.m);
  for (int i = 0; i < k; ++i) std::fill_n(r.begin() + i * p.n, i, 0.0);
  wp::lapack::householder_product<T>(p.m, k, k, a.data(), p.m, tau.data());
  return {rows_of(p.m, k, a, p.m), r};
}
template <class T>
Outputs svd(const Problem& p) {
  const std::vector<T> a = columns_of<T>(p.m, p.n, p.a);
  const int k = std::min(p.m, p.n);
  std::vector<T> u(count(p.m * k)), s(count(k)), vh(count(k * p.n));
  wp::lapack::svd<T>(wp::lapack::Vectors::thin, p.m, p.n, a.data(), p.m, s.data(), u.data(), p.m, vh.data(), k);
  return {rows_of(p.m, k, u, p.m), Numbers(s.begin(), s.end()), rows_of(k, p.n, vh, k)};
}
template <class T>
Outputs svdvals(const Problem& p) {
  const std::vector<T> a = columns_of<T>(p.m, p.n, p.a);
  std::vector<T> s(count(std::min(p.m, p.n)));
  wp::lapack::svd<T>(wp::lapack::Vectors::none, p.m, p.n, a.data(), p.m, s.data(), nullptr, 1, nullptr, 1);
  return {Numbers(s.begin(), s.end())};
}
template <class T>
Outputs eigh(const Problem& p) {
  const std::vector<T> a = columns_of<T>(p.n, p.n, p.a);
  std::vector<T> w(count(p.n)), z(a.size());
  wp::lapack::eigh<T>(wp::lapack::Triangle::lower, p.n, a.data(), p.n, w.data(), z.data(), p.n);
  return {Numbers(w.begin(), w.end()), rows_of(p.n, p.n, z, p.n)};
}
template <class T>
Outputs eigvalsh(const Problem& p) {
  const std::vector<T> a = columns_of<T>(p.n, p.n, p.a);
  std::vector<T> w(count(p.n));
  wp::lapack::eigh<T>(wp::lapack::Triangle::lower, p.n, a.data(), p.n, w.data(), nullptr, 1);
  return {Numbers(w.begin(), w.end())};
}
// gels, or of a matrix that is singular gelsd, with the limit of rank that ours has.
template <class T>
Outputs lstsq(const Problem& p, bool full_rank) {
  std::vector<T> a = columns_of<T>(p.m, p.n, p.a);
  const int longest = std::max(p.m, p.n), k = std::min(p.m, p.n);
  std::vector<T> x(count(longest * p.columns)), s(count(k)), work(count(20000));
  for (int i = 0; i < p.m; ++i)
    for (int c = 0; c < p.columns; ++c) x[count(i + c * longest)] = static_cast<T>(p.b[count(i * p.columns + c)]);
  std::vector<int> whole(5000);
  int rank = 0;
  const T least = static_cast<T>(longest) * std::numeric_limits<T>::epsilon();
  const int info = full_rank
                       ? call(pick<T>(sgels_, dgels_, nullptr, nullptr), 'N', Size(p.m), Size(p.n), Size(p.columns),
                              a.data(), Size(p.m), x.data(), Size(longest), work.data(), Size(work.size()))
                       : call(pick<T>(sgelsd_, dgelsd_, nullptr, nullptr), Size(p.m), Size(p.n), Size(p.columns),
                              a.data(), Size(p.m), x.data(), Size(longest), s.data(), least, &rank, work.data(),
                              Size(work.size()), whole.data());
  return info ? nothing(count(p.n * p.columns)) : Outputs{rows_of(p.n, p.columns, x, longest)};
}

// C = A B, A m × k, by columns.
template <class T>
std::vector<T> product(int m, int k, int n, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> c(count(m * n));
  const T one = 1, none = 0;
  pick<T>(sgemm_, dgemm_, nullptr, nullptr)("N", "N", &m, &n, &k, &one, a.data(), &m, b.data(), &k, &none, c.data(),
                                            &m, 1, 1);
  return c;
}
// V Σ⁺ Uᵀ.
template <class T>
Outputs pinv(const Problem& p) {
  const Outputs f = svd<T>(p);
  const int k = std::min(p.m, p.n);
  const T least = static_cast<T>(std::max(p.m, p.n)) * std::numeric_limits<T>::epsilon() * static_cast<T>(f[1][0]);
  std::vector<T> u = columns_of<T>(p.m, k, f[0]), ut, v(count(p.n * k));
  for (int c = 0; c < k; ++c)
    for (int i = 0; i < p.n; ++i) {
      const T s = static_cast<T>(f[1][count(c)]);
      v[count(i + c * p.n)] = s > least ? static_cast<T>(f[2][count(c * p.n + i)]) / s : 0;
    }
  for (int i = 0; i < p.m; ++i)
    for (int c = 0; c < k; ++c) ut.push_back(u[count(i + c * p.m)]);
  return {rows_of(p.n, p.m, product(p.n, k, p.m, v, ut), p.n)};
}
template <class T>
Outputs matmul(const Problem& p) {
  const std::vector<T> c =
      product(p.m, p.n, p.columns, columns_of<T>(p.m, p.n, p.a), columns_of<T>(p.n, p.columns, p.b));
  return {rows_of(p.m, p.columns, c, p.m)};
}
// Padé's approximant of degree 13, squared (Higham 2005), with gemm and gesv.
template <class T>
Outputs expm(const Problem& p) {
  constexpr double c[] = {64764752532480000,
                          32382376266240000,
                          7771770303897600,
                          1187353796428800,
                          129060195264000,
                          10559470521600,
                          670442572800,
                          33522128640,
                          1323241920,
                          40840800,
                          960960,
                          16380,
                          182,
                          1};
  const int n = p.n;
  std::vector<T> a = columns_of<T>(n, n, p.a);
  double norm = 0;
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::fabs(static_cast<double>(a[count(i + j * n)]));
    norm = std::max(norm, sum);
  }
  const int squarings = norm > 5.37 ? static_cast<int>(std::ceil(std::log2(norm / 5.37))) : 0;
  for (T& v : a) v = static_cast<T>(std::ldexp(v, -squarings));
  const auto times = [&](const std::vector<T>& x, const std::vector<T>& y) { return product(n, n, n, x, y); };
  const std::vector<T> a2 = times(a, a), a4 = times(a2, a2), a6 = times(a4, a2);
  // c₆ A⁶ + c₄ A⁴ + c₂ A² + c₀
  const auto sum = [&](double c6, double c4, double c2, double c0) {
    std::vector<T> out(a.size());
    for (std::size_t e = 0; e < out.size(); ++e)
      out[e] = static_cast<T>(c6) * a6[e] + static_cast<T>(c4) * a4[e] + static_cast<T>(c2) * a2[e] +
               (e % count(n + 1) == 0 ? static_cast<T>(c0) : 0);
    return out;
  };
  const auto plus = [](std::vector<T> x, const std::vector<T>& y, T sign) {
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += sign * y[e];
    return x;
  };
  const std::vector<T> u = times(a, plus(times(a6, sum(c[13], c[11], c[9], 0)), sum(c[7], c[5], c[3], c[1]), 1));
  const std::vector<T> v = plus(times(a6, sum(c[12], c[10], c[8], 0)), sum(c[6], c[4], c[2], c[0]), 1);
  int info = 0;
  std::vector<T> x = solved(n, n, plus(v, u, -1), plus(v, u, 1), info);
  for (int k = 0; k < squarings; ++k) x = times(x, x);
  return info ? nothing(p.a.size()) : Outputs{rows_of(n, n, x, n)};
}

}  // namespace small_lapack
