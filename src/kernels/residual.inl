// Included once per instruction set, which gives product_error(a, b, p) = a·b − p for p = fl(a·b).
// Term j goes to sum j mod kResidualLanes; sums are pairs of a rounded sum and the sum of its errors.

template <bool sized>
[[gnu::always_inline]] inline void add_terms(const double* __restrict a, const double* __restrict x,
                                             std::int64_t count, double* __restrict sum, double* __restrict rest,
                                             double* __restrict size) {
  for (std::int64_t t = 0; t < count; ++t) {
    const double p = a[t] * x[t], e = product_error(a[t], x[t], p);
    const double s = sum[t] + p, z = s - sum[t];  // TwoSum (Knuth)
    rest[t] += ((sum[t] - (s - z)) + (p - z)) + e;
    sum[t] = s;
    if constexpr (sized) size[t] += std::fabs(p);
  }
}

template <bool sized>
void dot_double(std::int64_t n, const double* a, const double* x, Sums& s) {
  double sum[kLanes], rest[kLanes], size[kLanes];
  for (std::int64_t t = 0; t < kLanes; ++t) sum[t] = s.sum[t], rest[t] = s.rest[t], size[t] = s.size[t];
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) add_terms<sized>(a + j, x + j, kLanes, sum, rest, size);
  add_terms<sized>(a + j, x + j, n - j, sum, rest, size);
  for (std::int64_t t = 0; t < kLanes; ++t) s.sum[t] = sum[t], s.rest[t] = rest[t], s.size[t] = size[t];
}

// Products of floats are exact in double.
template <bool sized>
void dot_float(std::int64_t n, const float* a, const double* x, Sums& s) {
  double sum[kLanes], size[kLanes];
  for (std::int64_t t = 0; t < kLanes; ++t) sum[t] = s.sum[t], size[t] = s.size[t];
  std::int64_t j = 0;
  const auto add = [&](std::int64_t count) __attribute__((always_inline)) {
    for (std::int64_t t = 0; t < count; ++t) {
      const double p = static_cast<double>(a[j + t]) * x[j + t];
      sum[t] += p;
      if constexpr (sized) size[t] += std::fabs(p);
    }
  };
  for (; j + kLanes <= n; j += kLanes) add(kLanes);
  add(n - j);
  for (std::int64_t t = 0; t < kLanes; ++t) s.sum[t] = sum[t], s.size[t] = size[t];
}
