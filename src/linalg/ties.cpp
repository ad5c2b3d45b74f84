// What rules of decompositions by values ask of ties: kinks, lost digits, and whether another basis gives the same.
#include "linalg/quotients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "linalg/stack.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {

namespace {

// How far cotangents of tied values are apart, member by member; 0 where that is rounding.
std::vector<double> unevenness(const Clusters& c, std::size_t k, const std::vector<double>& v, double eps) {
  const std::vector<double> to = level(c, k, v);
  std::vector<double> all;
  for (std::size_t first = 0; first < v.size(); first += k) {
    double apart = 0, size = 0;
    for (std::size_t i = first; i < first + k; ++i) {
      size = std::max(size, std::fabs(v[i]));
      apart = std::max(apart, std::fabs(v[i] - to[i]));
    }
    all.push_back(apart > std::ldexp(1.0, 14) * static_cast<double>(k) * eps * size ? apart : 0);
  }
  return all;
}

// Values that vanish up to rounding may be 0.
[[noreturn]] void refuse_pole() {
  no_derivative_here(
      "the gradient is not finite where values that vanish up to rounding are 0: the loss has a pole or an infinite "
      "slope there.",
      "Mask such values (where), add a multiple of the identity, or use pinv; of determinants det has a derivative.");
}

// The same at values that are split a little, if what follows can be asked: 0 where it falls with the distance.
std::optional<std::vector<double>> unevenness_at(const Clusters& c, const Tensor& g, double eps,
                                                 const std::function<Tensor(const Tensor& values)>& at) {
  const Unrecorded here;
  const auto k = static_cast<std::size_t>(g.shape().back());
  const auto far = [&](double split) {
    const std::vector<double> again = doubles_of(at(level_values(c, g, split)));
    if (!std::all_of(again.begin(), again.end(), [](double x) { return std::isfinite(x); })) refuse_pole();
    return unevenness(c, k, again, eps);
  };
  std::vector<double> wide, narrow;
  if (!answered([&] { wide = far(64 * eps), narrow = far(4 * eps); })) return std::nullopt;
  for (std::size_t m = 0; m < wide.size(); ++m)
    if (narrow[m] <= wide[m] / 4) narrow[m] = 0;
  return narrow;
}

}  // namespace

namespace {

// Bounds are some thirty times the errors.
double half_the_digits(const Tensor& g) {
  return 1000 * std::sqrt(finfo(g.dtype()).eps / 2);
}
double largest_of(const std::vector<double>& v, std::size_t first, std::size_t count) {
  double most = 0;
  for (std::size_t i = first; i < first + count; ++i) most = std::max(most, std::fabs(v[i]));
  return most;
}

}  // namespace

// A cotangent of values alone is smooth where tied values have the same, and zeros have none. Elsewhere there is a
// kink: the mean over the tie is a subgradient, and does not depend on the basis. Values that are computed differ by
// rounding, and so may cotangents of a smooth loss; those that do not come nearer with the values are the kink's.
Tensor levelled(const Backward& b, const Tensor& g, const Clusters& c, std::string_view what,
                const std::function<Tensor(const Tensor& values)>& at) {
  if (!c.ties) return g;
  const auto k = static_cast<std::size_t>(g.shape().back());
  const std::vector<double> v = unrecorded([&] { return doubles_of(g); });
  const double eps = eps_of(b, g.dtype());
  std::vector<double> uneven = unevenness(c, k, v, eps);
  const auto most = [&] { return uneven.empty() ? 0 : *std::max_element(uneven.begin(), uneven.end()); };
  if (most() > 0 || b.verify().value_or(true))
    if (auto again = unevenness_at(c, g, eps, at)) uneven = std::move(*again);
  const double worst = most();
  if (worst == 0) return g;
  find_kink(b, worst, std::numeric_limits<double>::quiet_NaN(),
            say("the loss has a kink here: it treats ", what,
                " that are equal (or zero) differently. The gradient is a subgradient: the mean over the tie."));
  // The same as a matrix, column by column, so that it differentiates; members without a kink stay as they are.
  std::vector<double> mean(v.size() * k, 0);
  for (std::size_t j = 0; j < k; ++j) {
    std::vector<double> unit(v.size(), 0);
    for (std::size_t first = 0; first < v.size(); first += k) unit[first + j] = 1;
    const std::vector<double> column_of = level(c, k, unit);
    for (std::size_t i = 0; i < v.size(); ++i) mean[i * k + j] = uneven[i / k] > 0 ? column_of[i] : unit[i];
  }
  Dims shape = g.shape();
  shape.push_back(g.shape().back());
  return squeeze(matmul(astype(Tensor::from(mean, shape), g.dtype()), column(g)), -1);
}

namespace {

// The cotangents of values, one each; none where nobody asks, or they are not of these values.
std::vector<double> judged_cotangents(const Backward& b, const Tensor& g, const Clusters& c) {
  if (!b.verify().value_or(true)) return {};
  std::vector<double> v = doubles_of(g);
  return v.size() == c.s.size() ? v : std::vector<double>();
}

}  // namespace

void find_mixed(const Backward& b, const Tensor& g, const Clusters& c) {
  const Unrecorded here;
  const std::vector<double> v = judged_cotangents(b, g, c);
  if (v.empty()) return;
  const double half = half_the_digits(g);
  const auto k = static_cast<std::size_t>(g.shape().back());
  double least_gap = HUGE_VAL;
  for (std::size_t first = 0; first < v.size(); first += k) {
    const double most = largest_of(v, first, k);
    for (std::size_t i = first; i + 1 < first + k; ++i) {
      if (v[i] == v[i + 1] || (c.group[i] >= 0 && c.group[i] == c.group[i + 1])) continue;
      const double gap = std::fabs(c.s[i] - c.s[i + 1]), loss = std::max(c.error[i], c.error[i + 1]) / gap;
      if (loss * std::fabs(v[i] - v[i + 1]) > half * most) least_gap = std::min(least_gap, gap);
    }
  }
  if (std::isfinite(least_gap))
    find_loss(b, "WP-GRD-008", least_gap, half,
              say("the loss weighs values differently that differ by ", least_gap,
                  " only: their vectors, of which the gradient is made, have lost digits accordingly."),
              "Use what treats them alike, or a wider dtype.");
}

void find_unsure(const Backward& b, const Tensor& g, const Clusters& c, const Tensor& s,
                 const std::function<Tensor(const Tensor&)>& at) {
  const Unrecorded here;
  const std::vector<double> v = judged_cotangents(b, g, c);
  if (v.empty()) return;
  const double half = half_the_digits(g);
  const auto k = static_cast<std::size_t>(g.shape().back());
  std::vector<char> small(v.size());  // known to few digits; of ties their bases tell
  for (std::size_t i = 0; i < v.size(); ++i)
    small[i] = v[i] != 0 && c.group[i] < 0 && c.error[i] > half * std::fabs(c.s[i]);
  if (std::find(small.begin(), small.end(), 1) == small.end()) return;
  const std::vector<double> moved = doubles_of(at(add(s, astype(Tensor::from(c.error, s.shape()), s.dtype()))));
  double worst = 0;
  for (std::size_t first = 0; first < v.size(); first += k) {
    const double most = largest_of(v, first, k);
    double off = 0, rounding = 0;  // where a gradient vanishes all of it moves with rounding
    for (std::size_t i = first; i < first + k; ++i) {
      const double by = std::isfinite(moved[i]) ? std::fabs(moved[i] - v[i]) : HUGE_VAL;
      if (c.group[i] < 0) (small[i] ? off : rounding) = std::max(small[i] ? off : rounding, by);
    }
    if (off > half * most && off > 64 * rounding) worst = std::max(worst, off / most);
  }
  if (worst > 0)
    find_loss(b, "WP-GRD-012", worst, half,
              say("the loss rests on small values, which are known to within rounding of the largest one: the "
                  "gradient may be off by ",
                  worst, " of itself."),
              "Use solve, inv, slogdet or logdet instead of reciprocals and logarithms of values; or accuracy = "
              "\"high\", or a wider dtype.");
}

Tensor cotangent_at(const Backward& b, const Clusters& c, const Tensor& values,
                    const std::function<Tensor(const Tensor&)>& at) {
  if (!b.recorded() || !c.any) return b.g();
  Tensor g = b.g();
  answered([&] { g = at(values); });
  return g;
}

Tensor level_values(const Clusters& c, const Tensor& like, double split) {
  const auto k = static_cast<std::size_t>(like.shape().back());
  std::vector<double> v = level(c, k, c.s);
  for (std::size_t i = 0; i < v.size() && split > 0; ++i) {
    const double most = *std::max_element(c.s.begin() + static_cast<std::ptrdiff_t>(i / k * k),
                                          c.s.begin() + static_cast<std::ptrdiff_t>(i / k * k + k),
                                          [](double x, double y) { return std::fabs(x) < std::fabs(y); });
    // By steps that no order of the values repeats.
    if (c.group[i] >= 0 && !c.at_zero[i]) v[i] += split * std::fabs(most) * static_cast<double>(i * 7 % 61 + 1) / 16;
  }
  return astype(Tensor::from(v, like.shape()), like.dtype());
}

namespace {

Bases bases_of(const Clusters& c, const Tensor& s, DType dtype, int flips, std::uint64_t seed) {
  const Tensor r = rotation(c, s.shape(), dtype, flips, seed);
  if (std::find(c.at_zero.begin(), c.at_zero.end(), 1) == c.at_zero.end()) return {r, r};
  // Those of a vanishing value turn apart.
  const Tensor vanishes = Tensor::from(std::vector<double>(c.at_zero.begin(), c.at_zero.end()), s.shape());
  return {r, where(greater(row(vanishes), 0), rotation(c, s.shape(), dtype, 0, seed + 1), r)};
}
// Turned by a few units in the last place: what moves then is rounding.
Tensor nudged(const Tensor& r, const Tensor& by, double eps) {
  return add(r, matmul(r, multiply(skew(by), std::ldexp(eps, 6))));
}
bool has_tie(const Clusters& c, std::size_t member) {
  const auto k = static_cast<std::ptrdiff_t>(c.w.shape().back());
  const auto first = c.group.begin() + static_cast<std::ptrdiff_t>(member) * k;
  return std::any_of(first, first + k, [](int group) { return group >= 0; });
}

// Gradients in two bases, member by member: one with large gradients hides nothing of another.
struct Compared {
  Tensor off, size, allowed;  // […, 1, 1]
  Compared(const Tensor& one, const Tensor& two, double tolerance)
      : off(size_of(subtract(one, two))),
        size(maximum(size_of(one), size_of(two))),
        allowed(multiply(size, tolerance)) {}
  bool same() const { return bool(wp::all(less_equal(off, allowed))); }
  // Refuses what depends on signs, finds a kink at ties.
  void judge(const Backward& b, const Clusters& c) const {
    const std::vector<double> offs = doubles_of(off), sizes = doubles_of(size), most = doubles_of(allowed);
    std::ptrdiff_t kink = -1;
    for (std::size_t m = 0; m < offs.size(); ++m) {
      if (offs[m] <= most[m]) continue;
      if (!std::isfinite(offs[m])) refuse_pole();
      if (!has_tie(c, m))
        refuse<GaugeError>("WP-GRD-007",
                           say("the gradient changes by ", offs[m], " (of ", sizes[m],
                               ") when vectors change their sign, which the matrix does not determine."),
                           "Are the factors unpacked in the right order? Use products in which signs cancel.");
      if (kink < 0) kink = static_cast<std::ptrdiff_t>(m);
    }
    if (kink >= 0)
      find_kink(b, offs[static_cast<std::size_t>(kink)], most[static_cast<std::size_t>(kink)],
                "the gradient changes with the basis of repeated or vanishing values: the loss has a kink here, and "
                "the gradient is one of its subgradients.");
  }
};

// What the series of a first derivative, differentiated again, leaves of cotangents of vectors that cancel. […, 1, 1]
Tensor series_error(const Backward& b, const Clusters& c, double eps) {
  Tensor most = zeros_like(c.near);
  for (const Tensor& g : b.cotangents)
    if (g.defined() && g.ndim() == c.near.ndim()) most = maximum(most, size_of(g));
  const auto k = static_cast<std::ptrdiff_t>(c.w.shape().back());
  std::vector<double> largest;
  for (auto first = c.s.begin(); first != c.s.end(); first += k)
    largest.push_back(std::fabs(
        *std::max_element(first, first + k, [](double x, double y) { return std::fabs(x) < std::fabs(y); })));
  const Tensor values = astype(Tensor::from(largest, c.near.shape()), most.dtype());
  return multiply(divide(most, where(equal(values, 0), 1, values)), std::pow(eps, 2.0 / 3));
}

}  // namespace

void verify_bases(const Backward& b, const Clusters& c, const Tensor& s, DType dtype, bool signs,
                  const std::function<Tensor(const Tensor&, const Tensor&)>& at) {
  int last = signs ? 1 : 0;  // all flips that tell two vectors apart, or one from its negative
  if (signs && !is_complex(dtype))
    for (std::int64_t n = s.shape().back() - 1; n > 0; n /= 2) ++last;
  compare_bases(
      b, c, eps_of(b, s.dtype()), signs ? 1 : 0, last,
      [&](int flips, std::uint64_t seed) { return bases_of(c, s, dtype, flips, seed); }, at);
}

void compare_bases(const Backward& b, const Clusters& c, double eps, int first_flips, int last_flips,
                   const std::function<Bases(int flips, std::uint64_t seed)>& bases,
                   const std::function<Tensor(const Tensor&, const Tensor&)>& at) {
  const Bases first = bases(0, 1);
  const Tensor one = at(first.r, first.l);
  for (int flips = first_flips; flips <= last_flips; ++flips) {
    const Bases second = bases(flips, 3);
    Compared pair(one, at(second.r, second.l), 16 * std::sqrt(eps));
    if (pair.same()) continue;
    // Where the gradient nearly vanishes, rounding is all that is left of it.
    Tensor noise;
    for (const std::uint64_t seed : {5, 7, 9}) {
      const Bases by = bases(flips, seed);
      const Tensor off = size_of(subtract(one, at(nudged(first.r, by.r, eps), nudged(first.l, by.l, eps))));
      noise = noise.defined() ? maximum(noise, off) : off;
    }
    pair.allowed = add(pair.allowed, multiply(noise, 64));
    if (b.of_derivative()) pair.allowed = maximum(pair.allowed, series_error(b, c, eps));
    pair.judge(b, c);
    return;
  }
}

}  // namespace wp::linalg
