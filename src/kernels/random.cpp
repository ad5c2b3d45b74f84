#include "kernels/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"
#include "simd/draw_math.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kChunk = 2048;          // elements whose words stay in cache
constexpr std::int64_t kSampleGrain = 4096;    // rejection costs tens of nanoseconds per element
constexpr std::uint64_t kSecond = 1ULL << 32;  // lanes of a second, independent draw for the same element

DType computed_in(simd::Draw which) noexcept {
  using enum simd::Draw;
  return which == bernoulli ? DType::boolean : per_block(which) == 2 ? f64 : f32;
}

// The integer that `word`, the half block of `element`, gives; its successors in the next lanes when it is rejected.
std::uint64_t below(std::uint64_t word, Stream s, std::uint64_t element, std::uint64_t range) {
  for (std::uint64_t lane = 0;;) {
    const auto product = static_cast<unsigned __int128>(word) * range;
    const auto rest = static_cast<std::uint64_t>(product);
    if (rest >= range || rest >= -range % range) [[likely]]  // the division is needed for range in 2^64 words only
      return static_cast<std::uint64_t>(product >> 64);
    const simd::Block again = simd::philox_block(s.key, s.number + element / 2, ++lane);
    word = element % 2 ? again.high() : again.low();
  }
}

}  // namespace

void draw(Stream s, simd::Draw which, const double* p, DType dtype, void* out, std::int64_t n) {
  const simd::DrawLoop loop = simd::draw_loop(which);
  const simd::Philox philox = simd::philox_blocks[static_cast<int>(simd::isa())];
  const DType type = computed_in(which);
  const std::int64_t share = per_block(which);
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint64_t words[kChunk];
    alignas(64) char buffer[kChunk * sizeof(double)];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t m = std::min(kChunk, end - at), blocks = (m + share - 1) / share;
      char* const to = static_cast<char*>(out) + at * static_cast<std::int64_t>(size_of(dtype));
      const bool direct = type == dtype && m % share == 0;
      philox(s.key, s.number + static_cast<std::uint64_t>(at / share), 0, words, blocks);
      loop(words, direct ? to : buffer, blocks * share, p);
      if (!direct) convert(to, dtype, buffer, type, 1, m);
    }
  });
}

void sample(Stream s, simd::Sampler which, const double* p, Finish f, DType dtype, void* out, std::int64_t n) {
  const simd::SampleLoop loop = simd::sample_loop(which);
  parallel_for(n, kSampleGrain, [&](std::int64_t begin, std::int64_t end) {
    double buffer[kSampleGrain];
    const std::int64_t m = end - begin;
    loop(s.key, s.number + static_cast<std::uint64_t>(begin), 0, buffer, m, p);
    for (std::int64_t i = 0; i < m; ++i) buffer[i] = f.add + f.multiply * buffer[i] / f.divide;
    convert(static_cast<char*>(out) + begin * static_cast<std::int64_t>(size_of(dtype)), dtype, buffer, f64, 1, m);
  });
}

GammaPlan gamma_plan(double concentration) {
  const bool boosted = concentration < 1;
  const double d = (boosted ? concentration + 1 : concentration) - 1.0 / 3;
  return {{d, 1 / (3 * std::sqrt(d)), 1 / concentration}, boosted};
}

void sample_beta(Stream s, double a, double b, DType dtype, void* out, std::int64_t n) {
  using enum simd::Sampler;
  const GammaPlan x = gamma_plan(a), y = gamma_plan(b);
  const simd::SampleLoop first = simd::sample_loop(x.boosted ? log_gamma_boosted : log_gamma);
  const simd::SampleLoop second = simd::sample_loop(y.boosted ? log_gamma_boosted : log_gamma);
  const double ratio = simd::draw::log(y.p[0]) - simd::draw::log(x.p[0]);
  parallel_for(n, kSampleGrain, [&](std::int64_t begin, std::int64_t end) {
    double u[kSampleGrain], v[kSampleGrain];
    const std::uint64_t number = s.number + static_cast<std::uint64_t>(begin);
    const std::int64_t m = end - begin;
    first(s.key, number, 0, u, m, x.p);
    second(s.key, number, kSecond, v, m, y.p);
    for (std::int64_t i = 0; i < m; ++i) u[i] = 1 / (1 + simd::draw::exp((v[i] - u[i]) + ratio));
    convert(static_cast<char*>(out) + begin * static_cast<std::int64_t>(size_of(dtype)), dtype, u, f64, 1, m);
  });
}

void draw_integers(Stream s, std::uint64_t low, std::uint64_t range, DType dtype, void* out, std::int64_t n) {
  const simd::Philox philox = simd::philox_blocks[static_cast<int>(simd::isa())];
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint64_t words[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t m = std::min(kChunk, end - at);
      philox(s.key, s.number + static_cast<std::uint64_t>(at / 2), 0, words, (m + 1) / 2);
      for (std::int64_t i = 0; i < m; ++i)
        words[i] = low + (range ? below(words[i], s, static_cast<std::uint64_t>(at + i), range) : words[i]);
      convert(static_cast<char*>(out) + at * static_cast<std::int64_t>(size_of(dtype)), dtype, words, u64, 1, m);
    }
  });
}

namespace {

// P(X > k), k = 0, 1, … until it is below 2^−65; summed from the far end, so that each has full relative precision.
std::vector<double> poisson_survival(double rate) {
  std::vector<double> mass{simd::draw::exp(-rate)};
  for (double k = 1; k <= rate || mass.back() > 0x1p-70; ++k) mass.push_back(mass.back() * (rate / k));
  std::vector<double> survival(mass.size() - 1);
  double sum = 0;
  for (std::size_t k = survival.size(); k-- > 0;) survival[k] = sum += mass[k + 1];
  return survival;
}

}  // namespace

void sample_poisson(Stream s, double rate, DType dtype, void* out, std::int64_t n) {
  if (rate >= 10) {
    const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
    const double whole = std::floor(rate);
    const double p[] = {
        rate, a, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2), whole, rate - whole + 0.43};
    sample(s, simd::Sampler::poisson, p, {}, dtype, out, n);
    return;
  }
  const simd::Philox philox = simd::philox_blocks[static_cast<int>(simd::isa())];
  const std::vector<double> survival = poisson_survival(rate);
  parallel_for(n, kSampleGrain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint64_t words[2 * kSampleGrain];
    const std::int64_t m = end - begin;
    philox(s.key, s.number + static_cast<std::uint64_t>(begin), 0, words, m);
    for (std::int64_t i = 0; i < m; ++i) {
      const double v = simd::draw::open_unit(words[2 * i]);
      std::size_t k = 0;
      while (k < survival.size() && v <= survival[k]) ++k;
      words[i] = k;
    }
    convert(static_cast<char*>(out) + begin * static_cast<std::int64_t>(size_of(dtype)), dtype, words, u64, 1, m);
  });
}

void draw_permutation(Stream s, std::int64_t* out, std::int64_t n) {
  const simd::Philox philox = simd::philox_blocks[static_cast<int>(simd::isa())];
  for (std::int64_t i = 0; i < n; ++i) out[i] = i;
  std::uint64_t words[kChunk];
  for (std::int64_t end = n; end > 0;) {  // from the end, chunk by chunk
    const std::int64_t begin = (end - 1) / kChunk * kChunk;
    philox(s.key, s.number + static_cast<std::uint64_t>(begin / 2), 0, words, (end - begin + 1) / 2);
    for (std::int64_t i = end; i-- > std::max<std::int64_t>(begin, 1);) {
      const auto element = static_cast<std::uint64_t>(i);
      std::swap(out[i], out[below(words[i - begin], s, element, element + 1)]);
    }
    end = begin;
  }
}

}  // namespace wp::kernels
