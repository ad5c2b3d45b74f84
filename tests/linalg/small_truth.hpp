// What functions of small matrices are, in double-double arithmetic: the plainest algorithm for each. Matrices are
// row-major and have elements near 1.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "double_doubles.hpp"

namespace small_truth {

using double_doubles::DoubleDouble;
using Exact = std::vector<DoubleDouble>;

inline std::size_t at(int i, int j, int columns) {
  return static_cast<std::size_t>(i * columns + j);
}
inline Exact turned(int m, int n, const Exact& a) {
  Exact out(a.size());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) out[at(j, i, m)] = a[at(i, j, n)];
  return out;
}
inline Exact identity(int n) {
  Exact out(at(n, 0, n));
  for (int i = 0; i < n; ++i) out[at(i, i, n)] = 1;
  return out;
}
// A (m × k) times B (k × n).
inline Exact product(int m, int k, int n, const Exact& a, const Exact& b) {
  Exact c(at(m, 0, n));
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c[at(i, j, n)] += a[at(i, l, k)] * b[at(l, j, n)];
  return c;
}
inline double largest(const Exact& a) {
  double out = 0;
  for (const DoubleDouble& v : a) out = std::max(out, std::fabs(v.high()));
  return out;
}
inline double norm1(int n, const Exact& a) {
  double out = 0;
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = static_cast<std::size_t>(j); i < a.size(); i += static_cast<std::size_t>(n))
      sum += std::fabs(a[i].high());
    out = std::max(out, sum);
  }
  return out;
}

// mantissa · 2^exponent, 1/2 ≤ |mantissa| < 1, or 0.
struct Scaled {
  DoubleDouble mantissa = 1;
  int exponent = 0;
  void times(const DoubleDouble& v) {
    mantissa *= v;
    int by = 0;
    std::frexp(mantissa.high(), &by);
    mantissa = ldexp(mantissa, -by);
    exponent += by;
  }
};
// X = A⁻¹ B, B n × columns, and det A, by elimination with partial pivoting of rows that were brought to one size by
// powers of two. X is empty if a pivot is 0.
struct Solved {
  Exact x;
  Scaled determinant;
};
inline Solved solve(int n, int columns, Exact a, Exact b) {
  Solved out;
  const auto row_times = [](Exact& m, int i, int width, int power) {
    for (int j = 0; j < width; ++j) m[at(i, j, width)] = ldexp(m[at(i, j, width)], power);
  };
  for (int i = 0; i < n; ++i) {
    const double top = largest(Exact(a.begin() + i * n, a.begin() + (i + 1) * n));
    const int power = top > 0 ? -std::ilogb(top) : 0;
    row_times(a, i, n, power);
    row_times(b, i, columns, power);
    out.determinant.exponent -= power;
  }
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (abs(a[at(i, k, n)]) > abs(a[at(pivot, k, n)])) pivot = i;
    if (pivot != k) {
      for (int j = 0; j < n; ++j) std::swap(a[at(k, j, n)], a[at(pivot, j, n)]);
      for (int j = 0; j < columns; ++j) std::swap(b[at(k, j, columns)], b[at(pivot, j, columns)]);
      out.determinant.times(-1);
    }
    const DoubleDouble head = a[at(k, k, n)];
    out.determinant.times(head);
    if (head.high() == 0) return out;
    for (int i = k + 1; i < n; ++i) {
      const DoubleDouble factor = a[at(i, k, n)] / head;
      for (int j = k + 1; j < n; ++j) a[at(i, j, n)] -= factor * a[at(k, j, n)];
      for (int j = 0; j < columns; ++j) b[at(i, j, columns)] -= factor * b[at(k, j, columns)];
    }
  }
  for (int i = n - 1; i >= 0; --i)
    for (int j = 0; j < columns; ++j) {
      for (int k = i + 1; k < n; ++k) b[at(i, j, columns)] -= a[at(i, k, n)] * b[at(k, j, columns)];
      b[at(i, j, columns)] /= a[at(i, i, n)];
    }
  out.x = std::move(b);
  return out;
}

// Whether a symmetric matrix is positive definite, by its pivots; those that may be rounding are not positive.
inline bool positive_definite(int n, Exact a) {
  const Exact given = a;
  for (int k = 0; k < n; ++k) {
    const DoubleDouble pivot = a[at(k, k, n)];
    if (!(pivot.high() > 0x1p-98 * given[at(k, k, n)].high())) return false;
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j < n; ++j) a[at(i, j, n)] -= a[at(i, k, n)] * a[at(k, j, n)] / pivot;
  }
  return true;
}

// Jacobi's rotation, tan = s/c the smaller root of t² + 2ζt − 1 (Rutishauser 1966).
struct Turn {
  DoubleDouble c, s;
};
inline Turn turn_of(const DoubleDouble& zeta) {
  const DoubleDouble root = sqrt(DoubleDouble(1) + zeta * zeta);
  const DoubleDouble t = DoubleDouble(1) / (zeta.high() < 0 ? zeta - root : zeta + root);
  const DoubleDouble c = DoubleDouble(1) / sqrt(DoubleDouble(1) + t * t);
  return {c, t * c};
}
inline constexpr int kSweeps = 40;

// A = U diag(s) Vᵀ by one-sided Jacobi rotations: rows of `left` are s·columns of U, rows of v columns of V; s falls.
// What is below 2⁻⁹⁸ of the largest is 0.
struct Singular {
  std::vector<DoubleDouble> s;
  Exact left, v;
};
inline Singular svd(int m, int n, const Exact& a) {  // m ≥ n
  Exact b = turned(m, n, a), v = identity(n);
  const auto dot = [&](int p, int q) {
    DoubleDouble sum;
    for (int k = 0; k < m; ++k) sum += b[at(p, k, m)] * b[at(q, k, m)];
    return sum;
  };
  double most = 0;
  for (int j = 0; j < n; ++j) most = std::max(most, dot(j, j).high());
  bool moving = true;
  for (int sweep = 0; sweep < kSweeps && moving; ++sweep) {
    moving = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const DoubleDouble x = dot(p, p), y = dot(q, q), along = dot(p, q);
        if (std::min(x.high(), y.high()) <= 0x1p-196 * most) continue;
        if (std::fabs(along.high()) <= 0x1p-100 * std::sqrt(x.high()) * std::sqrt(y.high())) continue;
        moving = true;
        const Turn t = turn_of((y - x) / (along + along));
        const auto rotate = [&](Exact& of, int length) {
          for (int k = 0; k < length; ++k) {
            DoubleDouble &left = of[at(p, k, length)], &right = of[at(q, k, length)];
            const DoubleDouble old = left;
            left = t.c * old - t.s * right;
            right = t.s * old + t.c * right;
          }
        };
        rotate(b, m);
        rotate(v, n);
      }
  }
  std::vector<DoubleDouble> sizes;
  for (int j = 0; j < n; ++j) {
    const DoubleDouble square = dot(j, j);
    sizes.push_back(square.high() <= 0x1p-196 * most ? DoubleDouble() : sqrt(square));
  }
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int p, int q) { return sizes[static_cast<std::size_t>(p)] > sizes[static_cast<std::size_t>(q)]; });
  Singular out;
  for (const int j : order) {
    out.s.push_back(sizes[static_cast<std::size_t>(j)]);
    out.left.insert(out.left.end(), b.begin() + j * m, b.begin() + (j + 1) * m);
    out.v.insert(out.v.end(), v.begin() + j * n, v.begin() + (j + 1) * n);
  }
  return out;
}
// A⁺ (n × m) of the singular values above `least`.
inline Exact pseudo_inverse(int m, int n, const Singular& f, double least) {
  Exact out(at(n, 0, m));
  for (int c = 0; c < n && f.s[static_cast<std::size_t>(c)].high() > least; ++c) {
    const DoubleDouble square = f.s[static_cast<std::size_t>(c)] * f.s[static_cast<std::size_t>(c)];
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) out[at(i, j, m)] += f.v[at(c, i, n)] * f.left[at(c, j, m)] / square;
  }
  return out;
}

// Eigenvalues of a symmetric matrix, rising, by Jacobi's rotations.
inline Exact eigenvalues(int n, Exact a) {
  const double scale = largest(a);
  bool moving = true;
  for (int sweep = 0; sweep < kSweeps && moving; ++sweep) {
    moving = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const DoubleDouble along = a[at(p, q, n)];
        if (std::fabs(along.high()) <= 0x1p-100 * scale) continue;
        moving = true;
        const Turn t = turn_of((a[at(q, q, n)] - a[at(p, p, n)]) / (along + along));
        for (int k = 0; k < n; ++k) {
          const DoubleDouble left = a[at(k, p, n)], right = a[at(k, q, n)];
          a[at(k, p, n)] = t.c * left - t.s * right;
          a[at(k, q, n)] = t.s * left + t.c * right;
        }
        for (int k = 0; k < n; ++k) {
          const DoubleDouble left = a[at(p, k, n)], right = a[at(q, k, n)];
          a[at(p, k, n)] = t.c * left - t.s * right;
          a[at(q, k, n)] = t.s * left + t.c * right;
        }
      }
  }
  Exact out;
  for (int i = 0; i < n; ++i) out.push_back(a[at(i, i, n)]);
  std::sort(out.begin(), out.end());
  return out;
}

// eᴬ by 22 terms of Taylor's series where the norm is below 1/4.
inline Exact exponential(int n, const Exact& a) {
  const int halvings = std::max(0, std::ilogb(std::max(norm1(n, a), 1e-300)) + 3);
  Exact scaled, term = identity(n), sum = term;
  for (const DoubleDouble& v : a) scaled.push_back(ldexp(v, -halvings));
  for (int k = 1; k <= 22; ++k) {
    term = product(n, n, n, term, scaled);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += term[e] /= DoubleDouble(k);
  }
  for (int k = 0; k < halvings; ++k) sum = product(n, n, n, sum, sum);
  return sum;
}

}  // namespace small_truth
