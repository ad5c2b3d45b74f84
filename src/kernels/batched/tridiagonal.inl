// Included once per instruction set: eigenvalues of symmetric matrices through tridiagonal form (Householder;
// implicit QL with Wilkinson's shifts: Martin, Reinsch & Wilkinson 1968; Dubrulle, Martin & Wilkinson 1968), every
// lane at its own pace.
#include "kernels/batched/reflector.inl"
#include "kernels/batched/symmetric.inl"
#include "kernels/batched/turns.inl"

struct Tridiagonal {
  V d[kLargest + 1], e[kLargest + 1];  // diagonal, and below it
};

// A = Q T Qᵀ, A symmetric (the lower triangle is read); Q in the place of A if `vectors`.
inline void tridiagonalise(int n, V* a, bool vectors, Tridiagonal& t) {
  V tau[kLargest], w[kLargest];
  for (int k = 0; k + 1 < n; ++k) {
    t.d[k] = a[k * n + k];
    V* const x = a + (k + 1) * n + k;
    const int count = n - 1 - k;
    t.e[k] = reflector(count, x, n, tau[k]);
    if (count == 1) break;
    V* const rest = a + (k + 1) * (n + 1);  // count × count
    const auto v = [&](int i) { return i == 0 ? V{} + 1.0 : x[i * n]; };
    V along = V{};
    for (int i = 0; i < count; ++i) {  // w = τ A v
      V sum = V{};
      for (int j = 0; j <= i; ++j) sum = fma(rest[i * n + j], v(j), sum);
      for (int j = i + 1; j < count; ++j) sum = fma(rest[j * n + i], v(j), sum);
      w[i] = tau[k] * sum;
      along = fma(w[i], v(i), along);
    }
    const V half = -0.5 * tau[k] * along;
    for (int i = 0; i < count; ++i) w[i] = fma(half, v(i), w[i]);
    for (int i = 0; i < count; ++i) {
      const V vi = v(i), wi = w[i];
      for (int j = 0; j <= i; ++j) rest[i * n + j] = less(vi, w[j], less(wi, v(j), rest[i * n + j]));
    }
  }
  t.d[n - 1] = a[n * n - 1];
  t.e[n - 1] = V{};
  if (!vectors) return;
  // Q = H₀ H₁ …, from the last to the first; column k of A holds v of H_k below row k + 1.
  for (int k = n - 1; k-- > 0;) {
    const int count = n - 1 - k;
    V* const q = a + (k + 1) * (n + 1);  // count × count: the product so far
    V* const x = a + (k + 1) * n + k;
    if (count == 1) {
      q[0] = V{} + 1.0;
    } else {
      for (int j = 1; j < count; ++j) {  // its first row and column are those of I
        V sum = V{};
        for (int i = 1; i < count; ++i) sum = fma(x[i * n], q[i * n + j], sum);
        sum *= tau[k];
        q[j] = -sum;
        for (int i = 1; i < count; ++i) q[i * n + j] = less(sum, x[i * n], q[i * n + j]);
      }
      q[0] = 1.0 - tau[k];
      for (int i = 1; i < count; ++i) q[i * n] = -tau[k] * x[i * n];
    }
    for (int i = 0; i < count; ++i) x[i * n] = V{};
  }
  a[0] = V{} + 1.0;
  for (int j = 1; j < n; ++j) a[j] = V{};
}

WP_PACK void transpose_square(int n, V* a) {
  for (int i = 1; i < n; ++i)
    for (int j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

// r = √(f² + g²), returned, s = f/r and c = g/r, s² + c² = 1 to the last digit; s = 0 and c = 1 where r is nothing
// beside 1.
WP_PACK V rotation(V f, V g, V& s, V& c) {
  const V square = fma(f, f, g * g);
  const M none = square < 0x1p-1000;
  V r;
  const V inverse = inverse_root(none ? V{} + 1.0 : square, r);
  s = none ? V{} : f * inverse;
  c = none ? V{} + 1.0 : g * inverse;
  const V half = 0.5 * less(c, c, less(s, s, V{} + 1.0));
  s = fma(s, half, s);
  c = fma(c, half, c);
  return none ? V{} : r;
}

// A block on its way to T = Zᵀ diag(d) Z: what stands in z, unless null, is multiplied by Z. Rows l … m of active
// lanes (m by lane) take one step of implicit QL at a time.
struct Diagonalised {
  Tridiagonal t;
  V* z = nullptr;
  M good = ~M{};  // where it has converged
  M m, active;
  V g, s, c, p, shift;
};
WP_PACK bool find_active(int rows, int l, Diagonalised& b) {
  const Tridiagonal& t = b.t;
  b.m = M{} + (rows - 1);
  for (int i = rows - 2; i >= l; --i) {
    const M small = magnitude(t.e[i]) <= kUnitOfDouble * (magnitude(t.d[i]) + magnitude(t.d[i + 1]));
    b.m = small ? M{} + i : b.m;
  }
  b.active = b.m != l;
  return any(b.active);
}
WP_PACK void begin_step(int l, Diagonalised& b) {
  V *const d = b.t.d, *const e = b.t.e;
  const V theta = (d[l + 1] - d[l]) / (2.0 * e[l]), root = square_root(fma(theta, theta, V{} + 1.0));
  b.shift = d[l] - e[l] / (theta + with_sign<double>(root, theta));
  b.g = b.p = V{};
  b.s = b.c = V{} + 1.0;
}
// The rotation of rows i and i + 1, applied to the rows of z.
template <class S>
WP_PACK void rotate_rows(S n, int i, Diagonalised& b) {
  V *const d = b.t.d, *const e = b.t.e, *const z = b.z;
  const M first = b.m == i + 1, here = b.active & (b.m > i);
  if (!any(here)) return;
  const V before = first ? d[i + 1] - b.shift : b.g, f = b.s * e[i], along = b.c * e[i];
  V sine, cosine;
  const V r = rotation(f, before, sine, cosine);
  e[i + 1] = here & ~first ? r : e[i + 1];
  const V g = d[i + 1] - b.p, q = fma(d[i] - g, sine, 2.0 * cosine * along), moved = sine * q;
  d[i + 1] = here ? g + moved : d[i + 1];
  b.g = fma(cosine, q, -along);
  b.s = here ? sine : b.s;
  b.c = here ? cosine : b.c;
  b.p = here ? moved : b.p;
  if (!z) return;
  const V turn = here ? sine : V{}, keep = here ? cosine : V{} + 1.0;
  each<S>(
      0, n, WP_EACH(k) {
        V &left = z[i * n + k], &right = z[(i + 1) * n + k];
        const V old = right;
        right = fma(turn, left, keep * old);
        left = fma(keep, left, -(turn * old));
      });
}
WP_PACK void end_step(int rows, int l, Diagonalised& b) {
  V *const d = b.t.d, *const e = b.t.e;
  d[l] = b.active ? d[l] - b.p : d[l];
  e[l] = b.active ? b.g : e[l];
  for (int i = l + 1; i < rows; ++i) e[i] = b.active & (b.m == i) ? V{} : e[i];
}

// QL of `count` blocks. Lanes that have converged wait for the others, and blocks for each other.
template <class S>
WP_PACK void ql(S n, int count, Diagonalised* blocks) {
  constexpr int kRounds = 40;
  const int rows = opaque(n);
  for (int l = 0; l + 1 < rows; ++l)
    for (int round = 0;; ++round) {
      bool more = false;
      for (int b = 0; b < count; ++b) more |= find_active(rows, l, blocks[b]);
      if (!more) break;
      if (round == kRounds) {
        for (int b = 0; b < count; ++b) blocks[b].good &= ~blocks[b].active;
        break;
      }
      for (int b = 0; b < count; ++b) begin_step(l, blocks[b]);
      for (int i = rows - 2; i >= l; --i)
        for (int b = 0; b < count; ++b) rotate_rows(n, i, blocks[b]);
      for (int b = 0; b < count; ++b) end_step(rows, l, blocks[b]);
    }
}

// Values into order, rising or falling, with the rows of z (n long) and of u (`length` long) where given.
template <bool falling, class S>
WP_PACK void sort(S n, V* d, V* z, V* u = nullptr, int length = 0) {
  for (int end = opaque(n) - 1; end > 0; --end) {
    M moved = M{};
    for (int i = 0; i < end; ++i) {
      const M wrong = falling ? d[i] < d[i + 1] : d[i] > d[i + 1];
      if (!any(wrong)) continue;
      moved |= wrong;
      exchange(wrong, d[i], d[i + 1]);
      if (z)
        each<S>(
            0, n, WP_EACH(k) { exchange(wrong, z[i * n + k], z[(i + 1) * n + k]); });
      for (int k = 0; k < length; ++k) exchange(wrong, u[i * length + k], u[(i + 1) * length + k]);
    }
    if (!any(moved)) return;
  }
}
