// The table of rules as documentation and as JSON Schema.
#include <nlohmann/json.hpp>

#include "data/rule.hpp"

namespace wp {
namespace {

using Json = nlohmann::ordered_json;

Json rules_schema(bool columns) {
  Json out = Json::object();
  for (const data::Rule& r : data::rules()) {
    if (columns && !r.on_columns) continue;
    Json one = Json::parse(r.form->json);
    one["description"] = r.doc;
    out[std::string(r.name)] = std::move(one);
  }
  return out;
}

std::string table_of(std::span<const data::Rule> rules) {
  std::string out = "| rule | takes | it holds when | code |\n|---|---|---|---|\n";
  for (const data::Rule& r : rules)
    out += say("| `", r.name, " = ", r.example, "` | ", r.form->words, r.on_columns ? "" : "; whole tensors only",
               " | ", r.doc, " | ", r.code.empty() ? "" : r.code, " |\n");
  return out;
}

}  // namespace

std::string schema_rules_markdown() {
  return say(
      "# Rules of schemas\n\n"
      "Generated from the table of rules (`src/data/rules_*.cpp`) by `wellposed schema rules --markdown`. What they "
      "are for, and how reports look: "
      "[validation](validation.md).\n\n"
      "A schema file is TOML or JSON with `version = 1` (what it is when it is not said), tables `[tensor.NAME]` (or "
      "one `[tensor]`, for data of one "
      "tensor) of rules, and "
      "`[tensor.NAME.column.COLUMN]` for columns: entries of the last axis, by name or number. `strict = true` at "
      "the head makes tensors that "
      "have no table findings; `holds = [\"x.low <= y\"]` there are predicates over tensors with the same rows. Keys "
      "that do not exist are refused. "
      "[schema.v1.json](schema.v1.json) is a JSON Schema of such files.\n\n"
      "## Type and shape\n",
      table_of(data::shape_rules()), "\n## Elements\n", table_of(data::value_rules()),
      table_of(data::unique_rules())
          .substr(std::string("| rule | takes | it holds when | code |\n|---|---|---|---|\n").size()),
      "\n## Rows\n", table_of(data::row_rules()), "\n## Matrices\n", table_of(data::matrix_rules()),
      "\n## Distributions\n", table_of(data::statistic_rules()));
}

std::string schema_json_schema() {
  const Json rules = rules_schema(false), column_rules = rules_schema(true);
  Json columns = {{"type", "object"}, {"additionalProperties", {{"$ref", "#/$defs/column"}}}};
  Json tensor = {{"type", "object"}, {"properties", rules}, {"additionalProperties", false}};
  tensor["properties"]["column"] = columns;
  // One tensor without a name: its rules. Several: a table each.
  Json only = {{"$ref", "#/$defs/tensor"}};
  Json several = {{"type", "object"},
                  {"minProperties", 1},
                  {"propertyNames", {{"not", {{"const", "column"}}}}},
                  {"additionalProperties", {{"$ref", "#/$defs/tensor"}}}};
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "wellposed schema, version 1"},
              {"type", "object"},
              {"additionalProperties", false},
              {"properties",
               {{"$schema", {{"type", "string"}}},
                {"version", {{"const", Schema::version}}},
                {"strict", {{"type", "boolean"}}},
                {"holds", {{"type", "array"}, {"items", {{"type", "string"}}}}},
                {"tensor", {{"anyOf", Json::array({only, several})}}}}},
              {"$defs",
               {{"tensor", tensor},
                {"column", {{"type", "object"}, {"properties", column_rules}, {"additionalProperties", false}}}}}};
  return out.dump(1) + "\n";
}

}  // namespace wp
