#include "dist/spectral.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/scalapack.hpp"
#include "dist/system.hpp"
#include "dist/team.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/member.hpp"
#include "linalg/stack.hpp"

namespace wp::dist {

NonFinite find_nonfinite(const Matrix& a) {
  return linalg::with_float(a.dtype(), [&]<class T>(T) -> NonFinite {
    const Local<T> l = local<T>(a);
    const std::int64_t n = a.columns();
    std::int64_t bad = 0, first = a.rows() * n;
    T value{};
    for (std::int64_t j = 0; j < l.columns(); ++j)
      for (std::int64_t i = 0; i < l.rows(); ++i)
        if (const T v = l.at(i, j); !is_finite(v)) [[unlikely]] {
          ++bad;
          if (const std::int64_t at = l.row.global(i) * n + l.column.global(j); at < first) first = at, value = v;
        }
    const std::int64_t all = reduced(bad, MPI_SUM);
    if (all == 0) return {};
    const std::int64_t least = reduced(first, MPI_MIN);
    broadcast(&value, sizeof value, reduced(bad > 0 && least == first ? rank() : size(), MPI_MIN));
    return {all, a.is_vector() ? Dims{least} : Dims{least / n, least % n}, say(value)};
  });
}

std::string nonfinite_element(const Matrix& a, std::string_view name, const std::vector<std::string>& columns) {
  const NonFinite found = find_nonfinite(a);
  if (found.count == 0) return {};
  std::string at = say(found.element);
  if (!columns.empty()) at += say(", ", columns[static_cast<std::size_t>(found.element.back())], ",");
  return say(name, at, " is ", found.value, " (", found.count, " of ", plural(a.rows() * a.columns(), "element"),
             found.count == 1 ? " is" : " are", " not finite).");
}

template <class T>
int prescale_exponent(const Matrix& a) {
  double most = 0;
  const Local<T> l = local<T>(a);
  for (std::int64_t e = 0; e < l.rows() * l.columns(); ++e) most = std::max(most, size_of_number(l.data[e]));
  most = reduced(most, MPI_MAX);
  return most > 0 && std::isfinite(most) ? -(std::ilogb(most) + 1) : 0;
}

template <class T>
Spectral<T>::Spectral(const Matrix& a, bool vectors, const std::vector<std::string>& names)
    : m_(a.rows()), n_(a.columns()) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t k = std::min(m_, n_);
  nonfinite_ = nonfinite_element(a, "A", names);
  if (!nonfinite_.empty()) {
    status_ = linalg::Status::nonfinite_input;
    return;
  }
  if (vectors) {
    u_ = make_matrix(m_, k, a.dtype(), {a.layout().grid, a.layout().block});
    vh_ = make_matrix(k, n_, a.dtype(), {a.layout().grid, a.layout().block});
  }
  if (k == 0) return;
  const int e = prescale_exponent<T>(a);
  Matrix copy = copy_of(a);
  Local<T> c = local<T>(copy);
  for (std::int64_t i = 0; i < c.rows() * c.columns(); ++i) c.data[i] = times_power(c.data[i], e);
  std::vector<R> s;
  Local<T> lu, lv;
  if (vectors) lu = local<T>(u_), lv = local<T>(vh_);
  if (scalapack::gesvd<T>(c, s, vectors ? &lu : nullptr, vectors ? &lv : nullptr) != 0)
    status_ = linalg::Status::not_converged;
  for (const R v : s) sigma_.push_back(std::ldexp(static_cast<double>(v), -e));
  broadcast(sigma_.data(), sigma_.size() * sizeof(double));
  status_ = static_cast<linalg::Status>(reduced(static_cast<int>(status_), MPI_MAX));
}

template <class T>
std::int64_t Spectral<T>::rank(double threshold) const {
  return std::count_if(sigma_.begin(), sigma_.end(), [&](double s) { return s > threshold; });
}

template <class T>
Matrix Spectral<T>::apply(const std::vector<double>& filter, const Matrix* b) {
  using R = typename kernels::RealOf<T>::type;
  const auto scale_rows = [&](const Matrix& y) {
    local<T>(y).each(
        [&](std::int64_t i, std::int64_t, T& v) { v *= static_cast<R>(filter[static_cast<std::size_t>(i)]); });
  };
  const Layout layout = u_.layout();
  if (!b) {
    Matrix x = make_matrix(n_, m_, u_.dtype(), layout);
    scale_rows(vh_);
    scalapack::gemm<T>(true, true, T(1), local<T>(vh_), local<T>(u_), T(0), local<T>(x));
    vh_ = {};
    return x;
  }
  Matrix y = make_matrix(u_.columns(), b->columns(), u_.dtype(), layout),
         x = make_matrix(n_, b->columns(), u_.dtype(), layout, b->is_vector());
  scalapack::gemm<T>(true, false, T(1), local<T>(u_), local<T>(*b), T(0), local<T>(y));
  scale_rows(y);
  scalapack::gemm<T>(true, false, T(1), local<T>(vh_), local<T>(y), T(0), local<T>(x));
  return x;
}

template <class T>
double Spectral<T>::choose_ridge(const linalg::Ridge& ridge, const Matrix* b) const {
  using linalg::RidgeRule;
  const double u = std::numeric_limits<typename kernels::RealOf<T>::type>::epsilon() / 2, s1 = largest();
  const RidgeRule rule = ridge.rule == RidgeRule::none ? RidgeRule::automatic : ridge.rule;
  if (rule == RidgeRule::given) return ridge.given;
  if (rule == RidgeRule::automatic && !b && s1 > 0) return std::sqrt(u) * s1 * s1;
  linalg::RidgeData d;
  d.sigma = sigma_;
  d.rows_outside = m_ - static_cast<std::int64_t>(sigma_.size());
  d.parts.assign(sigma_.size(), 0);
  double largest_b = b ? 0 : 1, all = b ? 0 : static_cast<double>(m_);
  Matrix y;
  if (b) {
    y = make_matrix(u_.columns(), b->columns(), u_.dtype(), u_.layout());
    scalapack::gemm<T>(true, false, T(1), local<T>(u_), local<T>(*b), T(0), local<T>(y));
    local<T>(*b).each([&](std::int64_t, std::int64_t, const T& v) {
      largest_b = std::max(largest_b, static_cast<double>(std::abs(v)));
    });
    largest_b = reduced(largest_b, MPI_MAX);
    if (largest_b > 0) d.norm = largest_b;
    local<T>(*b).each([&](std::int64_t, std::int64_t, const T& v) { all += std::norm(complex128(v) / d.norm); });
    all_sum(&all, 1);
  }
  if (b)
    local<T>(y).each([&](std::int64_t i, std::int64_t, const T& v) {
      d.parts[static_cast<std::size_t>(i)] += std::norm(complex128(v) / d.norm);
    });
  else
    local<T>(u_).each([&](std::int64_t, std::int64_t j, const T& v) {
      d.parts[static_cast<std::size_t>(j)] += std::norm(complex128(v));
    });
  all_sum(d.parts.data(), static_cast<std::int64_t>(d.parts.size()));
  double inside = 0;
  for (const double p : d.parts) inside += p;
  d.outside = std::max(all - inside, 0.0);
  double lambda = linalg::choose_ridge(rule, d, ridge.noise, u);
  broadcast(&lambda, sizeof lambda);
  return lambda;
}

// The last right singular vector, where it alone does not count: columns that depend on each other.
template <class T>
std::string dependent_columns(const Matrix& a, const Spectral<T>& svd, const std::vector<std::string>& names) {
  const std::int64_t k = svd.vh().rows();
  std::vector<T> v(static_cast<std::size_t>(a.columns()));
  gather_rows<T>(local<T>(svd.vh()), k - 1, 1, v.data());
  double most = 0;
  for (T& e : v) e = conjugate(e), most = std::max(most, size_of_number(e));
  for (T& e : v) e /= static_cast<typename kernels::RealOf<T>::type>(most);
  bool exact = false;
  return relation<T>(converted(a, dtype_v<T>), v, false, names, exact);
}

void tell_values(const std::vector<double>& sigma, double threshold, std::int64_t rank, linalg::Member& m) {
  const auto k = static_cast<std::int64_t>(sigma.size());
  m.rank = m.exactly_singular ? std::min(rank, k - 1) : rank;
  m.rank_threshold = threshold;
  if (k == 0) return;
  m.cond = m.exactly_singular || sigma.back() == 0 ? std::numeric_limits<double>::infinity()
                                                   : sigma.front() / sigma.back();
  const auto r = static_cast<std::size_t>(m.rank);
  if (m.rank > 0 && m.rank < k) m.rank_gap = sigma[r - 1] / sigma[r];
  if (!m.exactly_singular) m.rank_doubt = linalg::rank_doubt(sigma, r, threshold);
}

template <class T>
void keep_spectrum(linalg::Diagnosis::State& state, const Matrix& a, const Spectral<T>& svd, std::int64_t rank) {
  const std::vector<double> sigma = svd.sigma();
  const auto k = static_cast<std::int64_t>(sigma.size());
  std::string columns;
  if (rank == k - 1 && a.columns() <= a.rows() && svd.vh().defined())
    columns = dependent_columns<T>(a, svd, state.names);
  const double threshold = std::max(state.cutoff.rtol * svd.largest(), state.cutoff.atol);
  state.spectrum = [sigma, rank, columns, threshold](std::int64_t, linalg::Member& m) {
    tell_values(sigma, threshold, rank, m);
    if (!columns.empty()) m.dependent_columns = columns;
  };
}

#define WP_INSTANTIATE(T)                                                                                  \
  template class Spectral<T>;                                                                              \
  template void keep_spectrum(linalg::Diagnosis::State&, const Matrix&, const Spectral<T>&, std::int64_t); \
  template int prescale_exponent<T>(const Matrix&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
