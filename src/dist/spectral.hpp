// The singular value decomposition of a distributed matrix, and answers from it.
#pragma once
#include <vector>

#include "dist/matrix.hpp"
#include "linalg/ridge.hpp"

namespace wp::dist {

// A = U·diag(sigma)·Vᴴ, thin, by p?gesvd; the matrix is scaled by a power of two before. T: float, double, complex64,
// complex128. Collective.
template <class T>
class Spectral {
 public:
  Spectral(const Matrix& a, bool vectors, const std::vector<std::string>& names = {});
  linalg::Status status() const noexcept { return status_; }
  const std::string& nonfinite() const noexcept { return nonfinite_; }
  const std::vector<double>& sigma() const noexcept { return sigma_; }
  double largest() const noexcept { return sigma_.empty() ? 0 : sigma_[0]; }
  std::int64_t rank(double threshold) const;
  const Matrix& u() const noexcept { return u_; }
  const Matrix& vh() const noexcept { return vh_; }

  // V·diag(filter)·Uᴴ·B, n × columns; without B: that matrix itself, and Vᴴ is used up.
  Matrix apply(const std::vector<double>& filter, const Matrix* b);
  // λ by the rule; without B automatic is √u·σ₁².
  double choose_ridge(const linalg::Ridge& ridge, const Matrix* b) const;

 private:
  std::int64_t m_, n_;
  linalg::Status status_ = linalg::Status::ok;
  std::string nonfinite_;
  std::vector<double> sigma_;
  Matrix u_, vh_;
};

// What singular values say of a matrix, `rank` of them above the threshold: rank, condition, gap and doubt.
void tell_values(const std::vector<double>& sigma, double threshold, std::int64_t rank, linalg::Member& m);
// What a diagnosis says of a matrix whose singular values are known and are compared with the cutoff that the state
// has: as above, and, if there are vectors, columns that depend on each other, by the names in the state.
// Collective.
template <class T>
void keep_spectrum(linalg::Diagnosis::State& state, const Matrix& a, const Spectral<T>& svd, std::int64_t rank);

// The first element of a matrix that is not finite, and how many there are. Collective.
struct NonFinite {
  std::int64_t count = 0;
  Dims element = {};
  std::string value = {};
};
NonFinite find_nonfinite(const Matrix& a);
// The same as a sentence; empty: all are. Collective.
std::string nonfinite_element(const Matrix& a, std::string_view name, const std::vector<std::string>& columns = {});
// e with 2^e·A near 1.
template <class T>
int prescale_exponent(const Matrix& a);

}  // namespace wp::dist
