// Why a distributed system is singular: null vectors, the rows and columns that they join, and its rank.
#include <algorithm>
#include <cmath>

#include "base/mix.hpp"
#include "base/text.hpp"
#include "dist/residual.hpp"
#include "dist/stage.hpp"
#include "dist/system.hpp"
#include "dist/team.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/explain.hpp"
#include "linalg/refine.hpp"
#include "linalg/spectral.hpp"

namespace wp::dist {

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

template <class T>
std::string relation(const Matrix& a, const std::vector<T>& v, bool rows, const std::vector<std::string>& names,
                     bool& exact) {
  using Wide = linalg::Sum<T>;
  constexpr std::size_t kTerms = 7;
  constexpr double u = linalg::kUnit<T>;
  const double least = std::sqrt(u);
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (size_of_number(v[i]) > least) chosen.push_back(static_cast<std::int64_t>(i));
  if (chosen.empty() || chosen.size() > kTerms) return {};
  const std::int64_t n = rows ? a.columns() : a.rows();
  std::vector<Wide> lines;
  std::vector<T> line(static_cast<std::size_t>(n));
  std::vector<std::string> labels;
  const std::string_view kind = rows ? "row" : "column";
  for (const std::int64_t k : chosen) {
    rows ? gather_rows<T>(local<T>(a), k, 1, line.data()) : gather_columns<T>(local<T>(a), k, 1, line.data());
    for (const T& e : line) lines.push_back(Wide(e));
    const auto named = static_cast<std::size_t>(k);
    labels.push_back(named < names.size() ? names[named] : say(kind, ' ', k));
  }
  const auto count = static_cast<std::int64_t>(chosen.size());
  const kernels::View<Wide> view{lines.data(), n, 1};
  std::string text = linalg::exactly_dependent_rows<Wide>(count, n, view, kind, labels);
  exact = exact || !text.empty();
  if (text.empty()) {
    const double tolerance = std::max(1e-13, 8 * u * static_cast<double>(n));
    text = linalg::nearly_dependent_rows<Wide>(count, n, view, tolerance, kind, labels);
  }
  return text;
}

namespace {

// The singular values of n × k numbers that every rank has, row-major, falling; the left vectors take their place.
// NaN where there are none. Rank 0 computes, so that all have the same bits.
template <class T>
std::vector<double> decomposed_in_place(std::int64_t n, std::int64_t k, std::vector<T>& x) {
  std::vector<double> sigma(static_cast<std::size_t>(k), NAN);
  together([&] {
    if (rank() != 0) return;
    const linalg::Spectral<T> svd(n, k, {x.data(), k, 1});
    if (svd.status() != linalg::Status::ok) return;
    sigma = svd.sigma();
    const kernels::View<T> u = svd.u();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < k; ++j)
        x[static_cast<std::size_t>(i * k + j)] = u.data[i * u.rows + j * u.columns];
  });
  broadcast(sigma.data(), sigma.size() * sizeof(double));
  broadcast(x.data(), x.size() * sizeof(T));
  return sigma;
}

}  // namespace

// A X or Aᴴ X of k vectors that every rank has.
template <class T>
std::vector<T> System<T>::times(std::int64_t k, const std::vector<T>& x, bool adjoint) {
  const std::vector<int> none;
  std::vector<T> zero(x.size(), T(0)), out(x.size());
  residual<T>(whole(), {none, none}, k, adjoint, zero.data(), nullptr, x.data(), out.data(), nullptr);
  return out;
}

// σ₁, from below: powers of AᴴA.
template <class T>
double System<T>::largest_value() {
  constexpr int kSteps = 10;
  std::vector<T> x(static_cast<std::size_t>(n_)), other(x.size());
  kernels::inverse_norm_starts<T>(n_, other.data(), x.data(), 1);
  double length = 0;
  for (int step = 0; step < kSteps; ++step) {
    decomposed_in_place<T>(n_, 1, x);
    std::vector<T> y = times(1, x, false);
    x = times(1, y, true);
    length = decomposed_in_place<T>(n_, 1, y)[0];
  }
  return length;
}

// The rank where few singular values count as zero, up to 2 n unit σ₁, and the next is clearly above: by subspace
// iteration on (AᴴA)⁻¹, whose Ritz values σ(A X) are those of A from above. −1: it is not clear, or A is scaled.
template <class T>
std::int64_t System<T>::clear_rank(double unit) {
  constexpr int kSteps = 4;
  constexpr double kClear = 100;
  const std::int64_t k = std::min<std::int64_t>(8, n_);
  if (!rows_.empty() || n_ == 0) return -1;
  std::vector<T> x(static_cast<std::size_t>(n_ * k));
  std::uint64_t state = 0;
  for (T& e : x) e = T(static_cast<R>(static_cast<double>(mixed(state += kMixStep) >> 11) * 0x1p-52 - 1));
  for (int step = 0; step < kSteps; ++step)
    for (const bool adjoint : {true, false}) {
      decomposed_in_place<T>(n_, k, x);
      substitute(k, x.data(), adjoint);
    }
  if (std::isnan(decomposed_in_place<T>(n_, k, x)[0])) return -1;
  std::vector<T> y = times(k, x, false);
  const std::vector<double> ritz = decomposed_in_place<T>(n_, k, y);
  const double threshold = 2 * static_cast<double>(n_) * unit * largest_value();
  const std::int64_t zeros = std::count_if(ritz.begin(), ritz.end(), [&](double s) { return s <= threshold; });
  if (std::isnan(ritz[0]) || zeros == k) return -1;
  return ritz[static_cast<std::size_t>(k - 1 - zeros)] > kClear * threshold ? n_ - zeros : -1;
}

template <class T>
typename System<T>::Reason System<T>::explain(double unit) {
  const Stage stage("find the reason");
  Reason reason;
  if (zero_pivot_) {
    const R tiny = static_cast<R>(u * std::max(norm_, std::numeric_limits<double>::min()));
    local<T>(factors_).each([&](std::int64_t i, std::int64_t j, T& v) {
      if (i == j && v == T(0)) v = T(tiny);
    });
  }
  const std::vector<T> right = null_vector(false), left = null_vector(true);
  reason.rank = clear_rank(unit);
  // Names are of columns; of a symmetric matrix also of rows.
  const bool both = verdict_.structure == Structure::symmetric || verdict_.structure == Structure::spd;
  if (!left.empty())
    reason.rows = relation(whole(), left, true, both ? options_.names : std::vector<std::string>(), reason.exact);
  if (right.empty()) return reason;
  if (!both) reason.columns = relation(whole(), right, false, options_.names, reason.exact);
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

#define WP_INSTANTIATE(T)                                         \
  template typename System<T>::Reason System<T>::explain(double); \
  template std::string relation(const Matrix&, const std::vector<T>&, bool, const std::vector<std::string>&, bool&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
