// What a loop over LAPACK does with small matrices, one by one: the answers that stacks of them are compared with.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/lapack.hpp"

extern "C" {
#define WP_LAPACK(t, T)                                                                                          \
  void t##getrf_(const int*, const int*, T*, const int*, int*, int*);                                            \
  void t##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);                                  \
  void t##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);                             \
  void t##potrf_(const char*, const int*, T*, const int*, int*);                                                 \
  void t##gels_(const char*, const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const int*, \
                int*);                                                                                           \
  void t##gelsd_(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, int*, T*,     \
                 const int*, int*, int*);
WP_LAPACK(s, float)
WP_LAPACK(d, double)
#undef WP_LAPACK
}

namespace small_twins {

using Answer = std::vector<std::vector<double>>;  // outputs, row-major

// A matrix m × n, row-major, with right-hand sides.
template <class T>
struct Given {
  int m, n, columns;
  std::vector<T> a, b;
  int k() const { return std::min(m, n); }
};

template <class T>
std::vector<T> turned(int m, int n, const std::vector<T>& a) {
  std::vector<T> out(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out[static_cast<std::size_t>(j * m + i)] = a[static_cast<std::size_t>(i * n + j)];
  return out;
}
// Column-major, with rows `ld` apart, to the first m rows, row-major.
template <class T>
std::vector<double> rows_of(int m, int n, const std::vector<T>& a, int ld) {
  std::vector<double> out;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out.push_back(static_cast<double>(a[static_cast<std::size_t>(j * ld + i)]));
  return out;
}
template <class T>
std::vector<T> room(int size) {
  return std::vector<T>(static_cast<std::size_t>(size));
}

#define WP_PICK(name)             \
  template <class T>              \
  constexpr auto name() {         \
    if constexpr (sizeof(T) == 4) \
      return s##name##_;          \
    else                          \
      return d##name##_;          \
  }
WP_PICK(getrf)
WP_PICK(getri)
WP_PICK(gesv)
WP_PICK(potrf)
WP_PICK(gels)
WP_PICK(gelsd)
#undef WP_PICK

template <class T>
struct Factors {
  std::vector<T> f;
  std::vector<int> pivots;
  explicit Factors(const Given<T>& g) : f(turned(g.m, g.n, g.a)), pivots(room<int>(g.k())) {
    int info = 0;
    getrf<T>()(&g.m, &g.n, f.data(), &g.m, pivots.data(), &info);
  }
  T at(int i, int j, int m) const { return f[static_cast<std::size_t>(j * m + i)]; }
};

struct Inv {
  template <class T>
  static Answer of(const Given<T>& g) {
    Factors<T> lu(g);
    const int length = 64 * g.n;
    std::vector<T> work = room<T>(length);
    int info = 0;
    getri<T>()(&g.n, lu.f.data(), &g.n, lu.pivots.data(), work.data(), &length, &info);
    return {rows_of(g.n, g.n, lu.f, g.n)};
  }
};
struct Solve {
  template <class T>
  static Answer of(const Given<T>& g) {
    std::vector<T> a = turned(g.n, g.n, g.a), x = turned(g.n, g.columns, g.b);
    std::vector<int> pivots = room<int>(g.n);
    int info = 0;
    gesv<T>()(&g.n, &g.columns, a.data(), &g.n, pivots.data(), x.data(), &g.n, &info);
    return {rows_of(g.n, g.columns, x, g.n)};
  }
};
struct Det {
  template <class T>
  static Answer of(const Given<T>& g) {
    const Factors<T> lu(g);
    T det = 1;
    for (int i = 0; i < g.n; ++i)
      det *= lu.pivots[static_cast<std::size_t>(i)] == i + 1 ? lu.at(i, i, g.n) : -lu.at(i, i, g.n);
    return {{static_cast<double>(det)}};
  }
};
struct Slogdet {
  template <class T>
  static Answer of(const Given<T>& g) {
    const Factors<T> lu(g);
    T sign = 1, log = 0;
    for (int i = 0; i < g.n; ++i) {
      const T u = lu.at(i, i, g.n);
      if ((u < 0) != (lu.pivots[static_cast<std::size_t>(i)] != i + 1)) sign = -sign;
      log += std::log(std::fabs(u));
    }
    return {{static_cast<double>(sign)}, {static_cast<double>(log)}};
  }
};
struct Lu {
  template <class T>
  static Answer of(const Given<T>& g) {
    const Factors<T> lu(g);
    const int k = g.k();
    std::vector<double> order, l(static_cast<std::size_t>(g.m * k)), u(static_cast<std::size_t>(k * g.n));
    for (int i = 0; i < g.m; ++i) order.push_back(i);
    for (std::size_t i = 0; i < lu.pivots.size(); ++i)
      std::swap(order[i], order[static_cast<std::size_t>(lu.pivots[i] - 1)]);
    for (int i = 0; i < g.m; ++i)
      for (int j = 0; j < k; ++j)
        l[static_cast<std::size_t>(i * k + j)] = i == j ? 1 : i > j ? static_cast<double>(lu.at(i, j, g.m)) : 0;
    for (int i = 0; i < k; ++i)
      for (int j = i; j < g.n; ++j) u[static_cast<std::size_t>(i * g.n + j)] = static_cast<double>(lu.at(i, j, g.m));
    return {order, l, u};
  }
};
struct Cholesky {
  template <class T>
  static Answer of(const Given<T>& g) {
    std::vector<T> a = g.a;
    int info = 0;
    potrf<T>()("L", &g.n, a.data(), &g.n, &info);
    std::vector<double> l = rows_of(g.n, g.n, a, g.n);
    for (int i = 0; i < g.n; ++i)
      for (int j = i + 1; j < g.n; ++j) l[static_cast<std::size_t>(i * g.n + j)] = 0;
    return {l};
  }
};
struct Qr {
  template <class T>
  static Answer of(const Given<T>& g) {
    const int k = g.k();
    std::vector<T> a = turned(g.m, g.n, g.a), tau = room<T>(k);
    (void)wp::lapack::qr<T>(g.m, g.n, a.data(), g.m, tau.data());
    std::vector<double> r = rows_of(k, g.n, a, g.m);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < i; ++j) r[static_cast<std::size_t>(i * g.n + j)] = 0;
    (void)wp::lapack::householder_product<T>(g.m, k, k, a.data(), g.m, tau.data());
    return {rows_of(g.m, k, a, g.m), r};
  }
};
template <bool kVectors>
struct Eigh {
  template <class T>
  static Answer of(const Given<T>& g) {
    std::vector<T> w = room<T>(g.n), z = room<T>(kVectors ? g.n * g.n : 0);
    (void)wp::lapack::eigh<T>(wp::lapack::Triangle::lower, g.n, g.a.data(), g.n, w.data(),
                              kVectors ? z.data() : nullptr, g.n);
    Answer out{rows_of(1, g.n, w, 1)};
    if (kVectors) out.push_back(rows_of(g.n, g.n, z, g.n));
    return out;
  }
};
template <bool kVectors>
struct Svd {
  template <class T>
  static Answer of(const Given<T>& g) {
    using wp::lapack::Vectors;
    const int k = g.k();
    const std::vector<T> a = turned(g.m, g.n, g.a);
    std::vector<T> s = room<T>(k), u = room<T>(g.m * k), vh = room<T>(k * g.n);
    (void)wp::lapack::svd<T>(kVectors ? Vectors::thin : Vectors::none, g.m, g.n, a.data(), g.m, s.data(), u.data(),
                             g.m, vh.data(), k);
    if (!kVectors) return {rows_of(1, k, s, 1)};
    return {rows_of(g.m, k, u, g.m), rows_of(1, k, s, 1), rows_of(k, g.n, vh, k)};
  }
};
// gels; where `deficient`, gelsd.
template <bool kDeficient>
struct Lstsq {
  template <class T>
  static Answer of(const Given<T>& g) {
    const int rows = std::max(g.m, g.n), length = 4096 + 64 * rows * (rows + g.columns);
    std::vector<T> a = turned(g.m, g.n, g.a), x = room<T>(rows * g.columns), work = room<T>(length),
                   s = room<T>(rows);
    for (int i = 0; i < g.m; ++i)
      for (int c = 0; c < g.columns; ++c)
        x[static_cast<std::size_t>(c * rows + i)] = g.b[static_cast<std::size_t>(i * g.columns + c)];
    std::vector<int> integers = room<int>(4096);
    int info = 0, rank = 0;
    const T machine = -1;
    if (kDeficient)
      gelsd<T>()(&g.m, &g.n, &g.columns, a.data(), &g.m, x.data(), &rows, s.data(), &machine, &rank, work.data(),
                 &length, integers.data(), &info);
    else
      gels<T>()("N", &g.m, &g.n, &g.columns, a.data(), &g.m, x.data(), &rows, work.data(), &length, &info);
    return {rows_of(g.n, g.columns, x, rows)};
  }
};
// V Σ⁺ Uᵀ; values up to max(m, n) ε σ₁ do not count.
struct Pinv {
  template <class T>
  static Answer of(const Given<T>& g) {
    const int k = g.k();
    const Answer f = Svd<true>::of(g);
    std::vector<T> out = room<T>(g.n * g.m);
    const double least = std::max(g.m, g.n) * static_cast<double>(std::numeric_limits<T>::epsilon()) * f[1][0];
    for (int i = 0; i < g.n; ++i)
      for (int j = 0; j < g.m; ++j)
        for (int c = 0; c < k && f[1][static_cast<std::size_t>(c)] > least; ++c)
          out[static_cast<std::size_t>(i * g.m + j)] += static_cast<T>(f[2][static_cast<std::size_t>(c * g.n + i)]) /
                                                        static_cast<T>(f[1][static_cast<std::size_t>(c)]) *
                                                        static_cast<T>(f[0][static_cast<std::size_t>(j * k + c)]);
    return {{out.begin(), out.end()}};
  }
};

}  // namespace small_twins
