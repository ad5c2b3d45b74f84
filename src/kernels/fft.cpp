#include "kernels/fft.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>

namespace wp::kernels {
namespace {

constexpr std::int64_t kLargestFactor = 61;  // beyond it a convolution is cheaper than n·p products

// e^{−2πi k/n}. The angle is brought below π/4 in integers, so that sin and cos see it with one rounding.
complex128 root(std::int64_t k, std::int64_t n) {
  __extension__ using Wide = __int128;
  const std::int64_t octant = static_cast<std::int64_t>(Wide(8) * k / n);
  // The distance to the nearest multiple of a quarter, in units of 1/(4n) of a turn times 4.
  const std::int64_t quarters = (octant + 1) / 2;
  const auto rest = static_cast<double>(static_cast<std::int64_t>(Wide(4) * k - Wide(quarters) * n));
  const double angle = std::numbers::pi / 2 * (rest / static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarters % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

// Without the special cases of Annex G, which the loops would not vectorise with.
inline complex128 times(complex128 a, complex128 b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline complex128 turned(complex128 a) {  // −i a
  return {a.imag(), -a.real()};
}

// One pass of a stage: sequences of length n = p·m, interleaved with distance s; y gets p times as many of length m.
struct Stage {
  const complex128* x;
  complex128* y;
  std::int64_t m, s;
  const complex128* roots;
  std::int64_t step, count;  // roots[step · q] = e^{−2πi q/n}; count of them in all
};

void radix2(const Stage& t) {
  for (std::int64_t q = 0; q < t.m; ++q) {
    const complex128 w = t.roots[t.step * q];
    const complex128 *a = t.x + t.s * q, *b = a + t.s * t.m;
    complex128* y = t.y + t.s * 2 * q;
    for (std::int64_t k = 0; k < t.s; ++k) {
      y[k] = a[k] + b[k];
      y[t.s + k] = times(a[k] - b[k], w);
    }
  }
}

void radix4(const Stage& t) {
  const std::int64_t far = t.s * t.m;
  for (std::int64_t q = 0; q < t.m; ++q) {
    const complex128 w1 = t.roots[t.step * q], w2 = t.roots[t.step * 2 * q], w3 = t.roots[t.step * 3 * q];
    const complex128* a = t.x + t.s * q;
    complex128* y = t.y + t.s * 4 * q;
    for (std::int64_t k = 0; k < t.s; ++k) {
      const complex128 even = a[k] + a[2 * far + k], odd = a[k] - a[2 * far + k];
      const complex128 sum = a[far + k] + a[3 * far + k], side = turned(a[far + k] - a[3 * far + k]);
      y[k] = even + sum;
      y[t.s + k] = times(odd + side, w1);
      y[2 * t.s + k] = times(even - sum, w2);
      y[3 * t.s + k] = times(odd - side, w3);
    }
  }
}

void radix(const Stage& t, std::int64_t p) {
  const std::int64_t turn = t.count / p;
  std::vector<complex128> turns(static_cast<std::size_t>(p * p));  // e^{−2πi jr/p}
  for (std::int64_t r = 0; r < p; ++r)
    for (std::int64_t j = 0; j < p; ++j) turns[static_cast<std::size_t>(r * p + j)] = t.roots[j * r % p * turn];
  for (std::int64_t q = 0; q < t.m; ++q)
    for (std::int64_t r = 0; r < p; ++r) {
      const complex128 w = t.roots[t.step * q * r];
      const complex128* const by = turns.data() + r * p;
      complex128* y = t.y + t.s * (p * q + r);
      for (std::int64_t k = 0; k < t.s; ++k) {
        const complex128* a = t.x + t.s * q + k;
        complex128 sum = a[0];
        for (std::int64_t j = 1; j < p; ++j) sum += times(a[t.s * t.m * j], by[j]);
        y[k] = times(sum, w);
      }
    }
}

std::vector<std::int64_t> factors_of(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) out.push_back(p);
  if (n > 1) out.push_back(n);
  return out;
}

std::int64_t power_of_two_from(std::int64_t n) {
  std::int64_t m = 1;
  while (m < n) m *= 2;
  return m;
}

}  // namespace

Fourier::Fourier(std::int64_t n) : n_(n), factors_(factors_of(n)), roots_(static_cast<std::size_t>(n)) {
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  if (factors_.empty() || *std::max_element(factors_.begin(), factors_.end()) <= kLargestFactor) {
    for (std::int64_t k = 0; k < n; ++k) roots_[at(k)] = root(k, n);
    return;
  }
  // jk = (j² + k² − (k − j)²)/2: X_k = w_k Σ_j (x_j w_j) conj(w_{k−j}) with w_k = e^{−πi k²/n} (Bluestein 1970).
  for (std::int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k)
    roots_[at(k)] = root(square, 2 * n);
  inner_ = std::make_unique<const Fourier>(power_of_two_from(2 * n - 1));
  const std::int64_t m = inner_->n_;
  chirp_.resize(at(m));
  chirp_[0] = std::conj(roots_[0]);
  for (std::int64_t k = 1; k < n; ++k) chirp_[at(k)] = chirp_[at(m - k)] = std::conj(roots_[at(k)]);
  std::vector<complex128> work(at(m));
  inner_->forward(chirp_.data(), work.data());
}

void Fourier::forward(complex128* x, complex128* work) const {
  if (inner_) return convolve(x, work);
  complex128 *from = x, *to = work;
  std::int64_t n = n_, s = 1;
  for (const std::int64_t p : factors_) {
    const Stage stage{from, to, n / p, s, roots_.data(), n_ / n, n_};
    if (p == 2)
      radix2(stage);
    else if (p == 4)
      radix4(stage);
    else
      radix(stage, p);
    n /= p;
    s *= p;
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + n_, x);
}

void Fourier::convolve(complex128* x, complex128* work) const {
  const std::int64_t m = inner_->n_;
  complex128 *a = work, *more = work + m;
  for (std::int64_t k = 0; k < n_; ++k) a[k] = times(x[k], roots_[static_cast<std::size_t>(k)]);
  std::fill(a + n_, a + m, complex128());
  inner_->forward(a, more);
  // The way back: conj of the transform of the conj.
  for (std::int64_t k = 0; k < m; ++k) a[k] = std::conj(times(a[k], chirp_[static_cast<std::size_t>(k)]));
  inner_->forward(a, more);
  const double scale = 1 / static_cast<double>(m);
  for (std::int64_t k = 0; k < n_; ++k) x[k] = times(std::conj(a[k]) * scale, roots_[static_cast<std::size_t>(k)]);
}

void Fourier::run(complex128* x, complex128* work, bool inverse) const {
  // Real and imaginary parts change places before and after: e^{+iφ} instead of e^{−iφ}.
  const auto exchange = [&] {
    for (std::int64_t k = 0; k < n_; ++k) x[k] = {x[k].imag(), x[k].real()};
  };
  if (inverse) exchange();
  forward(x, work);
  if (inverse) exchange();
}

std::shared_ptr<const Fourier> fourier(std::int64_t n) {
  constexpr std::size_t kKept = 8;
  constexpr std::int64_t kLargest = 1 << 16;
  thread_local std::deque<std::shared_ptr<const Fourier>> kept;
  for (const auto& f : kept)
    if (f->length() == n) return f;
  auto made = std::make_shared<const Fourier>(n);
  if (n > kLargest) return made;
  if (kept.size() == kKept) kept.pop_back();
  kept.push_front(made);
  return made;
}

}  // namespace wp::kernels
