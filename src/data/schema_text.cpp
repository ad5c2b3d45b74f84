// Schemas as TOML and JSON. Both are brought to one form, a tree of values, and read by one function.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "data/names.hpp"
#include "io/file.hpp"
#include "wellposed/schema.hpp"

namespace wp {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostDepth = 8, kMostText = std::size_t{16} << 20;

// A value, or a table of such.
struct Tree {
  std::optional<SchemaValue> value;
  std::vector<std::pair<std::string, Tree>> table;
};

[[noreturn]] void refuse(const std::string& file, std::string_view code, std::string_view reason,
                         std::string_view advice = {}) {
  raise<FormatError>(code, "schema", say("'", file, "': ", reason), std::string(advice));
}

// "tensor.x: there is no rule 'rnage'. Did you mean 'range'?"
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  Schema read(const Tree& root) {
    if (root.value) refuse(file_, "WP-SCM-001", "it must be a table.");
    for (const auto& [key, node] : root.table) {
      if (key == "version")
        need_version(node);
      else if (key == "strict")
        out_.strict(value(key, node, node.value && node.value->is_boolean(), "true or false").boolean());
      else if (key == "holds")
        predicates(node);
      else if (key == "tensor")
        tensors(node);
      else if (key != "$schema")
        refuse(file_, "WP-SCM-002",
               say("there is no key '", key, "'.", data::nearest(key, {"version", "strict", "holds", "tensor"})),
               "A schema has version, strict, holds, and tables tensor or tensor.NAME.");
    }
    return std::move(out_);
  }

 private:
  const SchemaValue& value(const std::string& key, const Tree& node, bool good, std::string_view form) {
    if (!good)
      refuse(file_, "WP-SCM-003",
             say("'", key, "' takes ", form, "; got ", node.value ? node.value->toml() : "a table", "."));
    return *node.value;
  }
  void need_version(const Tree& node) {
    const SchemaValue& v = value("version", node, node.value && node.value->is_integer(), "a number");
    if (v.integer() != Schema::version)
      refuse(file_, "WP-SCM-001",
             say("version ", v.integer(), " is not known; this reads version ", Schema::version, "."));
  }
  void predicates(const Tree& node) {
    value("holds", node, node.value && node.value->is_list(), "a list of predicates, as text");
    for (const SchemaValue& p : node.value->items()) {
      if (!p.is_text())
        refuse(file_, "WP-SCM-003", say("'holds' takes a list of predicates, as text; got ", p.toml(), "."));
      inside("holds", [&] { out_.holds(p.text()); });
    }
  }
  // A table is a tensor, anything else a rule of the only one.
  void tensors(const Tree& node) {
    if (node.value) refuse(file_, "WP-SCM-003", say("'tensor' is a table; got ", node.value->toml(), "."));
    for (const auto& [key, child] : node.table)
      if (child.value || key == "column")
        rule_or_columns("tensor", "", key, child);
      else
        named(key, child);
    if (node.table.empty()) (void)out_.tensor("");
  }
  void named(const std::string& name, const Tree& node) {
    const std::string where = say("tensor.", name);
    inside(where, [&] { (void)out_.tensor(name); });
    for (const auto& [key, child] : node.table) rule_or_columns(where, name, key, child);
  }
  void rule_or_columns(const std::string& where, const std::string& tensor, const std::string& key,
                       const Tree& node) {
    if (key != "column") {
      if (!node.value) refuse(file_, "WP-SCM-002", say(where, ": '", key, "' is a table; rules are not."));
      inside(where, [&] { out_.tensor(tensor).set(key, *node.value); });
      return;
    }
    if (node.value)
      refuse(file_, "WP-SCM-003", say(where, ".column is a table of columns; got ", node.value->toml(), "."));
    for (const auto& [name, rules] : node.table) {
      const std::string here = say(where, ".column.", name);
      if (rules.value) refuse(file_, "WP-SCM-003", say(here, " is a table of rules; got ", rules.value->toml(), "."));
      inside(here, [&] { (void)out_.tensor(tensor).column(name); });
      for (const auto& [rule, child] : rules.table) {
        if (!child.value) refuse(file_, "WP-SCM-002", say(here, ": '", rule, "' is a table; rules are not."));
        inside(here, [&] { out_.tensor(tensor).column(name).set(rule, *child.value); });
      }
    }
  }
  template <class F>
  void inside(const std::string& where, F&& f) {
    try {
      f();
    } catch (const ArgumentError& e) {
      refuse(file_, e.finding().code, say(where, ": ", e.finding().message), e.finding().advice);
    }
  }
  const std::string& file_;
  Schema out_;
};

// ---- JSON
Tree tree_of(const Json& j, const std::string& file, std::size_t depth = 0) {
  if (depth > kMostDepth) refuse(file, "WP-SCM-001", "it is nested too deeply.");
  Tree out;
  switch (j.type()) {
    case Json::value_t::boolean: out.value = j.get<bool>(); break;
    case Json::value_t::number_integer: out.value = j.get<std::int64_t>(); break;
    case Json::value_t::number_unsigned:
      out.value = j.get<std::uint64_t>() >> 63 ? SchemaValue(j.get<double>()) : SchemaValue(j.get<std::int64_t>());
      break;
    case Json::value_t::number_float: out.value = j.get<double>(); break;
    case Json::value_t::string: out.value = j.get<std::string>(); break;
    case Json::value_t::array: {
      SchemaValue::List items;
      for (const Json& i : j) {
        Tree t = tree_of(i, file, depth + 1);
        if (!t.value) refuse(file, "WP-SCM-003", "a list must not hold a table.");
        items.push_back(std::move(*t.value));
      }
      out.value = SchemaValue::list(std::move(items));
      break;
    }
    case Json::value_t::object:
      for (const auto& [key, child] : j.items()) out.table.emplace_back(key, tree_of(child, file, depth + 1));
      break;
    default: refuse(file, "WP-SCM-003", "null stands for nothing in a schema.");
  }
  return out;
}

// ---- TOML
Tree tree_of(const toml::node& n, const std::string& file, std::size_t depth = 0) {
  if (depth > kMostDepth) refuse(file, "WP-SCM-001", "it is nested too deeply.");
  Tree out;
  if (const auto* b = n.as_boolean()) {
    out.value = b->get();
  } else if (const auto* i = n.as_integer()) {
    out.value = i->get();
  } else if (const auto* f = n.as_floating_point()) {
    out.value = f->get();
  } else if (const auto* s = n.as_string()) {
    out.value = s->get();
  } else if (const auto* a = n.as_array()) {
    SchemaValue::List items;
    for (const toml::node& item : *a) {
      Tree t = tree_of(item, file, depth + 1);
      if (!t.value) refuse(file, "WP-SCM-003", "a list must not hold a table.");
      items.push_back(std::move(*t.value));
    }
    out.value = SchemaValue::list(std::move(items));
  } else if (const auto* t = n.as_table()) {
    std::vector<std::pair<std::uint32_t, std::string>> order;  // as they stand in the file
    for (const auto& [key, child] : *t) order.emplace_back(child.source().begin.line, std::string(key.str()));
    std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [line, key] : order) out.table.emplace_back(key, tree_of(*t->get(key), file, depth + 1));
  } else {
    refuse(file, "WP-SCM-003", "dates and times stand for nothing in a schema.");
  }
  return out;
}

Json json_of(const SchemaValue& v) {
  if (v.is_boolean()) return v.boolean();
  if (v.is_integer()) return v.integer();
  if (v.is_number() && !std::isfinite(v.real())) return v.toml();
  if (v.is_number())  // an integer where TOML reads one: 1, not 1.0
    if (const std::string t = v.toml(); t.size() < 19 && t.find_first_not_of("-0123456789") == std::string::npos)
      return std::stoll(t);
  if (v.is_number()) return v.real();
  if (v.is_text()) return v.text();
  Json out = Json::array();
  for (const SchemaValue& i : v.items()) out.push_back(json_of(i));
  return out;
}
Json rules_of(const SchemaField& f) {
  Json out = Json::object();
  for (const SchemaRule& r : f.rules()) out[r.name] = json_of(r.value);
  return out;
}

std::string key_text(const std::string& name) {
  const bool bare =
      !name.empty() &&
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
  return bare ? name : json_quote(name);
}
void write_rules(std::string& out, const SchemaField& f) {
  for (const SchemaRule& r : f.rules())
    out += say(r.name, " = ", r.value.toml(), r.comment.empty() ? "" : "  # " + r.comment, '\n');
}

}  // namespace

Schema Schema::from_json(std::string_view text, const std::string& file) {
  if (text.size() > kMostText) refuse(file, "WP-SCM-001", "it is larger than 16 MiB.");
  // The parser takes a NUL for the end of the text, and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    refuse(file, "WP-SCM-001", say("it is not JSON: byte ", nul, " is NUL."));
  Json parsed;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto refuse_twins = [&](int, Json::parse_event_t event, Json& key) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(key.get<std::string>()).second)
      refuse(file, "WP-SCM-001", say("the key '", key.get<std::string>(), "' stands twice."));
    return true;
  };
  try {
    parsed = Json::parse(text, refuse_twins);
  } catch (const Json::exception& e) {
    refuse(file, "WP-SCM-001", say("it is not JSON: ", e.what(), "."));
  }
  return Reader(file).read(tree_of(parsed, file));
}

Schema Schema::from_toml(std::string_view text, const std::string& file) {
  if (text.size() > kMostText) refuse(file, "WP-SCM-001", "it is larger than 16 MiB.");
  std::optional<toml::table> parsed;
  try {
    parsed = toml::parse(text);
  } catch (const toml::parse_error& e) {
    refuse(file, "WP-SCM-001",
           say("it is not TOML: ", std::string_view(e.description()), " (line ", e.source().begin.line, ", column ",
               e.source().begin.column, ")."));
  }
  return Reader(file).read(tree_of(*parsed, file));
}

std::string Schema::json() const {
  Json out = Json::object();
  out["version"] = version;
  if (strict_) out["strict"] = true;
  if (!predicates_.empty()) out["holds"] = predicates_;
  Json all = Json::object();
  for (const SchemaTensor& t : tensors_) {
    Json one = rules_of(t);
    for (const SchemaField& c : t.column_rules()) one["column"][c.name()] = rules_of(c);
    if (t.name().empty())
      all = std::move(one);
    else
      all[t.name()] = std::move(one);
  }
  out["tensor"] = std::move(all);
  return out.dump(1) + "\n";
}

std::string Schema::toml() const {
  std::string out = say("version = ", version, '\n');
  if (strict_) out += "strict = true\n";
  for (std::size_t i = 0; i < predicates_.size(); ++i)
    out += say(i ? "" : "holds = [\n", "  ", json_quote(predicates_[i]), ",\n",
               i + 1 == predicates_.size() ? "]\n" : "");
  for (const SchemaTensor& t : tensors_) {
    const std::string head = t.name().empty() ? "tensor" : say("tensor.", key_text(t.name()));
    out += say("\n[", head, "]\n");
    write_rules(out, t);
    for (const SchemaField& c : t.column_rules()) {
      out += say("\n[", head, ".column.", key_text(c.name()), "]\n");
      write_rules(out, c);
    }
  }
  return out;
}

Schema load_schema(const std::string& path) {
  const io::Source source(path);
  if (source.size() > kMostText) refuse(path, "WP-SCM-001", "it is larger than 16 MiB.");
  const std::string text = source.text();
  return path.ends_with(".json") ? Schema::from_json(text, path) : Schema::from_toml(text, path);
}

void save_schema(const std::string& path, const Schema& schema) {
  io::write_text(path, path.ends_with(".json") ? schema.json() : schema.toml());
}

}  // namespace wp
