// Rules about lines: entries along the last axis that belong together.
#include <cmath>

#include "data/expression.hpp"
#include "data/names.hpp"
#include "data/rule.hpp"
#include "kernels/convert.hpp"
#include "kernels/sums.hpp"

namespace wp::data {
namespace {

// A piece of a line: pieces of one line meet in join().
struct Segment {
  std::int64_t line;
  kernels::Pair sum;  // in twice the precision
  double size;        // Σ |x|
  Exact outside;      // an entry outside of [0, 1]; 0: none
  bool has_outside = false;
};

class Sums final : public Check {
 public:
  Sums(const Interval& wanted, bool exact, bool probability, const Subject& s)
      : wanted_(wanted), exact_(exact), probability_(probability), all_(s.keep) {}
  struct Segments : Partial {
    std::vector<Segment> all;
  };
  std::unique_ptr<Partial> look(const Subject& s, const Tile& t) const override {
    auto out = std::make_unique<Segments>();
    const std::int64_t length = std::max<std::int64_t>(s.line(), 1);
    each(t, [&](std::int64_t i, auto v) {
      const std::int64_t line = (t.start + i) / length;
      if (out->all.empty() || out->all.back().line != line) out->all.push_back({line, {0, 0}, 0, 0});
      if (is_nan(v) && s.missing) return;
      Segment& g = out->all.back();
      kernels::PairTotal::push(g.sum, static_cast<double>(v));
      g.size += std::fabs(static_cast<double>(v));
      if (probability_ && !g.has_outside && !(v >= 0 && v <= 1)) {
        g.outside = static_cast<Exact>(v);
        g.has_outside = true;
      }
    });
    return out;
  }
  void join(const Subject& s, std::unique_ptr<Partial> p) override {
    for (const Segment& g : static_cast<const Segments&>(*p).all) {
      if (open_ && current_.line == g.line) {
        kernels::PairTotal::join(current_.sum, g.sum);
        current_.size += g.size;
        if (!current_.has_outside) {
          current_.outside = g.outside;
          current_.has_outside = g.has_outside;
        }
        continue;
      }
      close(s);
      current_ = g;
      open_ = true;
    }
  }
  void finish(const Subject& s, const Facts&, RuleReport& r) override {
    close(s);
    tell(s, all_, Unit::row, lines_, r);
  }

 private:
  // Rounding of the entries and of the sum: 4 (n + 1) eps times what was added.
  void close(const Subject& s) {
    if (!open_) return;
    open_ = false;
    ++lines_;
    const double sum = kernels::joined(current_.sum), n = static_cast<double>(s.line());
    const double eps = is_floating(s.dtype) ? finfo(s.dtype).eps : 0;
    const double rounding = 4 * (n + 1) * eps * std::fmax(current_.size, std::fabs(static_cast<double>(wanted_.low)));
    const bool good = exact_ ? std::fabs(sum - static_cast<double>(wanted_.low)) <= rounding : wanted_.has(sum);
    if (good && !current_.has_outside) return;
    const double off = static_cast<double>(std::fmax(wanted_.low - sum, sum - wanted_.high));
    all_.add(current_.line, sum == sum ? std::fabs(off) : HUGE_VAL, [&] {
      if (current_.has_outside)
        return std::pair(std::string(), say("has the entry ", number_text(current_.outside), " outside of [0, 1]"));
      return std::pair(std::string(),
                       say("sums to ", sum,
                           exact_ ? say(", not ", number_text(wanted_.low)) : say(", outside of ", wanted_.text())));
    });
  }
  Interval wanted_;
  bool exact_, probability_, open_ = false;
  Segment current_{};
  std::int64_t lines_ = 0;
  Offences all_;
};

std::unique_ptr<Check> check_sum(const SchemaValue& v, const Subject& s) {
  Interval wanted;
  if (v.is_list())
    parse_interval(v, wanted);
  else
    wanted = {static_cast<Exact>(v.real()), static_cast<Exact>(v.real())};
  return std::make_unique<Sums>(wanted, !v.is_list(), false, s);
}
std::unique_ptr<Check> check_probability(const SchemaValue& v, const Subject& s) {
  if (!v.boolean()) return nullptr;
  return std::make_unique<Sums>(Interval{1, 1}, true, true, s);
}

// Columns of a line, by name or as $3.
class Predicate final : public Check {
 public:
  Predicate(const std::string& text, const Subject& s) : expression_(Expression::parse(text)), all_(s.keep) {
    for (const std::string& name : expression_.names()) {
      const std::int64_t column = column_of(name, s);
      if (column < 0) unknown_ = say("there is no column '", name, "'.", nearest(name, s.columns));
      columns_.push_back(column);
    }
  }
  struct Found : Partial {
    explicit Found(int keep) : offences(keep) {}
    Offences offences;
    std::int64_t lines = 0;
    bool rounded = false;
  };
  std::unique_ptr<Partial> look(const Subject& s, const Tile& t) const override {
    if (!unknown_.empty()) return nullptr;
    auto found = std::make_unique<Found>(s.keep);
    const std::int64_t length = std::max<std::int64_t>(s.line(), 1), n = t.n / length;
    if (t.n % length || t.start % length) return nullptr;  // a line longer than a tile: finish() says so
    std::vector<std::vector<double>> values;
    std::vector<const double*> pointers;
    for (const std::int64_t c : columns_) {
      values.emplace_back(static_cast<std::size_t>(n));
      kernels::convert(values.back().data(), f64,
                       static_cast<const char*>(t.x) + c * static_cast<std::int64_t>(size_of(t.dtype)), t.dtype,
                       length, n);
      pointers.push_back(values.back().data());
    }
    std::vector<double> truth(static_cast<std::size_t>(n));
    expression_.evaluate(pointers, n, truth.data());
    for (std::int64_t i = 0; i < n; ++i) {
      bool missing = false;
      for (std::size_t k = 0; k < pointers.size(); ++k) {
        const double* const v = pointers[k];
        missing = missing || (v[i] != v[i] && allows_missing(s, columns_[k]));
        found->rounded = found->rounded || (is_integer(t.dtype) && std::fabs(v[i]) >= 0x1p53);
      }
      if (missing) continue;
      ++found->lines;
      if (truth[static_cast<std::size_t>(i)] != 0) continue;
      found->offences.add(t.start / length + i, 0, [&] { return std::pair(std::string(), words(pointers, i)); });
    }
    return found;
  }
  void join(const Subject&, std::unique_ptr<Partial> p) override {
    if (!p) return;
    const auto& found = static_cast<const Found&>(*p);
    all_.join(found.offences);
    lines_ += found.lines;
    rounded_ = rounded_ || found.rounded;
  }
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    tell(s, all_, Unit::row, lines_, r);
    if (rounded_) r.note = "integers beyond 2^53 were rounded to f64";
    const bool unseen = lines_ == 0 && f.census.values > 0 && s.line() > kTile;
    if (unknown_.empty() && !unseen) return;
    r.holds = false;
    r.failed = 1;
    r.message = unseen
                    ? say("rows of ", s.line(), " entries are longer than predicates are computed for (", kTile, ")")
                    : say(expression_.text(), ": ", unknown_);
  }

 private:
  static std::int64_t column_of(const std::string& name, const Subject& s) {
    const std::int64_t length = s.line();
    if (name.starts_with("$")) {
      char* end = nullptr;
      const long long k = std::strtoll(name.c_str() + 1, &end, 10);
      return *end == '\0' && end != name.c_str() + 1 && k >= 0 && k < length ? k : -1;
    }
    for (std::size_t k = 0; k < s.columns.size() && static_cast<std::int64_t>(k) < length; ++k)
      if (s.columns[k] == name) return static_cast<std::int64_t>(k);
    return -1;
  }
  static bool allows_missing(const Subject& s, std::int64_t column) {
    const auto k = static_cast<std::size_t>(column);
    return s.missing || (k < s.missing_columns.size() && s.missing_columns[k]);
  }
  std::string words(const std::vector<const double*>& values, std::int64_t i) const {
    std::string out = say("breaks ", expression_.text(), ": ");
    for (std::size_t k = 0; k < values.size(); ++k)
      out += say(k ? ", " : "", expression_.names()[k], " = ", values[k][i]);
    return out;
  }
  Expression expression_;
  std::vector<std::int64_t> columns_;
  std::string unknown_;
  std::int64_t lines_ = 0;
  bool rounded_ = false;
  Offences all_;
};

// A list of predicates is a check each; the engine takes them apart.
std::unique_ptr<Check> check_holds(const SchemaValue& v, const Subject& s) {
  return std::make_unique<Predicate>(v.is_list() ? v.items().at(0).text() : v.text(), s);
}

constexpr Rule table[] = {
    {"row_sum", &forms::sum, "WP-VAL-009", kinds::real | kinds::boolean, false, tiles, "1",
     "Sums along the last axis: a number up to rounding (4 (n + 1) eps of what is added), or an interval.",
     check_sum},
    {"probability", &forms::flag, "WP-VAL-009", kinds::real, false, tiles, "true",
     "Entries lie in [0, 1] and sum to 1 along the last axis, up to rounding.", check_probability},
    {"holds", &forms::expressions, "WP-VAL-013", kinds::real | kinds::boolean, false, tiles, "[\"low <= high\"]",
     "Predicates over the columns of each row, by name or as $3: + - * / %, comparisons, and, or, not, abs, min, "
     "max, sqrt, isnan, "
     "isfinite, computed in f64. At the head of the file: over tensors with the same rows (\"x.low <= y\").",
     check_holds},
};

}  // namespace

std::span<const Rule> row_rules() {
  return table;
}

}  // namespace wp::data
