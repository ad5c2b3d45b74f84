// Answers from the factors of a system: solutions, inverses, determinants.
#include <algorithm>
#include <cmath>

#include "kernels/cholesky.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lu.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"
#include "kernels/triangular.hpp"
#include "linalg/comparison.hpp"
#include "linalg/refine.hpp"
#include "linalg/structural_zeros.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

// Improves X, the solution of S X = B (or Sᴴ X = B) with the scaled matrix S, and says how good it is.
template <class T>
void System<T>::improve(std::int64_t columns, bool cheap, bool adjoint, kernels::View<T> b, kernels::MutableView<T> x,
                        Verdict& v) const {
  const std::vector<int>& weights = adjoint ? rows_ : columns_;
  double worse = amplification<T>(n_, columns, x, weights);
  StructuralZeros zeros;
  std::vector<double> shares;
  if (!weights.empty() && n_ <= kRescaled && !(expected_error<T>(verdict_) * worse <= kGoodEnough) && !zero_pivot_) {
    zeros = StructuralZeros(n_, columns, adjoint ? a_.transposed() : a_, b);
    zeros.clear(x);
    shares = zeros.shares(n_, columns, weights);
    worse = amplification<T>(n_, columns, x, weights, shares);
  }
  if (!above_underflow<T>(n_, verdict_.rcond, worse)) return conclude<T>(v, 1, options_.min_digits);
  const bool pays = refinement_pays<T>(options_, cheap, verdict_, worse);
  if (!pays && worse > 1) conclude<T>(v, std::min(1.0, expected_error<T>(verdict_) * worse), options_.min_digits);
  const bool doubtful = verdict_.method == Method::substitution && verdict_.rcond < threshold;
  if (zero_pivot_ || !(pays || doubtful)) return;
  const bool as_is = rows_.empty() && !adjoint;
  kernels::Buffer<T> scaled(as_is ? 1 : n_ * n_);
  if (!rows_.empty()) {
    kernels::scale<T, T>(n_, n_, adjoint ? a_.transposed() : a_, adjoint ? columns_.data() : rows_.data(),
                         adjoint ? rows_.data() : columns_.data(), scaled.data());
  } else if (adjoint) {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) scaled.data()[i * n_ + j] = a_.data[j * a_.rows + i * a_.columns];
  }
  if (adjoint)
    std::transform(scaled.data(), scaled.data() + n_ * n_, scaled.data(), [](T entry) { return conjugate(entry); });
  const kernels::View<T> s = as_is ? a_ : kernels::View<T>{scaled.data(), n_, 1};
  if (pays) {
    const Refined refined = refine<T>(
        n_, columns, x, weights, shares, expected_error<T>(verdict_),
        [&](T* r, Real* sizes) { kernels::residual<T>(n_, n_, columns, s, x, {}, b, r, sizes); },
        [&](kernels::MutableView<T> r) {
          substitute(columns, r, adjoint);
          zeros.clear(r);
        });
    v.backward_error = refined.backward_error;
    conclude<T>(v, refined.error, options_.min_digits);
  }
  if (doubtful) {
    const bool upper = (verdict_.structure == Structure::upper) != adjoint;
    take_proved_error<T>(v, triangular_error<T>(upper, n_, columns, s, b, x, weights), options_.min_digits);
  }
}

// Between the frames: substitutes in X, which holds B, improves it and says how good it is.
template <class T>
template <class Substitute>
Verdict System<T>::answer(std::int64_t columns, kernels::MutableView<T> x, bool adjoint,
                          const Substitute& substituted) const {
  Frame<T> frame(n_, columns, adjoint ? columns_ : rows_, adjoint ? rows_ : columns_);
  frame.enter(x);
  kernels::Buffer<T> b(n_ * columns);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) b.data()[i * columns + j] = x.data[i * x.rows + j * x.columns];
  substituted();
  Verdict v = verdict_;
  improve(columns, few(n_, columns), adjoint, {b.data(), columns, 1}, x, v);
  frame.leave(x);
  return v;
}

template <class T>
Verdict System<T>::solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const {
  if (!factored() || n_ == 0 || columns == 0) return verdict_;
  if (banded_) return banded_->solve(columns, x, adjoint);
  return answer(columns, x, adjoint, [&] { substitute_right_sides(columns, x, adjoint); });
}

template <class T>
Verdict System<T>::first_solve(std::int64_t columns, kernels::MutableView<T> x) {
  if (banded_ || !factored()) return solve(columns, x);
  if (n_ == 0 || columns == 0) {
    solve_and_estimate(0, x);
    scale_again();
    return verdict_;
  }
  kernels::Buffer<T> b(n_ * columns);
  const auto each = [&](auto&& f) {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < columns; ++j) f(b.data()[i * columns + j], x.data[i * x.rows + j * x.columns]);
  };
  each([](T& kept, const T& given) { kept = given; });
  const Verdict first = answer(columns, x, false, [&] { solve_and_estimate(columns, x); });
  const bool all_digits = first.status == Status::ok && first.forward_error <= 2 * u;
  if (all_digits || !scale_again()) return first;
  each([](const T& kept, T& given) { given = kept; });
  return solve(columns, x);
}

template <class T>
Verdict System<T>::inverse(T* x, std::int64_t row) const {
  Verdict v = verdict_;
  if (!factored() || n_ == 0) return v;
  const auto identity = [&] {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) x[i * row + j] = T(i == j ? 1 : 0);
  };
  const kernels::View<T> m{factors_.data(), n_, 1};
  if (banded_) {
    identity();
    return solve(n_, {x, row, 1});
  }
  if (verdict_.method == Method::lu) {
    kernels::lu_inverse<T>(n_, m, pivots_.data(), x, row);
  } else if (verdict_.method == Method::cholesky) {
    kernels::cholesky_inverse<T>(n_, m, x, row);
  } else if (verdict_.method == Method::qr || verdict_.method == Method::ldl) {
    identity();
    substitute(n_, {x, row, 1}, false);
  } else {
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(m.data + i * n_, n_, x + i * row);
    kernels::invert_triangular<T>({.upper = verdict_.structure == Structure::upper, .unit = false}, n_, {x, row, 1});
  }
  const bool cheap = n_ <= kSmallInverse;
  if (refinement_pays<T>(options_, cheap, verdict_) || verdict_.rcond < threshold || !columns_.empty()) {
    kernels::Buffer<T> right(n_ * n_);
    std::fill_n(right.data(), n_ * n_, T(0));
    for (std::int64_t i = 0; i < n_; ++i) right.data()[i * n_ + i] = T(1);
    improve(n_, cheap, false, {right.data(), n_, 1}, {x, row, 1}, v);
  }
  if (!rows_.empty())  // A⁻¹ = C S⁻¹ R
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j)
        x[i * row + j] =
            times_power(x[i * row + j], columns_[static_cast<std::size_t>(i)] + rows_[static_cast<std::size_t>(j)]);
  return v;
}

template <class T>
typename System<T>::Scaled System<T>::determinant() const {
  Scaled d{1, 0};
  const auto times = [&](std::complex<long double> v) {
    d.mantissa *= v;
    int e = 0;
    std::frexp(std::max(std::fabs(d.mantissa.real()), std::fabs(d.mantissa.imag())), &e);
    d.mantissa = {std::ldexp(d.mantissa.real(), -e), std::ldexp(d.mantissa.imag(), -e)};
    d.exponent += d.mantissa == 0.0L ? 0 : e;
  };
  if (indefinite_) indefinite_->factors_of_determinant(times);
  for (std::int64_t i = 0; i < n_ && banded_; ++i) {
    times(std::complex<double>(banded_->pivot(i)));
    if (banded_->exchanged(i)) d.mantissa = -d.mantissa;
    d.exponent -= banded_->exponent(i);
  }
  for (std::int64_t i = 0; i < n_ && !banded_; ++i) {
    if (!indefinite_) times(std::complex<double>(factors_.data()[i * n_ + i]));
    if (verdict_.method == Method::cholesky) times(std::complex<double>(factors_.data()[i * n_ + i]));
    if (verdict_.method == Method::qr)  // a reflector's determinant is −τ/τ̄: |1 − τ vᴴv| = 1
      if (const std::complex<double> tau(reflectors_[static_cast<std::size_t>(i)]); tau != 0.0)
        times(-tau / std::conj(tau));
    if (verdict_.method == Method::lu && pivots_[static_cast<std::size_t>(i)] != i) d.mantissa = -d.mantissa;
    if (!rows_.empty()) d.exponent -= rows_[static_cast<std::size_t>(i)] + columns_[static_cast<std::size_t>(i)];
  }
  return d;
}

#define WP_INSTANTIATE(T)                                                               \
  template Verdict System<T>::solve(std::int64_t, kernels::MutableView<T>, bool) const; \
  template Verdict System<T>::first_solve(std::int64_t, kernels::MutableView<T>);       \
  template Verdict System<T>::inverse(T*, std::int64_t) const;                          \
  template System<T>::Scaled System<T>::determinant() const;
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
