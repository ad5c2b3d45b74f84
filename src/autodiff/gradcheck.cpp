#include "wellposed/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "autodiff/coordinates.hpp"
#include "autodiff/forward.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "wellposed/autodiff.hpp"

namespace wp {
namespace {

using autodiff::Coordinates;
using autodiff::differences;
using autodiff::Estimate;
using autodiff::Function;
using autodiff::in_places_of;
using autodiff::Values;
using autodiff::watch_floating;

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
    const std::vector<Values> reverse = rows();
    for (const Finding& f : report_.findings) kinked_ = kinked_ || f.code == "WP-GRD-009";
    const std::vector<Values> forward = columns();
    Values scale(out_.size(), 0);  // of the derivatives of one result
    for (std::size_t o = 0; o < scale.size(); ++o)
      for (const double v : reverse[o])
        if (std::isfinite(v)) scale[o] = std::max(scale[o], std::fabs(v));
    for (std::size_t c = 0; c < in_.size(); ++c) {
      const Estimate e = estimate(c);
      sides_.reset();
      for (std::size_t o = 0; o < out_.size(); ++o) {
        if (!std::isfinite(at_[o])) {
          report_.entries += 2;
          skip(report_.beyond, 2);
          continue;
        }
        judge(o, c, reverse[o][c], e, scale[o], true);
        // 0 · ∞: forward mode knows of no zero why it is one.
        if (forward[c].empty())
          ++report_.kinks, ++report_.entries;
        else if (std::isnan(forward[c][o]) && !all_finite(reverse[o]))
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
  std::vector<Values> rows() {
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
    report_.findings = tape.findings();
    return all;
  }
  // ∂y/∂x_c by forward mode; empty: it found a kink, as the way back did.
  std::vector<Values> columns() const {
    std::vector<Values> all;
    const checks off(CheckLevel::off);
    for (std::size_t c = 0; c < in_.size(); ++c) {
      std::vector<Tensor> v(x_.size());
      v[in_.owner(c)] = in_.unit(c);
      all.push_back(column(v));
    }
    return all;
  }
  Values column(const std::vector<Tensor>& v) const {
    try {
      return out_.of(autodiff::pushed(f_, x_, v).tangents);
    } catch (const GradientError&) {  // jvp knows another way, or why there is none
    }
    try {
      return out_.of(jvp(f_, x_, v).tangents);
    } catch (const GradientError& e) {
      if (!kinked_ || e.finding().code != "WP-GRD-011") throw;
      return {};
    }
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
    Estimate best{Values(n, 0), Values(n, HUGE_VAL), {}, Values(n, 0), std::vector<char>(n, 1), Values(n, 0)};
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
    best.bend = std::move(finest.bend);
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
      if ((kinked_ || e.bend[o] > 10 * tolerance) && sides(c, o).differ(10 * tolerance))
        ++report_.kinks;
      else if (off > 0)
        report_.worst = std::max(report_.worst, options_.rtol * off / (options_.atol + options_.rtol * scale));
      return;
    }
    if (!(e.error[o] <= tolerance)) {
      skip(report_.unsettled);
      return;
    }
    const Sides s = sides(c, o);
    const bool kink = s.differ(10 * tolerance);
    if (kink && computed >= std::min(s.left, s.right) - tolerance &&
        computed <= std::max(s.left, s.right) + tolerance) {
      ++report_.kinks;
      ++judged_;
      return;
    }
    if (kinked_) {  // beside it quotients need not be of one branch, as those of eigenvalues that change places
      skip(report_.kinks);
      return;
    }
    ++report_.wrong_count;
    report_.wrong.push_back({say("∂", out_.name(o), "/∂", in_.name(c)), computed, e.value[o], e.error[o], reverse});
    if (kink) report_.wrong.back().one_sided = {s.left, s.right};
  }
  struct Sides {
    double left, right, error;
    bool differ(double tolerance) const { return std::fabs(right - left) > tolerance + 4 * error; }
  };
  // The one-sided derivatives, of all results at once.
  Sides sides(std::size_t c, std::size_t o) {
    if (!sides_) sides_.emplace(estimate(c, -1), estimate(c, 1));
    const auto& [left, right] = *sides_;
    return {left.value[o], right.value[o], std::max(left.error[o], right.error[o])};
  }

  const Function& f_;
  std::vector<Tensor> x_, y_;
  Coordinates in_, out_;
  Values at_;
  bool finite_ = all_finite(in_.of(x_));
  bool beyond_;
  GradcheckOptions options_;
  GradcheckReport report_;
  bool kinked_ = false;                                 // a way back told of a kink
  std::optional<std::pair<Estimate, Estimate>> sides_;  // of the coordinate that is judged
  std::int64_t judged_ = 0, open_ = 0;                  // entries that are not zero
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
  const bool kinked = std::any_of(first.findings.begin(), first.findings.end(),
                                  [](const Finding& each) { return each.code == "WP-GRD-009"; });
  if (order == 1 || first.wrong_count > 0 || kinked) return first;  // a kink has no second derivative
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
  for (const Finding& each : first.findings) second.findings.push_back(each);
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
           : kinks > 0  ? say("gradcheck: nothing was judged: ", kinks, " of ", entries,
                              " entries are at kinks, where no derivative exists. Use another point.", told())
                        : say("gradcheck: nothing was judged: differences cannot tell ", unjudged, " of ", entries,
                              " derivatives", unjudged < entries ? ", and the others are zero" : "",
                              ". Use f64, another point, or a larger rtol.", told());
  if (wrong_count == 0)
    return say("gradcheck: ", entries, " derivatives agree with differences, worst error ", worst,
               unjudged ? say("; ", unjudged, " could not be judged") : std::string(),
               kinks ? say("; ", kinks, " at kinks, where no derivative exists") : std::string(), ".", told());
  std::string text = say("gradcheck: ", wrong_count, " of ", entries, " derivatives are wrong.");
  for (const GradcheckEntry& e : wrong) {
    text += say("\n  ", e.name, ": ", e.reverse ? "reverse" : "forward", " gives ", e.computed);
    text += e.one_sided ? say(", but no derivative exists here: differences give ", e.one_sided->first,
                              " from the left and ", e.one_sided->second, " from the right")
                        : say(", differences give ", e.expected, " ± ", e.uncertainty);
  }
  return text + told();
}
// What the ways back said.
std::string GradcheckReport::told() const {
  std::string text;
  for (const Finding& f : findings) text += say("\n  ", f.code, " ", f.op, ": ", f.message);
  return text;
}
std::ostream& operator<<(std::ostream& os, const GradcheckReport& r) {
  return os << r.to_string();
}

}  // namespace wp
