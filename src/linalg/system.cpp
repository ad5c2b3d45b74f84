#include "linalg/system.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cholesky.hpp"
#include "kernels/few.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"
#include "kernels/triangular.hpp"
#include "linalg/comparison.hpp"
#include "linalg/refine.hpp"

namespace wp::linalg {
namespace {

constexpr double kGrowth = 1e6;            // of pivots, beyond which LU gives way to QR
constexpr std::int64_t kLapack = 1 << 24;  // rows beyond which LAPACK's 32-bit workspaces are not asked

template <class T>
std::unique_ptr<Banded<T>> band_of(std::int64_t n, kernels::View<T> a, const Options& options) {
  if (options.assume != Assume::detect || options.shift != 0) return nullptr;
  const Band band = narrow_band<T>(n, a);
  if (!is_narrow(n, band) || band.below == 0 || band.above == 0) return nullptr;  // triangles are substituted
  if (options.high) return nullptr;                                               // 113-bit elimination is dense
  return std::make_unique<Banded<T>>(n, band, Banded<T>::rows_of(n, band, a), options);
}

}  // namespace

template <class T>
System<T>::System(std::int64_t n, kernels::View<T> a, const Options& options, Estimate when)
    : n_(n),
      a_(a),
      options_(options),
      banded_(band_of(n, a, options)),
      factors_(banded_ ? 1 : std::max<std::int64_t>(n * n, 1)) {
  if (banded_) {
    verdict_ = banded_->verdict();
    return;
  }
  const kernels::Survey<T> survey = take();
  if (!survey.finite()) {
    verdict_.status = Status::nonfinite_input;
    return;
  }
  look();
  factor(scale(survey));
  if (when == Estimate::now) solve_and_estimate(0, {nullptr, 1, 1});
}

// The matrix that is meant: as given, or what the options make of it (a shift; one triangle only; the Hermitian
// part), and what a first pass says of it.
template <class T>
kernels::Survey<T> System<T>::take() {
  T* const copy = factors_.data();
  const Assume s = options_.assume;
  if (options_.shift == 0 && (s == Assume::detect || s == Assume::general))
    return kernels::Survey<T>(n_, n_, a_, copy);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < n_; ++j) {
      T v = a_.data[i * a_.rows + j * a_.columns];
      if ((s == Assume::lower && j > i) || (s == Assume::upper && j < i) || (s == Assume::diagonal && i != j))
        v = T(0);
      if (s == Assume::symmetric || s == Assume::spd)
        if (const T mirrored = conjugate(a_.data[j * a_.rows + i * a_.columns]); v != mirrored)  // halves may vanish
          v = v * Real(0.5) + mirrored * Real(0.5);
      if (i == j) v += static_cast<Real>(options_.shift);
      copy[i * n_ + j] = v;
    }
  meant_.assign(copy, copy + n_ * n_);
  a_ = {meant_.data(), n_, 1};
  return kernels::Survey<T>(n_, n_, a_, nullptr);
}

// Which triangle is empty, are mirrored elements conjugate?
template <class T>
void System<T>::look() {
  if (options_.assume == Assume::general) return;
  constexpr std::int64_t kBlock =
      32;  // rows and columns that stay in cache while they are compared with their mirror
  const T* const m = factors_.data();
  bool lower = true, upper = true, hermitian = true, positive = true;
  for (std::int64_t i = 0; i < n_; ++i) {
    positive = positive && std::real(m[i * n_ + i]) > 0;
    hermitian = hermitian && std::imag(m[i * n_ + i]) == 0;
  }
  for (std::int64_t from = 0; from < n_; from += kBlock)
    for (std::int64_t left = 0; left <= from; left += kBlock)
      for (std::int64_t i = from; i < std::min(n_, from + kBlock) && (lower || upper || hermitian); ++i)
        for (std::int64_t j = left; j < std::min(i, left + kBlock); ++j) {
          const T below = m[i * n_ + j], above = m[j * n_ + i];
          upper = upper && below == T(0);
          lower = lower && above == T(0);
          hermitian = hermitian && below == conjugate(above);
        }
  verdict_.structure = lower && upper          ? Structure::diagonal
                       : lower                 ? Structure::lower
                       : upper                 ? Structure::upper
                       : hermitian && positive ? Structure::spd
                       : hermitian             ? Structure::symmetric
                                               : Structure::general;
}

// Powers of two that bring rows and columns near 1: exact, and rcond then judges the problem, not its units. Returns
// the norms of what is to be factored, where they are known.
template <class T>
std::optional<typename kernels::Survey<T>::Norms> System<T>::scale(const kernels::Survey<T>& survey) {
  if (!kernels::needs_scaling<T>(n_, n_, survey)) return survey.norms();
  const bool symmetric = verdict_.structure == Structure::spd || verdict_.structure == Structure::symmetric;
  const kernels::MutableView<T> m{factors_.data(), n_, 1};
  kernels::Equilibration scaling =
      symmetric ? kernels::equilibrate_symmetric<T>(n_, m, survey) : kernels::equilibrate<T>(n_, n_, m, survey);
  rows_ = std::move(scaling.rows);
  columns_ = std::move(scaling.columns);
  kernels::scale<T, T>(n_, n_, a_, rows_.data(), columns_.data(), factors_.data());
  return std::nullopt;
}

template <class T>
void System<T>::factor(std::optional<typename kernels::Survey<T>::Norms> known) {
  T* const m = factors_.data();
  if (!known) {
    const kernels::Norms norms = kernels::norms<T>(n_, n_, {m, n_, 1});
    known = {norms.one, norms.largest};
  }
  norm_ = known->one;
  if (verdict_.structure >= Structure::lower) {
    verdict_.method = Method::substitution;
    verdict_.growth = 1;
    for (std::int64_t i = 0; i < n_; ++i) zero_pivot_ = zero_pivot_ || m[i * n_ + i] == T(0);
    return;
  }
  if (verdict_.structure == Structure::spd && factor_by_cholesky()) return;
  if (verdict_.structure == Structure::symmetric && factor_by_ldl(known->largest)) return;
  verdict_.method = Method::lu;
  pivots_.resize(static_cast<std::size_t>(n_));
  zero_pivot_ = kernels::lu_factor<T>(n_, n_, m, n_, pivots_.data()) >= 0;
  verdict_.growth = kernels::lu_growth<T>(n_, n_, {m, n_, 1}, static_cast<Real>(known->largest));
  if (verdict_.growth > kGrowth) factor_by_qr();
}

template <class T>
bool System<T>::factor_by_cholesky() {
  T* const m = factors_.data();
  kernels::Buffer<T> kept(n_ * n_);
  std::copy_n(m, n_ * n_, kept.data());
  verdict_.method = Method::cholesky;
  verdict_.growth = 1;
  if (kernels::cholesky_factor<T>(n_, {m, n_, 1}) < 0) return true;
  std::copy_n(kept.data(), n_ * n_, m);
  verdict_.structure = Structure::symmetric;
  return false;
}

// Only when asked for: half the operations of LU, but LU on our own products takes less time (from 64 to 2000 rows).
template <class T>
bool System<T>::factor_by_ldl(double most) {
  const bool said = options_.assume == Assume::symmetric || options_.assume == Assume::spd;
  if (!said || n_ > kLapack) return false;
  indefinite_ = std::make_unique<Indefinite<T>>(n_, factors_.data());
  verdict_.method = Method::ldl;
  zero_pivot_ = indefinite_->singular();
  verdict_.growth = most > 0 ? indefinite_->largest() / most : 1;
  return true;
}

// Nothing grows in orthogonal transformations.
template <class T>
void System<T>::factor_by_qr() {
  std::vector<int> rows(rows_), columns(columns_);
  rows.resize(static_cast<std::size_t>(n_));
  columns.resize(static_cast<std::size_t>(n_));
  T* const m = factors_.data();
  kernels::scale<T, T>(n_, n_, a_.transposed(), columns.data(), rows.data(), m);  // Aᵀ row-major: A column-major
  reflectors_.resize(static_cast<std::size_t>(n_));
  if (lapack::qr<T>(n_, n_, m, n_, reflectors_.data()) != 0) return;
  verdict_.method = Method::qr;
  verdict_.growth = 1;
  zero_pivot_ = false;
  for (std::int64_t i = 0; i < n_; ++i) zero_pivot_ = zero_pivot_ || m[i * n_ + i] == T(0);
}

// X ← S⁻¹ X with the scaled matrix S, or its adjoint.
template <class T>
void System<T>::substitute(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const {
  const kernels::View<T> m{factors_.data(), n_, 1};
  switch (verdict_.method) {
    case Method::cholesky: return kernels::cholesky_solve<T>(n_, columns, m, x);
    case Method::ldl: return indefinite_->solve(columns, x);
    case Method::lu:
      return kernels::lu_solve<T>(adjoint ? kernels::Form::adjoint : kernels::Form::plain, n_, columns, m,
                                  pivots_.data(), x);
    case Method::qr: {
      kernels::Buffer<T> y(n_ * columns);  // column-major, as LAPACK wants it
      const kernels::MutableView<T> turned{y.data(), 1, n_};
      const kernels::View<T> r{factors_.data(), 1, n_};
      const auto copy = [&](kernels::View<T> from, kernels::MutableView<T> to) {
        for (std::int64_t i = 0; i < n_; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            to.data[i * to.rows + j * to.columns] = from.data[i * from.rows + j * from.columns];
      };
      copy(x, turned);
      if (adjoint)
        kernels::solve_triangular<T>({.upper = false, .unit = false}, n_, columns, r.transposed().conjugated(),
                                     turned);
      lapack::apply_q<T>(lapack::Side::left, adjoint ? lapack::Op::none : lapack::Op::adjoint, n_, columns, n_,
                         factors_.data(), n_, reflectors_.data(), y.data(), n_);
      if (!adjoint) kernels::solve_triangular<T>({.upper = true, .unit = false}, n_, columns, r, turned);
      return copy(turned, x);
    }
    default: {
      const bool upper = verdict_.structure == Structure::upper;
      return kernels::solve_triangular<T>({.upper = upper != adjoint, .unit = false}, n_, columns,
                                          adjoint ? m.transposed().conjugated() : m, x);
    }
  }
}

// Substitutes in X and estimates rcond. Few columns go through the factors beside the vectors that the estimate
// begins with.
template <class T>
void System<T>::solve_and_estimate(std::int64_t columns, kernels::MutableView<T> x) {
  using kernels::kFew;
  if constexpr (kernels::RealOf<T>::parts == 1) {
    const bool direct = verdict_.method == Method::lu || verdict_.method == Method::cholesky;
    if (direct && columns + 2 <= kFew && n_ > 0 && !zero_pivot_ && norm_ != 0) {
      kernels::Buffer<T> all(n_ * kFew);
      T* const line = all.data();
      std::fill_n(line, n_ * kFew, T(0));
      kernels::inverse_norm_starts<T>(n_, line, line + 1, kFew);
      for (std::int64_t i = 0; i < n_; ++i)
        for (std::int64_t c = 0; c < columns; ++c) line[i * kFew + 2 + c] = x.data[i * x.rows + c * x.columns];
      const kernels::View<T> m{factors_.data(), n_, 1};
      if (verdict_.method == Method::lu)
        kernels::lu_solve_few<T>(n_, m, pivots_.data(), line);
      else
        kernels::cholesky_solve_few<T>(n_, m, line);
      for (std::int64_t i = 0; i < n_; ++i)
        for (std::int64_t c = 0; c < columns; ++c) x.data[i * x.rows + c * x.columns] = line[i * kFew + 2 + c];
      estimate({line, line + 1, kFew});
      return judge();
    }
  }
  if (columns > 0) substitute(columns, x, false);
  estimate({});
  judge();
}

template <class T>
void System<T>::estimate(const kernels::Starts<T>& solved) {
  if (n_ == 0) {
    verdict_.rcond = 1;
    return;
  }
  if (zero_pivot_ || norm_ == 0) {
    verdict_.rcond = 0;
    return;
  }
  const auto plain = [&](T* x) { substitute(1, {x, 1, 1}, false); };
  const auto adjoint = [&](T* x) { substitute(1, {x, 1, 1}, true); };
  const double inverse = kernels::inverse_norm<T>(n_, plain, adjoint, solved).estimate;
  verdict_.rcond = inverse > 0 && std::isfinite(inverse) ? 1 / norm_ / inverse : 0;
}

// Singular by rcond; or, on suspicion, because the determinant of the matrix as given is proved to be zero.
template <class T>
void System<T>::judge() {
  judged_ = true;
  if (verdict_.method == Method::substitution)
    for (std::int64_t i = 0; i < n_; ++i)
      verdict_.exactly_singular = verdict_.exactly_singular || a_.data[i * (a_.rows + a_.columns)] == T(0);
  else if (suspect<T>(n_, verdict_.rcond))
    verdict_.exactly_singular = kernels::exactly_singular<T>(n_, a_);
  conclude<T>(verdict_, expected_error<T>(verdict_), options_.min_digits);
}

template <class T>
void System<T>::solve(std::int64_t columns, kernels::MutableView<T> x) {
  if (verdict_.status == Status::nonfinite_input) return;
  if (n_ == 0 || columns == 0) {
    if (!judged_ && !banded_) solve_and_estimate(0, x);
    return;
  }
  if (banded_) {
    banded_->solve(columns, x);
    verdict_ = banded_->verdict();
    return;
  }
  Frame<T> frame(n_, columns, rows_, columns_);
  frame.enter(x);
  kernels::Buffer<T> b(n_ * columns);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) b.data()[i * columns + j] = x.data[i * x.rows + j * x.columns];
  if (judged_)
    substitute(columns, x, false);
  else
    solve_and_estimate(columns, x);
  improve(columns, few(n_, columns), {b.data(), columns, 1}, x);
  frame.leave(x);
}

template <class T>
void System<T>::inverse(T* x, std::int64_t row) {
  if (verdict_.status == Status::nonfinite_input || n_ == 0) return;
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
  if (refinement_pays<T>(options_, false, verdict_) || verdict_.rcond < threshold) {
    kernels::Buffer<T> right(n_ * n_);
    std::fill_n(right.data(), n_ * n_, T(0));
    for (std::int64_t i = 0; i < n_; ++i) right.data()[i * n_ + i] = T(1);
    improve(n_, false, {right.data(), n_, 1}, {x, row, 1});
  }
  if (!rows_.empty())  // A⁻¹ = C S⁻¹ R
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j)
        x[i * row + j] =
            times_power(x[i * row + j], columns_[static_cast<std::size_t>(i)] + rows_[static_cast<std::size_t>(j)]);
}

template <class T>
typename System<T>::Scaled System<T>::determinant() const {
  Scaled d{1, 0};
  const auto times = [&](std::complex<double> v) {
    d.mantissa *= v;
    int e = 0;
    std::frexp(std::max(std::fabs(d.mantissa.real()), std::fabs(d.mantissa.imag())), &e);
    d.mantissa = {std::ldexp(d.mantissa.real(), -e), std::ldexp(d.mantissa.imag(), -e)};
    d.exponent += d.mantissa == 0.0 ? 0 : e;
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
    if (verdict_.method == Method::lu && pivots_[static_cast<std::size_t>(i)] != i) d.mantissa = -d.mantissa;
    if (!rows_.empty()) d.exponent -= rows_[static_cast<std::size_t>(i)] + columns_[static_cast<std::size_t>(i)];
  }
  return d;
}

// Improves X, the solution of S X = B with the scaled matrix S, and says how good it is.
template <class T>
void System<T>::improve(std::int64_t columns, bool cheap, kernels::View<T> b, kernels::MutableView<T> x) {
  const bool pays = refinement_pays<T>(options_, cheap, verdict_);
  const bool doubtful = verdict_.method == Method::substitution && verdict_.rcond < threshold;
  if (zero_pivot_ || !(pays || doubtful)) return;
  kernels::Buffer<T> scaled(rows_.empty() ? 1 : n_ * n_);
  if (!rows_.empty()) kernels::scale<T, T>(n_, n_, a_, rows_.data(), columns_.data(), scaled.data());
  const kernels::View<T> s = rows_.empty() ? a_ : kernels::View<T>{scaled.data(), n_, 1};
  if (pays) {
    const Refined refined = refine<T>(
        n_, columns, x, columns_,
        [&](T* r, Real* sizes) { kernels::residual<T>(n_, n_, columns, s, x, {}, b, r, sizes); },
        [&](kernels::MutableView<T> r) { substitute(columns, r, false); });
    verdict_.backward_error = refined.backward_error;
    conclude<T>(verdict_, refined.error, options_.min_digits);
  }
  if (doubtful) {  // rcond gives up; what is proved does not
    const double error = triangular_error<T>(verdict_.structure == Structure::upper, n_, columns, s, b, x, columns_);
    if (const double digits = digits_of(std::max(error, u), u); digits >= 1) {
      verdict_.forward_error = std::max(error, u);
      verdict_.digits = digits;
      verdict_.status = status_of(digits, options_.min_digits, u);
    }
  }
}

template class System<float>;
template class System<double>;
template class System<complex64>;
template class System<complex128>;

}  // namespace wp::linalg
