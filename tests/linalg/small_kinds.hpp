// Small matrices of kinds that are hard in their own way, as numbers of one dtype.
#pragma once
#include <array>
#include <limits>

#include "small_stacks.hpp"

namespace small_kinds {

using small_stacks::draw;
using small_stacks::Want;
using wp::DType;

enum class Kind : std::uint8_t { random, graded, repeated, singular, nearly_singular, denormal, overflow };
inline constexpr std::array kKinds = {Kind::random,          Kind::graded,   Kind::repeated, Kind::singular,
                                      Kind::nearly_singular, Kind::denormal, Kind::overflow};
inline const char* name(Kind kind) {
  constexpr const char* names[] = {"random",          "graded",   "repeated spectrum", "singular",
                                   "nearly singular", "denormal", "near overflow"};
  return names[static_cast<int>(kind)];
}

// What becomes of the answer when the matrix is multiplied by a number c, and so which c are hard but leave an
// answer.
enum class Homogeneous : std::uint8_t {
  as_given,   // c, √c, log c: of factors, values, cholesky, slogdet
  inverse,    // 1/c
  quotient,   // 1, if the right-hand side is multiplied too
  power,      // cⁿ
  square,     // c²
  not_at_all  // the exponential
};

struct Problem {
  int m = 0, n = 0, columns = 0;
  std::vector<double> a, b;  // m × n and m × columns (n × columns for a product), by rows; numbers of the dtype
  int power = 0;             // a and b are numbers near 1, times 2^power
  bool singular = false;     // exactly
};

class Draws {
 public:
  Draws(DType dtype, unsigned seed) : single_(dtype == wp::f32), g_(seed) {}

  Problem next(Kind kind, Want want, Homogeneous how, int m, int n, int columns) {
    Problem p;
    p.m = m, p.n = n, p.columns = columns;
    p.singular = kind == Kind::singular;
    p.a = matrix(kind, want, m, n);
    p.b = draw(how == Homogeneous::square ? n : m, std::max(columns, 1), Want::any, g_);
    p.power = power_of(kind, how, n);
    if (how == Homogeneous::not_at_all && kind == Kind::overflow)
      for (int i = 0; i < n; ++i) p.a[at(i, i, n)] += single_ ? 80 : 690;
    for (std::vector<double>* of : {&p.a, &p.b})
      for (double& v : *of) {
        v = std::ldexp(v, p.power);
        if (single_) v = static_cast<double>(static_cast<float>(v));
      }
    if (how == Homogeneous::not_at_all) p.power = 0;
    return p;
  }

 private:
  using Matrix = std::vector<double>;
  static std::size_t at(int i, int j, int columns) { return static_cast<std::size_t>(i * columns + j); }
  int between(int least, int most) { return std::uniform_int_distribution<int>(least, most)(g_); }

  int power_of(Kind kind, Homogeneous how, int n) {
    if (kind != Kind::denormal && kind != Kind::overflow) return 0;
    const bool low = kind == Kind::denormal;
    // Elements up to 2³ and norms up to 2⁸ stay in range.
    const int least = low ? (single_ ? -142 : -1065) : (single_ ? 108 : 1000),
              most = low ? (single_ ? -124 : -1020) : (single_ ? 116 : 1012);
    switch (how) {
      case Homogeneous::not_at_all: return low ? between(least, most) : 0;
      case Homogeneous::inverse:
        return low ? between(single_ ? -127 : -1023, single_ ? -118 : -1010) : between(least, most);
      case Homogeneous::power: return between(least, most) / n;
      case Homogeneous::square: return between(least, most) / 2;
      default: return between(least / 2, most / 2) * 2;  // √2^power is a power of two
    }
  }

  Matrix matrix(Kind kind, Want want, int m, int n) {
    switch (kind) {
      case Kind::graded: return graded(want, m, n);
      case Kind::repeated: return repeated(want, m, n);
      case Kind::singular: return of_lower_rank(want, m, n);
      case Kind::nearly_singular: return nearly_singular(want, m, n);
      default: return draw(m, n, want, g_);
    }
  }
  // By the larger of row and column, by rows, by columns; from large to small or back. Symmetric ones by both.
  Matrix graded(Want want, int m, int n) {
    Matrix a = draw(m, n, want, g_);
    const int way = between(0, 2), step = single_ ? 2 : 4;
    const bool back = between(0, 1) == 1;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const int row = back ? m - 1 - i : i, column = back ? n - 1 - j : j;
        const int by = want != Want::any ? (step / 2) * (row + column)
                                         : step * (way == 0   ? std::max(row, column)
                                                   : way == 1 ? row
                                                              : column);
        a[at(i, j, n)] = std::ldexp(a[at(i, j, n)], -by);
      }
    return a;
  }
  // Columns of a random orthogonal matrix, n × k (Gram & Schmidt, twice).
  Matrix orthogonal(int n, int k) {
    Matrix q = draw(n, k, Want::any, g_);
    for (int j = 0; j < k; ++j)
      for (int round = 0; round < 2; ++round) {
        for (int p = 0; p <= j; ++p) {
          double along = 0;
          for (int i = 0; i < n; ++i) along += q[at(i, p, k)] * q[at(i, j, k)];
          const double by = p == j ? 1 - 1 / std::sqrt(along) : along;
          for (int i = 0; i < n; ++i) q[at(i, j, k)] -= by * q[at(i, p, k)];
        }
      }
    return q;
  }
  // U diag(d) Vᵀ with random U and V, which are the same for symmetric ones.
  Matrix with_values(Want want, int m, int n, const Matrix& d) {
    const int k = std::min(m, n);
    const Matrix u = orthogonal(m, k), v = want == Want::any ? orthogonal(n, k) : u;
    Matrix a(at(m, 0, n));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const bool mirrored = want != Want::any && j < i;
        for (int c = 0; c < k && !mirrored; ++c)
          a[at(i, j, n)] += u[at(i, c, k)] * d[static_cast<std::size_t>(c)] * v[at(j, c, k)];
        if (mirrored) a[at(i, j, n)] = a[at(j, i, n)];
      }
    return a;
  }
  // Of values 1, 2 and 3 (and −2, −1 of symmetric ones), or twice the identity and a thousandth of noise.
  Matrix repeated(Want want, int m, int n) {
    if (between(0, 1) == 0) {
      Matrix d;
      for (int i = 0; i < std::min(m, n); ++i)
        d.push_back(between(1, 3) * (want == Want::symmetric && between(0, 1) ? -1 : 1));
      return with_values(want, m, n, d);
    }
    Matrix a = draw(m, n, want, g_);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) a[at(i, j, n)] = (i == j ? 2 : 0) + 1e-3 * a[at(i, j, n)];
    return a;
  }
  // Integers: B C with fewer columns of B than either side has, B S Bᵀ, B Bᵀ.
  Matrix of_lower_rank(Want want, int m, int n) {
    const int most = std::min(m, n) - 1, rank = most > 0 && between(0, 19) ? between(1, most) : 0;
    Matrix b(at(m, 0, rank)), c(at(rank, 0, n)), a(at(m, 0, n));
    for (Matrix* of : {&b, &c})
      for (double& v : *of) v = between(-3, 3);
    for (int l = 0; l < rank && want != Want::any; ++l) {
      const int sign = want == Want::symmetric && between(0, 1) ? -1 : 1;
      for (int j = 0; j < n; ++j) c[at(l, j, n)] = sign * b[at(j, l, rank)];
    }
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int l = 0; l < rank; ++l) a[at(i, j, n)] += b[at(i, l, rank)] * c[at(l, j, n)];
    return a;
  }
  // One singular value is less by up to the digits that the dtype has.
  Matrix nearly_singular(Want want, int m, int n) {
    Matrix d;
    for (int i = 0; i < std::min(m, n); ++i) d.push_back(1.0 / (1 + i));
    if (d.size() > 1) d.back() = std::ldexp(1.0, -between(8, single_ ? 24 : 53));
    return with_values(want, m, n, d);
  }

  bool single_;
  std::mt19937_64 g_;
};

}  // namespace small_kinds
