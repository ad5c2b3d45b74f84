// Rules about single elements, and about elements that follow each other.
#include <cmath>

#include "data/rule.hpp"

namespace wp::data {
namespace {

struct Found : Check::Partial {
  explicit Found(int keep) : offences(keep) {}
  Offences offences;
};

// A judge says which elements are bad: clean(census) when none can be, bad(v), excess(v), why(v).
template <class Judge>
class Elements final : public Check {
 public:
  Elements(Judge judge, int keep) : judge_(std::move(judge)), all_(keep), keep_(keep) {}
  std::unique_ptr<Partial> look(const Subject& s, const Tile& t) const override {
    if (judge_.clean(t.census, s.missing)) return nullptr;
    auto found = std::make_unique<Found>(keep_);
    each(t, [&](std::int64_t i, auto v) {
      if (is_nan(v) ? s.missing : !judge_.bad(v)) return;
      found->offences.add(t.start + i, judge_.excess(v), [&] { return std::pair(say(v), judge_.why(v)); });
    });
    each_complex(t, [&](std::int64_t i, auto re, auto im) {
      const bool nan = is_nan(re) || is_nan(im);
      if (nan ? s.missing : !(judge_.bad(re) || judge_.bad(im))) return;
      found->offences.add(t.start + i, HUGE_VAL,
                          [&] { return std::pair(say(std::complex(re, im)), judge_.why(re)); });
    });
    return found;
  }
  void join(const Subject&, std::unique_ptr<Partial> p) override {
    if (p) all_.join(static_cast<Found&>(*p).offences);
  }
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    tell(s, all_, Unit::value, f.census.values - (s.missing ? f.census.nans : 0), r);
  }

 private:
  Judge judge_;
  Offences all_;
  int keep_;
};

struct InRange {
  Interval interval, shown;  // in the dtype of the elements, and as written
  bool clean(const Census& c, bool missing) const {
    return (c.nans == 0 || missing) && (c.low > c.high || (interval.has(c.low) && interval.has(c.high)));
  }
  template <class T>
  bool bad(T v) const {
    return !interval.has(static_cast<Exact>(v));
  }
  template <class T>
  double excess(T v) const {
    const auto x = static_cast<Exact>(v);
    return is_nan(v) ? HUGE_VAL : static_cast<double>(std::fmax(interval.low - x, x - interval.high));
  }
  template <class T>
  std::string why(T v) const {
    return interval.why(static_cast<Exact>(v), shown);
  }
};

struct Finite {
  bool clean(const Census& c, bool missing) const { return c.infs == 0 && (c.nans == 0 || missing); }
  template <class T>
  bool bad(T v) const {
    return !std::isfinite(static_cast<double>(v));
  }
  template <class T>
  double excess(T) const {
    return HUGE_VAL;
  }
  template <class T>
  std::string why(T) const {
    return "is not finite";
  }
};

struct Present {
  bool clean(const Census& c, bool) const { return c.nans == 0; }
  template <class T>
  bool bad(T) const {
    return false;  // NaN is judged before
  }
  template <class T>
  double excess(T) const {
    return HUGE_VAL;
  }
  template <class T>
  std::string why(T) const {
    return "is missing";
  }
};

struct OneOf {
  std::vector<Exact> values, shown;  // sorted; in the dtype of the elements, and as written
  bool clean(const Census& c, bool missing) const {
    return (c.nans == 0 || missing) && c.low == c.high && !bad(c.low);
  }
  template <class T>
  bool bad(T v) const {
    return !std::binary_search(values.begin(), values.end(), static_cast<Exact>(v));
  }
  template <class T>
  double excess(T v) const {
    if (is_nan(v)) return HUGE_VAL;
    Exact least = kInfinity;
    for (const Exact a : values) least = std::fmin(least, std::fabs(a - static_cast<Exact>(v)));
    return static_cast<double>(least);
  }
  template <class T>
  std::string why(T) const {
    if (shown.size() > 12) return "is none of the values allowed";
    std::string out = "is none of ";
    for (std::size_t i = 0; i < shown.size(); ++i) out += say(i ? ", " : "", number_text(shown[i]));
    return out;
  }
};

template <class Judge>
std::unique_ptr<Check> elements(Judge judge, const Subject& s) {
  return std::make_unique<Elements<Judge>>(std::move(judge), s.keep);
}
std::unique_ptr<Check> check_range(const SchemaValue& v, const Subject& s) {
  InRange judge;
  parse_interval(v, judge.shown);
  judge.interval = rounded_to(s.dtype, judge.shown);
  return elements(judge, s);
}
std::unique_ptr<Check> check_finite(const SchemaValue& v, const Subject& s) {
  return v.boolean() ? elements(Finite{}, s) : nullptr;
}
std::unique_ptr<Check> check_present(const SchemaValue& v, const Subject& s) {
  return v.boolean() ? elements(Present{}, s) : nullptr;
}
std::unique_ptr<Check> check_one_of(const SchemaValue& v, const Subject& s) {
  OneOf judge;
  for (const SchemaValue& i : v.items()) {
    Exact& shown = judge.shown.emplace_back();
    parse_number(i, shown);
    judge.values.push_back(i.is_integer() ? shown : rounded_to(s.dtype, shown));
  }
  std::sort(judge.shown.begin(), judge.shown.end());
  std::sort(judge.values.begin(), judge.values.end());
  return elements(judge, s);
}

// Along the first axis, entry by entry of the others.
class Monotone final : public Check {
 public:
  Monotone(const std::string& order, const Subject& s)
      : up_(order == "increasing" || order == "nondecreasing"),
        strict_(!order.starts_with("non")),
        last_(static_cast<std::size_t>(s.width), std::numeric_limits<Exact>::quiet_NaN()),
        all_(s.keep) {}
  struct Values : Partial {
    std::int64_t start = 0;
    std::vector<Exact> x;
  };
  std::unique_ptr<Partial> look(const Subject&, const Tile& t) const override {
    auto out = std::make_unique<Values>();
    out->start = t.start;
    out->x.reserve(static_cast<std::size_t>(t.n));
    each(t, [&](std::int64_t, auto v) { out->x.push_back(static_cast<Exact>(v)); });
    return out;
  }
  void join(const Subject& s, std::unique_ptr<Partial> p) override {
    const auto& part = static_cast<const Values&>(*p);
    for (std::size_t i = 0; i < part.x.size(); ++i) {
      const std::int64_t at = part.start + static_cast<std::int64_t>(i);
      Exact& before = last_[static_cast<std::size_t>(at % s.width)];
      const Exact now = part.x[i];
      if (now != now && s.missing) continue;
      const bool good = up_ ? (strict_ ? now > before : now >= before) : (strict_ ? now < before : now <= before);
      if (!good && before == before)
        all_.add(at, now != now ? HUGE_VAL : static_cast<double>(std::fabs(now - before)), [&] {
          const char* const relation = now == before ? "equals " : up_ ? "is below " : "is above ";
          return std::pair(number_text(now), now != now ? std::string("is not a number")
                                                        : say(relation, number_text(before), " before it"));
        });
      if (now == now) before = now;
    }
  }
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    tell(s, all_, Unit::value, f.census.values, r);
  }

 private:
  bool up_, strict_;
  std::vector<Exact> last_;
  Offences all_;
};
std::unique_ptr<Check> check_monotone(const SchemaValue& v, const Subject& s) {
  return std::make_unique<Monotone>(v.text(), s);
}

constexpr Rule table[] = {
    {"range", &forms::interval, "WP-VAL-003", kinds::real | kinds::boolean, true, tiles, "[0, 1]",
     "Every element lies in the interval. NaN lies in none, unless non_null = false. Bounds written as "
     "integers are exact, others are rounded to f32, f16 and bf16 as elements are (0.1 allows the f32 0.1).",
     check_range},
    {"finite", &forms::flag, "WP-VAL-004", kinds::any, true, tiles, "true",
     "No Inf and no NaN (with non_null = false: no Inf).", check_finite},
    {"non_null", &forms::nulls, "WP-VAL-005", kinds::any, true, tiles, "true",
     "No value is missing: no NaN, which is what an empty field of a table becomes. false: NaN is a missing value, "
     "and other rules "
     "leave it out.",
     check_present},
    {"one_of", &forms::numbers, "WP-VAL-007", kinds::real | kinds::boolean, true, tiles, "[0, 1, 2]",
     "Every element is one of these numbers.", check_one_of},
    {"monotone", &forms::order, "WP-VAL-008", kinds::real | kinds::boolean, true, tiles, "\"nondecreasing\"",
     "Elements go up (or down) along the first axis, entry by entry of the others (at most 4,194,304 of them, which "
     "are "
     "kept in memory).",
     check_monotone},
};

}  // namespace

std::span<const Rule> value_rules() {
  return table;
}

}  // namespace wp::data
