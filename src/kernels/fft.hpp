// The discrete Fourier transform of one length.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "wellposed/dtype.hpp"

namespace wp::kernels {

// X_k = Σ_j x_j e^{∓2πi jk/n}, not scaled; any n ≥ 1. Products of small primes by a mixed-radix Stockham transform,
// others by Bluestein's convolution. Roots of unity are right to about one
// unit of the last digit, so errors are O(u log n) ‖x‖.
class Fourier {
 public:
  explicit Fourier(std::int64_t n);
  std::int64_t length() const noexcept { return n_; }
  // x is replaced by its transform; work has room for work_size() numbers.
  void run(complex128* x, complex128* work, bool inverse) const;
  std::int64_t work_size() const noexcept { return inner_ ? 2 * inner_->n_ : n_; }

 private:
  void forward(complex128* x, complex128* work) const;
  void convolve(complex128* x, complex128* work) const;

  std::int64_t n_;
  std::vector<std::int64_t> factors_;
  std::vector<complex128> roots_;         // e^{−2πi k/n}; of Bluestein e^{−πi k²/n}
  std::unique_ptr<const Fourier> inner_;  // Bluestein: the convolution's length, a power of two
  std::vector<complex128> chirp_;         // and the transform of what is convolved with
};

// The one of this length; each thread keeps the last few.
std::shared_ptr<const Fourier> fourier(std::int64_t n);

}  // namespace wp::kernels
