#include "linalg/system.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cholesky.hpp"
#include "kernels/condition.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "kernels/modular.hpp"
#include "kernels/residual.hpp"
#include "kernels/triangular.hpp"
#include "linalg/quad.hpp"

namespace wp::linalg {
namespace {

constexpr std::int64_t kExact = 300;     // rows up to which suspicion of exact singularity is followed
constexpr std::int64_t kFewColumns = 4;  // right-hand sides whose improvement costs little beside the factors
constexpr double kGoodEnough = 1e-9;     // expected errors above it make improvement pay for any number of columns
constexpr double kGrowth = 1e6;          // of pivots, beyond which LU gives way to QR
constexpr int kRounds = 12;

template <class T>
bool finite(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::isfinite(v.real()) && std::isfinite(v.imag());
  else
    return std::isfinite(v);
}
template <class T>
T conjugate(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::conj(v);
  else
    return v;
}
template <class T>
T times_power(T v, int e) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return {std::ldexp(v.real(), e), std::ldexp(v.imag(), e)};
  else
    return std::ldexp(v, e);
}
template <class T>
double size_of_number(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::max(std::fabs(static_cast<double>(v.real())), std::fabs(static_cast<double>(v.imag())));
  else
    return std::fabs(static_cast<double>(v));
}

}  // namespace

double digits_of(double error, double u) {
  const double most = -std::log10(u);
  return error > u ? std::clamp(-std::log10(error), 0.0, most) : most;
}

Status status_of(double digits, double min_digits, double u) {
  const double wanted = min_digits >= 0 ? min_digits : u < 1e-10 ? 6 : 3;
  return digits >= wanted ? Status::ok : digits >= 1 ? Status::ill_conditioned : Status::singular;
}

template <class T>
System<T>::System(std::int64_t n, kernels::View<T> a, const Options& options)
    : n_(n), a_(a), options_(options), factors_(std::max<std::int64_t>(n * n, 1)) {
  take();
  look();
  if (verdict_.status == Status::nonfinite_input) return;
  scale();
  factor();
  estimate();
  judge();
}

// The matrix that is meant: as given, or what the options make of it (a shift; one triangle only; the Hermitian
// part).
template <class T>
void System<T>::take() {
  T* const copy = factors_.data();
  const Assume s = options_.assume;
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < n_; ++j) {
      T v = a_.data[i * a_.rows + j * a_.columns];
      if ((s == Assume::lower && j > i) || (s == Assume::upper && j < i) || (s == Assume::diagonal && i != j))
        v = T(0);
      if (s == Assume::symmetric || s == Assume::spd)
        v = v * Real(0.5) + conjugate(a_.data[j * a_.rows + i * a_.columns]) * Real(0.5);
      if (i == j) v += static_cast<Real>(options_.shift);
      copy[i * n_ + j] = v;
    }
  if (options_.shift == 0 && (s == Assume::detect || s == Assume::general)) return;
  meant_.assign(copy, copy + n_ * n_);
  a_ = {meant_.data(), n_, 1};
}

// Is everything finite, which triangle is empty, are mirrored elements conjugate?
template <class T>
void System<T>::look() {
  const T* const m = factors_.data();
  if (!std::all_of(m, m + n_ * n_, [](T v) { return finite(v); })) {
    verdict_.status = Status::nonfinite_input;
    return;
  }
  bool lower = true, upper = true, hermitian = true, positive = true;
  for (std::int64_t i = 0; i < n_; ++i) {
    positive = positive && std::real(m[i * n_ + i]) > 0;
    hermitian = hermitian && std::imag(m[i * n_ + i]) == 0;
    for (std::int64_t j = 0; j < i && (lower || upper || hermitian); ++j) {
      const T below = m[i * n_ + j], above = m[j * n_ + i];
      upper = upper && below == T(0);
      lower = lower && above == T(0);
      hermitian = hermitian && below == conjugate(above);
    }
  }
  if (options_.assume == Assume::general) return;
  verdict_.structure = lower && upper          ? Structure::diagonal
                       : lower                 ? Structure::lower
                       : upper                 ? Structure::upper
                       : hermitian && positive ? Structure::spd
                       : hermitian             ? Structure::symmetric
                                               : Structure::general;
}

// Powers of two that bring rows and columns near 1: exact, and rcond then judges the problem, not its units.
template <class T>
void System<T>::scale() {
  const bool symmetric = verdict_.structure == Structure::spd || verdict_.structure == Structure::symmetric;
  const kernels::MutableView<T> m{factors_.data(), n_, 1};
  kernels::Equilibration scaling =
      symmetric ? kernels::equilibrate_symmetric<T>(n_, m) : kernels::equilibrate<T>(n_, n_, m);
  if (!scaling.needed) return;
  rows_ = std::move(scaling.rows);
  columns_ = std::move(scaling.columns);
  kernels::scale<T, T>(n_, n_, a_, rows_.data(), columns_.data(), factors_.data());
}

template <class T>
void System<T>::factor() {
  T* const m = factors_.data();
  const kernels::Norms norms = kernels::norms<T>(n_, n_, {m, n_, 1});
  norm_ = norms.one;
  if (verdict_.structure >= Structure::lower) {
    verdict_.method = Method::substitution;
    verdict_.growth = 1;
    for (std::int64_t i = 0; i < n_; ++i) zero_pivot_ = zero_pivot_ || m[i * n_ + i] == T(0);
    return;
  }
  if (verdict_.structure == Structure::spd) {
    kernels::Buffer<T> kept(n_ * n_);
    std::copy_n(m, n_ * n_, kept.data());
    verdict_.method = Method::cholesky;
    verdict_.growth = 1;
    if (kernels::cholesky_factor<T>(n_, {m, n_, 1}) < 0) return;
    std::copy_n(kept.data(), n_ * n_, m);
    verdict_.structure = Structure::symmetric;
  }
  verdict_.method = Method::lu;
  pivots_.resize(static_cast<std::size_t>(n_));
  zero_pivot_ = kernels::lu_factor<T>(n_, n_, m, n_, pivots_.data()) >= 0;
  verdict_.growth = kernels::lu_growth<T>(n_, n_, {m, n_, 1}, static_cast<Real>(norms.largest));
  if (verdict_.growth > kGrowth) factor_by_qr();
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

template <class T>
void System<T>::estimate() {
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
  const double inverse = kernels::inverse_norm<T>(n_, plain, adjoint).estimate;
  verdict_.rcond = inverse > 0 && std::isfinite(inverse) ? 1 / norm_ / inverse : 0;
}

// Singular by rcond; or, on suspicion, because the determinant of the matrix as given is proved to be zero.
template <class T>
void System<T>::judge() {
  if (verdict_.rcond < 1e3 * static_cast<double>(std::max<std::int64_t>(n_, 1)) * u && n_ <= kExact)
    verdict_.exactly_singular = kernels::exactly_singular<T>(n_, a_);
  conclude(expected_error());
}

// LU is backward stable but for growth: |error| ≲ u · growth / rcond (Higham 2002, §9.4); the factor 1/8 as growth of
// a few is ordinary.
template <class T>
double System<T>::expected_error() const {
  return std::min(1.0, u * std::max(1.0, verdict_.growth / 8) / std::max(verdict_.rcond, u * u));
}

template <class T>
void System<T>::conclude(double error, double least_rcond) {
  verdict_.forward_error = error;
  verdict_.digits = digits_of(error, u);
  verdict_.status = status_of(verdict_.digits, options_.min_digits, u);
  if (verdict_.rcond < least_rcond || verdict_.exactly_singular) {
    verdict_.status = Status::singular;
    verdict_.digits = 0;
  }
}

template <class T>
void System<T>::solve(std::int64_t columns, kernels::MutableView<T> x) {
  if (verdict_.status == Status::nonfinite_input || n_ == 0 || columns == 0) return;
  kernels::Buffer<T> b(n_ * columns);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) b.data()[i * columns + j] = x.data[i * x.rows + j * x.columns];
  apply(columns, x);
  const bool pays = columns <= kFewColumns || 16 * columns <= n_ || expected_error() > kGoodEnough;
  if (options_.refine == Options::Refine::always || (options_.refine == Options::Refine::when_it_pays && pays))
    improve(columns, {b.data(), columns, 1}, x);
  if (options_.high) finish_in_quad(columns, {b.data(), columns, 1}, x);
}

// What double has not resolved.
template <class T>
void System<T>::finish_in_quad(std::int64_t columns, kernels::View<T> b, kernels::MutableView<T> x) {
  if (n_ > kQuadLargest || verdict_.exactly_singular || verdict_.forward_error <= 2 * u) return;
  const QuadLu<T> lu(n_, a_);
  if (lu.zero_pivot()) return;
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      x.data[i * x.rows + j * x.columns] = b.data[i * b.rows + j * b.columns];
  lu.solve(columns, x);
  verdict_.method = Method::quad_lu;
  verdict_.rcond = lu.rcond();
  conclude(std::min(1.0, u + lu.error()), 4 * kQuadRoundOff);
}

// X ← A⁻¹ X = C S⁻¹ R X with the scales R and C.
template <class T>
void System<T>::apply(std::int64_t columns, kernels::MutableView<T> x) const {
  const auto scaled = [&](const std::vector<int>& exponents) {
    for (std::int64_t i = 0; i < n_ && !exponents.empty(); ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        T& v = x.data[i * x.rows + j * x.columns];
        v = times_power(v, exponents[static_cast<std::size_t>(i)]);
      }
  };
  scaled(rows_);
  substitute(columns, x, false);
  scaled(columns_);
}

template <class T>
void System<T>::inverse(T* x, std::int64_t row) {
  if (verdict_.status == Status::nonfinite_input || n_ == 0) return;
  const kernels::View<T> m{factors_.data(), n_, 1};
  if (verdict_.method == Method::lu) {
    kernels::lu_inverse<T>(n_, m, pivots_.data(), x, row);
  } else if (verdict_.method == Method::cholesky) {
    kernels::cholesky_inverse<T>(n_, m, x, row);
  } else if (verdict_.method == Method::qr) {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) x[i * row + j] = T(i == j ? 1 : 0);
    substitute(n_, {x, row, 1}, false);
  } else {
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(m.data + i * n_, n_, x + i * row);
    kernels::invert_triangular<T>({.upper = verdict_.structure == Structure::upper, .unit = false}, n_, {x, row, 1});
  }
  if (!rows_.empty())
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j)
        x[i * row + j] =
            times_power(x[i * row + j], columns_[static_cast<std::size_t>(i)] + rows_[static_cast<std::size_t>(j)]);
  const bool pays = expected_error() > kGoodEnough;
  const bool refine =
      options_.refine == Options::Refine::always || (options_.refine == Options::Refine::when_it_pays && pays);
  if (!refine && !options_.high) return;
  kernels::Buffer<T> identity(n_ * n_);
  std::fill_n(identity.data(), n_ * n_, T(0));
  for (std::int64_t i = 0; i < n_; ++i) identity.data()[i * n_ + i] = T(1);
  if (refine) improve(n_, {identity.data(), n_, 1}, {x, row, 1});
  if (options_.high) finish_in_quad(n_, {identity.data(), n_, 1}, {x, row, 1});
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
  for (std::int64_t i = 0; i < n_; ++i) {
    times(std::complex<double>(factors_.data()[i * n_ + i]));
    if (verdict_.method == Method::cholesky) times(std::complex<double>(factors_.data()[i * n_ + i]));
    if (verdict_.method == Method::lu && pivots_[static_cast<std::size_t>(i)] != i) d.mantissa = -d.mantissa;
    if (!rows_.empty()) d.exponent -= rows_[static_cast<std::size_t>(i)] + columns_[static_cast<std::size_t>(i)];
  }
  return d;
}

// Iterative refinement with residuals in twice the precision (Wilkinson 1963; Demmel et al. 2006): X += A⁻¹(B − A X).
// A column whose correction is at most half the last one goes on; the error left is what the next one would be.
template <class T>
void System<T>::improve(std::int64_t columns, kernels::View<T> b, kernels::MutableView<T> x) {
  if (zero_pivot_) return;
  const auto k = static_cast<std::size_t>(columns);
  kernels::Buffer<T> r(n_ * columns);
  kernels::Buffer<Real> sizes(n_ * columns);
  std::vector<double> last(k, 1), error(k, 1);
  std::vector<char> going(k, 1);
  for (int round = 0; round < kRounds && std::count(going.begin(), going.end(), 1) > 0; ++round) {
    kernels::residual<T>(n_, n_, columns, a_, x, {}, b, r.data(), round == 0 ? sizes.data() : nullptr);
    if (round == 0) verdict_.backward_error = 0;
    for (std::int64_t e = 0; e < n_ * columns && round == 0; ++e)
      if (const double size = static_cast<double>(sizes.data()[e]); size > 0)
        verdict_.backward_error = std::max(verdict_.backward_error, size_of_number(r.data()[e]) / size);
    apply(columns, {r.data(), columns, 1});
    for (std::size_t c = 0; c < k; ++c) {
      if (!going[c]) continue;
      double largest = 0, change = 0;
      for (std::int64_t i = 0; i < n_; ++i) {
        largest = std::max(largest, size_of_number(x.data[i * x.rows + static_cast<std::int64_t>(c) * x.columns]));
        change = std::max(change, size_of_number(r.data()[i * columns + static_cast<std::int64_t>(c)]));
      }
      const double ratio = largest > 0 ? change / largest : change > 0 ? 1 : 0;
      if (!(ratio <= last[c] / 2)) {
        going[c] = 0;
        error[c] = round == 0 ? 1 : error[c];
        continue;
      }
      for (std::int64_t i = 0; i < n_; ++i)
        x.data[i * x.rows + static_cast<std::int64_t>(c) * x.columns] +=
            r.data()[i * columns + static_cast<std::int64_t>(c)];
      error[c] = std::max(ratio * std::min(1.0, ratio / last[c]) * 2, u);
      last[c] = ratio;
      going[c] = error[c] > 2 * u ? 1 : 0;
    }
  }
  conclude(*std::max_element(error.begin(), error.end()));
}

template class System<float>;
template class System<double>;
template class System<complex64>;
template class System<complex128>;

}  // namespace wp::linalg
