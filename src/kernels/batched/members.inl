// Included once per instruction set, after block.inl: members of a stack to lanes and back.

// `size` numbers in a row.
template <class T, int size>
struct Piece {
  typedef T type __attribute__((vector_size(size * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T, int size>
WP_PACK auto piece(const T* p) {
  typedef T Numbers __attribute__((vector_size(size * sizeof(T))));
  return static_cast<Numbers>(*reinterpret_cast<const typename Piece<T, size>::type*>(p));
}
template <class T>
WP_PACK V line(const T* p) {
  return __builtin_convertvector(piece<T, W>(p), V);
}
template <class T>
WP_PACK auto in_type(V v) {
  typedef T Numbers __attribute__((vector_size(W * sizeof(T))));
  return __builtin_convertvector(v, Numbers);
}
template <class T>
WP_PACK void put_line(T* p, V v) {
  *reinterpret_cast<typename Piece<T, W>::type*>(p) = in_type<T>(v);
}

// Where the members of a block begin; lanes beyond the last one hold it again.
template <class T>
struct Members {
  const T* first;
  std::int64_t step;
  int last;
  WP_PACK const T* operator[](int l) const { return first + std::min(l, last) * step; }
};
// Pieces of W/size members: of `own`, own + step, own + 2 step, …, one after the other.
template <int size, class T>
WP_PACK V joined(const Members<T>& from, int e, int own, int step) {
  const auto at = [&](int part) __attribute__((always_inline)) {
    return piece<T, size>(from[own + part * step] + e);
  };
  const auto both = [](auto a, auto b) __attribute__((always_inline)) {
    return [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(a, b, k...);
    }
    (std::make_integer_sequence<int, 2 * sizeof(a) / sizeof(T)>{});
  };
  if constexpr (W == size)
    return __builtin_convertvector(at(0), V);
  else if constexpr (size == 4 && std::is_same_v<T, double>)
    return of_halves(at(0), at(1));
  else if constexpr (W == 2 * size)
    return __builtin_convertvector(both(at(0), at(1)), V);
  else
    return __builtin_convertvector(both(both(at(0), at(1)), both(at(2), at(3))), V);
}
// Number k of a shuffle is number f(k) of two registers.
template <class F>
WP_PACK V shuffled(V a, V b, F) {
  return []<int... k>(V x, V y, std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(x, y, F{}(k)...);
  }
  (a, b, std::make_integer_sequence<int, W>{});
}
// Numbers 0, 2, 4, … of both in turns, and numbers 1, 3, 5, …
WP_PACK V evens(V a, V b) {
  return shuffled(a, b, [](int k) { return k / 2 * 2 + k % 2 * W; });
}
WP_PACK V odds(V a, V b) {
  return shuffled(a, b, [](int k) { return k / 2 * 2 + 1 + k % 2 * W; });
}

// Numbers that go to lanes and back together: as many as half a register holds.
inline constexpr int kQuad = W == 8 ? 4 : 2;
// Two numbers of all members.
template <class T>
WP_PACK void gather_two(const Members<T>& from, int e, V* to) {
  const V a = joined<2>(from, e, 0, 2), b = joined<2>(from, e, 1, 2);
  to[e] = evens(a, b);
  to[e + 1] = odds(a, b);
}
template <class T>
WP_PACK void gather_quad(const Members<T>& from, int e, V* to) {
  if constexpr (kQuad == 2) {
    gather_two(from, e, to);
  } else {
    const V a = joined<4>(from, e, 0, 2), b = joined<4>(from, e, 1, 2), c = joined<4>(from, e, 4, 2),
            d = joined<4>(from, e, 5, 2);
    const auto low = [](int k) { return k / 2 * 4 + k % 2; };
    const auto high = [](int k) { return k / 2 * 4 + k % 2 + 2; };
    const V even = evens(a, b), odd = odds(a, b), even_above = evens(c, d), odd_above = odds(c, d);
    to[e] = shuffled(even, even_above, low);
    to[e + 1] = shuffled(odd, odd_above, low);
    to[e + 2] = shuffled(even, even_above, high);
    to[e + 3] = shuffled(odd, odd_above, high);
  }
}
// Calls quad(e) and two(e) for places that cover `count` ≥ 2 numbers, some of them twice.
template <class Quad, class Two>
WP_PACK void in_pieces(int count, Quad quad, Two two) {
  int e = 0;
  for (; e + kQuad <= count; e += kQuad) quad(e);
  if (e == count) return;
  if (count - e <= 2) return two(count - 2);
  count > kQuad ? quad(count - kQuad) : (two(0), two(count - 2));
}

// `count` numbers that follow each other in every member: to[e] gets number e of all.
template <class T>
WP_PACK void gather(const Members<T>& from, int count, V* to) {
  if (count == 1) {  // in a register: parts that are stored one by one cannot be loaded at once
    to[0] = [&]<int... l>(std::integer_sequence<int, l...>) __attribute__((always_inline)) {
      return V{static_cast<double>(*from[l])...};
    }
    (std::make_integer_sequence<int, W>{});
    return;
  }
  in_pieces(
      count, WP_EACH(e) { gather_quad(from, e, to); }, WP_EACH(e) { gather_two(from, e, to); });
}

// Lines of memory are asked for before their turn: hardware does not see that lanes walk through it side by side.
// Blocks of more bytes would drive each other out of the nearest cache, and their members are long enough to be seen.
inline constexpr std::int64_t kFetched = 8192;
template <bool write>
WP_PACK void fetch(const void* from, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  if (bytes > kFetched) return;
  for (std::int64_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(static_cast<const char*>(from) + at, write, write ? 2 : 3);
}
// `count` numbers of each member that will be written when the block is done.
template <class T>
WP_PACK void fetch_to_write(int count, std::int64_t first, int have, T* to) {
  fetch<true>(to + first * count, static_cast<std::int64_t>(sizeof(T)) * have * count);
}

// The m × n members first … first + have − 1; lanes beyond hold the last one again.
template <class T>
[[gnu::noinline]] void load(int m, int n, Source<T> a, std::int64_t first, int have, V* to) {
  const std::int64_t each = static_cast<std::int64_t>(m) * n;
  if (have == W && a.step == each) {
    constexpr std::int64_t kAhead = 4096 / sizeof(T);
    fetch<false>(a.data + (first - a.first) * each + std::max(kAhead, W * each),
                 W * each * static_cast<std::int64_t>(sizeof(T)));
  }
  Members<T> from{a.data + (first - a.first) * a.step, a.step, have - 1};
  if (a.columns == 1 && a.rows == n) return gather(from, m * n, to);
  for (int i = 0; i < m; ++i) {
    if (a.columns == 1) {
      gather(from, n, to + i * n);
    } else {
      for (int j = 0; j < n; ++j)
#pragma GCC unroll 8
        for (int l = 0; l < W; ++l) to[i * n + j][l] = static_cast<double>(from[l][j * a.columns]);
    }
    from.first += a.rows;
  }
}

// Parts of a register to as many of the first `have` members: part l to member own + l · step.
template <int size, bool all, class T>
WP_PACK void deal(V v, int own, int step, int count, int have, T* to) {
  const auto numbers = in_type<T>(v);
  unrolled<0, W / size>(WP_KNOWN(part) {
    const int member = own + part * step;
    if (!all && member >= have) return;
    auto& place = *reinterpret_cast<typename Piece<T, size>::type*>(to + member * count);
    if constexpr (W == 8 && size == 4 && part == 1 && std::is_same_v<T, double>)
      place = upper_half(numbers);
    else
      place = [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(numbers, numbers, (part * size + k)...);
      }
    (std::make_integer_sequence<int, size>{});
  });
}
template <bool all, class T>
WP_PACK void scatter_two(const V* from, int e, int count, int have, T* to) {
  deal<2, all>(evens(from[e], from[e + 1]), 0, 2, count, have, to + e);
  deal<2, all>(odds(from[e], from[e + 1]), 1, 2, count, have, to + e);
}
template <bool all, class T>
WP_PACK void scatter_quad(const V* from, int e, int count, int have, T* to) {
  if constexpr (kQuad == 2) {
    scatter_two<all>(from, e, count, have, to);
  } else {
    const V even = evens(from[e], from[e + 1]), odd = odds(from[e], from[e + 1]),
            even_above = evens(from[e + 2], from[e + 3]), odd_above = odds(from[e + 2], from[e + 3]);
    const auto low = [](int k) { return k / 4 * 4 + k % 2 + k / 2 % 2 * W; };
    const auto high = [](int k) { return k / 4 * 4 + 2 + k % 2 + k / 2 % 2 * W; };
    deal<4, all>(shuffled(even, even_above, low), 0, 4, count, have, to + e);
    deal<4, all>(shuffled(odd, odd_above, low), 1, 4, count, have, to + e);
    deal<4, all>(shuffled(even, even_above, high), 2, 4, count, have, to + e);
    deal<4, all>(shuffled(odd, odd_above, high), 3, 4, count, have, to + e);
  }
}

// One number of each lane.
template <class T>
WP_PACK void store_one(V v, std::int64_t first, int have, T* to) {
  if (have == W) return put_line(to + first, v);
  for (int l = 0; l < have; ++l) to[first + l] = static_cast<T>(v[l]);
}
// `count` numbers of each of the first `have` lanes, which follow those of member `first` − 1.
template <class T>
[[gnu::noinline]] void store(int count, const V* from, std::int64_t first, int have, T* to) {
  if (count == 1) return store_one(from[0], first, have, to);
  to += first * count;
  if (have == W)
    in_pieces(
        count, WP_EACH(e) { scatter_quad<true>(from, e, count, have, to); },
        WP_EACH(e) { scatter_two<true>(from, e, count, have, to); });
  else
    in_pieces(
        count, WP_EACH(e) { scatter_quad<false>(from, e, count, have, to); },
        WP_EACH(e) { scatter_two<false>(from, e, count, have, to); });
}
