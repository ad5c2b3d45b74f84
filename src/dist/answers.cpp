// Answers from the factors of a distributed system: solutions, inverses, and why there are none.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/residual.hpp"
#include "dist/scalapack.hpp"
#include "dist/stage.hpp"
#include "dist/system.hpp"
#include "dist/team.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/explain.hpp"
#include "linalg/refine.hpp"

namespace wp::dist {
// Improves X, the solution of S X = B, and says how good it is.
template <class T>
void System<T>::improve(std::int64_t columns, bool cheap, bool adjoint, const T* b, T* x, Verdict& v) {
  const std::vector<int>& weights = adjoint ? rows_ : columns_;
  const double worse = linalg::amplification<T>(n_, columns, {x, columns, 1}, weights);
  if (!linalg::above_underflow<T>(n_, verdict_.rcond, worse)) return linalg::conclude<T>(v, 1, options_.min_digits);
  const bool pays = linalg::refinement_pays<T>(options_, cheap, verdict_, worse);
  if (!pays && worse > 1)
    linalg::conclude<T>(v, std::min(1.0, linalg::expected_error<T>(verdict_) * worse), options_.min_digits);
  if (zero_pivot_ || !pays) return;
  const Matrix s = scaled();
  const linalg::Refined refined = linalg::refine<T>(
      n_, columns, {x, columns, 1}, weights, {},
      [&](T* r, R* sizes) { residual<T>(s, columns, adjoint, b, nullptr, x, r, sizes); },
      [&](kernels::MutableView<T> r) { substitute(columns, r.data, adjoint); });
  v.backward_error = refined.backward_error;
  linalg::conclude<T>(v, refined.error, options_.min_digits);
}

// Right-hand sides that every rank has, row-major n × columns, to solutions. The first panel brings the two vectors
// along that the estimate begins with.
template <class T>
Verdict System<T>::panel(std::int64_t columns, T* x, bool cheap, bool adjoint) {
  linalg::Frame<T> frame(n_, columns, adjoint ? columns_ : rows_, adjoint ? rows_ : columns_);
  const kernels::MutableView<T> view{x, columns, 1};
  frame.enter(view);
  const std::vector<T> b(x, x + n_ * columns);
  if (!judged_ && !adjoint && !zero_pivot_ && norm_ != 0) {
    const std::int64_t wide = columns + 2;
    std::vector<T> all(static_cast<std::size_t>(n_ * wide));
    kernels::inverse_norm_starts<T>(n_, all.data() + columns, all.data() + columns + 1, wide);
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(x + i * columns, columns, all.data() + i * wide);
    substitute(wide, all.data(), false);
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(all.data() + i * wide, columns, x + i * columns);
    estimate(all.data() + columns, all.data() + columns + 1, wide);
    conclude_matrix();
  } else {
    judge();
    if (!zero_pivot_) substitute(columns, x, adjoint);
  }
  Verdict v = verdict_;
  improve(columns, cheap, adjoint, b.data(), x, v);
  frame.leave(view);
  return v;
}

namespace {

// That of the worse answer.
void take_worse(Verdict& all, const Verdict& v) {
  if (v.forward_error > all.forward_error || v.status > all.status) {
    const double backward = std::max(all.backward_error, v.backward_error);
    all = v;
    all.backward_error = backward;
  } else if (v.backward_error > all.backward_error) {
    all.backward_error = v.backward_error;
  }
}

}  // namespace

template <class T>
Verdict System<T>::solve(const Matrix& b, Matrix& x, bool adjoint) {
  x = make_like(b);
  const std::int64_t k = b.columns();
  if (!factored()) return verdict_;
  if (n_ == 0 || k == 0) {
    judge();
    return verdict_;
  }
  const bool cheap = linalg::few(n_, k);
  std::vector<T> vectors(static_cast<std::size_t>(n_ * std::min(k, kPanel)));
  std::optional<Verdict> all;
  for (std::int64_t first = 0; first < k; first += kPanel) {
    const std::int64_t count = std::min(kPanel, k - first);
    gather_columns<T>(local<T>(b), first, count, vectors.data());
    const Verdict v = panel(count, vectors.data(), cheap, adjoint);
    scatter_columns<T>(vectors.data(), first, count, local<T>(x));
    all ? take_worse(*all, v) : static_cast<void>(all = v);
  }
  return *all;
}

template <class T>
Verdict System<T>::inverse(Matrix& x) {
  judge();
  x = {};
  if (!factored() || n_ == 0) {
    x = make_like(a_);
    return verdict_;
  }
  // Improving n right-hand sides costs more than the inverse: only what would not be ok otherwise.
  constexpr double kPoor = 1e-7;
  const bool worth_it = options_.refine == Options::Refine::always ||
                        (options_.refine != Options::Refine::never && verdict_.forward_error > kPoor);
  const bool plain =
      verdict_.method == Method::lu || verdict_.method == Method::cholesky || verdict_.method == Method::substitution;
  if (!plain || zero_pivot_ || !rows_.empty() || worth_it) {
    Matrix unit = make_like(a_);
    local<T>(unit).each([](std::int64_t i, std::int64_t j, T& v) { v = T(i == j ? 1 : 0); });
    return solve(unit, x);
  }
  const Local<T> f = local<T>(factors_);
  if (verdict_.method == Method::lu) {
    scalapack::getri<T>(f, pivots_);
  } else if (verdict_.method == Method::substitution) {
    scalapack::trtri<T>(verdict_.structure == Structure::upper, f);
  } else {
    scalapack::potri<T>(f);
    f.each([](std::int64_t i, std::int64_t j, T& v) {
      if (i < j) v = T(0);
    });
    Matrix turned = make_like(a_);
    scalapack::transpose<T>(true, f, local<T>(turned));
    const Local<T> t = local<T>(turned);
    f.each([&](std::int64_t i, std::int64_t j, T& v) {
      if (i < j) v = t.at(f.row.local(i), f.column.local(j));
    });
  }
  x = std::move(factors_);
  factors_ = {};
  return verdict_;
}

// Inverse iteration on the factors, from the start vector of the estimate; the largest element is 1.
template <class T>
std::vector<T> System<T>::null_vector(bool adjoint) {
  std::vector<T> v(static_cast<std::size_t>(n_)), other(v.size());
  kernels::inverse_norm_starts<T>(n_, other.data(), v.data(), 1);
  for (int step = 0; step < 3; ++step) {
    substitute(1, v.data(), adjoint);
    double most = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
      if (const double size = size_of_number(v[i]); !(size <= most)) most = size, at = i;
    if (!(most > 0) || !std::isfinite(most)) return {};
    const T largest = v[at];
    for (T& e : v) e /= largest;
  }
  return v;
}

// The few rows or columns that the null vector joins, brought together and looked at; empty if they are not few.
template <class T>
std::string System<T>::relation(const std::vector<T>& v, bool rows, bool& exact) const {
  using Wide = linalg::Sum<T>;
  constexpr std::size_t kTerms = 7;
  const double least = std::sqrt(u);
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (size_of_number(v[i]) > least) chosen.push_back(static_cast<std::int64_t>(i));
  if (chosen.empty() || chosen.size() > kTerms) return {};
  std::vector<Wide> lines;
  std::vector<T> line(static_cast<std::size_t>(n_));
  std::vector<std::string> labels;
  const std::string_view kind = rows ? "row" : "column";
  for (const std::int64_t k : chosen) {
    rows ? gather_rows<T>(local<T>(a_), k, 1, line.data()) : gather_columns<T>(local<T>(a_), k, 1, line.data());
    for (const T& e : line) lines.push_back(Wide(e));
    const auto named = static_cast<std::size_t>(k);
    labels.push_back(named < options_.names.size() && (!rows || verdict_.structure == Structure::symmetric)
                         ? options_.names[named]
                         : say(kind, ' ', k));
  }
  const auto count = static_cast<std::int64_t>(chosen.size());
  const kernels::View<Wide> view{lines.data(), n_, 1};
  std::string text = linalg::exactly_dependent_rows<Wide>(count, n_, view, kind, labels);
  exact = exact || !text.empty();
  if (text.empty()) {
    const double tolerance = std::max(1e-13, 8 * u * static_cast<double>(n_));
    text = linalg::nearly_dependent_rows<Wide>(count, n_, view, tolerance, kind, labels);
  }
  return text;
}

template <class T>
typename System<T>::Reason System<T>::explain() {
  const Stage stage("find the reason");
  Reason reason;
  if (zero_pivot_) {
    const R tiny = static_cast<R>(u * std::max(norm_, std::numeric_limits<double>::min()));
    local<T>(factors_).each([&](std::int64_t i, std::int64_t j, T& v) {
      if (i == j && v == T(0)) v = T(tiny);
    });
  }
  const std::vector<T> right = null_vector(false), left = null_vector(true);
  if (!left.empty()) reason.rows = relation(left, true, reason.exact);
  if (right.empty()) return reason;
  reason.columns = relation(right, false, reason.exact);
  std::vector<T> null = right;  // of S; that of A is C times it
  double length = 0;
  for (std::size_t i = 0; i < null.size(); ++i) {
    if (!columns_.empty()) null[i] = times_power(null[i], columns_[i]);
    length = std::hypot(length, static_cast<double>(std::abs(null[i])));
  }
  for (T& e : null) e /= static_cast<R>(length);
  reason.null_vector = Tensor::from(null, {n_});
  return reason;
}

#define WP_INSTANTIATE(T)                                          \
  template Verdict System<T>::solve(const Matrix&, Matrix&, bool); \
  template Verdict System<T>::inverse(Matrix&);                    \
  template typename System<T>::Reason System<T>::explain();
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
