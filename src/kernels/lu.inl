#include "kernels/lines.inl"

// |re| + |im|: what pivots are chosen by.
template <class R>
[[gnu::always_inline]] inline R size_of_pivot(const std::complex<R>* x) {
  const R* const part = reinterpret_cast<const R*>(x);
  return std::abs(part[0]) + std::abs(part[1]);
}
// c + a·b.
template <class R>
[[gnu::always_inline]] inline R fused(R a, R b, R c) {
  if constexpr (kFused)
    return sizeof(R) == 8 ? static_cast<R>(__builtin_fma(a, b, c)) : static_cast<R>(__builtin_fmaf(a, b, c));
  else
    return a * b + c;
}

// All bits set in the lanes from `first` on, as packs of a line.
template <class R>
[[gnu::always_inline]] inline void lanes_from(std::int64_t first, Int<R>* mask) {
  using Bits = std::conditional_t<sizeof(R) == 4, std::int32_t, std::int64_t>;
  constexpr std::int64_t all = kLine / static_cast<std::int64_t>(sizeof(R));
  struct Window {
    Bits bits[2 * all];
    constexpr Window() : bits{} {
      for (std::int64_t i = 0; i < all; ++i) bits[all + i] = -1;
    }
  };
  static constexpr Window window;
  for (std::int64_t v = 0; v < kLine / kPackBytes; ++v)
    __builtin_memcpy(&mask[v], window.bits + all - first + v * lanes_of<R>, kPackBytes);
}

// One step of the elimination of complex numbers, in rows i ≥ 1 of a panel (row 0 holds the pivot in its column j): l
// = a[j] / pivot goes to column j, l·u is taken from the columns right of it. Returns where the next column (if
// `search`) is largest, NaN left out, and its size.
template <class T>
struct Step {
  using R = typename RealOf<T>::type;
  static constexpr int parts = RealOf<T>::parts, packs = kLine / kPackBytes;
  Int<R> right[packs], here[packs];
  Vec<R> u[packs], w[packs];  // l·u = re(l)·u − im(l)·w, w = (im, −re)

  [[gnu::always_inline]] Step(const T* pivots, std::int64_t j) {
    lanes_from<R>((j + 1) * parts, right);
    lanes_from<R>(j * parts, here);
    const R* const line = reinterpret_cast<const R*>(pivots);
    alignas(64) R turned[kLine / sizeof(R)];
    for (int s = 0; s < kLine / static_cast<int>(sizeof(R)); s += 2) {
      turned[s] = line[s + 1];
      turned[s + 1] = -line[s];
    }
    for (int v = 0; v < packs; ++v) {
      u[v] = load_pack(line + v * lanes_of<R>);
      w[v] = load_pack(turned + v * lanes_of<R>);
    }
  }
  [[gnu::always_inline]] void update(T* row, T l) const {
    R* const line = reinterpret_cast<R*>(row);
    Vec<R> re = {}, im = {}, both = {};
    re = l.real() - re;
    im = l.imag() - im;
    for (int s = 0; s < lanes_of<R>; ++s) both[s] = s % 2 ? l.imag() : l.real();
#pragma GCC unroll 4
    for (int v = 0; v < packs; ++v) {
      const Vec<R> old = load_pack(line + v * lanes_of<R>);
      const Vec<R> fresh = fma(im, w[v], fma(-re, u[v], old));
      store_pack(line + v * lanes_of<R>, right[v] ? fresh : here[v] ? both : old);
    }
  }
};

// Where a column is largest: the first of equals, NaN left out.
template <class R>
struct Largest {
  R size = -1;
  std::int64_t at;
  [[gnu::always_inline]] void see(R other, std::int64_t i) {
    if (other > size) {
      size = other;
      at = i;
    }
  }
};

// Rows first … m − 1 of column j, after the columns before it: x −= Σ l·u with the u above in the same column.
template <class R, int before>
[[gnu::always_inline]] inline Largest<R> next_column(std::int64_t first, std::int64_t m, const R* l,
                                                     std::int64_t column, R* x) {
  constexpr std::int64_t lanes = lanes_of<R>;
  using Bits = std::conditional_t<sizeof(R) == 4, std::int32_t, std::int64_t>;
  Vec<R> u[before ? before : 1], most = Vec<R>{} - 1;
#pragma GCC unroll 16
  for (int p = 0; p < before; ++p) u[p] = Vec<R>{} - x[p];
  Int<R> at = {}, here;
  for (int s = 0; s < lanes; ++s) here[s] = static_cast<Bits>(first + s);
  std::int64_t i = first;
  for (; i + lanes <= m; i += lanes, here += static_cast<Bits>(lanes)) {
    Vec<R> v = load_pack(x + i);
#pragma GCC unroll 16
    for (int p = 0; p < before; ++p) v = fma(load_pack(l + p * column + i), u[p], v);
    store_pack(x + i, v);
    const Vec<R> size = std::bit_cast<Vec<R>>(std::bit_cast<Int<R>>(v) & simd::Format<R>::magnitude);
    const auto larger = size > most;
    most = larger ? size : most;
    at = larger ? here : at;
  }
  Largest<R> best{-1, first};
  for (int s = 0; s < lanes; ++s)
    if (most[s] > best.size || (most[s] == best.size && at[s] < best.at)) best = {most[s], at[s]};
  if (best.size < 0) best.at = first;
  for (; i < m; ++i) {
    for (int p = 0; p < before; ++p) x[i] = fused(l[p * column + i], -x[p], x[i]);
    best.see(std::abs(x[i]), i);
  }
  return best;
}

// to[j][i] = from[i][j].
template <class R>
void transpose(std::int64_t m, std::int64_t n, const R* from, std::int64_t from_row, R* to, std::int64_t to_row) {
  constexpr std::int64_t side = simd::kSquare<R>;
  const std::int64_t whole = n - n % side;
  std::int64_t i = 0;
  for (; i + side <= m; i += side)
    for (std::int64_t j = 0; j < whole; j += side)
      simd::transpose_square(to + j * to_row + i, to_row, from + i * from_row + j, from_row);
  for (std::int64_t k = 0; k < m; ++k)
    for (std::int64_t j = k < i ? whole : 0; j < n; ++j) to[j * to_row + k] = from[k * from_row + j];
}

// A panel of real numbers, column by column (left-looking), in a copy whose columns are contiguous.
template <class R>
class ColumnPanel {
  static constexpr int most = kLine / static_cast<int>(sizeof(R));

 public:
  ColumnPanel(std::int64_t m, std::int64_t n, R* copy) : m_(m), n_(n), column_(column_of(m)), x_(copy) {}
  static std::int64_t column_of(std::int64_t m) { return panel_column<R>(m); }

  void take(const R* a, std::int64_t row) { transpose(m_, n_, a, row, x_, column_); }
  void give(R* a, std::int64_t row) const { transpose(n_, m_, x_, column_, a, row); }

  std::int64_t factor(std::int64_t* pivots) {
    std::int64_t zero = -1;
    run(pivots, zero, std::make_integer_sequence<int, most>{});
    return zero;
  }

 private:
  template <int... j>
  [[gnu::always_inline]] void run(std::int64_t* pivots, std::int64_t& zero, std::integer_sequence<int, j...>) {
    (step<j>(pivots, zero), ...);
  }
  template <int j>
  [[gnu::always_inline]] void step(std::int64_t* pivots, std::int64_t& zero) {
    if (j >= n_) return;
    R* const x = x_ + j * column_;
    const std::int64_t above = j < m_ ? j : m_;
    for (std::int64_t i = 1; i < above; ++i)  // U: rows above the diagonal
      for (std::int64_t p = 0; p < i; ++p) x[i] = fused(x_[p * column_ + i], -x[p], x[i]);
    if (j >= m_) return;
    const Largest<R> best = next_column<R, j>(j, m_, x_, column_, x);
    pivots[j] = best.at;
    if (best.at != j)
      for (std::int64_t c = 0; c < n_; ++c) std::swap(x_[c * column_ + j], x_[c * column_ + best.at]);
    const bool none = best.size == 0;
    if (none && zero < 0) zero = j;
    if (none) return;
    const R pivot = x[j];
    std::int64_t i = j + 1;
    for (; i + lanes_of<R> <= m_; i += lanes_of<R>) store_pack(x + i, load_pack(x + i) / pivot);
    for (; i < m_; ++i) x[i] /= pivot;
  }

  const std::int64_t m_, n_, column_;
  R* const x_;
};

// L X = B in place for a unit lower triangle of a few rows; X has the same rows, `width` numbers of whole packs.
template <class R>
void solve_lines(std::int64_t n, std::int64_t width, const R* l, std::int64_t row, R* x) {
  for (std::int64_t c = 0; c < width; c += lanes_of<R>)
    for (std::int64_t i = 1; i < n; ++i) {
      Vec<R> v = load_pack(x + i * row + c);
      for (std::int64_t j = 0; j < i; ++j) v = fma(Vec<R>{} - l[i * row + j], load_pack(x + j * row + c), v);
      store_pack(x + i * row + c, v);
    }
}

// Factors the n columns (at most a line of kLine bytes) of a panel of m rows, `row` numbers apart and whole lines.
// Returns the first column whose pivot is exactly zero, or −1. Real numbers want n columns of panel_column(m)
// numbers.
template <class T>
std::int64_t factor_line(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots, T* copy) {
  using R = typename RealOf<T>::type;
  if constexpr (RealOf<T>::parts == 1) {
    ColumnPanel<R> panel(m, n, copy);
    panel.take(a, row);
    const std::int64_t zero = panel.factor(pivots);
    panel.give(a, row);
    return zero;
  } else {
    const std::int64_t steps = m < n ? m : n;
    std::int64_t zero = -1;
    Largest<R> best{-1, 0};
    for (std::int64_t i = 0; i < m; ++i) best.see(size_of_pivot(a + i * row), i);
    for (std::int64_t j = 0; j < steps; ++j) {
      T* const line = a + j * row;
      pivots[j] = best.at;
      if (best.at != j) std::swap_ranges(line, line + kLine / sizeof(T), a + best.at * row);
      const bool none = best.size == 0;
      if (none && zero < 0) zero = j;
      const Divisor<T> by(none ? T(1) : line[j]);
      const Step<T> step(line, j);
      best = {-1, j + 1};
      for (std::int64_t i = j + 1; i < m; ++i) {
        step.update(a + i * row, by(a[i * row + j]));
        if (j + 1 < steps) best.see(size_of_pivot(a + i * row + j + 1), i);
      }
    }
    return zero;
  }
}
