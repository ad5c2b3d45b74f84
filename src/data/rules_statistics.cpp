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
  if (f.moments.s.n > 0 || (f.quantiles && f.quantiles->count() > 0)) return false;
  r.note = "there is no finite value: nothing was judged";
  return true;
}

std::unique_ptr<Check> check_mean(const SchemaValue& v, const Subject&) {
  Interval window;
  parse_interval(v, window);
  return at_end([window](const Subject&, const Facts& f, RuleReport& r) {
    if (!nothing_to_judge(f, r)) judge(r, "mean", mean_of(f.moments), window);
  });
}
std::unique_ptr<Check> check_std(const SchemaValue& v, const Subject&) {
  Interval window;
  parse_interval(v, window);
  return at_end([window](const Subject&, const Facts& f, RuleReport& r) {
    if (!nothing_to_judge(f, r)) judge(r, "standard deviation", deviation_of(f.moments), window);
  });
}

// "ranks are off by at most 0.13 %"
std::string bound_text(const Quantiles& q) {
  if (q.error() == 0) return {};
  return say("by a sketch: ranks are off by at most ",
             few_digits(100 * static_cast<double>(q.error()) / static_cast<double>(q.count())), " %");
}

std::unique_ptr<Check> check_quantiles(const SchemaValue& v, const Subject&) {
  return at_end([windows = v.items()](const Subject& s, const Facts& f, RuleReport& r) {
    if (nothing_to_judge(f, r)) return;
    r.note = bound_text(*f.quantiles);
    std::string wrong;
    for (const SchemaValue& w : windows) {
      Interval window;
      parse_interval(SchemaValue({w.items()[1], w.items()[2]}), window);
      const double p = w.items()[0].real(), at = f.quantiles->at(p);
      if (!rounded_to(s.dtype, window).has(static_cast<Exact>(at)))
        wrong += say(wrong.empty() ? "" : "; ", "the quantile at ", p, " is ", few_digits(at), ", outside of ",
                     window.text());
    }
    if (!wrong.empty()) break_rule(r, wrong);
  });
}

// The reference: value of knot i at probability i / m. Up to and with a knot lies the share of the last equal one.
struct Reference {
  std::vector<double> knots;
  double inverse_size = 0;  // 1/m of a sample of m values; 0: the law itself
  explicit Reference(const SchemaField* rules) {
    if (const SchemaValue* const v = rules ? rules->find("reference") : nullptr)
      for (const SchemaValue& i : v->items()) knots.push_back(i.real());
    if (const SchemaValue* const v = rules ? rules->find("reference_size") : nullptr)
      inverse_size = 1 / std::fmax(v->real(), 1);
  }
  double last() const { return static_cast<double>(knots.size() - 1); }
  double up_to(double x) const {
    const auto place = std::upper_bound(knots.begin(), knots.end(), x);
    return place == knots.begin() ? 0 : static_cast<double>(place - knots.begin() - 1) / last();
  }
};

// What is measured, and what chance adds to it where nothing has drifted: exceeded once in a hundred times.
struct Distance {
  double measured, chance;
};

// χ² of k degrees of freedom that is exceeded once in a hundred times (Wilson & Hilferty 1931).
double chi_square(double k) {
  if (k < 1) return 0;
  const double v = 2 / (9 * k), root = 1 - v + 2.326 * std::sqrt(v);
  return k * root * root * root;
}

// Σ (a − e) ln (a / e) over the tenths of the reference (Siddiqi 2006); a share counts as 10⁻⁴ at least, and as that
// of half a value. Of n and m values of one law it is about (1/n + 1/m) χ² with as many degrees of freedom as there
// are edges (Yurdakul 2018).
Distance stability_index(const Reference& ref, const Quantiles& q) {
  std::vector<double> edges;
  for (int k = 1; k < 10; ++k) {
    const double e = ref.knots[static_cast<std::size_t>(std::lround(k * ref.last() / 10))];
    if (edges.empty() || e > edges.back()) edges.push_back(e);
  }
  const auto n = static_cast<double>(q.count());
  const double least_actual = std::fmax(1e-4, 0.5 / n), least_expected = std::fmax(1e-4, 0.5 * ref.inverse_size);
  double total = 0, a_before = 0, e_before = 0;
  for (std::size_t k = 0; k <= edges.size(); ++k) {
    const double a = k < edges.size() ? q.up_to(edges[k]) / n : 1, e = k < edges.size() ? ref.up_to(edges[k]) : 1;
    const double actual = std::fmax(a - a_before, least_actual), expected = std::fmax(e - e_before, least_expected);
    total += (actual - expected) * std::log(actual / expected);
    a_before = a;
    e_before = e;
  }
  return {total, (1 / n + ref.inverse_size) * chi_square(static_cast<double>(edges.size()))};
}

// sup |F − G| as far as the knots tell. Equal knots i … k at x say that G(x−) lies between (i − 1)/m and i/m, and
// G(x) between k/m and (k + 1)/m; F is held against these intervals. The true supremum is at most 1/m larger.
// Of two samples of one law it exceeds 1.628 √(1/n + 1/m) once in a hundred times (Smirnov 1948).
Distance largest_distance(const Reference& ref, const Quantiles& q) {
  const auto n = static_cast<double>(q.count()), m = ref.last();
  const auto off = [](double v, double low, double high) { return std::fmax(low - v, v - high); };
  double most = 0;
  for (std::size_t i = 0, k = 0; i < ref.knots.size(); i = ++k) {
    while (k + 1 < ref.knots.size() && ref.knots[k + 1] == ref.knots[i]) ++k;
    const double x = ref.knots[i], first = static_cast<double>(i), last = static_cast<double>(k);
    most = std::fmax(most, off(q.below(x) / n, std::fmax(first - 1, 0) / m, first / m));
    most = std::fmax(most, off(q.up_to(x) / n, last / m, std::fmin(last + 1, m) / m));
  }
  return {most, 1.628 * std::sqrt(1 / n + ref.inverse_size)};
}

template <class Measure>
std::unique_ptr<Check> check_drift(const SchemaValue& v, const Subject& s, std::string_view name, Measure measure,
                                   bool at_knots) {
  const Reference ref(s.rules);
  return at_end([=, most = v.real()](const Subject&, const Facts& f, RuleReport& r) {
    if (ref.knots.empty())
      return break_rule(r, say(r.rule, " needs the quantiles of a reference: reference = [...] beside it"));
    if (nothing_to_judge(f, r)) {  // data that is not there is not data of the same law
      r.code = "WP-VAL-015";
      return break_rule(r, say(r.rule, " cannot be judged: there is no finite value"));
    }
    r.note = bound_text(*f.quantiles);
    if (at_knots)
      r.note += say(r.note.empty() ? "" : "; ", "looked at in the ", ref.knots.size(),
                    " quantiles of the reference: the distance is at most ", few_digits(1 / ref.last()), " larger");
    const Distance d = measure(ref, *f.quantiles);
    r.measured = d.measured;
    r.note +=
        say(r.note.empty() ? "" : "; ", "chance adds up to ", few_digits(d.chance), " for ",
            plural(f.quantiles->count(), "value"),
            ref.inverse_size > 0 ? say(" and a reference of ", few_digits(1 / ref.inverse_size)) : std::string());
    if (at_knots && most + d.chance >= 1) r.note += ": too few to tell any drift";
    if (r.measured > most + d.chance)
      break_rule(r, say("the ", name, " is ", few_digits(r.measured), ", above ", few_digits(most), " + ",
                        few_digits(d.chance), " (what chance adds): the data has drifted from the reference"));
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
    {"reference_size", &forms::count, "", kReals, true, nothing, "2000",
     "How many values the reference was made of, for what chance adds to psi and ks; not said: it is exact.",
     nullptr},
    {"psi", &forms::threshold, kDrift, kReals, true, quantile, "0.2",
     "The population stability index against the reference, over its tenths, is at most this, and "
     "what chance adds for so many values (1 %: (1/n + 1/m) χ²). 0.1 is a small change, 0.25 a large one.",
     check_psi},
    {"ks", &forms::threshold, kDrift, kReals, true, quantile, "0.1",
     "The Kolmogorov-Smirnov distance from the reference, at its quantiles, is at most this, and what chance adds "
     "for so "
     "many values (1 %: 1.628 √(1/n + 1/m)).",
     check_ks},
};

}  // namespace

std::span<const Rule> statistic_rules() {
  return table;
}

}  // namespace wp::data
