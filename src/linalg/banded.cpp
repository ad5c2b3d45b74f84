#include "linalg/banded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/modular.hpp"
#include "kernels/residual.hpp"
#include "linalg/judgement.hpp"
#include "linalg/refine.hpp"

namespace wp::linalg {

template <class T>
Band narrow_band(std::int64_t n, kernels::View<T> a) {
  Band band;
  for (std::int64_t i = 0; i < n; ++i) {
    const T* const row = a.data + i * a.rows;
    std::int64_t first = 0, last = n - 1;
    while (first < i - band.below && row[first * a.columns] == T(0)) ++first;
    while (last > i + band.above && row[last * a.columns] == T(0)) --last;
    band.below = std::max(band.below, i - first);
    band.above = std::max(band.above, last - i);
    if (!is_narrow(n, band)) return {n - 1, n - 1};
  }
  return band;
}

template <class T>
std::vector<T> Banded<T>::rows_of(std::int64_t n, Band band, kernels::View<T> a) {
  std::vector<T> rows(static_cast<std::size_t>(n * band.width()));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - band.below); j <= std::min(n - 1, i + band.above); ++j)
      rows[static_cast<std::size_t>(i * band.width() + j - i + band.below)] = a.data[i * a.rows + j * a.columns];
  return rows;
}

template <class T>
template <class F>
void Banded<T>::each(F&& f) const {
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - band_.below); j <= std::min(n_ - 1, i + band_.above); ++j)
      f(i, j, rows_[static_cast<std::size_t>(i * band_.width() + j - i + band_.below)]);
}

template <class T>
Banded<T>::Banded(std::int64_t n, Band band, std::vector<T> rows, const Options& options)
    : n_(n), ld_(band.width() + band.below), band_(band), options_(options), rows_(std::move(rows)) {
  verdict_.structure = Structure::banded;
  verdict_.method = Method::lu;
  bool finite = true;
  each([&](std::int64_t, std::int64_t, T v) { finite = finite && std::isfinite(size_of_number(v)) && v == v; });
  if (!finite) {
    verdict_.status = Status::nonfinite_input;
    return;
  }
  scale();
  factor();
  estimate();
  judge();
}

// Powers of two that bring the largest element of every row, then of every column, into [1/2, 1).
template <class T>
void Banded<T>::scale() {
  // Exponents, not sizes: a row that is scaled down must not lose its small elements before their columns are seen.
  constexpr int kNone = std::numeric_limits<int>::min();
  std::vector<int> rows(static_cast<std::size_t>(n_), kNone), columns(rows);
  row_scales_.resize(static_cast<std::size_t>(n_));
  column_scales_.resize(static_cast<std::size_t>(n_));
  const auto see = [](int& most, T v, int scale) {
    if (const double size = size_of_number(v); size > 0 && std::isfinite(size))
      most = std::max(most, std::ilogb(size) + 1 + scale);
  };
  const auto settle_on = [](const std::vector<int>& most, std::vector<int>& to) {
    for (std::size_t i = 0; i < most.size(); ++i)
      if (most[i] != kNone) to[i] = -most[i];
  };
  each([&](std::int64_t i, std::int64_t, T v) { see(rows[static_cast<std::size_t>(i)], v, 0); });
  settle_on(rows, row_scales_);
  each([&](std::int64_t i, std::int64_t j, T v) {
    see(columns[static_cast<std::size_t>(j)], v, row_scales_[static_cast<std::size_t>(i)]);
  });
  settle_on(columns, column_scales_);
  each([&](std::int64_t i, std::int64_t j, T v) {
    rows_[static_cast<std::size_t>(i * band_.width() + j - i + band_.below)] =
        times_power(v, row_scales_[static_cast<std::size_t>(i)] + column_scales_[static_cast<std::size_t>(j)]);
  });
}

template <class T>
void Banded<T>::factor() {
  factors_.assign(static_cast<std::size_t>(n_ * ld_), T(0));
  pivots_.resize(static_cast<std::size_t>(n_));
  std::vector<double> sums(static_cast<std::size_t>(n_));
  each([&](std::int64_t i, std::int64_t j, T v) {
    factors_[static_cast<std::size_t>(band_.below + band_.above + i - j + j * ld_)] = v;
    sums[static_cast<std::size_t>(j)] += std::abs(std::complex<double>(v));
    largest_ = std::max(largest_, size_of_number(v));
  });
  norm_ = n_ ? *std::max_element(sums.begin(), sums.end()) : 0;
  zero_pivot_ = lapack::lu_banded<T>(n_, band_.below, band_.above, factors_.data(), ld_, pivots_.data()) != 0;
  double most = 0;
  for (std::int64_t j = 0; j < n_; ++j)
    for (std::int64_t k = 0; k <= band_.below + band_.above; ++k)
      most = std::max(most, size_of_number(factors_[static_cast<std::size_t>(k + j * ld_)]));
  verdict_.growth = largest_ > 0 ? most / largest_ : 1;
}

// X ← S⁻¹ X with the scaled matrix S, or its adjoint.
template <class T>
void Banded<T>::substitute(std::int64_t columns, kernels::MutableView<T> x, lapack::Op op) const {
  if (columns == 1 && x.rows == 1) {
    lapack::lu_banded_solve<T>(op, n_, band_.below, band_.above, 1, factors_.data(), ld_, pivots_.data(), x.data, n_);
    return;
  }
  kernels::Buffer<T> y(n_ * columns);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y.data()[i + j * n_] = x.data[i * x.rows + j * x.columns];
  lapack::lu_banded_solve<T>(op, n_, band_.below, band_.above, columns, factors_.data(), ld_, pivots_.data(),
                             y.data(), n_);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) x.data[i * x.rows + j * x.columns] = y.data()[i + j * n_];
}

template <class T>
void Banded<T>::estimate() {
  if (n_ == 0 || zero_pivot_ || norm_ == 0) {
    verdict_.rcond = n_ == 0 ? 1 : 0;
    return;
  }
  const auto plain = [&](T* x) { substitute(1, {x, 1, 1}, lapack::Op::none); };
  const auto adjoint = [&](T* x) { substitute(1, {x, 1, 1}, lapack::Op::adjoint); };
  const double inverse = kernels::inverse_norm<T>(n_, plain, adjoint).estimate;
  verdict_.rcond = inverse > 0 && std::isfinite(inverse) ? 1 / norm_ / inverse : 0;
}

template <class T>
void Banded<T>::judge() {
  if (suspect<T>(n_, verdict_.rcond)) {
    std::vector<T> dense(static_cast<std::size_t>(n_ * n_));
    each([&](std::int64_t i, std::int64_t j, T v) { dense[static_cast<std::size_t>(i * n_ + j)] = v; });
    verdict_.exactly_singular = kernels::exactly_singular<T>(n_, {dense.data(), n_, 1});
  }
  conclude<T>(verdict_, expected_error<T>(verdict_), options_.min_digits);
}

template <class T>
bool Banded<T>::misjudged() const {
  return n_ <= kRescaled && verdict_.status != Status::nonfinite_input && !verdict_.exactly_singular &&
         in_doubt<T>(n_, verdict_.rcond);
}

// Row by row: a row of the band against the elements of X that it meets.
template <class T>
void Banded<T>::residual(const std::vector<T>& rows, Band band, std::int64_t columns, kernels::View<T> x,
                         kernels::View<T> b, T* r, Real* sizes) const {
  for (std::int64_t i = 0; i < n_; ++i) {
    const std::int64_t first = std::max<std::int64_t>(0, i - band.below), last = std::min(n_ - 1, i + band.above);
    const T* const row = rows.data() + i * band.width() + first - i + band.below;
    kernels::residual<T>(1, last - first + 1, columns, {row, band.width(), 1}, x.from(first, 0), {}, b.from(i, 0),
                         r + i * columns, sizes ? sizes + i * columns : nullptr);
  }
}

// Of Sᴴ, whose band has as many diagonals below as S has above.
template <class T>
std::vector<T> Banded<T>::adjoint_rows() const {
  std::vector<T> out(rows_.size());
  each([&](std::int64_t i, std::int64_t j, T v) {
    out[static_cast<std::size_t>(j * band_.width() + i - j + band_.above)] = conjugate(v);
  });
  return out;
}

template <class T>
Verdict Banded<T>::solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const {
  Verdict v = verdict_;
  if (verdict_.status == Status::nonfinite_input || n_ == 0 || columns == 0) return v;
  const lapack::Op op = adjoint ? lapack::Op::adjoint : lapack::Op::none;
  const std::vector<int>&before = adjoint ? column_scales_ : row_scales_,
        &after = adjoint ? row_scales_ : column_scales_;
  Frame<T> frame(n_, columns, before, after);
  frame.enter(x);
  kernels::Buffer<T> b(n_ * columns);
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) b.data()[i * columns + j] = x.data[i * x.rows + j * x.columns];
  substitute(columns, x, op);
  const double worse = amplification<T>(n_, columns, x, after);
  const bool visible = above_underflow<T>(n_, verdict_.rcond, worse);
  const bool pays = visible && refinement_pays<T>(options_, few(n_, columns), verdict_, worse);
  if (!pays && worse > 1)
    conclude<T>(v, visible ? std::min(1.0, expected_error<T>(verdict_) * worse) : 1, options_.min_digits);
  if (!zero_pivot_ && pays) {
    const kernels::View<T> right{b.data(), columns, 1};
    const std::vector<T> turned = adjoint ? adjoint_rows() : std::vector<T>();
    const Band band = adjoint ? Band{band_.above, band_.below} : band_;
    const Refined refined = refine<T>(
        n_, columns, x, after, {}, expected_error<T>(verdict_),
        [&](T* r, Real* sizes) { residual(adjoint ? turned : rows_, band, columns, x, right, r, sizes); },
        [&](kernels::MutableView<T> r) { substitute(columns, r, op); });
    v.backward_error = refined.backward_error;
    conclude<T>(v, refined.error, options_.min_digits);
  }
  frame.leave(x);
  return v;
}

#define WP_INSTANTIATE(T)                                    \
  template Band narrow_band(std::int64_t, kernels::View<T>); \
  template class Banded<T>;
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
