#include "linalg/eig_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "linalg/bounds.hpp"
#include "linalg/stack.hpp"
#include "linalg/vectors.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

using C = complex128;
using Numbers = std::vector<std::size_t>;
using Column = Vector<C>;

const C* elements_of(const Tensor& t) {
  return reinterpret_cast<const C*>(t.node()->data);
}

// Sets of values that lie within `distance` of each other, by steps.
std::vector<Numbers> chained(const C* z, const Numbers& among, double distance) {
  std::vector<Numbers> all;
  std::vector<char> taken(among.size(), 0);
  for (std::size_t i = 0; i < among.size(); ++i) {
    if (taken[i]) continue;
    Numbers reached{i};
    taken[i] = 1;
    for (std::size_t at = 0; at < reached.size(); ++at)
      for (std::size_t j = 0; j < among.size(); ++j)
        if (!taken[j] && std::abs(z[among[j]] - z[among[reached[at]]]) <= distance) {
          taken[j] = 1;
          reached.push_back(j);
        }
    std::sort(reached.begin(), reached.end());
    for (std::size_t& r : reached) r = among[r];
    all.push_back(std::move(reached));
  }
  return all;
}

using Reach = std::function<double(double size)>;
class OneMatrix {
 public:
  OneMatrix(EigenClusters& c, std::size_t number, std::size_t n, bool real, double unit)
      : c_(c), number_(number), n_(n), first_(number * n), real_(real), unit_(unit) {}

  // Gives how long w is in places of the values (Clusters::reach).
  double look(const C* a, const C* z, const C* v, const C* x, double near, C* w, const Reach& reach) {
    Numbers everything(n_);
    for (std::size_t i = 0; i < n_; ++i) everything[i] = i;
    const std::vector<Numbers> clusters = chained(z, everything, near);
    if (clusters.size() == n_) return 1;
    a_ = a, z_ = z, v_ = v, x_ = x;
    find_mirrors();
    double squares = 0, most = 0;
    for (std::size_t i = 0; i < n_ * n_; ++i) squares += std::norm(a[i]);
    for (std::size_t i = 0; i < n_; ++i) most = std::max(most, std::abs(z[i]));
    const double rounding = growth_of_errors(static_cast<std::int64_t>(n_)) * unit_ * std::sqrt(squares);
    const double size = size_of_cluster(most), longer = reach(size);
    for (std::size_t i = 0; i < n_; ++i) c_.error[first_ + i] = rounding * projector({i});
    int groups = 0;
    for (const Numbers& cluster : clusters) {
      if (cluster.size() < 2) continue;
      c_.any = true;
      split(cluster, size * longer, w);
      const double error = rounding * projector(cluster);
      for (const std::size_t i : cluster) c_.error[first_ + i] = std::min(c_.error[first_ + i], error);
      std::size_t tied = 0;
      for (const Numbers& tie : chained(z, cluster, 2 * error))
        if (tie.size() > 1 && take(tie, 2 * std::sqrt(static_cast<double>(tie.size())) * error)) {
          for (const std::size_t i : tie) c_.group[first_ + i] = groups;
          ++groups;
          tied += tie.size();
          if (tie.size() < cluster.size()) c_.exact = false;
        }
      if (tied < cluster.size()) c_.exact = false;
    }
    return longer;
  }

 private:
  // The conjugate value of each: itself, if it is real or the matrix is not.
  void find_mirrors() {
    mirror_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) mirror_[i] = i;
    if (!real_) return;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i + 1; j < n_ && mirror_[i] == i && z_[i].imag() != 0; ++j)
        if (mirror_[j] == j && z_[j] == std::conj(z_[i])) {
          mirror_[i] = j;
          mirror_[j] = i;
        }
  }
  // ‖P‖ of the projector onto the subspace of these values: what rounding of the matrix moves them by, at most.
  double projector(const Numbers& which) const {
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        C p = 0;
        for (const std::size_t k : which) p += v_[i * n_ + k] * x_[k * n_ + j];
        sum += std::norm(p);
      }
    return std::sqrt(sum);
  }
  // Places around 0, half a step above and below the real axis for pairs.
  void split(const Numbers& cluster, double size, C* w) {
    std::vector<char> placed(n_, 0);
    double place = 0, places = 0;
    const auto inside = [&](std::size_t i) { return std::find(cluster.begin(), cluster.end(), i) != cluster.end(); };
    for (const std::size_t i : cluster) places += mirror_[i] == i || !inside(mirror_[i]) ? 1 : 0.5;
    for (const std::size_t i : cluster) {
      if (placed[i]) continue;
      const std::size_t m = mirror_[i];
      const bool pair = m != i && inside(m);
      // A cluster whose mirror image is another one has its places from that, if it came first.
      const C at = m != i && !pair && m < i ? std::conj(w[m])
                                            : size * C(place - (places - 1) / 2, !pair              ? 0
                                                                                 : z_[i].imag() > 0 ? .5
                                                                                                    : -.5);
      w[i] = at;
      placed[i] = 1;
      if (pair) {
        w[m] = std::conj(at);
        placed[m] = 1;
      }
      ++place;
    }
  }
  // The tie, if A Q = mean Q for an orthonormal basis Q of its vectors, up to `allowed`.
  bool take(const Numbers& tie, double allowed) {
    const std::size_t k = tie.size();
    EigenClusters::Tie found{number_, tie, {}, {}, true, {}};
    for (const std::size_t i : tie) {
      found.mirrored.push_back(mirror_[i]);
      found.real = found.real && real_ && std::find(tie.begin(), tie.end(), mirror_[i]) != tie.end();
    }
    for (const std::size_t i : tie)
      found.partner.push_back(static_cast<std::size_t>(std::find(tie.begin(), tie.end(), mirror_[i]) - tie.begin()));
    const bool own = std::is_permutation(tie.begin(), tie.end(), found.mirrored.begin());
    if (own || !real_) found.mirrored.clear();
    if (!found.mirrored.empty() && found.mirrored[0] < tie[0]) return known(found.mirrored);
    std::vector<Column> from;
    for (const std::size_t i : tie) {
      Column column(n_), imaginary(n_);
      for (std::size_t r = 0; r < n_; ++r) {
        column[r] = found.real ? v_[r * n_ + i].real() : v_[r * n_ + i];
        imaginary[r] = v_[r * n_ + i].imag();
      }
      from.push_back(std::move(column));
      if (found.real) from.push_back(std::move(imaginary));
    }
    const std::vector<Column> q = orthonormal(std::move(from), k);
    if (!acts_as_number(tie, q, allowed)) return false;
    found.r.resize(k * k);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j)
        for (std::size_t r = 0; r < n_; ++r) found.r[i * k + j] += x_[tie[i] * n_ + r] * q[j][r];
    c_.ties = true;
    c_.all_ties.push_back(std::move(found));
    return true;
  }
  bool acts_as_number(const Numbers& tie, const std::vector<Column>& q, double allowed) const {
    C mean = 0;
    for (const std::size_t i : tie) mean += z_[i] / static_cast<double>(tie.size());
    double squares = 0;
    for (const Column& column : q)
      for (std::size_t i = 0; i < n_; ++i) {
        C sum = -mean * column[i];
        for (std::size_t j = 0; j < n_; ++j) sum += a_[i * n_ + j] * column[j];
        squares += std::norm(sum);
      }
    return std::sqrt(squares) <= allowed;
  }
  bool known(const Numbers& values) const {
    return std::any_of(c_.all_ties.begin(), c_.all_ties.end(), [&](const EigenClusters::Tie& t) {
      return t.member == number_ &&
             std::is_permutation(t.values.begin(), t.values.end(), values.begin(), values.end());
    });
  }

  EigenClusters& c_;
  std::size_t number_, n_, first_;
  bool real_;
  double unit_;
  const C *a_ = nullptr, *z_ = nullptr, *v_ = nullptr, *x_ = nullptr;
  Numbers mirror_;
};

// Two real columns become a conjugate pair of the same span.
void pair_up(std::vector<Column>& columns, std::size_t i, std::size_t j) {
  if (j <= i) return;
  for (std::size_t k = 0; k < columns[i].size(); ++k) {
    const C z = C(columns[i][k].real(), columns[j][k].real()) * std::sqrt(0.5);
    columns[i][k] = z;
    columns[j][k] = std::conj(z);
  }
}

}  // namespace

EigenClusters eigen_clusters(const Tensor& a, const Tensor& values, const Tensor& v, const Tensor& x, int terms,
                             double eps, bool wide) {
  const Unseen unseen;
  EigenClusters c;
  c.wide = wide;
  c.exact = !wide;
  const double unit = round_off(real_of(values.dtype()));
  const auto n = static_cast<std::size_t>(values.shape().back());
  const Tensor A = packed(a, c128), Z = packed(values, c128), V = packed(v, c128), X = packed(x, c128);
  const C* const z = elements_of(Z);
  const auto count = static_cast<std::size_t>(values.size()), members = n ? count / n : 0;
  std::vector<C> w(count, 0);
  std::vector<double> near(members), longer(members, 1);
  const Reach reach = [&](double size) { return terms > 2 ? reach_of(size, values.dtype()) : 1; };
  c.z.assign(z, z + count);
  c.group.assign(count, -1);
  c.at_zero.assign(count, 0);
  c.error.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) c.s.push_back(std::abs(z[i]));
  const double closeness = std::pow(eps / 2, 1.0 / (terms + 1));
  for (std::size_t m = 0; m < members; ++m) {
    near[m] = closeness * *std::max_element(c.s.begin() + static_cast<std::ptrdiff_t>(m * n),
                                            c.s.begin() + static_cast<std::ptrdiff_t>(m * n + n));
    longer[m] = OneMatrix(c, m, n, !is_complex(a.dtype()), unit)
                    .look(elements_of(A) + m * n * n, z + m * n, elements_of(V) + m * n * n,
                          elements_of(X) + m * n * n, wide ? HUGE_VAL : near[m], w.data() + m * n, reach);
  }
  Dims per_member(values.shape().begin(), values.shape().end() - 1);
  per_member.push_back(1);
  per_member.push_back(1);
  const DType real = real_of(values.dtype());
  c.near = astype(Tensor::from(near, per_member), real);
  std::vector<double> tie(members, 0);
  for (const EigenClusters::Tie& t : c.all_ties)
    for (const std::size_t i : t.values)
      for (const std::size_t j : t.values)
        tie[t.member] = std::max(tie[t.member], std::abs(z[t.member * n + i] - z[t.member * n + j]));
  c.tie = astype(Tensor::from(tie, per_member), real);
  c.w = astype(Tensor::from(w, values.shape()), values.dtype());
  if (std::any_of(longer.begin(), longer.end(), [](double r) { return r != 1; }))
    c.reach = astype(Tensor::from(longer, per_member), real);
  return c;
}

Tensor EigenClusters::basis(const Dims& shape_of_values, DType dtype, std::uint64_t seed) const {
  const auto n = static_cast<std::size_t>(shape_of_values.back());
  std::vector<C> r(z.size() * n, 0);
  for (std::size_t i = 0; i < z.size(); ++i) r[i * n + i % n] = 1;
  std::mt19937_64 draw(seed);
  std::normal_distribution<double> normal;
  for (const Tie& t : all_ties) {
    const std::size_t k = t.values.size();
    std::vector<Column> turn;
    for (std::size_t j = 0; j < k; ++j) {
      Column column(k);
      for (std::size_t i = 0; i < k; ++i)
        column[i] = seed == 0 ? C(i == j) : C(normal(draw), t.real ? 0 : normal(draw));
      turn.push_back(std::move(column));
    }
    if (seed > 0) turn = orthonormal(std::move(turn), k);
    for (std::size_t j = 0; j < k && t.real; ++j) pair_up(turn, j, t.partner[j]);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j) {
        C sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += t.r[i * k + l] * turn[j][l];
        r[(t.member * n + t.values[i]) * n + t.values[j]] = sum;
        if (!t.mirrored.empty()) r[(t.member * n + t.mirrored[i]) * n + t.mirrored[j]] = std::conj(sum);
      }
  }
  Dims shape = shape_of_values;
  shape.push_back(shape_of_values.back());
  return astype(Tensor::from(r, shape), dtype);
}

}  // namespace wp::linalg
