#include "linalg/eigenvalue_clusters.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/lapack.hpp"

namespace wp::linalg {
namespace {

using C = std::complex<double>;

// An upper triangular matrix, column-major.
struct Triangle {
  std::int64_t n;
  std::vector<C> t;
  C& at(std::int64_t i, std::int64_t j) { return t[static_cast<std::size_t>(i + j * n)]; }

  // Exchanges neighbours on the diagonal by a rotation (Golub & Van Loan 2013, §7.6.2).
  void exchange(std::int64_t p) {
    const C first = at(p, p), second = at(p + 1, p + 1), f = at(p, p + 1), g = second - first;
    const double size = std::hypot(std::abs(f), std::abs(g));
    if (size == 0) return;
    const double c = std::abs(f) / size;
    const C s = (f == 0.0 ? C(1) : f / std::abs(f)) * std::conj(g) / size;
    const auto rotate = [&](C& x, C& y, C by) {
      const C turned = c * x + by * y;
      y = c * y - std::conj(by) * x;
      x = turned;
    };
    for (std::int64_t j = p + 2; j < n; ++j) rotate(at(p, j), at(p + 1, j), s);
    for (std::int64_t i = 0; i < p; ++i) rotate(at(i, p), at(i, p + 1), std::conj(s));
    at(p, p) = second;
    at(p + 1, p + 1) = first;
  }

  // ‖P‖ of the projector onto the subspace of the first k values: √(1 + ‖X‖²), T₁₁ X − X T₂₂ = T₁₂.
  double projector(std::int64_t k) {
    std::vector<C> x(static_cast<std::size_t>(k * (n - k)));
    double sum = 1;
    for (std::int64_t j = k; j < n; ++j) {
      C* const column = x.data() + (j - k) * k;
      for (std::int64_t i = k; i-- > 0;) {
        C rest = at(i, j);
        for (std::int64_t l = i + 1; l < k; ++l) rest -= at(i, l) * column[l];
        for (std::int64_t l = k; l < j; ++l) rest += x[static_cast<std::size_t>(i + (l - k) * k)] * at(l, j);
        column[i] = rest / (at(i, i) - at(j, j));
        sum += std::norm(column[i]);
      }
    }
    return std::sqrt(sum);
  }

  // The error of the first k values when T is off by e: their block, without its mean, has norm ν, and what moves it
  // is e‖P‖ (Stewart & Sun 1990, ch. V); each value then by Elsner's bound (1985).
  double error(std::int64_t k, double e) {
    C mean = 0;
    for (std::int64_t i = 0; i < k; ++i) mean += at(i, i) / static_cast<double>(k);
    double squares = 0;
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t i = 0; i <= j; ++i) squares += std::norm(at(i, j) - (i == j ? mean : 0.0));
    const double moved = e * projector(k), order = 1 / static_cast<double>(k);
    return std::pow(2 * std::sqrt(squares) + moved, 1 - order) * std::pow(moved, order);
  }
};

// Numbers 0, 1, … of the clusters: values nearer to each other than their errors are together.
std::vector<int> clusters_of(const std::vector<C>& values, const std::vector<double>& errors) {
  std::vector<int> cluster(values.size(), -1);
  int next = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (cluster[i] >= 0) continue;
    std::vector<std::size_t> reached{i};
    cluster[i] = next;
    for (std::size_t at = 0; at < reached.size(); ++at)
      for (std::size_t j = 0; j < values.size(); ++j) {
        const std::size_t r = reached[at];
        if (cluster[j] >= 0 || std::abs(values[j] - values[r]) > std::max(errors[r], errors[j])) continue;
        cluster[j] = next;
        reached.push_back(j);
      }
    ++next;
  }
  return cluster;
}

}  // namespace

void bound_clusters(std::int64_t n, std::vector<C> a, double unit, double most, const std::vector<C>& values,
                    std::vector<double>& errors) {
  double squares = 0;
  for (const C v : a) squares += std::norm(v);
  const double e = unit * std::sqrt(squares);
  std::vector<C> w(values.size());
  Triangle form{n, std::move(a)};
  if (lapack::schur<C>(n, form.t.data(), n, w.data(), nullptr, 1) != 0) return;
  const std::vector<int> cluster = clusters_of(values, errors);
  const auto cluster_at = [&](std::int64_t i) {  // of the value that a diagonal element is nearest to
    const C v = form.at(i, i);
    const auto nearest =
        std::min_element(values.begin(), values.end(), [&](C x, C y) { return std::abs(x - v) < std::abs(y - v); });
    return cluster[static_cast<std::size_t>(nearest - values.begin())];
  };
  for (int which = 0; which <= *std::max_element(cluster.begin(), cluster.end()); ++which) {
    double worst = 0;
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (cluster[i] == which) worst = std::max(worst, errors[i]);
    if (worst <= most) continue;
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (cluster_at(i) != which) continue;
      for (std::int64_t p = i; p-- > k;) form.exchange(p);
      ++k;
    }
    if (k != std::count(cluster.begin(), cluster.end(), which)) continue;
    const double bound = form.error(k, e);
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (cluster[i] == which && bound < errors[i]) errors[i] = bound;
  }
}

}  // namespace wp::linalg
