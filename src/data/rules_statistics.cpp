// Windows for mean, deviation and quantiles, and the distance from a reference.
#include <cmath>

#include "data/at_end.hpp"

namespace wp::data {
namespace {

constexpr std::string_view kWindow = "WP-VAL-011", kDrift = "WP-VAL-012";

void judge(RuleReport& r, std::string_view what, double measured, const Interval& window) {
  r.measured = measured;
  if (!window.has(static_cast<Exact>(measured)))
    break_rule(r, say("the ", what, " is ", few_digits(measured), ", outside of ", window.text()));
}
bool nothing_to_judge(const Facts& f, RuleReport& r) {
  if (f.moments.n > 0 || (f.quantiles && f.quantiles->count() > 0)) return false;
  r.note = "there is no finite value: nothing was judged";
  return true;
}

std::unique_ptr<Check> check_mean(const SchemaValue& v, const Subject&) {
  Interval window;
  parse_interval(v, window);
  return at_end([window](const Subject&, const Facts& f, RuleReport& r) {
    if (!nothing_to_judge(f, r)) judge(r, "mean", f.moments.mean + f.moments.rest, window);
  });
}
std::unique_ptr<Check> check_std(const SchemaValue& v, const Subject&) {
  Interval window;
  parse_interval(v, window);
  return at_end([window](const Subject&, const Facts& f, RuleReport& r) {
    if (!nothing_to_judge(f, r)) judge(r, "standard deviation", std::sqrt(f.moments.m2 / f.moments.n), window);
  });
}

// "ranks are off by at most 0.13 %"
std::string bound_text(const Quantiles& q) {
  if (q.error() == 0) return {};
  return say("by a sketch: ranks are off by at most ",
             few_digits(100 * static_cast<double>(q.error()) / static_cast<double>(q.count())), " %");
}

std::unique_ptr<Check> check_quantiles(const SchemaValue& v, const Subject&) {
  return at_end([windows = v.items()](const Subject&, const Facts& f, RuleReport& r) {
    if (nothing_to_judge(f, r)) return;
    r.note = bound_text(*f.quantiles);
    std::string wrong;
    for (const SchemaValue& w : windows) {
      Interval window;
      parse_interval(SchemaValue({w.items()[1], w.items()[2]}), window);
      const double p = w.items()[0].real(), at = f.quantiles->at(p);
      if (!window.has(static_cast<Exact>(at)))
        wrong += say(wrong.empty() ? "" : "; ", "the quantile at ", p, " is ", few_digits(at), ", outside of ",
                     window.text());
    }
    if (!wrong.empty()) break_rule(r, wrong);
  });
}

// The reference: value of knot i at probability i / m. Up to and with a knot lies the share of the last equal one.
struct Reference {
  std::vector<double> knots;
  explicit Reference(const SchemaValue* v) {
    if (v)
      for (const SchemaValue& i : v->items()) knots.push_back(i.real());
  }
  double last() const { return static_cast<double>(knots.size() - 1); }
  double up_to(double x) const {
    const auto place = std::upper_bound(knots.begin(), knots.end(), x);
    return place == knots.begin() ? 0 : static_cast<double>(place - knots.begin() - 1) / last();
  }
};

// Σ (a − e) ln (a / e) over the tenths of the reference; shares below 10⁻⁴ count as that (Siddiqi 2006).
double stability_index(const Reference& ref, const Quantiles& q) {
  std::vector<double> edges;
  for (int k = 1; k < 10; ++k) {
    const double e = ref.knots[static_cast<std::size_t>(std::lround(k * ref.last() / 10))];
    if (edges.empty() || e > edges.back()) edges.push_back(e);
  }
  const auto n = static_cast<double>(q.count());
  double total = 0, a_before = 0, e_before = 0;
  for (std::size_t k = 0; k <= edges.size(); ++k) {
    const double a = k < edges.size() ? q.up_to(edges[k]) / n : 1, e = k < edges.size() ? ref.up_to(edges[k]) : 1;
    const double actual = std::fmax(a - a_before, 1e-4), expected = std::fmax(e - e_before, 1e-4);
    total += (actual - expected) * std::log(actual / expected);
    a_before = a;
    e_before = e;
  }
  return total;
}

// sup |F − G| as far as the knots tell. Equal knots i … k at x say that G(x−) lies between (i − 1)/m and i/m, and
// G(x) between k/m and (k + 1)/m; F is held against these intervals. The true supremum is at most 1/m larger.
double largest_distance(const Reference& ref, const Quantiles& q) {
  const auto n = static_cast<double>(q.count()), m = ref.last();
  const auto off = [](double v, double low, double high) { return std::fmax(low - v, v - high); };
  double most = 0;
  for (std::size_t i = 0, k = 0; i < ref.knots.size(); i = ++k) {
    while (k + 1 < ref.knots.size() && ref.knots[k + 1] == ref.knots[i]) ++k;
    const double x = ref.knots[i], first = static_cast<double>(i), last = static_cast<double>(k);
    most = std::fmax(most, off(q.below(x) / n, std::fmax(first - 1, 0) / m, first / m));
    most = std::fmax(most, off(q.up_to(x) / n, last / m, std::fmin(last + 1, m) / m));
  }
  return most;
}

template <class Distance>
std::unique_ptr<Check> check_drift(const SchemaValue& v, const Subject& s, std::string_view name, Distance distance,
                                   bool at_knots) {
  const Reference ref(s.rules ? s.rules->find("reference") : nullptr);
  return at_end([=, most = v.real()](const Subject&, const Facts& f, RuleReport& r) {
    if (ref.knots.empty())
      return break_rule(r, say(r.rule, " needs the quantiles of a reference: reference = [...] beside it"));
    if (nothing_to_judge(f, r)) return;
    r.note = bound_text(*f.quantiles);
    if (at_knots)
      r.note += say(r.note.empty() ? "" : "; ", "looked at in the ", ref.knots.size(),
                    " quantiles of the reference: the distance is at most ", few_digits(1 / ref.last()), " larger");
    r.measured = distance(ref, *f.quantiles);
    if (r.measured > most)
      break_rule(r, say("the ", name, " is ", few_digits(r.measured), ", above ", few_digits(most),
                        ": the data has drifted from the reference"));
  });
}
std::unique_ptr<Check> check_psi(const SchemaValue& v, const Subject& s) {
  return check_drift(v, s, "population stability index", stability_index, false);
}
std::unique_ptr<Check> check_ks(const SchemaValue& v, const Subject& s) {
  return check_drift(v, s, "Kolmogorov-Smirnov distance", largest_distance, true);
}

constexpr Kinds kReals = kinds::real | kinds::boolean;
constexpr Rule table[] = {
    {"mean", &forms::interval, kWindow, kReals, true, moments, "[0.4, 0.6]", "The mean of the finite values.",
     check_mean},
    {"std", &forms::interval, kWindow, kReals, true, moments, "[0.9, 1.1]",
     "Their standard deviation (divided by n).", check_std},
    {"quantiles", &forms::windows, kWindow, kReals, true, quantile, "[[0.5, -1, 1], [0.99, 2, 3]]",
     "Quantiles (the least value that a share p of the values do not exceed): exact up to 131,072 values, then from "
     "a sketch whose error "
     "bound is in the report.",
     check_quantiles},
    {"reference", &forms::reference, "", kReals, true, nothing, "[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]",
     "The quantiles of a reference at 0, 1/m, …, 1, for psi and ks; schema infer --drift writes them.", nullptr},
    {"psi", &forms::threshold, kDrift, kReals, true, quantile, "0.2",
     "The population stability index against the reference, over its tenths, is at most this. 0.1 is a small change, "
     "0.25 a large one.",
     check_psi},
    {"ks", &forms::threshold, kDrift, kReals, true, quantile, "0.1",
     "The Kolmogorov-Smirnov distance from the reference, at its quantiles, is at most this.", check_ks},
};

}  // namespace

std::span<const Rule> statistic_rules() {
  return table;
}

}  // namespace wp::data
