// Numbers of 106 bits as sums of two doubles (Dekker 1971), and what is true of small matrices to about 30 digits.
// Matrices are row-major. Their elements must be of a moderate size: no product may leave the range of double.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

namespace double_double {

struct DD {
  double high = 0, low = 0;
  DD() = default;
  DD(double x) : high(x) {}  // NOLINT: a double is one
  DD(double h, double l) : high(h), low(l) {}
  explicit operator double() const { return high + low; }
};

inline DD quick_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
inline DD exact_sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
inline DD exact_product(double a, double b) {
  const auto split = [](double x) {
    const double t = 134217729.0 * x;  // 2²⁷ + 1
    return t - (t - x);
  };
  const double p = a * b, ah = split(a), al = a - ah, bh = split(b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
inline DD operator-(DD a) {
  return {-a.high, -a.low};
}
inline DD operator+(DD a, DD b) {
  const DD s = exact_sum(a.high, b.high), t = exact_sum(a.low, b.low), u = quick_sum(s.high, s.low + t.high);
  return quick_sum(u.high, u.low + t.low);
}
inline DD operator-(DD a, DD b) {
  return a + -b;
}
inline DD operator*(DD a, DD b) {
  const DD p = exact_product(a.high, b.high);
  return quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
inline DD operator/(DD a, DD b) {
  const double q = a.high / b.high;
  const DD r = a - b * q;
  const double p = r.high / b.high;
  const DD s = r - b * p;
  return quick_sum(q, p) + DD(s.high / b.high);
}
inline DD& operator+=(DD& a, DD b) {
  return a = a + b;
}
inline DD& operator-=(DD& a, DD b) {
  return a = a - b;
}
inline bool operator<(DD a, DD b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
inline bool operator==(DD a, DD b) {
  return a.high == b.high && a.low == b.low;
}
inline DD abs(DD a) {
  return a.high < 0 ? -a : a;
}
inline DD sqrt(DD a) {
  if (!(a.high > 0)) return {};
  const double r = std::sqrt(a.high);
  return quick_sum(r, static_cast<double>(a - exact_product(r, r)) / (2 * r));
}

using Matrix = std::vector<DD>;

inline std::size_t at(int i, int j, int columns) {
  return static_cast<std::size_t>(i * columns + j);
}
inline Matrix zeros(int m, int n) {
  return Matrix(static_cast<std::size_t>(m * n));
}
inline Matrix identity(int n) {
  Matrix out = zeros(n, n);
  for (int i = 0; i < n; ++i) out[at(i, i, n)] = 1.0;
  return out;
}
inline Matrix transpose(int m, int n, const Matrix& a) {
  Matrix out = zeros(n, m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out[at(j, i, m)] = a[at(i, j, n)];
  return out;
}
// (m × k) · (k × n)
inline Matrix product(int m, int k, int n, const Matrix& a, const Matrix& b) {
  Matrix c = zeros(m, n);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c[at(i, j, n)] += a[at(i, l, k)] * b[at(l, j, n)];
  return c;
}
inline double largest(const Matrix& a) {
  double most = 0;
  for (const DD& v : a) most = std::max(most, std::fabs(v.high));
  return most;
}
// The largest sum of a row.
inline double norm(int m, int n, const Matrix& a) {
  double most = 0;
  for (int i = 0; i < m; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += std::fabs(a[at(i, j, n)].high);
    most = std::max(most, sum);
  }
  return most;
}

struct Eliminated {
  Matrix inverse;
  DD det;
};
// By Gauss and Jordan, with partial pivoting.
inline Eliminated eliminate(int n, Matrix a) {
  Eliminated out{identity(n), 1.0};
  Matrix& x = out.inverse;
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (abs(a[at(p, k, n)]) < abs(a[at(i, k, n)])) p = i;
    if (p != k) {
      out.det = -out.det;
      std::swap_ranges(a.begin() + p * n, a.begin() + p * n + n, a.begin() + k * n);
      std::swap_ranges(x.begin() + p * n, x.begin() + p * n + n, x.begin() + k * n);
    }
    const DD pivot = a[at(k, k, n)];
    out.det = out.det * pivot;
    if (pivot == DD()) return {{}, {}};
    const DD by = DD(1.0) / pivot;
    for (int j = 0; j < n; ++j) a[at(k, j, n)] = a[at(k, j, n)] * by, x[at(k, j, n)] = x[at(k, j, n)] * by;
    for (int i = 0; i < n; ++i) {
      const DD f = a[at(i, k, n)];
      if (i == k || f == DD()) continue;
      for (int j = k; j < n; ++j) a[at(i, j, n)] -= f * a[at(k, j, n)];
      for (int j = 0; j < n; ++j) x[at(i, j, n)] -= f * x[at(k, j, n)];
    }
  }
  return out;
}
inline Matrix cholesky(int n, const Matrix& a) {
  Matrix l = zeros(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      DD sum = a[at(i, j, n)];
      for (int k = 0; k < j; ++k) sum -= l[at(i, k, n)] * l[at(j, k, n)];
      l[at(i, j, n)] = i == j ? sqrt(sum) : sum / l[at(j, j, n)];
    }
  return l;
}

// The orthogonal matrix next to one that is orthogonal to about 14 digits (Newton and Schulz).
inline Matrix orthogonalized(int n, Matrix v) {
  for (int step = 0; step < 2; ++step) {
    Matrix g = product(n, n, n, transpose(n, n, v), v);
    for (DD& x : g) x = x * -0.5;
    for (int i = 0; i < n; ++i) g[at(i, i, n)] += 1.5;
    v = product(n, n, n, v, g);
  }
  return v;
}
struct Rotation {
  DD c, s;
  // That makes [[p, r], [r, q]] diagonal.
  Rotation(DD p, DD q, DD r) {
    const DD theta = (q - p) / (r * 2.0), root = sqrt(theta * theta + 1.0);
    const DD t =
        std::fabs(theta.high) > 1e100 ? r / (q - p) : (theta.high < 0 ? DD(-1.0) : DD(1.0)) / (abs(theta) + root);
    c = DD(1.0) / sqrt(t * t + 1.0);
    s = t * c;
  }
  void operator()(DD& x, DD& y) const {
    const DD u = c * x - s * y;
    y = s * x + c * y;
    x = u;
  }
};
// The eigenvalues of a symmetric matrix, rising, by Jacobi's rotations from vectors that nearly diagonalise it. What
// is left beside the diagonal is below 1e-27 of the largest element: so are the errors.
inline Matrix eigenvalues(int n, const Matrix& a, const Matrix& vectors) {
  const Matrix v = orthogonalized(n, vectors);
  Matrix b = product(n, n, n, transpose(n, n, v), product(n, n, n, a, v));
  const double small = 1e-28 * largest(b) / n;
  for (bool moved = true; moved;) {
    moved = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        if (!(std::fabs(b[at(p, q, n)].high) > small)) continue;
        moved = true;
        const Rotation turn(b[at(p, p, n)], b[at(q, q, n)], b[at(p, q, n)]);
        for (int i = 0; i < n; ++i) turn(b[at(i, p, n)], b[at(i, q, n)]);
        for (int i = 0; i < n; ++i) turn(b[at(p, i, n)], b[at(q, i, n)]);
      }
  }
  Matrix values;
  for (int i = 0; i < n; ++i) values.push_back(b[at(i, i, n)]);
  std::sort(values.begin(), values.end());
  return values;
}

struct Svd {
  Matrix values;       // falling
  Matrix left, right;  // columns: A · right = left · diag(values)
};
// Of m × n with m ≥ n, by one-sided rotations (Hestenes 1958) from right vectors that are nearly those of A.
inline Svd svd(int m, int n, const Matrix& a, const Matrix& vectors) {
  Matrix v = orthogonalized(n, vectors), w = product(m, n, n, a, v);
  const auto dot = [&](int p, int q) {
    DD sum;
    for (int i = 0; i < m; ++i) sum += w[at(i, p, n)] * w[at(i, q, n)];
    return sum;
  };
  double most = 0;
  for (int p = 0; p < n; ++p) most = std::max(most, std::sqrt(dot(p, p).high));
  for (bool moved = true; moved;) {
    moved = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const DD r = dot(p, q), pp = dot(p, p), qq = dot(q, q);
        if (!(std::fabs(r.high) > 1e-30 * most * std::sqrt(std::max(pp.high, qq.high)))) continue;
        moved = true;
        const Rotation turn(pp, qq, r);
        for (int i = 0; i < m; ++i) turn(w[at(i, p, n)], w[at(i, q, n)]);
        for (int i = 0; i < n; ++i) turn(v[at(i, p, n)], v[at(i, q, n)]);
      }
  }
  std::vector<std::pair<DD, int>> order;
  for (int j = 0; j < n; ++j) order.emplace_back(sqrt(dot(j, j)), j);
  std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return y.first < x.first; });
  Svd out{{}, zeros(m, n), zeros(n, n)};
  for (int j = 0; j < n; ++j) {
    const auto& [value, from] = order[static_cast<std::size_t>(j)];
    out.values.push_back(value);
    const bool none = !(value.high > 1e-25 * most);
    for (int i = 0; i < m; ++i) out.left[at(i, j, n)] = none ? DD() : w[at(i, from, n)] / value;
    for (int i = 0; i < n; ++i) out.right[at(i, j, n)] = v[at(i, from, n)];
  }
  return out;
}

// By Taylor's series where the norm is below 1/8, squared again.
inline Matrix exponential(int n, Matrix a) {
  const int halvings = std::max(0, std::ilogb(std::max(norm(n, n, a), 1e-300)) + 4);
  for (DD& v : a) v = v * std::ldexp(1.0, -halvings);
  Matrix term = identity(n), sum = term;
  for (int k = 1; largest(term) > 1e-34; ++k) {
    term = product(n, n, n, term, a);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += term[e] = term[e] / DD(static_cast<double>(k));
  }
  for (int k = 0; k < halvings; ++k) sum = product(n, n, n, sum, sum);
  return sum;
}

}  // namespace double_double
