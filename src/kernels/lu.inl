#include "kernels/lines.inl"

// |x|, or |re| + |im|: what pivots are chosen by.
template <class R>
[[gnu::always_inline]] inline R size_of_pivot(const R* x) {
  return std::abs(*x);
}
template <class R>
[[gnu::always_inline]] inline R size_of_pivot(const std::complex<R>* x) {
  const R* const part = reinterpret_cast<const R*>(x);
  return std::abs(part[0]) + std::abs(part[1]);
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

// One step of the elimination, in rows i ≥ 1 of a panel (row 0 holds the pivot in its column j): l = a[j] / pivot
// goes to column j, l·u is taken from the columns right of it. Returns where the next column (if `search`) is
// largest, NaN left out, and its size.
template <class T>
struct Step {
  using R = typename RealOf<T>::type;
  static constexpr int parts = RealOf<T>::parts, packs = kLine / kPackBytes;
  Int<R> right[packs], here[packs];
  Vec<R> u[packs], w[packs];  // complex: l·u = re(l)·u − im(l)·w, w = (im, −re)

  [[gnu::always_inline]] Step(const T* pivots, std::int64_t j) {
    lanes_from<R>((j + 1) * parts, right);
    lanes_from<R>(j * parts, here);
    const R* const line = reinterpret_cast<const R*>(pivots);
    alignas(64) R turned[kLine / sizeof(R)];
    for (int s = 0; parts == 2 && s < kLine / static_cast<int>(sizeof(R)); s += 2) {
      turned[s] = line[s + 1];
      turned[s + 1] = -line[s];
    }
    for (int v = 0; v < packs; ++v) {
      u[v] = load_pack(line + v * lanes_of<R>);
      if constexpr (parts == 2) w[v] = load_pack(turned + v * lanes_of<R>);
    }
  }
  [[gnu::always_inline]] void update(T* row, T l) const {
    R* const line = reinterpret_cast<R*>(row);
    Vec<R> re = {}, im = {}, both;
    if constexpr (parts == 1) {
      re = both = l - re;
    } else {
      re = l.real() - re;
      im = l.imag() - im;
      for (int s = 0; s < lanes_of<R>; ++s) both[s] = s % 2 ? l.imag() : l.real();
    }
#pragma GCC unroll 4
    for (int v = 0; v < packs; ++v) {
      const Vec<R> old = load_pack(line + v * lanes_of<R>);
      Vec<R> fresh = fma(-re, u[v], old);
      if constexpr (parts == 2) fresh = fma(im, w[v], fresh);
      store_pack(line + v * lanes_of<R>, right[v] ? fresh : here[v] ? both : old);
    }
  }
};

// Factors the n columns (at most a line of kLine bytes) of a panel of m rows, `row` numbers apart and whole lines.
// Returns the first column whose pivot is exactly zero, or −1.
template <class T>
std::int64_t factor_line(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots) {
  using R = typename RealOf<T>::type;
  const std::int64_t steps = m < n ? m : n;
  std::int64_t zero = -1, at = 0;
  R best = -1;
  const auto see = [&](std::int64_t i, std::int64_t j) {
    const R size = size_of_pivot(a + i * row + j);
    if (size > best) {
      best = size;
      at = i;
    }
  };
  for (std::int64_t i = 0; i < m; ++i) see(i, 0);
  for (std::int64_t j = 0; j < steps; ++j) {
    T* const line = a + j * row;
    pivots[j] = at;
    if (at != j) std::swap_ranges(line, line + kLine / sizeof(T), a + at * row);
    const bool none = best == 0;
    if (none && zero < 0) zero = j;
    const Divisor<T> by(none ? T(1) : line[j]);
    const Step<T> step(line, j);
    best = -1;
    at = j + 1;
    if (j + 1 < steps)
      for (std::int64_t i = j + 1; i < m; ++i) {
        step.update(a + i * row, by(a[i * row + j]));
        see(i, j + 1);
      }
    else
      for (std::int64_t i = j + 1; i < m; ++i) step.update(a + i * row, by(a[i * row + j]));
  }
  return zero;
}
