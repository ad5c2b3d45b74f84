// Included once per instruction set.

// The largest element, NaN first; n ≥ 1.
template <class T>
[[gnu::always_inline]] inline T line_max(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = 128 / sizeof(T);
  T m[lanes];
  for (std::int64_t k = 0; k < lanes; ++k) m[k] = x[k < n ? k : 0];
  std::int64_t i = lanes;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) m[k] = larger(m[k], x[i + k]);
  for (std::int64_t k = 0; i < n; ++i, ++k) m[k] = larger(m[k], x[i]);
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k) m[k] = larger(m[k], m[k + width]);
  return m[0];
}

template <class T>
[[gnu::always_inline]] inline double line_sum(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = 128 / sizeof(T);
  double total = 0;
  for (std::int64_t i = 0; i < n;) {
    T part[lanes];
    for (std::int64_t k = 0; k < lanes; ++k) part[k] = i + k < n ? x[i + k] : T(0);
    const std::int64_t end = i + kChain * lanes < n ? i + kChain * lanes : n;
    for (i += lanes; i + lanes <= end; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) part[k] += x[i + k];
    if (end == n)
      for (std::int64_t k = 0; i < n; ++i, ++k) part[k] += x[i];
    for (std::int64_t width = lanes / 2; width > 0; width /= 2)
      for (std::int64_t k = 0; k < width; ++k) part[k] += part[k + width];
    total += static_cast<double>(part[0]);
  }
  return total;
}

// Σ exp(x − m) − 1 from e = exp(x − m): the first largest element, whose part is 1, is left out. That keeps the
// digits of a sum that is hardly more than 1.
template <class T>
[[gnu::always_inline]] inline double excess(const T* x, T m, T* e, std::int64_t n) {
  std::int64_t at = 0;
  while (at < n && !(x[at] == m)) ++at;
  if (at < n) e[at] = 0;
  return line_sum(e, n);
}

// Three passes over lines in cache: the maximum; x − m and exp; the division. Short lines share the call of exp.
template <class T>
void softmax_lines(const T* x, T* y, std::int64_t count, std::int64_t n) {
  const std::int64_t group = n >= kGroup ? 1 : kGroup / n;
  for (std::int64_t from = 0; from < count; from += group) {
    const std::int64_t to = from + group < count ? from + group : count;
    for (std::int64_t k = from; k < to; ++k) {
      const T* __restrict a = x + k * n;
      T* __restrict b = y + k * n;
      const T m = line_max(a, n);
      for (std::int64_t i = 0; i < n; ++i) b[i] = a[i] - m;
    }
    exp_of(y + from * n, y + from * n, (to - from) * n);
    for (std::int64_t k = from; k < to; ++k) {
      T* const b = y + k * n;
      const T sum = static_cast<T>(line_sum(b, n));
      for (std::int64_t i = 0; i < n; ++i) b[i] /= sum;
    }
  }
}

template <class T>
void log_softmax_lines(const T* x, T* y, std::int64_t count, std::int64_t n) {
  const std::int64_t group = n >= kGroup ? 1 : kGroup / n;
  T largest[kGroup];
  for (std::int64_t from = 0; from < count; from += group, x += group * n, y += group * n) {
    const std::int64_t lines = from + group < count ? group : count - from;
    for (std::int64_t k = 0; k < lines; ++k) {
      const T m = largest[k] = line_max(x + k * n, n);
      for (std::int64_t i = k * n; i < (k + 1) * n; ++i) y[i] = x[i] - m;
    }
    exp_of(y, y, lines * n);
    for (std::int64_t k = 0; k < lines; ++k) {
      const T *const a = x + k * n, m = largest[k];
      T* const b = y + k * n;
      const double sum = std::isfinite(m) ? excess(a, m, b, n) : std::numeric_limits<double>::quiet_NaN();
      const T log_sum = static_cast<T>(std::log1p(sum));
      for (std::int64_t i = 0; i < n; ++i) b[i] = (a[i] - m) - log_sum;
    }
  }
}

template <class T>
void log_softmax_back_lines(const T* y, const T* g, T* out, std::int64_t count, std::int64_t n) {
  const std::int64_t group = kGroup / n;
  T e[kGroup], less[kGroup];  // e^y, e^y − 1
  for (std::int64_t from = 0; from < count; from += group, y += group * n, g += group * n, out += group * n) {
    const std::int64_t lines = from + group < count ? group : count - from;
    exp_of(y, e, lines * n);
    expm1_of(y, less, lines * n);
    for (std::int64_t k = 0; k < lines; ++k) {
      const T sum = static_cast<T>(line_sum(g + k * n, n));
      for (std::int64_t i = k * n; i < (k + 1) * n; ++i) out[i] = -(g[i] * less[i] + e[i] * (sum - g[i]));
    }
  }
}

template <class T>
void log_sum_block(const void* data, std::int64_t n, void* state) {
  const T* const x = static_cast<const T*>(data);
  T e[kReduceBlock];
  const T m = line_max(x, n);
  for (std::int64_t i = 0; i < n; ++i) e[i] = x[i] - m;
  exp_of(e, e, n);
  *static_cast<LogSum*>(state) = {static_cast<double>(m), excess(x, m, e, n)};
}

template <class T>
void log_sum_columns(const void* data, std::int64_t stride, std::int64_t rows, std::int64_t w, void* states) {
  const T* const x = static_cast<const T*>(data);
  T m[kColumnWidth], e[kColumnWidth], largest[kColumnWidth];  // largest: 1 until it was left out
  double s[kColumnWidth];
  for (std::int64_t k = 0; k < w; ++k) {
    m[k] = x[k];
    largest[k] = 1;
    s[k] = 0;
  }
  for (std::int64_t i = 1; i < rows; ++i)
    for (std::int64_t k = 0; k < w; ++k) m[k] = larger(m[k], x[i * stride + k]);
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* const row = x + i * stride;
    for (std::int64_t k = 0; k < w; ++k) e[k] = row[k] - m[k];
    exp_of(e, e, w);
    for (std::int64_t k = 0; k < w; ++k) {
      const T out = row[k] == m[k] ? largest[k] : T(0);
      largest[k] -= out;
      s[k] += static_cast<double>(e[k] - out);
    }
  }
  for (std::int64_t k = 0; k < w; ++k) static_cast<LogSum*>(states)[k] = {static_cast<double>(m[k]), s[k]};
}
