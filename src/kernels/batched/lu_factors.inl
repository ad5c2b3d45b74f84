#include "kernels/batched/lu.inl"

// The rows' order, L (m × k), U (k × n) and its largest element. Where are all of them numbers, and A too?
template <class R, class S>
[[gnu::noinline]] M factor_lanes(R m, S n, V* a, V* order, V* l, V* u, V& largest) {
  const int rank = std::min<int>(m, n);
  V top = V{}, down = V{} + 1.0, all = V{};
  for (int e = 0; e < m * n; ++e) top = larger(magnitude(a[e]), top);
  const bool moved = brought_near(m * n, top, a, down);
  Elimination<R> e;
  eliminate(m, n, a, e);
  for (int i = 0; i < m; ++i) order[i] = __builtin_convertvector(e.order[i], V);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < rank; ++j) {
      V& to = l[i * rank + j];
      to = j < i ? a[i * n + j] : V{} + (i == j ? 1.0 : 0.0);
      all += to;
    }
  largest = moved ? e.largest / down : e.largest;
  for (int i = 0; i < rank; ++i)
    for (int j = 0; j < n; ++j) {
      V& to = u[i * n + j];
      to = j < i ? V{} : j == i ? e.diagonal[i] : a[i * n + j];
      all += to;
      if (moved) to /= down;
    }
  return moderate(top) & (0.0 * all == 0.0);
}

template <class T>
void lu(int m, int n, Source<T> a, Range range, std::int64_t* p, T* l, T* u, Marks marks) {
  const int rank = std::min(m, n);
  Registers room(3 * m * n + m);
  V *const matrix = room.take(m * n), *const left = room.take(m * rank), *const right = room.take(rank * n),
           *const order = room.take(m);
  const auto run = [&](auto rows, auto columns) __attribute__((always_inline)) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(m, n, a, first, have, matrix);
      V largest;
      const M good = factor_lanes(rows, columns, matrix, order, left, right, largest);
      store<std::int64_t>(m, order, first, have, p);
      store<T>(m * rank, left, first, have, l);
      store<T>(rank * n, right, first, have, u);
      mark(good & in_range<T>(largest), first, have, marks.redo);
    });
  };
  if (m == n)
    with_size(n, [&](auto size) { run(size, size); });
  else
    run(Sized{m}, Sized{n});
}
