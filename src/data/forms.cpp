// The forms that values of rules have.
#include <cctype>
#include <cstring>
#include <set>

#include "data/expression.hpp"
#include "data/rule.hpp"
#include "kernels/convert.hpp"

namespace wp::data {
namespace {

bool finite_number(const SchemaValue& v) {
  return v.is_number() && std::isfinite(v.real());
}
template <class Item>
bool list_of(const SchemaValue& v, Item&& item, std::size_t least = 1) {
  return v.is_list() && v.items().size() >= least && std::all_of(v.items().begin(), v.items().end(), item);
}

bool parse_text_number(std::string_view text, Exact& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty() || text.size() > 64) return false;
  const std::string word(text);
  char* end = nullptr;
  const bool integer = word.find_first_not_of("+-0123456789") == std::string::npos;
  out = integer ? std::strtold(word.c_str(), &end) : static_cast<Exact>(std::strtod(word.c_str(), &end));
  return *end == '\0' && out == out && (std::isdigit(word.back()) || word.ends_with("inf") || word.back() == '.');
}

// By sets: what is allowed before and after.
int by_inclusion(bool after_in_before, bool before_in_after) {
  return after_in_before && before_in_after ? 0 : after_in_before ? -1 : before_in_after ? 1 : 0;
}
// A rule that comes allows less, one that goes more.
int by_presence(const SchemaValue* before, const SchemaValue* after) {
  return (before ? 1 : 0) - (after ? 1 : 0);
}
int compare_flags(const SchemaValue* before, const SchemaValue* after) {
  return (before && before->boolean()) - (after && after->boolean());
}
int compare_permissions(const SchemaValue* before, const SchemaValue* after) {
  return -compare_flags(before, after);
}
int compare_nulls(const SchemaValue* before, const SchemaValue* after) {  // false, not set, true: ever stricter
  const auto strict = [](const SchemaValue* v) { return !v ? 1 : v->boolean() ? 2 : 0; };
  const int b = strict(before), a = strict(after);
  return (b > a) - (b < a);
}
int compare_intervals(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  Interval b, a;
  parse_interval(*before, b);
  parse_interval(*after, a);
  const auto inside = [](const Interval& in, const Interval& out) {
    const bool low = in.low > out.low || (in.low == out.low && (in.low_open || !out.low_open));
    const bool high = in.high < out.high || (in.high == out.high && (in.high_open || !out.high_open));
    return low && high;
  };
  return by_inclusion(inside(a, b), inside(b, a));
}
int compare_most(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const double b = size_in_bytes(*before), a = size_in_bytes(*after);
  return (a > b) - (a < b);
}
std::string numeral(const SchemaValue& v) {  // 1 is 1.0
  Exact x = 0;
  return parse_number(v, x) ? number_text(x) : v.toml();
}
std::string numerals(const SchemaValue& v) {
  if (!v.is_list()) return numeral(v);
  std::string out = "[";
  for (const SchemaValue& i : v.items()) out += numerals(i) + ",";
  return out + "]";
}
template <class Item>
std::string joined(const SchemaValue& v, Item&& item) {
  std::set<std::string> all;
  if (v.is_list())
    for (const SchemaValue& i : v.items()) all.insert(item(i));
  else
    all.insert(item(v));
  std::string out;
  for (const std::string& one : all) out += one + "\n";
  return out;
}
std::string meaning_of_numbers(const SchemaValue& v) {
  return joined(v, numeral);
}
std::string meaning_of_texts(const SchemaValue& v) {
  return joined(v, [](const SchemaValue& i) { return i.toml(); });
}
std::string meaning_of_interval(const SchemaValue& v) {
  Interval i;
  return parse_interval(v, i) ? i.text() : numeral(v);
}
std::string meaning_of_bytes(const SchemaValue& v) {
  return say(size_in_bytes(v));
}
std::uint32_t dtypes_of(const SchemaValue& v) {
  std::uint32_t out = 0;
  for (int d = 0; d < kDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    const bool in = v.is_list() ? std::any_of(v.items().begin(), v.items().end(),
                                              [&](const SchemaValue& i) { return has_dtype(i, dtype); })
                                : has_dtype(v, dtype);
    out |= in ? std::uint32_t{1} << d : 0U;
  }
  return out;
}
std::string meaning_of_dtypes(const SchemaValue& v) {
  return say(dtypes_of(v));
}
int compare_dtypes(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const std::uint32_t b = dtypes_of(*before), a = dtypes_of(*after);
  return by_inclusion((a & ~b) == 0, (b & ~a) == 0);
}
// Lists whose items are alternatives.
int compare_sets(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const auto items = [](const SchemaValue& v) {
    std::set<std::string> out;
    if (!v.is_list()) return std::set<std::string>{numeral(v)};
    for (const SchemaValue& i : v.items()) out.insert(numeral(i));
    return out;
  };
  const auto b = items(*before), a = items(*after);
  return by_inclusion(std::includes(b.begin(), b.end(), a.begin(), a.end()),
                      std::includes(a.begin(), a.end(), b.begin(), b.end()));
}
// Lists whose items are all demanded.
int compare_demands(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  return -compare_sets(before, after);
}
// Item by item: a name in the place of a length allows more, "*" still more.
int compare_lengths(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const auto &b = before->items(), &a = after->items();
  if (b.size() != a.size()) return 0;
  bool narrower = true, wider = true;
  const auto freedom = [](const SchemaValue& v) { return v.is_integer() ? 0 : v.text() == "*" ? 2 : 1; };
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    narrower = narrower && freedom(a[k]) < freedom(b[k]);
    wider = wider && freedom(a[k]) > freedom(b[k]);
  }
  return by_inclusion(narrower, wider);
}
int compare_most_lengths(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const auto &b = before->items(), &a = after->items();
  if (b.size() != a.size()) return 0;
  bool narrower = true, wider = true;
  for (std::size_t k = 0; k < a.size(); ++k) {
    narrower = narrower && a[k].integer() <= b[k].integer();
    wider = wider && a[k].integer() >= b[k].integer();
  }
  return by_inclusion(narrower, wider);
}
int compare_sums(const SchemaValue* before, const SchemaValue* after) {
  if (!before || !after) return by_presence(before, after);
  const auto as_interval = [](const SchemaValue& v) { return v.is_number() ? SchemaValue({v, v}) : v; };
  const SchemaValue b = as_interval(*before), a = as_interval(*after);
  return compare_intervals(&b, &a);
}

bool is_flag(const SchemaValue& v) {
  return v.is_boolean();
}
bool is_interval(const SchemaValue& v) {
  Interval i;
  return parse_interval(v, i);
}
bool is_name(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}
bool is_dtype(const SchemaValue& v) {
  if (!v.is_text()) return false;
  if (v.text() == "float" || v.text() == "integer" || v.text() == "complex" || v.text() == "numeric") return true;
  try {
    (void)parse_dtype(v.text());
    return true;
  } catch (const Error&) {
    return false;
  }
}
bool is_window(const SchemaValue& v) {
  if (!v.is_list() || v.items().size() != 3) return false;
  const auto& i = v.items();
  return finite_number(i[0]) && i[0].real() >= 0 && i[0].real() <= 1 && is_interval(SchemaValue({i[1], i[2]}));
}
bool is_reference(const SchemaValue& v) {
  if (!list_of(v, finite_number, 11)) return false;
  return std::is_sorted(v.items().begin(), v.items().end(),
                        [](const SchemaValue& a, const SchemaValue& b) { return a.real() < b.real(); });
}
}  // namespace

bool has_dtype(const SchemaValue& v, DType d) {
  const std::string& t = v.text();
  if (t == "float") return is(d, kinds::real_floating);
  if (t == "integer") return is(d, kinds::integer);
  if (t == "complex") return is_complex(d);
  if (t == "numeric") return is(d, kinds::numeric);
  return parse_dtype(t) == d;
}

bool same_meaning(const Form& form, const SchemaValue* a, const SchemaValue* b) {
  if (!a && !b) return true;
  if (!a || !b) {  // a flag that is false says nothing
    const SchemaValue& only = a ? *a : *b;
    return (&form == &forms::flag || &form == &forms::permission || &form == &forms::uniqueness) &&
           only.is_boolean() && !only.boolean();
  }
  return form.meaning ? form.meaning(*a) == form.meaning(*b) : a->toml() == b->toml();
}

double size_in_bytes(const SchemaValue& v) {
  if (v.is_number()) return v.real();
  char* end = nullptr;
  const double n = std::strtod(v.text().c_str(), &end);
  const std::string unit = v.text().substr(static_cast<std::size_t>(end - v.text().c_str()));
  constexpr std::pair<const char*, double> units[] = {
      {" bytes", 1}, {" KiB", 0x1p10}, {" MiB", 0x1p20}, {" GiB", 0x1p30}, {" TiB", 0x1p40}};
  for (const auto& [name, factor] : units)
    if (unit == name && n >= 0) return n * factor;
  return -1;
}

bool parse_number(const SchemaValue& v, Exact& out) {
  if (v.is_integer()) return out = static_cast<Exact>(v.integer()), true;
  if (v.is_number()) return out = static_cast<Exact>(v.real()), out == out;
  return v.is_text() && (v.text() == "inf" || v.text() == "-inf") && parse_text_number(v.text(), out);
}

bool parse_interval(const SchemaValue& v, Interval& out) {
  if (v.is_list()) {
    out.low_whole = !v.items().empty() && v.items()[0].is_integer();
    out.high_whole = v.items().size() > 1 && v.items()[1].is_integer();
    return v.items().size() == 2 && parse_number(v.items()[0], out.low) && parse_number(v.items()[1], out.high) &&
           out.low <= out.high;
  }
  if (!v.is_text() || v.text().size() < 3) return false;
  const std::string& t = v.text();
  const std::size_t comma = t.find(',');
  if (comma == std::string::npos || !std::strchr("[(", t.front()) || !std::strchr("])", t.back())) return false;
  out.low_open = t.front() == '(';
  out.high_open = t.back() == ')';
  const std::string_view all = t;
  const auto whole = [&](std::size_t from, std::size_t to) {
    return all.substr(from, to - from).find_first_of(".eE") == all.npos;
  };
  out.low_whole = whole(1, comma);
  out.high_whole = whole(comma + 1, t.size() - 1);
  if (!parse_text_number(all.substr(1, comma - 1), out.low) ||
      !parse_text_number(all.substr(comma + 1, t.size() - comma - 2), out.high))
    return false;
  return out.low < out.high || (out.low == out.high && !out.low_open && !out.high_open);
}

std::string Interval::text() const {
  return say(low_open ? '(' : '[', number_text(low), ", ", number_text(high), high_open ? ')' : ']');
}
std::string Interval::why(Exact v) const {
  return why(v, *this);
}
std::string Interval::why(Exact v, const Interval& shown) const {
  if (v != v) return say("is not a number in ", shown.text());
  if (below(v)) return say(low_open && v == low ? "is not above " : "is below ", number_text(shown.low));
  return say(high_open && v == high ? "is not below " : "is above ", number_text(shown.high));
}

Exact rounded_to(DType dtype, Exact v) {
  if (!is(dtype, kinds::real_floating) || dtype == f64 || !std::isfinite(v)) return v;
  const auto wide = static_cast<double>(v);
  char narrow[sizeof(double)];
  double back = 0;
  kernels::convert(narrow, dtype, &wide, f64, 1, 1);
  kernels::convert(&back, f64, narrow, dtype, 1, 1);
  return std::isfinite(back) ? static_cast<Exact>(back) : v;
}
Interval rounded_to(DType dtype, const Interval& i) {
  Interval out = i;
  if (!i.low_whole) out.low = rounded_to(dtype, i.low);
  if (!i.high_whole) out.high = rounded_to(dtype, i.high);
  return out;
}

namespace forms {
const Form flag = {"true or false", R"({"type": "boolean"})", is_flag, compare_flags};
const Form permission = {"true or false", R"({"type": "boolean"})", is_flag, compare_permissions};
const Form nulls = {"true or false", R"({"type": "boolean"})", is_flag, compare_nulls};
const Form count = {"an integer ≥ 0", R"({"type": "integer", "minimum": 0})",
                    [](const SchemaValue& v) { return v.is_integer() && v.integer() >= 0; }, by_presence};
const Form threshold = {"a number > 0", R"({"type": "number", "exclusiveMinimum": 0})",
                        [](const SchemaValue& v) { return finite_number(v) && v.real() > 0; }, compare_most, numeral};
const Form interval = {
    "[low, high], or \"(low, high]\" where a bound itself is not allowed; ends may be inf",
    R"({"anyOf": [{"type": "array", "minItems": 2, "maxItems": 2, "items": {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}}, {"type": "string", "pattern": "^[\\[(][^,]+,[^,]+[\\])]$"}]})",
    is_interval, compare_intervals, meaning_of_interval};
const Form numbers = {"a list of numbers", R"({"type": "array", "minItems": 1, "items": {"type": "number"}})",
                      [](const SchemaValue& v) { return list_of(v, finite_number); }, compare_sets,
                      meaning_of_numbers};
const Form windows = {
    "a list of [probability, low, high]",
    R"({"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 3, "maxItems": 3, "prefixItems": [{"type": "number", "minimum": 0, "maximum": 1}], "items": {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}}})",
    [](const SchemaValue& v) { return list_of(v, is_window); }, by_presence, numerals};
const Form dtypes = {
    "a dtype (\"f32\", \"float32\"), a kind (\"float\", \"integer\", \"complex\", \"numeric\"), or a list of them",
    R"({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]})",
    [](const SchemaValue& v) { return is_dtype(v) || list_of(v, is_dtype); }, compare_dtypes, meaning_of_dtypes};
const Form lengths = {
    "a list of lengths: numbers, names that stand for one length wherever they are used, \"*\" for any",
    R"({"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^([A-Za-z_][A-Za-z0-9_]*|\\*)$"}]}})",
    [](const SchemaValue& v) {
      return list_of(
          v,
          [](const SchemaValue& i) {
            return i.is_text() ? i.text() == "*" || is_name(i.text()) : i.is_integer() && i.integer() >= 0;
          },
          0);
    },
    compare_lengths};
const Form most_lengths = {"a list of lengths", R"({"type": "array", "items": {"type": "integer", "minimum": 0}})",
                           [](const SchemaValue& v) {
                             return list_of(
                                 v, [](const SchemaValue& i) { return i.is_integer() && i.integer() >= 0; }, 0);
                           },
                           compare_most_lengths};
const Form bytes = {
    "a number of bytes, or \"2 GiB\"",
    R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9.]+ (bytes|KiB|MiB|GiB|TiB)$"}]})",
    [](const SchemaValue& v) { return v.is_text() ? size_in_bytes(v) >= 0 : v.is_integer() && v.integer() >= 0; },
    compare_most, meaning_of_bytes};
const Form names = {"a list of names", R"({"type": "array", "minItems": 1, "items": {"type": "string"}})",
                    [](const SchemaValue& v) { return list_of(v, [](const SchemaValue& i) { return i.is_text(); }); },
                    by_presence};
const Form order = {"\"increasing\", \"nondecreasing\", \"decreasing\" or \"nonincreasing\"",
                    R"({"enum": ["increasing", "nondecreasing", "decreasing", "nonincreasing"]})",
                    [](const SchemaValue& v) {
                      return v.is_text() && (v.text() == "increasing" || v.text() == "nondecreasing" ||
                                             v.text() == "decreasing" || v.text() == "nonincreasing");
                    },
                    [](const SchemaValue* before, const SchemaValue* after) {
                      if (!before || !after) return by_presence(before, after);
                      if (before->text() == "increasing" && after->text() == "nondecreasing") return 1;
                      if (before->text() == "decreasing" && after->text() == "nonincreasing") return 1;
                      if (before->text() == "nondecreasing" && after->text() == "increasing") return -1;
                      if (before->text() == "nonincreasing" && after->text() == "decreasing") return -1;
                      return 0;
                    }};
const Form uniqueness = {
    "true (no value twice), or \"rows\" (no row twice)", R"({"anyOf": [{"type": "boolean"}, {"const": "rows"}]})",
    [](const SchemaValue& v) { return v.is_boolean() || (v.is_text() && v.text() == "rows"); }, by_presence};
const Form sum = {
    "a number (up to rounding), or [low, high]",
    R"({"anyOf": [{"type": "number"}, {"type": "array", "minItems": 2, "maxItems": 2, "items": {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}}]})",
    [](const SchemaValue& v) { return finite_number(v) || (v.is_list() && is_interval(v)); }, compare_sums, numerals};
const Form reference = {"at least 11 numbers that do not decrease: the quantiles of the reference at 0, 1/m, …, 1",
                        R"({"type": "array", "minItems": 11, "items": {"type": "number"}})", is_reference,
                        [](const SchemaValue*, const SchemaValue*) { return 0; }, numerals};
const Form expressions = {"a list of predicates, as text",
                          R"({"type": "array", "minItems": 1, "items": {"type": "string"}})",
                          [](const SchemaValue& v) {
                            return list_of(v, [](const SchemaValue& i) {
                              if (!i.is_text()) return false;
                              Expression::parse(i.text());  // its own error says where it is wrong
                              return true;
                            });
                          },
                          compare_demands, meaning_of_texts};
const Form words = {"text", R"({"type": "string"})", [](const SchemaValue& v) { return v.is_text(); },
                    [](const SchemaValue*, const SchemaValue*) { return 0; }};
}  // namespace forms

}  // namespace wp::data
