#include "wellposed/trends.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "tensor/note.hpp"
#include "trace/window.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

struct Fit {
  double slope = 0, explained = 0;  // per step; the share of the variance that the line explains
};
// The least-squares line through the last n values.
Fit fit(const std::vector<double>& values, std::size_t n) {
  const double* const v = values.data() + (values.size() - n);
  const double middle = (static_cast<double>(n) - 1) / 2;
  double mean = 0, sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < n; ++i) mean += v[i] / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) - middle, y = v[i] - mean;
    sxx += x * x;
    sxy += x * y;
    syy += y * y;
  }
  return {sxy / sxx, syy > 0 ? sxy * sxy / (sxx * syy) : 0};
}

// log₂ of the largest |x|, −∞ of zeros; NaN where x is not finite or empty.
double log_largest(const Tensor& x) {
  if (x.size() == 0) return std::nan("");
  const double m = value_at(max(abs(x)), 0).real();
  return std::isfinite(m) ? std::log2(m) : std::nan("");
}
// log₂ of the 2-norm, without overflow.
double log_norm(const Tensor& x) {
  const double top = log_largest(x);
  if (!std::isfinite(top)) return top;
  const Tensor scaled = multiply(astype(abs(x), f64), std::exp2(-std::floor(top)));
  return std::floor(top) + std::log2(value_at(sum(square(scaled)), 0).real()) / 2;
}

}  // namespace

void Trends::tell(bool& told, std::string_view code, std::string_view name, std::string message, std::string advice,
                  double measured, double threshold) {
  if (told) return;
  told = true;
  Finding f;
  f.code = code;
  f.op = name;
  f.message = std::move(message);
  f.advice = std::move(advice);
  f.measured = measured;
  f.threshold = threshold;
  f.scope = current_scope();
  f.step = context().step;
  findings_.push_back(f);
  report(f);
}

// Gradients that grow by a constant factor per step, and weights that grow with them, end in overflow: a loss squares
// them, so half of the exponents is there. Steep growth is believed after half a window. Many runs that go well begin
// like that (small first weights, a saddle that is left): weights must have grown beyond 4, and beyond 4 times their
// first size.
void Trends::judge_growth(std::string_view name, Series& s, DType dtype) {
  struct Rule {
    int steps;
    double slope, explained;
  };
  for (const Rule& r : {Rule{options_.window / 2, 0.3, 0.98}, Rule{options_.window, 0.05, 0.9}}) {
    const auto n = static_cast<std::size_t>(r.steps);
    if (s.gradient.size() < n) return;
    const auto usable = [&](const std::vector<double>& v) {
      return std::all_of(v.end() - r.steps, v.end(), [](double x) { return std::isfinite(x); });
    };
    if (!usable(s.gradient) || !usable(s.weight)) return;
    if (s.weight.back() < std::max(s.weight.front(), 0.0) + 2) return;
    const Fit g = fit(s.gradient, n), w = fit(s.weight, n);
    const double room = std::log2(finfo(dtype).max) / 2 - std::max(s.gradient.back(), s.weight.back());
    const double steps = std::max(room, 0.0) / g.slope;
    if (!(g.slope > r.slope && g.explained > r.explained && w.slope > 0 && steps < options_.horizon)) continue;
    tell(s.told_growth, "WP-TRD-001", name,
         say("the gradient grows by a factor of ", std::round(std::exp2(g.slope) * 1000) / 1000,
             " per step (fitted to the last ", r.steps, "), and the weights grow with it: squares overflow ", dtype,
             " in about ", static_cast<std::int64_t>(steps), " steps."),
         "Take smaller steps (learning rate), or clip the gradient.", steps, options_.horizon);
  }
}

void Trends::see(std::string_view name, const Tensor& weight, const Tensor& gradient, const Tensor& update) {
  const trace::Aside aside;
  Series& s = series_[std::string(name)];
  s.weight.push_back(log_largest(weight));
  s.gradient.push_back(log_norm(gradient));
  judge_growth(name, s, weight.dtype());
  const double half = std::log2(finfo(weight.dtype()).max) / 2, top = std::max(s.weight.back(), s.gradient.back());
  if (top > half)
    tell(s.told_headroom, "WP-TRD-002", name,
         say("numbers of the size 2^", static_cast<std::int64_t>(top), " have no square in ", weight.dtype(), "."),
         "Scale the data or the loss.", top, half);
  if (!update.defined()) return;
  const double ratio = log_norm(update) - log_norm(weight);
  s.large_updates = ratio > 0 && std::isfinite(ratio) ? s.large_updates + 1 : 0;
  if (s.large_updates >= options_.window)
    tell(s.told_update, "WP-TRD-003", name,
         say("updates are ", std::round(std::exp2(ratio) * 100) / 100, " times as large as the weights, for ",
             s.large_updates, " steps: each step replaces the weights."),
         "Take smaller steps (learning rate).", std::exp2(ratio), 1);
}

void Trends::see_units(std::string_view name, const Tensor& a) {
  if (a.ndim() == 0 || a.size() == 0) return;
  const trace::Aside aside;
  Units& u = units_[std::string(name)];
  const std::int64_t units = a.shape().back();
  const Tensor silent = all(equal(reshape(a, {-1, units}), 0), {.axis = 0});
  u.silent.resize(static_cast<std::size_t>(units), 0);
  std::int64_t dead = 0;
  for (std::int64_t k = 0; k < units; ++k) {
    int& steps = u.silent[static_cast<std::size_t>(k)];
    steps = value_at(silent, k).real() != 0 ? steps + 1 : 0;
    dead += steps >= options_.patience;
  }
  if (2 * dead > units)
    tell(u.told, "WP-TRD-004", name,
         say(dead, " of ", units, " units gave 0 for every row in the last ", options_.patience,
             " steps: they get no gradient and stay so."),
         "Use smaller steps, a smaller initial bias, or leaky units.", static_cast<double>(dead),
         static_cast<double>(units) / 2);
}

std::vector<double> Trends::gradient_norms(std::string_view name) const {
  const auto at = series_.find(name);
  return at == series_.end() ? std::vector<double>() : at->second.gradient;
}

void GradientGuard::refuse(const Error& why, std::string_view what, Place place) {
  ++refused_;
  Finding f = why.finding();
  f.code = "WP-TRD-005";
  f.severity = Severity::warning;
  f.message = say(what, ' ', blame(why).text());
  f.operands.clear();
  f.advice = "Look at the source; the run goes on without this step.";
  f.place = place;
  report(f);
}

bool GradientGuard::accepts(const std::vector<Tensor>& gradients, std::source_location where) {
  try {
    const checks strict(CheckLevel::escape);
    for (const Tensor& g : gradients)
      if (g.defined()) escape(g, "gradient", Counts::made_and_given, where);
    return true;
  } catch (const NonFiniteError& e) {
    refuse(e, "an update was refused.", where);
    return false;
  }
}

bool GradientGuard::attempt(const std::function<void()>& step, std::source_location where) {
  return attempt(step, {}, where);
}

bool GradientGuard::attempt(const std::function<void()>& step, const std::vector<Tensor*>& weights,
                            std::source_location where) {
  std::vector<Tensor> before;
  for (const Tensor* const w : weights) before.push_back(*w);
  try {
    const checks strict(context().level == CheckLevel::raise ? CheckLevel::raise : CheckLevel::escape);
    step();
    for (const Tensor* const w : weights)
      if (w->defined()) escape(*w, "weight", Counts::made_and_given, where);
    return true;
  } catch (const NonFiniteError& e) {
    for (std::size_t i = 0; i < weights.size(); ++i) *weights[i] = before[i];
    refuse(e, weights.empty() ? "an update was refused." : "an update was refused, the weights are as they were.",
           where);
    return false;
  }
}

}  // namespace wp
