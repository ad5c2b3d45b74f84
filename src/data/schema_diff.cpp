#include "base/text.hpp"
#include "data/rule.hpp"

namespace wp {
namespace {

std::string kind_of(int direction) {
  return direction > 0 ? "widened" : direction < 0 ? "narrowed" : "changed";
}
std::string text_of(const SchemaValue* v) {
  return v ? v->toml() : std::string();
}

void compare(const std::string& where, const SchemaField& before, const SchemaField& after,
             std::vector<SchemaChange>& out) {
  for (const data::Rule& rule : data::rules()) {
    const SchemaValue *const b = before.find(rule.name), *const a = after.find(rule.name);
    if (data::same_meaning(*rule.form, b, a)) continue;
    out.push_back({where, std::string(rule.name), kind_of(rule.form->compare(b, a)), text_of(b), text_of(a)});
  }
}

// Fields by name: those of both are compared, one that comes narrows, one that goes widens.
template <class Fields, class Both>
void match(const std::string& prefix, const Fields& before, const Fields& after, std::vector<SchemaChange>& out,
           const Both& both) {
  const auto find = [](const Fields& all, const std::string& name) {
    const auto place = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.name() == name; });
    return place == all.end() ? nullptr : &*place;
  };
  for (const auto& b : before)
    if (const auto* const a = find(after, b.name()))
      both(prefix + b.name(), b, *a);
    else
      out.push_back({prefix + b.name(), "", "widened", "its rules", ""});
  for (const auto& a : after)
    if (!find(before, a.name())) out.push_back({prefix + a.name(), "", "narrowed", "", "its rules"});
}

}  // namespace

std::vector<SchemaChange> schema_diff(const Schema& before, const Schema& after) {
  std::vector<SchemaChange> out;
  if (before.is_strict() != after.is_strict())
    out.push_back({"", "strict", kind_of(before.is_strict() - after.is_strict()),
                   before.is_strict() ? "true" : "false", after.is_strict() ? "true" : "false"});
  const auto &p = before.predicates(), &q = after.predicates();
  for (const std::string& e : p)
    if (std::find(q.begin(), q.end(), e) == q.end()) out.push_back({"", "holds", "widened", e, ""});
  for (const std::string& e : q)
    if (std::find(p.begin(), p.end(), e) == p.end()) out.push_back({"", "holds", "narrowed", "", e});
  match("", before.tensors(), after.tensors(), out,
        [&](const std::string& name, const SchemaTensor& b, const SchemaTensor& a) {
          compare(name, b, a, out);
          match(name.empty() ? "" : name + ".", b.column_rules(), a.column_rules(), out,
                [&](const std::string& column, const SchemaField& cb, const SchemaField& ca) {
                  compare(column, cb, ca, out);
                });
        });
  return out;
}

std::string SchemaChange::text() const {
  std::string out = where.empty() ? rule : rule.empty() ? where : say(where, ": ", rule);
  out += say(' ', kind);
  if (before.empty()) return say(out, ": ", after, rule.empty() ? " are new" : " is new");
  if (after.empty()) return say(out, ": ", before, rule.empty() ? " are gone" : " is gone");
  return say(out, " from ", before, " to ", after);
}

}  // namespace wp
