#include "kernels/lines.inl"

// The sum of the numbers of a pack, by halves.
template <class R>
[[gnu::always_inline]] inline R sum_of(Vec<R> v) {
  for (int half = lanes_of<R> / 2; half > 0; half /= 2)
    for (int s = 0; s < half; ++s) v[s] += v[s + half];
  return v[0];
}
