#include "linalg/clusters.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

// The product of two reflections by random vectors, which mixes all of low … high.
template <class At, class Draw>
void reflect(std::size_t low, std::size_t high, const At& at, const Draw& number) {
  for (std::size_t i = low; i < high; ++i) at(i, i) = 1;
  std::vector<complex128> v(high);
  for (int repeat = 0; repeat < 2; ++repeat) {
    double length = 0;
    for (std::size_t i = low; i < high; ++i) {
      v[i] = number();
      length += std::norm(v[i]);
    }
    for (std::size_t i = low; i < high; ++i) {
      complex128 dot = 0;
      for (std::size_t j = low; j < high; ++j) dot += at(i, j) * v[j];
      for (std::size_t j = low; j < high; ++j) at(i, j) -= 2 / length * dot * std::conj(v[j]);
    }
  }
}

// Positions inside a cluster: 1, 2, … at zero, else around 0.
void split(Clusters& c, std::vector<double>& w, std::size_t first, std::size_t last, bool zero, double size) {
  const auto count = static_cast<double>(last - first);
  for (std::size_t i = first; i < last; ++i) {
    const auto place = static_cast<double>(i - first);
    w[i] = size * (zero ? place + 1 : place - (count - 1) / 2);
  }
  c.any = true;
}
}  // namespace

double size_of_cluster(double most) {
  int e = 0;
  std::frexp(most, &e);
  return most > 0 ? std::ldexp(1.0, e - 1) : 1;
}
// Squares of values below 2^-458 (2^-40 in f32) underflow; cubes of 2^-200 (2^-24) are far from that.
double reach_of(double size, DType dtype) {
  const bool narrow = real_of(dtype) == f32;
  return size < (narrow ? 0x1p-40 : 0x1p-458) ? (narrow ? 0x1p-24 : 0x1p-200) / size : 1;
}

std::vector<double> doubles_of(const Tensor& t) {
  const Tensor all = packed(t, f64);
  const auto* const data = reinterpret_cast<const double*>(all.node()->data);
  return {data, data + all.size()};
}

Clusters clusters_of(const Tensor& s, const Tensor& bounds, bool zero_counts, int terms, double eps) {
  const Unseen unseen;
  Clusters c;
  const auto k = static_cast<std::size_t>(s.shape().back());
  c.s = doubles_of(s);
  const std::size_t members = k ? c.s.size() / k : 0;
  const std::vector<double> off = doubles_of(bounds);
  std::vector<double> w(c.s.size(), 0), near(members), tie(members), reach(members, 1);
  c.group.assign(c.s.size(), -1);
  c.at_zero.assign(c.s.size(), 0);
  c.error.reserve(c.s.size());
  const double closeness = std::pow(eps / 2, 1.0 / (terms + 1));
  for (std::size_t m = 0; m < members; ++m) {
    const std::size_t first = m * k, end = first + k;
    double most = 0;
    for (std::size_t i = first; i < end; ++i) most = std::max(most, std::fabs(c.s[i]));
    near[m] = closeness * most;
    if (terms > 2) reach[m] = reach_of(size_of_cluster(most), s.dtype());
    const double absolute = off[3 * m], relative = off[3 * m + 1], rounding = off[3 * m + 2];
    const auto error = [&](double v) {
      return std::min(absolute, relative * std::fabs(v)) + rounding * std::fabs(v);
    };
    const auto tied = [&](double v, double w2) { return std::fabs(v - w2) <= error(v) + error(w2); };
    tie[m] = 2 * error(most);
    for (std::size_t i = first; i < end; ++i) c.error.push_back(error(c.s[i]));
    int groups = 0;
    for (std::size_t i = first; i < end;) {
      std::size_t j = i + 1;
      while (j < end && std::fabs(c.s[j] - c.s[j - 1]) <= near[m]) ++j;
      const bool zero = zero_counts && std::fabs(c.s[j - 1]) <= near[m];
      const bool cluster = j > i + 1 || zero;
      if (cluster) split(c, w, i, j, zero, size_of_cluster(most) * reach[m]);
      for (std::size_t t = i; t < j;) {  // ties inside the cluster
        std::size_t v = t + 1;
        while (v < j && tied(c.s[v], c.s[v - 1])) ++v;
        const bool vanishes = zero_counts && std::fabs(c.s[v - 1]) <= error(c.s[v - 1]);
        if (cluster && (v - t < j - i || vanishes != zero)) c.exact = false;
        if (v > t + 1 || vanishes) {
          c.ties = true;
          for (std::size_t x = t; x < v; ++x) {
            c.group[x] = groups;
            c.at_zero[x] = vanishes;
          }
          ++groups;
        }
        t = v;
      }
      i = j;
    }
  }
  Dims per_member(s.shape().begin(), s.shape().end() - 1);
  per_member.push_back(1);
  per_member.push_back(1);
  c.near = astype(Tensor::from(near, per_member), s.dtype());
  c.tie = astype(Tensor::from(tie, per_member), s.dtype());
  c.w = astype(Tensor::from(w, s.shape()), s.dtype());
  if (std::any_of(reach.begin(), reach.end(), [](double r) { return r != 1; }))
    c.reach = astype(Tensor::from(reach, per_member), s.dtype());
  return c;
}

Tensor Clusters::per_size(const Tensor& along) const {
  return reach.defined() ? divide(along, reach) : along;
}

Clusters widened(const Clusters& c, bool zero_counts) {
  const Unseen unseen;
  Clusters all = c;
  const auto k = static_cast<std::size_t>(c.w.shape().back());
  std::vector<double> w(c.s.size(), 0), reach;
  if (c.reach.defined()) reach = doubles_of(c.reach);
  for (std::size_t first = 0; first < w.size(); first += k) {
    double most = 0;
    for (std::size_t i = first; i < first + k; ++i) most = std::max(most, std::fabs(c.s[i]));
    split(all, w, first, first + k, zero_counts, size_of_cluster(most) * (reach.empty() ? 1 : reach[first / k]));
  }
  all.w = astype(Tensor::from(w, c.w.shape()), c.w.dtype());
  all.wide = true;
  all.exact = false;
  return all;
}

std::vector<double> level(const Clusters& c, std::size_t per_member, const std::vector<double>& v) {
  std::vector<double> all = v;
  for (std::size_t first = 0; first < v.size(); first += per_member)
    for (std::size_t i = first; i < first + per_member; ++i) {
      if (c.group[i] < 0) continue;
      double total = 0, count = 0;
      for (std::size_t j = first; j < first + per_member; ++j)
        if (c.group[j] == c.group[i]) {
          total += v[j];
          ++count;
        }
      all[i] = c.at_zero[i] ? 0 : total / count;
    }
  return all;
}

Tensor rotation(const Clusters& c, const Dims& shape_of_s, DType dtype, int flips, std::uint64_t seed) {
  const auto k = static_cast<std::size_t>(shape_of_s.back());
  std::vector<complex128> r(c.s.size() * k, 0);
  std::mt19937_64 draw(seed);
  std::normal_distribution<double> normal;
  const auto number = [&] { return complex128(normal(draw), is_complex(dtype) ? normal(draw) : 0); };
  for (std::size_t first = 0; first < c.s.size(); first += k) {
    const auto at = [&](std::size_t i, std::size_t j) -> complex128& { return r[(first + i) * k + j]; };
    for (std::size_t low = 0, high; low < k; low = high) {  // the values of a group stand side by side
      const int group = c.group[first + low];
      high = low + 1;
      while (group >= 0 && high < k && c.group[first + high] == group) ++high;
      if (high > low + 1) {
        reflect(low, high, at, number);
      } else if (is_complex(dtype) && (group >= 0 || flips)) {
        const complex128 z = number();
        at(low, low) = z / std::abs(z);
      } else {  // a single real vector can only change its sign: half of the draws do
        const bool flipped = group >= 0 ? seed % 4 == 0 : flips == 1 || (flips > 1 && (low >> (flips - 2)) % 2);
        at(low, low) = flipped ? -1 : 1;
      }
    }
  }
  Dims shape = shape_of_s;
  shape.push_back(shape_of_s.back());
  const Tensor whole = Tensor::from(r, shape);
  return is_complex(dtype) ? astype(whole, dtype) : astype(real(whole), dtype);
}

}  // namespace wp::linalg
