// What data must look like, said once: in C++, in TOML or in JSON (docs/schema.md lists every rule).
//   wp::Schema schema;
//   schema.tensor("x").dtype("f32").shape({"batch", 32}).range(0, 1).finite();
//   schema.tensor("y").shape({"batch"}).one_of({0, 1});
// or, in a file:
//   version = 1
//   [tensor.x]
//   shape = ["batch", 32]
//   range = [0, 1]
#pragma once
#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "wellposed/error.hpp"

namespace [[gnu::visibility("default")]] wp {

// What a rule is given: true, 3, 0.5, "f64", or a list of such.
class SchemaValue {
 public:
  using List = std::vector<SchemaValue>;
  template <class T>
  requires std::is_arithmetic_v<T> SchemaValue(T v)  // NOLINT: all implicit on purpose
      : value_(of(v)) {}
  SchemaValue(const char* text) : value_(std::string(text)) {}            // NOLINT
  SchemaValue(std::string_view text) : value_(std::string(text)) {}       // NOLINT
  SchemaValue(std::string text) : value_(std::move(text)) {}              // NOLINT
  SchemaValue(std::initializer_list<SchemaValue> l) : value_(List(l)) {}  // NOLINT
  static SchemaValue list(List items) {
    SchemaValue v(false);
    v.value_ = std::move(items);
    return v;
  }

  bool is_boolean() const noexcept { return value_.index() == 0; }
  bool is_integer() const noexcept { return value_.index() == 1; }
  bool is_number() const noexcept { return value_.index() == 1 || value_.index() == 2; }
  bool is_text() const noexcept { return value_.index() == 3; }
  bool is_list() const noexcept { return value_.index() == 4; }
  bool boolean() const { return std::get<0>(value_); }
  std::int64_t integer() const { return std::get<1>(value_); }
  double real() const { return is_integer() ? static_cast<double>(integer()) : std::get<2>(value_); }
  const std::string& text() const { return std::get<3>(value_); }
  const List& items() const { return std::get<4>(value_); }
  std::string toml() const;  // as a TOML file holds it; the same as JSON but for inf
  friend bool operator==(const SchemaValue&, const SchemaValue&) = default;

 private:
  using Value = std::variant<bool, std::int64_t, double, std::string, List>;
  template <class T>
  static Value of(T v) {
    if constexpr (std::is_same_v<T, bool>)
      return v;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(v);
    else
      return static_cast<double>(v);
  }
  Value value_;
};

struct SchemaRule {
  std::string name;
  SchemaValue value;
  std::string comment;  // written behind it in TOML
};

// The rules of a tensor, or of one of its columns. A rule that is set again is replaced.
class SchemaField {
 public:
  explicit SchemaField(std::string name) : name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }
  const std::vector<SchemaRule>& rules() const noexcept { return rules_; }
  const SchemaValue* find(std::string_view rule) const noexcept;  // null: it is not set
  // Throws ArgumentError for a rule that does not exist (naming the nearest) or a value that it does not take.
  SchemaField& set(std::string_view rule, SchemaValue value, std::string comment = {});
  SchemaField& remove(std::string_view rule);

  // One function per rule of the table; what they mean is in docs/schema.md.
  SchemaField& dtype(SchemaValue names) { return set("dtype", std::move(names)); }
  SchemaField& rank(std::int64_t n) { return set("rank", n); }
  SchemaField& shape(SchemaValue lengths) { return set("shape", std::move(lengths)); }
  SchemaField& columns(SchemaValue names) { return set("columns", std::move(names)); }
  SchemaField& max_dims(SchemaValue lengths) { return set("max_dims", std::move(lengths)); }
  SchemaField& max_bytes(SchemaValue bytes) { return set("max_bytes", std::move(bytes)); }
  SchemaField& range(SchemaValue low, SchemaValue high) { return set("range", {std::move(low), std::move(high)}); }
  SchemaField& range(std::string_view interval) { return set("range", interval); }  // "[0, 1)"
  SchemaField& finite(bool yes = true) { return set("finite", yes); }
  SchemaField& non_null(bool yes = true) { return set("non_null", yes); }
  SchemaField& unique(SchemaValue what = true) { return set("unique", std::move(what)); }
  SchemaField& one_of(SchemaValue values) { return set("one_of", std::move(values)); }
  SchemaField& monotone(std::string_view order) { return set("monotone", order); }
  SchemaField& row_sum(SchemaValue sum) { return set("row_sum", std::move(sum)); }
  SchemaField& probability(bool yes = true) { return set("probability", yes); }
  SchemaField& symmetric(bool yes = true) { return set("symmetric", yes); }
  SchemaField& spd(bool yes = true) { return set("spd", yes); }
  SchemaField& orthogonal(bool yes = true) { return set("orthogonal", yes); }
  SchemaField& full_rank(bool yes = true) { return set("full_rank", yes); }
  SchemaField& cond_below(double most) { return set("cond_below", most); }
  SchemaField& mean(double low, double high) { return set("mean", {low, high}); }
  SchemaField& std(double low, double high) { return set("std", {low, high}); }
  SchemaField& quantiles(SchemaValue windows) { return set("quantiles", std::move(windows)); }  // {{p, low, high}, …}
  SchemaField& reference(SchemaValue quantiles) { return set("reference", std::move(quantiles)); }
  SchemaField& psi(double most) { return set("psi", most); }
  SchemaField& ks(double most) { return set("ks", most); }
  SchemaField& holds(SchemaValue expressions) { return set("holds", std::move(expressions)); }
  SchemaField& optional(bool yes = true) { return set("optional", yes); }
  SchemaField& doc(std::string_view words) { return set("doc", words); }

 protected:
  std::string name_;
  bool column_ = false;
  std::vector<SchemaRule> rules_;
};

class SchemaTensor : public SchemaField {
 public:
  using SchemaField::SchemaField;
  // The rules of a column (an entry of the last axis): its name in the file's header or in `columns`, or its number.
  SchemaField& column(std::string_view name);
  const std::deque<SchemaField>& column_rules() const noexcept { return columns_; }

 private:
  std::deque<SchemaField> columns_;  // references stay good
};

class Schema {
 public:
  static constexpr std::int64_t version = 1;
  // The rules of the tensor of this name; "": of the only tensor, whatever its name.
  SchemaTensor& tensor(std::string_view name = "");
  const SchemaTensor* find(std::string_view name) const noexcept;
  const std::deque<SchemaTensor>& tensors() const noexcept { return tensors_; }
  // A predicate over tensors with the same rows: "x.low <= y".
  Schema& holds(std::string_view expression);
  const std::vector<std::string>& predicates() const noexcept { return predicates_; }
  // Whether tensors that the schema does not name are findings.
  Schema& strict(bool yes = true);
  bool is_strict() const noexcept { return strict_; }

  // Throw FormatError naming the key, and the nearest one that exists.
  static Schema from_toml(std::string_view text, const std::string& file = "schema");
  static Schema from_json(std::string_view text, const std::string& file = "schema");
  std::string toml() const;
  std::string json() const;
  friend bool operator==(const Schema& a, const Schema& b) { return a.json() == b.json(); }

 private:
  std::deque<SchemaTensor> tensors_;
  std::vector<std::string> predicates_;
  bool strict_ = false;
};
// By the ending of the name: .toml, .json.
Schema load_schema(const std::string& path);
void save_schema(const std::string& path, const Schema& schema);

// What one schema allows that another does not.
struct SchemaChange {
  std::string where;          // "x", "x.age"; empty: the schema
  std::string rule;           // empty: the whole tensor or column
  std::string kind;           // "widened", "narrowed", "changed"
  std::string before, after;  // empty: there is none
  std::string text() const;   // "x: range widened from [0, 1] to [0, 2]"
};
std::vector<SchemaChange> schema_diff(const Schema& before, const Schema& after);

// The table of rules as a page of the documentation, and as a JSON Schema (2020-12) of schema files.
std::string schema_rules_markdown();
std::string schema_json_schema();

}  // namespace gnu::visibility("default")]]wp
