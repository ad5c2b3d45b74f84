#include "wellposed/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "autodiff/differences.hpp"
#include "autodiff/forward.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "tensor/note.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

using autodiff::differences;
using autodiff::Estimate;
using autodiff::Function;
using autodiff::in_places_of;
using autodiff::Values;
using autodiff::watch_floating;

// Real coordinates of floating-point tensors: element by element, of complex numbers both parts.
class Coordinates {
 public:
  Coordinates(const std::vector<Tensor>& all, std::string letter) : like_(all), letter_(std::move(letter)) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      first_.push_back(size_);
      if (!all[k].defined() || !is_floating(all[k].dtype())) continue;
      const std::size_t parts = is_complex(all[k].dtype()) ? 2 : 1;
      for (std::size_t e = 0; e < parts * static_cast<std::size_t>(all[k].size()); ++e) owner_.push_back(k);
      size_ = owner_.size();
    }
  }
  std::size_t size() const noexcept { return size_; }
  Values of(const std::vector<Tensor>& all) const {
    Values v;
    v.reserve(size_);
    for (std::size_t k = 0; k < like_.size(); ++k) {
      const Tensor& t = all[k];
      if (!like_[k].defined() || !is_floating(like_[k].dtype())) continue;
      for (std::int64_t e = 0; e < like_[k].size(); ++e) {
        const complex128 z = t.defined() ? value_at(t, e) : complex128(0);
        v.push_back(z.real());
        if (is_complex(like_[k].dtype())) v.push_back(z.imag());
      }
    }
    return v;
  }
  // `base` with coordinate c changed by h.
  std::vector<Tensor> moved(const std::vector<Tensor>& base, std::size_t c, double h) const {
    std::vector<Tensor> all = base;
    all[owner_[c]] = add(base[owner_[c]], multiply(unit(c), h));
    return all;
  }
  // 1 (or i) at coordinate c of its tensor.
  Tensor unit(std::size_t c) const {
    const Tensor& t = like_[owner_[c]];
    const bool wide = is_complex(t.dtype());
    const std::size_t place = c - first_[owner_[c]];
    const auto e = static_cast<std::int64_t>(wide ? place / 2 : place);
    const Tensor one = reshape(equal(arange(t.size()), e), t.shape());
    return wide && place % 2 ? multiply(astype(one, t.dtype()), complex128(0, 1)) : astype(one, t.dtype());
  }
  std::size_t owner(std::size_t c) const { return owner_[c]; }
  // Of each coordinate's number: what its rounding errors are relative to, in f64.
  Values magnitudes(const Values& v) const {
    Values all(v.size());
    for (std::size_t c = 0; c < v.size(); ++c) {
      const bool wide = is_complex(like_[owner_[c]].dtype());
      const std::size_t other = (c - first_[owner_[c]]) % 2 ? c - 1 : c + 1;
      const DType d = real_of(like_[owner_[c]].dtype());
      all[c] = (wide ? std::hypot(v[c], v[other]) : std::fabs(v[c])) * (finfo(d).eps / finfo(f64).eps);
    }
    return all;
  }
  // The largest |element| of the tensor that coordinate c belongs to; 1 if that is 0.
  double largest(const std::vector<Tensor>& all, std::size_t c) const {
    double most = 0;
    for (std::int64_t e = 0; e < all[owner_[c]].size(); ++e)
      if (const double v = std::abs(value_at(all[owner_[c]], e)); std::isfinite(v)) most = std::max(most, v);
    return most > 0 ? most : 1;
  }
  std::string name(std::size_t c) const {
    const Tensor& t = like_[owner_[c]];
    const bool wide = is_complex(t.dtype());
    const std::size_t place = c - first_[owner_[c]];
    std::string text = letter_ + (like_.size() > 1 ? say(owner_[c] + 1) : std::string());
    if (t.ndim()) text += say(unravel(static_cast<std::int64_t>(wide ? place / 2 : place), t.shape()));
    return wide ? say(place % 2 ? "Im " : "Re ", text) : text;
  }

 private:
  std::vector<Tensor> like_;
  std::string letter_;
  std::vector<std::size_t> owner_, first_;
  std::size_t size_ = 0;
};

constexpr double kFinest = 4096 * 128;  // the smallest step is that part of |x|

bool all_finite(const Values& v) {
  return std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
}

class Check {
 public:
  Check(const Function& f, const std::vector<Tensor>& x, const GradcheckOptions& options, std::string result)
      : f_(f),
        x_(x),
        y_(f(x)),
        in_(x, "x"),
        out_(y_, std::move(result)),
        at_(out_.of(y_)),
        beyond_(!all_finite(at_)),
        options_(options) {}

  GradcheckReport run() {
    const std::vector<Values> reverse = rows(), forward = columns();
    Values scale(out_.size(), 0);  // of the derivatives of one result
    for (std::size_t o = 0; o < scale.size(); ++o)
      for (const double v : reverse[o])
        if (std::isfinite(v)) scale[o] = std::max(scale[o], std::fabs(v));
    for (std::size_t c = 0; c < in_.size(); ++c) {
      const Estimate e = estimate(c);
      for (std::size_t o = 0; o < out_.size(); ++o) {
        if (!std::isfinite(at_[o])) {
          report_.entries += 2;
          skip(report_.beyond, 2);
          continue;
        }
        judge(o, c, reverse[o][c], e, scale[o], true);
        // 0 · ∞: forward mode knows of no zero why it is one.
        if (std::isnan(forward[c][o]) && !all_finite(reverse[o]))
          skip(report_.beyond), ++report_.entries;
        else
          judge(o, c, forward[c][o], e, scale[o], false);
      }
    }
    std::sort(report_.wrong.begin(), report_.wrong.end(), [](const auto& a, const auto& b) {
      return std::fabs(a.computed - a.expected) > std::fabs(b.computed - b.expected);
    });
    if (report_.wrong.size() > 20) report_.wrong.resize(20);
    report_.unjudged = report_.beyond + report_.steep + report_.unsettled;
    report_.judged_none = report_.entries == 0 || (open_ > 0 && judged_ == 0);
    return std::move(report_);
  }

 private:
  void skip(std::int64_t& reason, int n = 1) {
    reason += n;
    open_ += n;
  }
  // ∂y_o/∂x by one way back per result.
  std::vector<Values> rows() const {
    autodiff::Tape tape(true);
    const std::vector<Tensor> own = autodiff::aliases(x_);
    const std::vector<Tensor> sources = watch_floating(tape, own);
    tape.start();
    const std::vector<Tensor> y = f_(own);
    tape.stop();
    std::vector<Values> all;
    const checks off(CheckLevel::off);
    for (std::size_t o = 0; o < out_.size(); ++o) {
      if (!std::isfinite(at_[o])) {
        all.emplace_back(in_.size(), NAN);
        continue;
      }
      // Only this result is looked at: what the others would bring does not exist.
      const Tensor seed = out_.unit(o), &whole = y[out_.owner(o)];
      tape.start();
      const Tensor target = where(not_equal(seed, 0), whole, 0);
      tape.stop();
      const std::vector<Tensor> found = tape.gradient({.targets = {&target, 1},
                                                       .seeds = {&seed, 1},
                                                       .sources = sources,
                                                       .zero_unconnected = true,
                                                       .place = {},
                                                       .function = "gradcheck"});
      all.push_back(in_.of(in_places_of(own, found)));
    }
    return all;
  }
  // ∂y/∂x_c by forward mode.
  std::vector<Values> columns() const {
    std::vector<Values> all;
    const checks off(CheckLevel::off);
    for (std::size_t c = 0; c < in_.size(); ++c) {
      std::vector<Tensor> v(x_.size());
      v[in_.owner(c)] = in_.unit(c);
      all.push_back(out_.of(autodiff::pushed(f_, x_, v).tangents));
    }
    return all;
  }
  Values value_of(std::size_t c, double h) const {
    const checks off(CheckLevel::off);
    try {
      const std::vector<Tensor> y = f_(in_.moved(x_, c, h));
      for (std::size_t k = 0; k < y.size(); ++k)
        if (y[k].defined() && !(y[k].shape() == y_[k].shape())) return Values(out_.size(), NAN);
      return out_.of(y);
    } catch (const Error&) {  // outside the domain: no difference there
      return Values(out_.size(), NAN);
    }
  }
  Estimate estimate(std::size_t c, int side = 0) const {
    const double size = std::fabs(in_.of(x_)[c]);
    const std::size_t n = out_.size();
    Estimate best{Values(n, 0), Values(n, HUGE_VAL), {}, Values(n, 0), std::vector<char>(n, 1)};
    if (!std::isfinite(size)) return best;
    std::vector<double> units{size > 0 ? size : 1};  // of zeros also by the size of what stands beside them
    if (const double beside = in_.largest(x_, c); size == 0 && beside < 1) units.push_back(beside);
    std::vector<double> steps;  // the finest last
    for (const double unit : units)
      for (const double part : {4, 64, 4096}) steps.push_back(unit / part);
    const Values sizes = out_.magnitudes(at_);
    Estimate finest;
    for (const double h : steps) {
      finest = differences([&](double t) { return value_of(c, t); }, at_, sizes, h, side);
      for (std::size_t i = 0; i < n; ++i) {
        best.size[i] = std::max(best.size[i], finest.size[i]);
        best.still[i] &= finest.still[i];
        if (finest.error[i] >= best.error[i]) continue;
        best.value[i] = finest.value[i];
        best.error[i] = finest.error[i];
      }
    }
    // Steps and corners look smooth from afar: the finest differences must agree as well as rounding lets them.
    for (std::size_t i = 0; i < n; ++i)
      if (const double apart = std::fabs(finest.value[i] - best.value[i]);
          apart > 1000 * finest.noise[i] + options_.rtol * std::fabs(best.value[i]))
        best.error[i] = std::max(best.error[i], apart);
    return best;
  }
  void judge(std::size_t o, std::size_t c, double computed, const Estimate& e, double scale, bool reverse) {
    ++report_.entries;
    // Beyond what the smallest steps resolve, or undefined at what is not finite.
    const double unit = std::fabs(in_.of(x_)[c]);
    if (!std::isfinite(unit) || (!std::isfinite(computed) && (!finite_ || beyond_))) {
      skip(report_.beyond);
      return;
    }
    if (computed == 0 && e.still[o]) return;  // no derivative is claimed, and none seen
    if (e.size[o] > 0 && std::fabs(computed) * unit > kFinest * 10 * e.size[o]) {
      skip(report_.steep);
      return;
    }
    const double tolerance = options_.atol + options_.rtol * std::max(scale, std::fabs(e.value[o]));
    const double off = std::fabs(computed - e.value[o]);
    if (off <= tolerance + 4 * e.error[o]) {  // also when the differences are too coarse to tell
      if (e.error[o] > tolerance) {
        ++report_.unsettled;
        open_ += computed != 0 || std::fabs(e.value[o]) > 4 * e.error[o];
        return;
      }
      ++judged_;
      report_.worst = std::max(report_.worst, scale > 0 ? off / scale : 0);
      return;
    }
    if (!(e.error[o] <= tolerance)) {
      skip(report_.unsettled);
      return;
    }
    const double right = estimate(c, 1).value[o], left = estimate(c, -1).value[o];
    if (std::fabs(right - left) > 10 * tolerance && computed >= std::min(left, right) - tolerance &&
        computed <= std::max(left, right) + tolerance) {
      ++report_.kinks;
      ++judged_;
      return;
    }
    ++report_.wrong_count;
    report_.wrong.push_back({say("∂", out_.name(o), "/∂", in_.name(c)), computed, e.value[o], e.error[o], reverse});
  }

  const Function& f_;
  std::vector<Tensor> x_, y_;
  Coordinates in_, out_;
  Values at_;
  bool finite_ = all_finite(in_.of(x_));
  bool beyond_;
  GradcheckOptions options_;
  GradcheckReport report_;
  std::int64_t judged_ = 0, open_ = 0;  // entries that are not zero
};

// The gradient of Σ c·f(x), the weights c fixed and different.
Function gradient_of(const Function& f, const std::vector<Tensor>& like) {
  std::vector<Tensor> weights, finite;
  double w = 0.3;
  for (const Tensor& y : like) {
    if (!y.defined() || !is_floating(y.dtype())) {
      weights.emplace_back();
      finite.emplace_back();
      continue;
    }
    const Tensor wave = sin(add(multiply(astype(arange(y.size()), f64), 0.7), w));
    Tensor c = is_complex(y.dtype()) ? add(wave, multiply(astype(cos(wave), c128), complex128(0, 0.5))) : wave;
    weights.push_back(astype(reshape(c, y.shape()), y.dtype()));
    finite.push_back(isfinite(y));
    w += 1.1;
  }
  return [f, weights, finite](const std::vector<Tensor>& x) {
    autodiff::Tape tape(false);
    const std::vector<Tensor> sources = watch_floating(tape, x);
    const checks off(CheckLevel::off);
    tape.start();
    const std::vector<Tensor> all = f(x);
    std::vector<Tensor> targets, seeds;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (weights[k].defined()) {
        targets.push_back(where(finite[k], all[k], 0));
        seeds.push_back(weights[k]);
      }
    tape.stop();
    return tape.gradient({.targets = targets,
                          .seeds = seeds,
                          .sources = sources,
                          .zero_unconnected = true,
                          .place = {},
                          .function = "gradcheck"});
  };
}

}  // namespace

GradcheckReport gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& x, int order, const GradcheckOptions& options) {
  if (order < 1 || order > 2)
    raise<ArgumentError>("WP-ARG-001", "gradcheck", say("order must be 1 or 2; got ", order, "."));
  if (!x.empty() &&
      std::none_of(x.begin(), x.end(), [](const Tensor& t) { return t.defined() && is_floating(t.dtype()); }))
    raise<DtypeError>(
        "WP-DTY-003", "gradcheck",
        say("an argument must be floating-point or complex; got ", x[0].dtype(), " ", x[0].shape(), "."),
        "Integers do not vary: convert with astype.");
  GradcheckReport first = Check(f, x, options, "y").run();
  if (order == 1 || first.wrong_count > 0) return first;
  const Function g = gradient_of(f, f(x));
  GradcheckReport second = Check(g, x, options, "g").run();
  second.entries += first.entries;
  second.unjudged += first.unjudged;
  second.beyond += first.beyond;
  second.steep += first.steep;
  second.unsettled += first.unsettled;
  second.kinks += first.kinks;
  second.judged_none = second.judged_none || first.judged_none;
  second.worst = std::max(second.worst, first.worst);
  return second;
}
GradcheckReport gradcheck(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, int order,
                          const GradcheckOptions& options) {
  return gradcheck([&](const std::vector<Tensor>& xs) { return std::vector<Tensor>{f(xs[0])}; },
                   std::vector<Tensor>{x}, order, options);
}

std::string GradcheckReport::to_string() const {
  if (wrong_count == 0 && judged_none)
    return entries == 0 ? "gradcheck: there is nothing to compare: x or y has no elements that vary."
                        : say("gradcheck: nothing was judged: differences cannot tell ", unjudged, " of ", entries,
                              " derivatives", unjudged < entries ? ", and the others are zero" : "",
                              ". Use f64, another point, or a larger rtol.");
  if (wrong_count == 0)
    return say("gradcheck: ", entries, " derivatives agree with differences, worst error ", worst,
               unjudged ? say("; ", unjudged, " could not be judged") : std::string(),
               kinks ? say("; ", kinks, " at kinks") : std::string(), ".");
  std::string text = say("gradcheck: ", wrong_count, " of ", entries, " derivatives are wrong.");
  for (const GradcheckEntry& e : wrong)
    text += say("\n  ", e.name, ": ", e.reverse ? "reverse" : "forward", " gives ", e.computed, ", differences give ",
                e.expected, " ± ", e.uncertainty);
  return text;
}
std::ostream& operator<<(std::ostream& os, const GradcheckReport& r) {
  return os << r.to_string();
}

}  // namespace wp
