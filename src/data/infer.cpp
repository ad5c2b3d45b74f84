// Schemas from data: candidates for rules are held against the data in one pass, and what holds is kept.
#include <cmath>

#include "base/text.hpp"
#include "data/run.hpp"

namespace wp {
namespace data {
namespace {

constexpr std::int64_t kFewRows = 16, kFewValues = 16, kHead = 1000;
constexpr int kKnots = 32;

double three_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", x);
  return std::strtod(text, nullptr);
}
// Three digits, rounded down (or up: −x): bounds that a person would write.
double rounded_down(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double r = three_digits(x);
  return r <= x ? r : three_digits(r - std::pow(10, std::floor(std::log10(std::fabs(r))) - 2));
}

struct Bounds {
  SchemaValue low, high;
};
Bounds real_bounds(double low, double high, double slack) {
  if (low >= 0 && high <= 1 && high > 0.5) return {0, 1};
  const double width = high - low, more = width > 0 ? slack * width : slack * std::fmax(std::fabs(high), 1);
  double a = rounded_down(low - more), b = -rounded_down(-(high + more));
  if (low >= 0) a = std::fmax(a, 0);
  if (high <= 0) b = std::fmin(b, 0);
  if (!std::isfinite(a)) a = -HUGE_VAL;
  if (!std::isfinite(b)) b = HUGE_VAL;
  return {a, b};
}
Bounds integer_bounds(Exact low, Exact high, double slack) {
  const Exact more = std::ceil(static_cast<Exact>(slack) * (high - low));
  Exact a = low - more, b = high + more;
  if (low >= 0) a = std::fmax(a, static_cast<Exact>(0));
  if (high <= 0) b = std::fmin(b, static_cast<Exact>(0));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto value = [](Exact v, const SchemaValue& beyond) {
    return std::fabs(v) < 0x1p63L ? SchemaValue(static_cast<std::int64_t>(v)) : beyond;
  };
  return {value(a, a < 0 ? SchemaValue(-HUGE_VAL) : SchemaValue(most)), value(b, HUGE_VAL)};
}

// "seen: 0.002 to 0.998, mean 0.51, deviation 0.29"
std::string seen(const Field& f) {
  const Census c = f.census();
  if (c.low > c.high) return {};
  std::string out = say("seen: ", number_text(c.low), " to ", number_text(c.high));
  const auto& m = f.deviation();
  if (m.s.n > 0) out += say(", mean ", few_digits(mean_of(m)), ", deviation ", few_digits(deviation_of(m)));
  return out;
}

// Whether a candidate held, with something to judge.
bool held(const Report& r, const Subject& s, std::string_view rule) {
  for (const RuleReport& one : r.rules)
    if (one.tensor == s.tensor && one.column == s.column && one.rule == rule) return one.holds && one.checked > 0;
  return false;
}

void write_values(SchemaField& to, Field& f, const Report& r, const InferOptions& o) {
  const Subject& s = f.subject();
  const Census c = f.census();
  if (c.nans)
    to.set("non_null", false, say("seen: ", c.nans, " of ", plural(c.values, "value"), " missing"));
  else if (!s.column.empty())
    to.non_null();
  if (is_floating(s.dtype) && c.infs == 0 && c.values > 0) to.finite();
  if (is_complex(s.dtype) || s.dtype == boolean || c.low > c.high) return;
  std::vector<double> few;
  const bool exact = c.low > -0x1p53L && c.high < 0x1p53L;  // quantiles are f64
  if (is_integer(s.dtype) && exact && f.quantiles().distinct(kFewValues, few) &&
      c.values >= 4 * static_cast<std::int64_t>(few.size())) {
    SchemaValue::List values;
    for (const double v : few) values.emplace_back(static_cast<std::int64_t>(v));
    to.set("one_of", SchemaValue::list(std::move(values)), "every value that was seen");
  } else if (c.infs == 0) {
    const Bounds b = is_integer(s.dtype)
                         ? integer_bounds(c.low, c.high, o.slack)
                         : real_bounds(static_cast<double>(c.low), static_cast<double>(c.high), o.slack);
    to.set("range", {b.low, b.high}, seen(f));
  }
  if (held(r, s, "unique") && c.values >= kFewRows) to.unique();
  if (held(r, s, "monotone") && c.values >= kFewRows) to.monotone("nondecreasing");
  if (!o.drift || f.quantiles().count() == 0) return;
  if (f.quantiles().count() < kKnots) {
    to.set("doc", say("no reference for drift: ", plural(f.quantiles().count(), "value"), " of ", kKnots, " needed"));
    return;
  }
  SchemaValue::List knots;
  for (int k = 0; k <= kKnots; ++k) knots.emplace_back(f.quantiles().at(k / static_cast<double>(kKnots)));
  to.set("reference", SchemaValue::list(std::move(knots)), say("quantiles of ", plural(c.values, "value")));
  to.set("reference_size", f.quantiles().count());
  to.set("psi", 0.25, "above 0.25: a large change");
  to.set("ks", 0.1);
}

bool square(const Subject& s) {
  return s.shape.size() >= 2 && s.shape.back() == s.shape[s.shape.size() - 2] && s.shape.back() >= 2 &&
         s.shape.back() <= 2000 && is_floating(s.dtype);
}

// What might be true of the tensor and its columns, by their first rows.
void add_candidates(SchemaTensor& t, const Input& input) {
  const auto blocks = input.open();
  if (!input.table) {
    Subject s;
    s.shape = blocks->arrays().at(0).shape;
    s.dtype = blocks->arrays().at(0).dtype;
    if (is(s.dtype, kinds::real_floating) && s.shape.size() >= 2 && s.shape.back() >= 2) t.probability();
    if (square(s)) t.symmetric().spd();
    if (is_integer(s.dtype) && s.shape.size() == 1) t.unique().monotone("nondecreasing");
    return;
  }
  std::vector<Tensor> head;
  if (!blocks->next(kHead, head)) return;
  for (std::size_t k = 0; k < head.size(); ++k) {
    if (head[k].dtype() != i64) continue;
    std::vector<std::int64_t> v = head[k].to_vector<std::int64_t>();
    if (std::is_sorted(v.begin(), v.end())) t.column(blocks->arrays()[k].name).monotone("nondecreasing");
    std::sort(v.begin(), v.end());
    if (std::adjacent_find(v.begin(), v.end()) == v.end()) t.column(blocks->arrays()[k].name).unique();
  }
}

std::string dtype_words(const Subject& s, bool table) {
  if (!table || s.dtype == boolean) return std::string(name(s.dtype));
  return is_integer(s.dtype) ? "integer" : "numeric";  // what a table of the same kind may be read as
}

void write_tensor(SchemaTensor& to, Run& run, const Report& r, const Input& input, const std::string& rows,
                  const InferOptions& o) {
  Field& whole = run.fields()[0];
  const Subject& s = whole.subject();
  if (!input.table) to.set("dtype", dtype_words(s, false));
  SchemaValue::List lengths;
  for (std::size_t k = 0; k < s.shape.size(); ++k) lengths.emplace_back(s.shape[k]);
  const bool symmetric = held(r, s, "symmetric");
  if (!lengths.empty() && !(symmetric && s.shape.size() == 2)) lengths[0] = rows;
  to.set("shape", SchemaValue::list(lengths), s.shape.empty() ? "" : say("seen: ", s.shape));
  if (input.table) {
    SchemaValue::List names;
    for (const std::string& n : s.columns) names.emplace_back(n);
    if (!names.empty()) to.set("columns", SchemaValue::list(std::move(names)));
    std::vector<Field*> fields;  // in the order of the columns
    for (std::size_t k = 1; k < run.fields().size(); ++k) fields.push_back(&run.fields()[k]);
    std::sort(fields.begin(), fields.end(),
              [](const Field* a, const Field* b) { return a->subject().column_number < b->subject().column_number; });
    for (Field* const one : fields) {
      Field& f = *one;
      SchemaField& column = to.column(f.subject().column);
      column.set("dtype", dtype_words(f.subject(), true), say("seen: ", f.subject().dtype));
      write_values(column, f, r, o);
    }
    return;
  }
  write_values(to, whole, r, o);
  if (held(r, s, "probability")) to.probability();
  if (held(r, s, "spd"))
    to.spd();
  else if (symmetric)
    to.symmetric();
}

Schema infer(const std::vector<Input>& inputs, const InferOptions& options) {
  if (inputs.empty()) raise<ArgumentError>("WP-ARG-002", "infer_schema", "there is no data.");
  const OwnSymbols symbols;
  std::vector<Schema> candidates(inputs.size());
  std::vector<Run> runs;
  std::uint64_t bytes = 0;
  ValidateOptions quiet;
  quiet.offenders = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    SchemaTensor& t = candidates[k].tensor(inputs[k].name);
    add_candidates(t, inputs[k]);
    Run& run = runs.emplace_back(inputs[k], &t, quiet, false);
    for (Field& f : run.fields()) f.keep_quantiles();
    bytes += run.bytes();
  }
  std::optional<Progress> progress;
  if (options.progress) progress.emplace("reading", static_cast<std::int64_t>(bytes), "bytes");
  Schema out;
  std::vector<std::pair<std::int64_t, std::string>> lengths;  // of first axes, and their names
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    runs[k].read(progress ? &*progress : nullptr);
    Report report;
    runs[k].finish(report);
    const Dims& shape = runs[k].fields()[0].subject().shape;
    const std::int64_t rows = shape.empty() ? 1 : shape[0];
    auto place = std::find_if(lengths.begin(), lengths.end(), [&](const auto& l) { return l.first == rows; });
    if (place == lengths.end()) {
      lengths.emplace_back(rows, lengths.empty() ? std::string("rows") : say("rows", lengths.size()));
      place = std::prev(lengths.end());
    }
    const std::string name = inputs.size() == 1 ? std::string() : inputs[k].name;
    write_tensor(out.tensor(name), runs[k], report, inputs[k], place->second, options);
  }
  return out;
}

}  // namespace
}  // namespace data

Schema infer_schema(const Tensor& data, const InferOptions& options) {
  return data::infer(data::inputs_of({{"", data}}), options);
}
Schema infer_schema(const NamedTensors& data, const InferOptions& options) {
  return data::infer(data::inputs_of(data), options);
}
Schema infer_schema_files(const std::vector<std::string>& files, const InferOptions& options) {
  return data::infer(data::inputs_of_files(files, {.columns = options.columns, .max_unfolded = options.max_unfolded}),
                     options);
}

}  // namespace wp
