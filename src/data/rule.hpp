// One rule, one row: its name, its words, the form of its value and the check that it makes. The parser,
// docs/schema.md and the JSON Schema are derived from the table.
#pragma once
#include <memory>
#include <span>

#include "data/offences.hpp"
#include "data/quantiles.hpp"
#include "kernels/moments.hpp"

namespace wp::data {

// Of moments that are scaled by a power of two, so that no square overflows or underflows.
inline double mean_of(const kernels::ScaledMoments& m) {
  return std::ldexp(m.s.mean + m.s.rest, m.scale);
}
inline double deviation_of(const kernels::ScaledMoments& m) {
  return std::ldexp(std::sqrt(m.s.m2 / m.s.n), m.scale);
}

// Facts of a field that several rules share.
struct Facts {
  Census census;
  kernels::ScaledMoments moments = {kernels::Moments::none(), 0};  // of the finite values
  const Quantiles* quantiles = nullptr;
};

// The state of one rule on one field.
class Check {
 public:
  struct Partial {
    virtual ~Partial() = default;
  };
  virtual ~Check() = default;
  // What there is to say of a tile; null: nothing. Runs for several tiles at the same time.
  virtual std::unique_ptr<Partial> look(const Subject&, const Tile&) const { return nullptr; }
  // Takes what look() gave, in the order of the tiles.
  virtual void join(const Subject&, std::unique_ptr<Partial>) {}
  // Matrices [count, m, n] in order; `first` is the number of the first.
  virtual void matrices(const Subject&, const Tensor&, std::int64_t) {}
  virtual void finish(const Subject&, const Facts&, RuleReport&) = 0;
};

// What a rule asks the engine for.
enum Needs : std::uint8_t { nothing = 0, tiles = 1, moments = 2, quantile = 4, whole_matrices = 8 };

// The form of a value: words for messages and the documentation, JSON Schema, and the test itself.
struct Form {
  const char* words;
  const char* json;
  bool (*takes)(const SchemaValue&);
  // How what is allowed changes: −1 less (narrowed), +1 more (widened), 0 neither or both. Null: the rule is not set.
  int (*compare)(const SchemaValue* before, const SchemaValue* after);
  // What the value means, in one way of writing: equal for values that say the same. Null: the value itself.
  std::string (*meaning)(const SchemaValue&) = nullptr;
};
// Whether two values of a rule say the same; null: the rule is not set.
bool same_meaning(const Form& form, const SchemaValue* a, const SchemaValue* b);
// Whether a dtype is what a text of the form `dtypes` names: "f32", "float32", "float".
bool has_dtype(const SchemaValue& v, DType d);

struct Rule {
  std::string_view name;
  const Form* form;
  std::string_view code;  // of its finding; empty: it is no rule but a part of one, or words
  Kinds kinds;            // what it can judge
  bool on_columns;
  std::uint8_t needs;
  std::string_view example;  // a value, in TOML
  std::string_view doc;
  std::unique_ptr<Check> (*make)(const SchemaValue&, const Subject&);
};
std::span<const Rule> rules();
const Rule* find_rule(std::string_view name) noexcept;

// Groups of rows, joined by rules().
std::span<const Rule> shape_rules();
std::span<const Rule> value_rules();
std::span<const Rule> unique_rules();
std::span<const Rule> row_rules();
std::span<const Rule> matrix_rules();
std::span<const Rule> statistic_rules();

// "[0, 1)": ends may be left out of it.
struct Interval {
  Exact low = -kInfinity, high = kInfinity;
  bool low_open = false, high_open = false;
  bool low_whole = false, high_whole = false;  // written as integers: they are meant exactly
  bool below(Exact v) const noexcept { return low_open ? v <= low : v < low; }
  bool above(Exact v) const noexcept { return high_open ? v >= high : v > high; }
  bool has(Exact v) const noexcept { return !below(v) && !above(v) && v == v; }
  std::string text() const;
  std::string why(Exact v) const;                         // "is below 0"
  std::string why(Exact v, const Interval& shown) const;  // the same with bounds as they were written
};
// A number as elements of this dtype can be: 0.1 written for f32 means the f32 that 0.1 is. Beyond its range: itself.
// Bounds that were written as integers stay as they are.
Exact rounded_to(DType dtype, Exact v);
Interval rounded_to(DType dtype, const Interval& i);
// False: it is none.
bool parse_interval(const SchemaValue& v, Interval& out);
// A number of a schema: an integer exactly, else the nearest f64; also "inf", "-inf".
bool parse_number(const SchemaValue& v, Exact& out);

// Of the form `bytes`.
double size_in_bytes(const SchemaValue& v);

// Lengths with names, bound by the first shape that uses them.
class Symbols {
 public:
  // The length that the name has; binds it if it has none yet.
  struct Bound {
    std::int64_t length;
    std::string by;
  };
  const Bound& bind(const std::string& name, std::int64_t length, const std::string& by);

 private:
  std::vector<std::pair<std::string, Bound>> bound_;
};
// Of the validation that runs on this thread.
Symbols& symbols() noexcept;
class [[nodiscard]] OwnSymbols {
 public:
  OwnSymbols();
  ~OwnSymbols();
  OwnSymbols(const OwnSymbols&) = delete;
  OwnSymbols& operator=(const OwnSymbols&) = delete;

 private:
  Symbols own_, *outer_;
};

namespace forms {
extern const Form flag, permission, nulls, count, threshold, interval, numbers, windows, dtypes, lengths,
    most_lengths, bytes, names, order, uniqueness, sum, reference, expressions, words;
}

}  // namespace wp::data
