// Included once per instruction set: eigenvalues of symmetric matrices through tridiagonal form (Householder;
// implicit QL with Wilkinson's shifts: Martin, Reinsch & Wilkinson 1968; Dubrulle, Martin & Wilkinson 1968), every
// lane at its own pace.
#include "kernels/batched/reflector.inl"
#include "kernels/batched/symmetric.inl"

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

// One step of implicit QL on rows l … m of each active lane (m by lane), with the rotations applied to the rows of z.
template <class S>
WP_PACK void ql_step(S n, int rows, int l, M m, M active, Tridiagonal& t, V* z) {
  V *const d = t.d, *const e = t.e;
  const V theta = (d[l + 1] - d[l]) / (2.0 * e[l]), root = square_root(fma(theta, theta, V{} + 1.0));
  const V shift = d[l] - e[l] / (theta + with_sign<double>(root, theta));
  V g = V{}, s = V{} + 1.0, c = V{} + 1.0, p = V{};
  for (int i = rows - 2; i >= l; --i) {
    const M first = m == i + 1, here = active & (m > i);
    if (!any(here)) continue;
    g = first ? d[i + 1] - shift : g;
    const V f = s * e[i], b = c * e[i];
    V sine, cosine;
    const V r = rotation(f, g, sine, cosine);
    e[i + 1] = here & (m != i + 1) ? r : e[i + 1];
    g = d[i + 1] - p;
    const V q = fma(d[i] - g, sine, 2.0 * cosine * b), moved = sine * q;
    d[i + 1] = here ? g + moved : d[i + 1];
    g = fma(cosine, q, -b);
    s = here ? sine : s;
    c = here ? cosine : c;
    p = here ? moved : p;
    if (!z) continue;
    const V turn = here ? sine : V{}, keep = here ? cosine : V{} + 1.0;
    each<S>(
        0, n, WP_EACH(k) {
          V &left = z[i * n + k], &right = z[(i + 1) * n + k];
          const V old = right;
          right = fma(turn, left, keep * old);
          left = fma(keep, left, -(turn * old));
        });
  }
  d[l] = active ? d[l] - p : d[l];
  e[l] = active ? g : e[l];
  for (int i = l + 1; i < rows; ++i) e[i] = active & (m == i) ? V{} : e[i];
}

// T = Zᵀ diag(d) Z: what stands in z is multiplied by Z. Where has it converged?
template <class S>
WP_PACK M ql(S n, Tridiagonal& t, V* z) {
  constexpr int kRounds = 40;
  const int rows = opaque(n);
  M good = M{} == M{};
  for (int l = 0; l + 1 < rows; ++l)
    for (int round = 0;; ++round) {
      M m = M{} + (rows - 1);
      for (int i = rows - 2; i >= l; --i) {
        const M small = magnitude(t.e[i]) <= kUnitOfDouble * (magnitude(t.d[i]) + magnitude(t.d[i + 1]));
        m = small ? M{} + i : m;
      }
      const M active = m != l;
      if (!any(active)) break;
      if (round == kRounds) {
        good = m == l ? good : M{};
        break;
      }
      ql_step(n, rows, l, m, active, t, z);
    }
  return good;
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
