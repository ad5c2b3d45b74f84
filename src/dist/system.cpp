#include "dist/system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "dist/hermitian.hpp"
#include "dist/one_place.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/each_float.hpp"
#include "kernels/exponents.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/survey.hpp"
#include "linalg/choice.hpp"

namespace wp::dist {

using linalg::Assume;

template <class T>
System<T>::System(const Matrix& a, const Options& options, bool thorough)
    : given_(a), options_(options), narrow_(a.dtype() != dtype_v<T>), a_(made()), n_(a.rows()), thorough_(thorough) {
  if (!survey()) {
    verdict_.status = Status::nonfinite_input;
    return;
  }
  look();
  scale();
  factor();
}

template <class T>
Matrix System<T>::made() const {
  return meant_by<T>(options_, converted(given_, dtype_v<T>));
}

// A, also after it was factored.
template <class T>
const Matrix& System<T>::whole() {
  if (!a_.defined()) a_ = made();
  return a_;
}

template <class T>
Matrix meant_by(const Options& options, const Matrix& a) {
  if (linalg::as_given(options)) return a;
  const bool mirrors = options.assume == Assume::symmetric || options.assume == Assume::spd;
  Matrix meant = copy_of(a), turned = mirrors ? make_like(a) : Matrix();
  if (mirrors) scalapack::transpose<T>(true, local<T>(a), local<T>(turned));
  const Local<T> m = local<T>(meant);
  const T* const other = mirrors ? local<T>(turned).data : m.data;
  m.each([&](std::int64_t i, std::int64_t j, T& v) {
    v = linalg::meant_element<T>(options, i, j, v, other[&v - m.data]);
  });
  return meant;
}

// One pass: are all elements finite, how large is the largest of every row and column, and what are the sums of the
// columns? The copy that is to be factored is made on the way, a few columns at a time while they are near.
template <class T>
bool System<T>::survey() {
  const Stage stage("look at the matrix");
  constexpr std::int64_t kNear = 1 << 14;  // elements
  factors_ = narrow_ ? a_ : make_like(a_);
  const Local<T> a = local<T>(a_), copy = local<T>(factors_);
  const std::int64_t m = a.rows(), each = std::max<std::int64_t>(1, kNear / a.leading());
  row_tops_.assign(static_cast<std::size_t>(n_), kernels::kNoExponent);
  column_tops_ = row_tops_;
  std::vector<R> tops(static_cast<std::size_t>(m), R(0));
  std::vector<double> sums(static_cast<std::size_t>(n_), 0);
  int finite = 1;
  for (std::int64_t first = 0; first < a.columns() && finite; first += each) {
    const std::int64_t count = std::min(each, a.columns() - first);
    // Column-major memory is the transpose to the kernel: its rows are columns here.
    const kernels::Survey<T> own(count, m, {a.data + first * m, m, 1}, narrow_ ? nullptr : copy.data + first * m);
    finite = own.finite() ? 1 : 0;
    for (std::int64_t i = 0; i < m; ++i)
      tops[static_cast<std::size_t>(i)] = std::max(tops[static_cast<std::size_t>(i)], own.columns()[i]);
    for (std::int64_t j = 0; j < count; ++j)
      column_tops_[static_cast<std::size_t>(a.column.global(first + j))] =
          kernels::exponent_of_size(static_cast<double>(own.rows()[j]));
    measure(first, count, sums);
  }
  if (reduced(finite, MPI_MIN) == 0) {
    nonfinite_ = nonfinite_element(a_, "A", options_.names);
    return false;
  }
  for (std::int64_t i = 0; i < m; ++i)
    row_tops_[static_cast<std::size_t>(a.row.global(i))] =
        kernels::exponent_of_size(static_cast<double>(tops[static_cast<std::size_t>(i)]));
  all_reduce(row_tops_.data(), n_, MPI_MAX);
  all_reduce(column_tops_.data(), n_, MPI_MAX);
  take_norms(sums);
  fresh_ = true;
  return true;
}

// Which triangle is empty?
template <class T>
Structure System<T>::structure_by_elements() {
  int full[2] = {0, 0};  // below, above
  const Local<T> a = local<T>(a_);
  for (std::int64_t j = 0; j < a.columns() && !(full[0] && full[1]); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i)
      if (a.at(i, j) != T(0))
        if (const std::int64_t below = a.row.global(i) - a.column.global(j); below != 0) full[below > 0 ? 0 : 1] = 1;
  all_reduce(full, 2, MPI_MAX);
  return !full[0] && !full[1] ? Structure::diagonal
         : !full[1]           ? Structure::lower
         : !full[0]           ? Structure::upper
                              : Structure::general;
}

// Two rows against two columns: a matrix that is not Hermitian nearly always shows it here, and needs no transposing.
template <class T>
bool System<T>::maybe_hermitian() const {
  std::vector<T> row(static_cast<std::size_t>(n_)), column(static_cast<std::size_t>(n_));
  for (const std::int64_t k : {std::int64_t{0}, n_ / 2}) {
    gather_rows<T>(local<T>(a_), k, 1, row.data());
    gather_columns<T>(local<T>(a_), k, 1, column.data());
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] != conjugate(column[i])) return false;
  }
  return true;
}

template <class T>
void System<T>::look() {
  if (options_.assume == Assume::general || n_ == 0) return;
  if (options_.method == Method::none) verdict_.structure = structure_by_elements();
  if (options_.assume == Assume::triangular && verdict_.structure == Structure::general)
    refuse<ArgumentError>("WP-ARG-001",
                          "assume = \"triangular\", but there are elements on both sides of the diagonal.",
                          "Say assume = \"lower\" or \"upper\": the other triangle is then not read.");
  if (verdict_.structure != Structure::general || !maybe_hermitian() || !is_hermitian<T>(a_)) return;
  int positive = 1;
  local<T>(a_).each_diagonal([&](std::int64_t, const T& v) {
    if (!(std::real(v) > 0)) positive = 0;
  });
  verdict_.structure = reduced(positive, MPI_MIN) ? Structure::spd : Structure::symmetric;
}

// Powers of two that bring rows and columns near 1.
template <class T>
void System<T>::scale() {
  const Local<T> a = local<T>(a_);
  const auto picked = [](const std::vector<int>& all, const Axis& axis) {
    std::vector<int> own(static_cast<std::size_t>(axis.count()));
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = all[static_cast<std::size_t>(axis.global(static_cast<std::int64_t>(i)))];
    return own;
  };
  const kernels::ExponentsAfter after = [&](const std::vector<int>& rows, const std::vector<int>& columns) {
    const kernels::Exponents own = kernels::largest_exponents<T>(a.rows(), a.columns(), {a.data, 1, a.leading()},
                                                                 picked(rows, a.row), picked(columns, a.column));
    kernels::Exponents all{std::vector<int>(rows.size(), kernels::kNoExponent),
                           std::vector<int>(columns.size(), kernels::kNoExponent)};
    for (std::size_t i = 0; i < own.rows.size(); ++i)
      all.rows[static_cast<std::size_t>(a.row.global(static_cast<std::int64_t>(i)))] = own.rows[i];
    for (std::size_t j = 0; j < own.columns.size(); ++j)
      all.columns[static_cast<std::size_t>(a.column.global(static_cast<std::int64_t>(j)))] = own.columns[j];
    all_reduce(all.rows.data(), n_, MPI_MAX);
    all_reduce(all.columns.data(), n_, MPI_MAX);
    return all;
  };
  const bool symmetric = verdict_.structure == Structure::spd || verdict_.structure == Structure::symmetric;
  kernels::Equilibration q = symmetric ? kernels::equilibrate_symmetric<T>(row_tops_, after)
                                       : kernels::equilibrate<T>({row_tops_, column_tops_}, after);
  if (!q.needed) return;
  rows_ = std::move(q.rows);
  columns_ = std::move(q.columns);
}

// S into the memory of the factors, unless it is there.
template <class T>
void System<T>::fresh_copy() {
  const bool there = std::exchange(fresh_, false);
  if (narrow_) a_ = {};
  if (!there && narrow_) {
    factors_ = {};
    factors_ = made();
  } else if (!there) {
    if (!factors_.defined()) factors_ = make_like(a_);
    const Local<T> from = local<T>(a_);
    std::copy_n(from.data, from.rows() * from.columns(), local<T>(factors_).data);
  }
  if (rows_.empty()) return;
  local<T>(factors_).each([&](std::int64_t i, std::int64_t j, T& v) {
    v = times_power(v, rows_[static_cast<std::size_t>(i)] + columns_[static_cast<std::size_t>(j)]);
  });
}

// Sums of |s| in some of the columns, and max |s|, of what is to be factored.
template <class T>
void System<T>::measure(std::int64_t first, std::int64_t count, std::vector<double>& sums) {
  const Local<T> s = local<T>(factors_);
  for (std::int64_t j = first; j < first + count; ++j) {
    constexpr std::int64_t kLanes = 8;  // sums side by side: no addition waits for the one before
    double sum[kLanes] = {}, most[kLanes] = {};
    const T* const column = &s.at(0, j);
    const std::int64_t m = s.rows();
    std::int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes)
      for (std::int64_t k = 0; k < kLanes; ++k) {
        const double size = static_cast<double>(std::abs(column[i + k]));
        sum[k] += size;
        most[k] = size > most[k] ? size : most[k];
      }
    for (; i < m; ++i) {
      sum[0] += static_cast<double>(std::abs(column[i]));
      most[0] = std::max(most[0], static_cast<double>(std::abs(column[i])));
    }
    largest_ = std::max(largest_, *std::max_element(most, most + kLanes));
    for (const double v : sum) sums[static_cast<std::size_t>(s.column.global(j))] += v;
  }
}

// ‖S‖₁ and max |s|.
template <class T>
void System<T>::take_norms(std::vector<double>& sums) {
  all_sum(sums.data(), n_);
  norm_ = n_ ? *std::max_element(sums.begin(), sums.end()) : 0;
  largest_ = reduced(largest_, MPI_MAX);
}

template <class T>
void System<T>::factor() {
  fresh_copy();
  if (!rows_.empty()) {  // the survey measured A
    std::vector<double> sums(static_cast<std::size_t>(n_), 0);
    largest_ = 0;
    measure(0, local<T>(factors_).columns(), sums);
    take_norms(sums);
  }
  if (n_ == 0) return;
  linalg::choose_factors(options_, verdict_,
                         linalg::FactorSteps{.substitution = [&] { zero_pivot_ = zero_on_diagonal(); },
                                             .cholesky = [&] { return factor_by_cholesky(); },
                                             .ldl = [] { return false; },  // ScaLAPACK has none
                                             .lu = [&] { factor_by_lu(); },
                                             .qr = [&] { factor_by_qr(); }});
}

template <class T>
bool System<T>::zero_on_diagonal() const {
  int zero = 0;
  local<T>(factors_).each_diagonal([&](std::int64_t, const T& v) { zero |= v == T(0); });
  return reduced(zero, MPI_MAX) != 0;
}

template <class T>
void System<T>::factor_by_lu() {
  zero_pivot_ = scalapack::getrf<T>(local<T>(factors_), pivots_) > 0;
  double top = 0;  // of U
  const Local<T> f = local<T>(factors_);
  for (std::int64_t j = 0; j < f.columns(); ++j) {
    const std::int64_t end = f.row.before(f.column.global(j) + 1);
    const T* const column = &f.at(0, j);
    if constexpr (kernels::RealOf<T>::parts == 1)
      top = std::max(top, static_cast<double>(kernels::largest_of_lines<T>(1, end, column, end)));
    else
      for (std::int64_t i = 0; i < end; ++i) top = std::max(top, static_cast<double>(std::abs(column[i])));
  }
  top = reduced(top, MPI_MAX);
  verdict_.growth = largest_ > 0 ? top / largest_ : 1;
}

template <class T>
bool System<T>::factor_by_cholesky() {
  if (scalapack::potrf<T>(local<T>(factors_)) == 0) return true;
  fresh_copy();
  return false;
}

// Nothing grows in orthogonal transformations.
template <class T>
void System<T>::factor_by_qr() {
  fresh_copy();
  scalapack::geqrf<T>(local<T>(factors_), reflectors_);
  verdict_.method = Method::qr;
  verdict_.growth = 1;
  zero_pivot_ = zero_on_diagonal();
}

// X ← S⁻¹X or S⁻ᴴX.
template <class T>
void System<T>::substitute(Matrix& x, bool adjoint) {
  const Local<T> f = local<T>(factors_), to = local<T>(x);
  switch (verdict_.method) {
    case Method::cholesky: scalapack::potrs<T>(f, to); return;
    case Method::lu: scalapack::getrs<T>(adjoint, f, pivots_, to); return;
    case Method::qr:
      if (adjoint) scalapack::trtrs<T>(true, true, false, f, to, n_);
      scalapack::apply_q<T>(!adjoint, n_, f, reflectors_, to);
      if (!adjoint) scalapack::trtrs<T>(true, false, false, f, to, n_);
      return;
    default: scalapack::trtrs<T>(verdict_.structure == Structure::upper, adjoint, false, f, to, n_); return;
  }
}

// The same of vectors that every rank has, row-major n × columns.
template <class T>
void System<T>::substitute(std::int64_t columns, T* x, bool adjoint) {
  if (!work_.defined() || work_.columns() != columns) work_ = make_matrix(n_, columns, dtype_v<T>, given_.layout());
  scatter_columns<T>(x, 0, columns, local<T>(work_));
  substitute(work_, adjoint);
  gather_columns<T>(local<T>(work_), 0, columns, x);
}

template <class T>
void System<T>::estimate(const kernels::Starts<T>& solved, double enough) {
  if (n_ == 0 || zero_pivot_ || norm_ == 0) {
    verdict_.rcond = n_ == 0 ? 1 : 0;
    return;
  }
  const Stage stage("estimate the condition");
  const auto plain = [&](T* x) { substitute(1, x, false); };
  const auto adjoint = [&](T* x) { substitute(1, x, true); };
  const auto inverse = static_cast<double>(kernels::inverse_norm<T>(n_, plain, adjoint, solved, enough).estimate);
  verdict_.rcond = inverse > 0 && std::isfinite(inverse) ? 1 / norm_ / inverse : 0;
}

template <class T>
void System<T>::conclude_matrix() {
  if (verdict_.method == Method::substitution) {
    verdict_.exactly_singular = zero_pivot_;
  } else if (linalg::suspect<T>(n_, verdict_.rcond)) {
    const Tensor all = brought_together(whole());
    verdict_.exactly_singular =
        kernels::exactly_singular<T>(n_, {reinterpret_cast<const T*>(all.node()->data), n_, 1});
  }
  linalg::conclude<T>(verdict_, linalg::expected_error<T>(verdict_), options_.min_digits);
  judged_ = true;
}

template <class T>
void System<T>::judge() {
  if (judged_ || !factored()) return;
  if (verdict_.method == Method::none) verdict_.method = Method::lu;  // of an empty matrix
  if (n_ == 0 || zero_pivot_ || norm_ == 0) {
    estimate({});
  } else {
    std::vector<T> starts(static_cast<std::size_t>(2 * n_));
    kernels::inverse_norm_starts<T>(n_, starts.data(), starts.data() + 1, 2);
    substitute(2, starts.data(), false);
    estimate({starts.data(), starts.data() + 1, 2});
  }
  conclude_matrix();
}

template <class T>
double System<T>::log_determinant() const {
  std::vector<double> parts(static_cast<std::size_t>(n_), 0);
  local<T>(factors_).each_diagonal([&](std::int64_t i, const T& v) {
    parts[static_cast<std::size_t>(i)] = std::log(static_cast<double>(std::abs(v)));
  });
  all_sum(parts.data(), n_);
  double sum = 0, rest = 0;  // Kahan & Babuška
  for (std::int64_t i = 0; i < n_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    double v = verdict_.method == Method::cholesky ? 2 * parts[k] : parts[k];
    if (!rows_.empty()) v -= std::log(2.0) * (rows_[k] + columns_[k]);
    const double next = sum + v;
    rest += std::fabs(sum) >= std::fabs(v) ? (sum - next) + v : (v - next) + sum;
    sum = next;
  }
  return sum + rest;
}

template class System<float>;
template class System<double>;
template class System<complex64>;
template class System<complex128>;
#define WP_INSTANTIATE(T) template Matrix meant_by<T>(const Options&, const Matrix&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
