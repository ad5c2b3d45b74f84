#include "kernels/modular.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/dependency.hpp"
#include "kernels/each_float.hpp"
#include "kernels/echelon.hpp"

namespace wp::kernels {
namespace {

constexpr int kPrimes = 3;

// Three of 64 random primes, by a number that depends on a matrix: to find one takes longer than to eliminate a small
// matrix modulo it. The fields stay for good.
class Drawn {
 public:
  explicit Drawn(Word seed) : next_(seed) {}
  const PrimeField& next() {
    static const auto* const all = [] {
      auto* const fields = new std::vector<PrimeField>;
      Primes draw(0x6a09e667f3bcc908);
      for (Word k = 0; k < kAll; ++k) fields->emplace_back(draw.next());
      return fields;
    }();
    const Word here = next_ % kAll;
    next_ = next_ / kAll * kAll + (here + 1 + next_ / kAll % 21) % kAll;  // steps up to 21: three are different ones
    return (*all)[here];
  }

 private:
  static constexpr Word kAll = 64;
  Word next_;
};

// A number that depends on the shape and every bit of the elements; none with NaN or Inf.
template <class T>
std::optional<Word> seed(std::int64_t m, std::int64_t n, View<T> a) {
  Word h = static_cast<Word>(m) * 0x9e3779b97f4a7c15 + static_cast<Word>(n);
  const auto mix = [&h](double v) {
    h = (h ^ std::bit_cast<Word>(v)) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
    return std::isfinite(v);
  };
  bool finite = true;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a.data[i * a.rows + j * a.columns];
      finite &= mix(real_part(v));
      if constexpr (RealOf<T>::parts == 2) finite &= mix(imaginary_part(v));
    }
  if (!finite) return std::nullopt;
  return h;
}

template <class T>
std::int64_t rank_modulo(const PrimeField& field, std::int64_t m, std::int64_t n, View<T> a, bool all) {
  Echelon<RealOf<T>::parts> echelon(field, m, n);
  echelon.fill([&](std::int64_t i, std::int64_t j) {
    const T v = a.data[i * a.rows + j * a.columns];
    return Gaussian{field.of(real_part(v)), RealOf<T>::parts == 2 ? field.of(imaginary_part(v)) : 0};
  });
  return echelon.run(all);
}

// Whether det A ≡ 0, for few rows: a_ij a_kk − a_ik a_kj needs no inverse, which takes as long as 90 products.
constexpr std::int64_t kFewRows = 16;
template <class T>
bool vanishes_modulo(const PrimeField& f, std::int64_t n, View<T> a) {
  Word m[kFewRows][kFewRows];
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) m[i][j] = f.of(real_part(a.data[i * a.rows + j * a.columns]));
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    while (pivot < n && m[pivot][k] == 0) ++pivot;
    if (pivot == n) return true;
    std::swap_ranges(m[k] + k, m[k] + n, m[pivot] + k);
    for (std::int64_t i = pivot + 1; i < n; ++i) {  // those above have a zero
      const Word by = f.negative(m[i][k]);
      for (std::int64_t j = k + 1; j < n; ++j)
        m[i][j] = f.reduced(TwoWords{m[i][j]} * m[k][k] + TwoWords{by} * m[k][j]);
    }
  }
  return false;
}

template <class T>
bool singular_modulo(int primes, std::int64_t n, View<T> a, Word start) {
  Drawn draw(start);
  const bool few = RealOf<T>::parts == 1 && n <= kFewRows;
  for (int k = 0; k < primes; ++k) {
    const PrimeField& field = draw.next();
    if (few ? !vanishes_modulo(field, n, a) : rank_modulo(field, n, n, a, true) == n) return false;
  }
  return true;
}

}  // namespace

template <class T>
bool proved_nonsingular(std::int64_t n, View<T> a) {
  const std::optional<Word> start = seed(n, n, a);
  return start && !singular_modulo(1, n, a, *start);
}

template <class T>
bool exactly_singular(std::int64_t n, View<T> a) {
  const std::optional<Word> start = seed(n, n, a);
  return start && singular_modulo(kPrimes, n, a, *start);
}

template <class T>
std::int64_t exact_rank(std::int64_t m, std::int64_t n, View<T> a) {
  const std::optional<Word> start = seed(m, n, a);
  if (!start) return -1;
  Drawn draw(*start);
  std::int64_t rank = 0;
  for (int k = 0; k < kPrimes && rank < std::min(m, n); ++k)
    rank = std::max(rank, rank_modulo(draw.next(), m, n, a, false));
  return rank;
}

template <class T>
std::optional<Dependency> exact_dependency(std::int64_t m, std::int64_t n, View<T> a) {
  const std::optional<Word> start = seed(m, n, a);
  if (!start) return std::nullopt;
  return DependencySearch<T>(m, n, a, *start).run();
}

double Ratio::value() const {
  return std::ldexp(static_cast<double>(numerator) / static_cast<double>(denominator), exponent);
}

#define WP_INSTANTIATE(T)                                                \
  template bool proved_nonsingular(std::int64_t, View<T>);               \
  template bool exactly_singular(std::int64_t, View<T>);                 \
  template std::int64_t exact_rank(std::int64_t, std::int64_t, View<T>); \
  template std::optional<Dependency> exact_dependency(std::int64_t, std::int64_t, View<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
