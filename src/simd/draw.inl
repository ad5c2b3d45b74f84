// Included once per instruction set.

template <class T, int bits>
void uniform(const std::uint64_t* words, void* out, std::int64_t n, const double* p) {
  const auto* const w = reinterpret_cast<const draw::Word<T>*>(words);
  T* const r = static_cast<T*>(out);
  const T low = static_cast<T>(p[0]), width = static_cast<T>(p[1]), most = static_cast<T>(p[2]);
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = low + width * draw::unit<bits>(w[i]);
    r[i] = v < most ? v : most;
  }
}

template <class T>
void normal(const std::uint64_t* words, void* out, std::int64_t n, const double* p) {
  const auto* const w = reinterpret_cast<const draw::Word<T>*>(words);
  T* const __restrict r = static_cast<T*>(out);
  const T mean = static_cast<T>(p[0]), deviation = static_cast<T>(p[1]);
  for (std::int64_t i = 0; i < n; i += 2) {
    const draw::Turn<T> z = draw::normal_pair<T>(w[i], w[i + 1]);
    r[i] = mean + deviation * z.cos;
    r[i + 1] = mean + deviation * z.sin;
  }
}

template <class T>
void exponential(const std::uint64_t* words, void* out, std::int64_t n, const double* p) {
  const auto* const w = reinterpret_cast<const draw::Word<T>*>(words);
  T* const r = static_cast<T*>(out);
  const T rate = static_cast<T>(p[0]);
  for (std::int64_t i = 0; i < n; ++i) r[i] = -draw::log(draw::open_unit(w[i])) / rate;
}

inline void bernoulli(const std::uint64_t* words, void* out, std::int64_t n, const double* p) {
  auto* const r = static_cast<std::uint8_t*>(out);
  const auto threshold = static_cast<std::uint64_t>(p[0]);
  for (std::int64_t i = 0; i < n; ++i) r[i] = words[i] < threshold ? 1 : 0;
}

template <class S>
double again(std::uint64_t key, std::uint64_t number, std::uint64_t lane, const double* p) {
  for (;;) {
    lane += S::blocks;
    std::uint64_t w[4] = {};
    for (unsigned b = 0; b < S::blocks; ++b) {
      const Block block = philox_block(key, number, lane + b);
      w[2 * b] = block.low();
      w[2 * b + 1] = block.high();
    }
    const draw::Attempt a = S::attempt(w, p);
    if (a.accepted) return a.value;
  }
}

template <class S>
void sample(std::uint64_t key, std::uint64_t number, std::uint64_t lane, double* out, std::int64_t n,
            const double* p) {
  constexpr std::int64_t chunk = 256;
  std::uint64_t words[2][2 * chunk], accepted[chunk];
  const Philox blocks = philox_blocks[static_cast<int>(isa())];
  for (std::int64_t at = 0; at < n; at += chunk) {
    const std::int64_t m = n - at < chunk ? n - at : chunk;
    const std::uint64_t first = number + static_cast<std::uint64_t>(at);
    for (unsigned b = 0; b < S::blocks; ++b) blocks(key, first, lane + b, words[b], m);
    double* const __restrict r = out + at;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::uint64_t w[4] = {words[0][2 * i], words[0][2 * i + 1], S::blocks > 1 ? words[1][2 * i] : 0,
                                  S::blocks > 1 ? words[1][2 * i + 1] : 0};
      const draw::Attempt a = S::attempt(w, p);
      r[i] = a.value;
      accepted[i] = a.accepted;
    }
    for (std::int64_t i = 0; i < m; ++i)
      if (!accepted[i]) r[i] = again<S>(key, first + static_cast<std::uint64_t>(i), lane, p);
  }
}

inline void cumulate(const double* x, double shift, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = draw::exp(x[i] - shift);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) out[i] = sum += out[i];
}

constexpr DrawLoop draws[] = {uniform<float, 8>,   uniform<float, 11>,  uniform<float, 24>,
                              uniform<double, 53>, normal<float>,       normal<double>,
                              exponential<float>,  exponential<double>, bernoulli};
constexpr SampleLoop samplers[] = {sample<draw::Gamma<false, false>>, sample<draw::Gamma<true, false>>,
                                   sample<draw::Gamma<false, true>>,  sample<draw::Gamma<true, true>>,
                                   sample<draw::NormalBetween>,       sample<draw::UniformBetween>,
                                   sample<draw::ExponentialBeyond>,   sample<draw::Poisson>};
