#include "linalg/system.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/few.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/triangular.hpp"
#include "linalg/choice.hpp"

namespace wp::linalg {
namespace {

constexpr std::int64_t kLapack = 1 << 24;  // rows beyond which LAPACK's 32-bit workspaces are not asked

template <class T>
std::unique_ptr<Banded<T>> band_of(std::int64_t n, kernels::View<T> a, const Options& options) {
  if (options.assume != Assume::detect || options.method != Method::none || options.shift != 0) return nullptr;
  const Band band = narrow_band<T>(n, a);
  if (!is_narrow(n, band) || band.below == 0 || band.above == 0) return nullptr;  // triangles are substituted
  if (options.high) return nullptr;                                               // 113-bit elimination is dense
  auto banded = std::make_unique<Banded<T>>(n, band, Banded<T>::rows_of(n, band, a), options);
  return banded->misjudged() ? nullptr : std::move(banded);
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
  if (!factored() || when != Estimate::now) return;
  solve_and_estimate(0, {nullptr, 1, 1});
  scale_again();
}

// The matrix that is meant: as given, or what the options make of it, and what a first pass says of it.
template <class T>
kernels::Survey<T> System<T>::take() {
  T* const copy = factors_.data();
  if (as_given(options_)) return kernels::Survey<T>(n_, n_, a_, copy);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < n_; ++j)
      copy[i * n_ + j] = meant_element<T>(options_, i, j, a_.data[i * a_.rows + j * a_.columns],
                                          conjugate(a_.data[j * a_.rows + i * a_.columns]));
  meant_.assign(copy, copy + n_ * n_);
  a_ = {meant_.data(), n_, 1};
  return kernels::Survey<T>(n_, n_, a_, nullptr);
}

template <class T>
Structure structure_of(std::int64_t n, const T* m, bool triangles) {
  constexpr std::int64_t kBlock =
      32;  // rows and columns that stay in cache while they are compared with their mirror
  bool lower = true, upper = true, hermitian = true, positive = true;
  for (std::int64_t i = 0; i < n; ++i) {
    positive = positive && std::real(m[i * n + i]) > 0;
    hermitian = hermitian && std::imag(m[i * n + i]) == 0;
  }
  for (std::int64_t from = 0; from < n; from += kBlock)
    for (std::int64_t left = 0; left <= from; left += kBlock)
      for (std::int64_t i = from; i < std::min(n, from + kBlock) && (lower || upper || hermitian); ++i)
        for (std::int64_t j = left; j < std::min(i, left + kBlock); ++j) {
          const T below = m[i * n + j], above = m[j * n + i];
          upper = upper && below == T(0);
          lower = lower && above == T(0);
          hermitian = hermitian && below == conjugate(above);
        }
  if (!triangles) lower = upper = false;
  return lower && upper          ? Structure::diagonal
         : lower                 ? Structure::lower
         : upper                 ? Structure::upper
         : hermitian && positive ? Structure::spd
         : hermitian             ? Structure::symmetric
                                 : Structure::general;
}
template Structure structure_of(std::int64_t, const float*, bool);
template Structure structure_of(std::int64_t, const double*, bool);
template Structure structure_of(std::int64_t, const complex64*, bool);
template Structure structure_of(std::int64_t, const complex128*, bool);

template <class T>
void System<T>::look() {
  if (options_.assume == Assume::general) return;
  // Asked for Cholesky or LDLᴴ, a diagonal matrix has them too.
  verdict_.structure = structure_of<T>(n_, factors_.data(), options_.method == Method::none);
  const bool triangular = verdict_.structure >= Structure::lower;
  if (options_.assume == Assume::triangular && !triangular)
    refuse<ArgumentError>("WP-ARG-001",
                          "assume = \"triangular\", but there are elements on both sides of the diagonal.",
                          "Say assume = \"lower\" or \"upper\": the other triangle is then not read.");
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

// A matrix with zeros may look singular only because its largest elements do not show what its rows and columns
// weigh. Returns whether it has been factored anew, with scales that do.
template <class T>
bool System<T>::scale_again() {
  const bool triangular = verdict_.method == Method::substitution;
  if (banded_ || triangular || verdict_.exactly_singular || n_ > kRescaled || !in_doubt<T>(n_, verdict_.rcond))
    return false;
  std::optional<kernels::Equilibration> by = kernels::equilibrate_by_matching<T>(n_, a_);
  if (!by || (by->rows == rows_ && by->columns == columns_)) return false;
  const bool symmetric = verdict_.structure == Structure::spd || verdict_.structure == Structure::symmetric;
  for (std::size_t i = 0; i < by->rows.size() && symmetric; ++i)
    by->rows[i] = by->columns[i] = (by->rows[i] + by->columns[i]) >> 1;
  const double before = verdict_.rcond;
  const auto factor_with = [&](std::vector<int> rows, std::vector<int> columns) {
    rows_ = std::move(rows);
    columns_ = std::move(columns);
    std::vector<int> none(static_cast<std::size_t>(n_), 0);
    kernels::scale<T, T>(n_, n_, a_, rows_.empty() ? none.data() : rows_.data(),
                         columns_.empty() ? none.data() : columns_.data(), factors_.data());
    zero_pivot_ = false;
    verdict_.status = Status::ok;
    factor(std::nullopt);
    if (factored()) solve_and_estimate(0, {nullptr, 1, 1});
  };
  std::vector<int> old_rows = rows_, old_columns = columns_;
  factor_with(std::move(by->rows), std::move(by->columns));
  if (factored() && verdict_.rcond >= before) return true;
  factor_with(std::move(old_rows), std::move(old_columns));
  return false;
}

template <class T>
void System<T>::factor(std::optional<typename kernels::Survey<T>::Norms> known) {
  T* const m = factors_.data();
  if (!known) {
    const kernels::Norms norms = kernels::norms<T>(n_, n_, {m, n_, 1});
    known = {norms.one, norms.largest};
  }
  norm_ = known->one;
  choose_factors(
      options_, verdict_,
      FactorSteps{
          .substitution =
              [&] {
                for (std::int64_t i = 0; i < n_; ++i) zero_pivot_ = zero_pivot_ || m[i * n_ + i] == T(0);
              },
          .cholesky = [&] { return factor_by_cholesky(); },
          .ldl = [&] { return factor_by_ldl(known->largest); },
          .lu =
              [&] {
                pivots_.resize(static_cast<std::size_t>(n_));
                zero_pivot_ = kernels::lu_factor<T>(n_, n_, m, n_, pivots_.data()) >= 0;
                verdict_.growth = kernels::lu_growth<T>(n_, n_, {m, n_, 1}, static_cast<Real>(known->largest));
              },
          .qr = [&] { factor_by_qr(); }});
}

template <class T>
bool System<T>::factor_by_cholesky() {
  T* const m = factors_.data();
  kernels::Buffer<T> kept(n_ * n_);
  std::copy_n(m, n_ * n_, kept.data());
  if (kernels::cholesky_factor<T>(n_, {m, n_, 1}) < 0) return true;
  std::copy_n(kept.data(), n_ * n_, m);
  return false;
}

// Only when asked for: half the operations of LU, but LU on our own products takes less time (from 64 to 2000 rows).
template <class T>
bool System<T>::factor_by_ldl(double most) {
  const bool said = options_.assume == Assume::symmetric || options_.assume == Assume::spd;  // also by method
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

// Few right-hand sides of real LU and Cholesky go through the factors beside the two vectors that the estimate begins
// with. They go that way alone too: their bits must not depend on when the condition was estimated.
template <class T>
bool System<T>::side_by_side(std::int64_t columns) const {
  const bool direct = verdict_.method == Method::lu || verdict_.method == Method::cholesky;
  return kernels::RealOf<T>::parts == 1 && direct && columns + 2 <= kernels::kFew && n_ > 0 && !zero_pivot_ &&
         norm_ != 0;
}

// X is taken along as columns 2, 3, … of lines, [n][kFew].
template <class T>
void System<T>::substitute_few(std::int64_t columns, kernels::MutableView<T> x, T* lines) const {
  using kernels::kFew;
  if constexpr (kernels::RealOf<T>::parts == 1) {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t c = 0; c < columns; ++c) lines[i * kFew + 2 + c] = x.data[i * x.rows + c * x.columns];
    const kernels::View<T> m{factors_.data(), n_, 1};
    if (verdict_.method == Method::lu)
      kernels::lu_solve_few<T>(n_, m, pivots_.data(), lines);
    else
      kernels::cholesky_solve_few<T>(n_, m, lines);
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t c = 0; c < columns; ++c) x.data[i * x.rows + c * x.columns] = lines[i * kFew + 2 + c];
  }
}

template <class T>
void System<T>::substitute_right_sides(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const {
  if (adjoint || !side_by_side(columns)) return substitute(columns, x, adjoint);
  kernels::Buffer<T> lines(n_ * kernels::kFew);
  std::fill_n(lines.data(), n_ * kernels::kFew, T(0));
  substitute_few(columns, x, lines.data());
}

// Substitutes in X and estimates rcond.
template <class T>
void System<T>::solve_and_estimate(std::int64_t columns, kernels::MutableView<T> x) {
  const bool together = side_by_side(columns);
  if (columns > 0 && !together) substitute(columns, x, false);
  if (side_by_side(0)) {
    using kernels::kFew;
    kernels::Buffer<T> lines(n_ * kFew);
    T* const start = lines.data();
    std::fill_n(start, n_ * kFew, T(0));
    kernels::inverse_norm_starts<T>(n_, start, start + 1, kFew);
    substitute_few(together ? columns : 0, x, start);
    estimate({start, start + 1, kFew});
  } else {
    estimate({});
  }
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
  if (verdict_.method == Method::substitution)
    for (std::int64_t i = 0; i < n_; ++i)
      verdict_.exactly_singular = verdict_.exactly_singular || a_.data[i * (a_.rows + a_.columns)] == T(0);
  else if (suspect<T>(n_, verdict_.rcond))
    verdict_.exactly_singular = kernels::exactly_singular<T>(n_, a_);
  conclude<T>(verdict_, expected_error<T>(verdict_), options_.min_digits);
}

template class System<float>;
template class System<double>;
template class System<complex64>;
template class System<complex128>;

}  // namespace wp::linalg
