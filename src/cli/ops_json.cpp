#include "cli/ops_json.hpp"

#include <cmath>

#include "base/text.hpp"
#include "ops/op.hpp"

namespace wp::cli {
namespace {

constexpr const char* attr_types[] = {"none",  "boolean", "integer", "real",    "scalar",
                                      "dtype", "ints",    "text",    "setting", "texts"};

json dtypes(Kinds k) {
  json out = json::array();
  for (int d = 0; d < kDTypes; ++d)
    if (is(static_cast<DType>(d), k)) out.push_back(name(static_cast<DType>(d)));
  return out;
}

json op_json(const Op& op) {
  json params = json::array(), attrs = json::array();
  for (const Param& p : op.params)
    params.push_back({{"name", p.name},
                      {"accepts", kinds_text(p.kinds)},
                      {"dtypes", dtypes(p.kinds)},
                      {"doc", p.doc},
                      {"optional", p.optional},
                      {"variadic", p.variadic}});
  for (const AttrSpec& a : op.attrs)
    attrs.push_back({{"name", a.name},
                     {"type", attr_types[static_cast<int>(a.type)]},
                     {"required", a.required},
                     {"leading", a.leading},
                     {"default", attr_json(a.fallback)},
                     {"choices", a.choices},
                     {"nullable", a.nullable},
                     {"doc", a.doc}});
  return {{"name", op.name},
          {"namespace", op.ns},
          {"group", op.group},
          {"doc", op.doc},
          {"params", params},
          {"attrs", attrs},
          {"outputs", op.outputs},
          {"operator", op.operator_},
          {"diagnoses", op.diagnoses},
          {"takes_out", op.takes_out},
          {"domain", op.domain},
          {"branches", op.branches},
          {"no_derivative", op.no_derivative}};
}

// JSON has no infinities.
json number_json(double v) {
  return std::isfinite(v) ? json(v) : json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

}  // namespace

json attr_json(const Attr& a) {
  switch (a.type()) {
    case AttrType::none: return nullptr;
    case AttrType::boolean: return a.flag();
    case AttrType::integer: return a.integer();
    case AttrType::real: return number_json(a.real());
    case AttrType::scalar: return a.show();
    case AttrType::dtype: return name(a.dtype());
    case AttrType::ints: return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case AttrType::text: return a.text();
    case AttrType::setting: return a.is_number() ? number_json(a.real()) : json(a.text());
    case AttrType::texts: return a.texts();
    case AttrType::object: return a.show();
  }
  return nullptr;
}

json ops_json() {
  json ops = json::array();
  for (const Op* op : op_table()) ops.push_back(op_json(*op));
  return {{"schema_version", 1}, {"ops", ops}};
}

json ops_json(const Op& op) {
  return {{"schema_version", 1}, {"ops", json::array({op_json(op)})}};
}

}  // namespace wp::cli
