#include "wellposed/schema.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "data/expression.hpp"
#include "data/names.hpp"
#include "data/rule.hpp"

namespace wp {

std::string SchemaValue::toml() const {
  if (is_boolean()) return boolean() ? "true" : "false";
  if (is_integer()) return say(integer());
  if (is_number()) {
    const double v = real();
    return std::isnan(v) ? "nan" : std::isinf(v) ? (v > 0 ? "inf" : "-inf") : say(v);
  }
  if (is_text()) return json_quote(text());
  std::string out = "[";
  for (std::size_t i = 0; i < items().size(); ++i) out += (i ? ", " : "") + items()[i].toml();
  return out + "]";
}

const SchemaValue* SchemaField::find(std::string_view rule) const noexcept {
  for (const SchemaRule& r : rules_)
    if (r.name == rule) return &r.value;
  return nullptr;
}

namespace {
// JSON has no infinity: "inf" in a list of bounds stands for it.
SchemaValue with_infinities(const SchemaValue& v) {
  if (v.is_text() && (v.text() == "inf" || v.text() == "-inf")) return v.text() == "inf" ? HUGE_VAL : -HUGE_VAL;
  if (!v.is_list()) return v;
  SchemaValue::List items;
  for (const SchemaValue& i : v.items()) items.push_back(with_infinities(i));
  return SchemaValue::list(std::move(items));
}
}  // namespace

SchemaField& SchemaField::set(std::string_view rule, SchemaValue value, std::string comment) {
  const data::Rule* const known = data::find_rule(rule);
  if (!known) {
    std::vector<std::string> names;
    for (const data::Rule& r : data::rules()) names.emplace_back(r.name);
    raise<ArgumentError>("WP-SCM-002", "schema", say("there is no rule '", rule, "'.", data::nearest(rule, names)),
                         "`wellposed schema rules` lists them all.");
  }
  if (column_ && !known->on_columns)
    raise<ArgumentError>("WP-SCM-003", "schema",
                         say("the rule '", rule, "' is one of whole tensors; '", name_, "' is a column."));
  if (!known->form->takes(value))
    raise<ArgumentError>("WP-SCM-003", "schema",
                         say("'", rule, "' takes ", known->form->words, "; got ", value.toml(), "."),
                         say("For example: ", rule, " = ", known->example));
  const data::Form* const form = known->form;
  if (value.is_list() &&
      (form == &data::forms::interval || form == &data::forms::windows || form == &data::forms::sum))
    value = with_infinities(value);
  const auto place = std::find_if(rules_.begin(), rules_.end(), [&](const SchemaRule& r) { return r.name == rule; });
  if (place == rules_.end())
    rules_.push_back({std::string(rule), std::move(value), std::move(comment)});
  else
    *place = {std::string(rule), std::move(value), std::move(comment)};
  return *this;
}

SchemaField& SchemaField::remove(std::string_view rule) {
  std::erase_if(rules_, [&](const SchemaRule& r) { return r.name == rule; });
  return *this;
}

namespace {
class Column : public SchemaField {
 public:
  explicit Column(std::string name) : SchemaField(std::move(name)) { column_ = true; }
};
}  // namespace

SchemaField& SchemaTensor::column(std::string_view name) {
  for (SchemaField& c : columns_)
    if (c.name() == name) return c;
  if (name.empty()) raise<ArgumentError>("WP-SCM-003", "schema", "a column needs a name or a number.");
  return columns_.emplace_back(Column(std::string(name)));
}

SchemaTensor& Schema::tensor(std::string_view name) {
  for (SchemaTensor& t : tensors_)
    if (t.name() == name) return t;
  if (name == "column" || (!tensors_.empty() && (name.empty() || tensors_[0].name().empty())))
    raise<ArgumentError>("WP-SCM-003", "schema",
                         name == "column" ? "no tensor can be called 'column': the rules of columns stand there."
                                          : "a schema is of one tensor without a name, or of tensors with names.");
  return tensors_.emplace_back(std::string(name));
}

const SchemaTensor* Schema::find(std::string_view name) const noexcept {
  for (const SchemaTensor& t : tensors_)
    if (t.name() == name) return &t;
  return nullptr;
}

Schema& Schema::holds(std::string_view expression) {
  (void)data::Expression::parse(expression);
  predicates_.emplace_back(expression);
  return *this;
}

Schema& Schema::strict(bool yes) {
  strict_ = yes;
  return *this;
}

}  // namespace wp
