#include "cli/attributes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"

namespace wp::cli {
namespace {

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

// What is wrong with a value, with those that are taken, to stand behind the option's name; empty: nothing.
std::string objection(const AttrSpec& spec, const std::string& text) {
  const bool number = spec.type == AttrType::real || spec.type == AttrType::setting;
  if (number && is_number(text)) return {};
  if (std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end()) return {};
  if (!number && spec.choices.empty()) return {};
  std::string taken;
  for (const std::string_view choice : spec.choices) taken += say(taken.empty() ? "" : ", ", choice);
  return say("takes ", number ? "a number" : "", number && !taken.empty() ? " or " : "",
             taken.empty() ? "" : "one of ", taken, "; got \"", text, "\".");
}

}  // namespace

std::string option_name(std::string_view attribute) {
  std::string out = say("--", attribute);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

void AttributeOptions::declare(CLI::App& app, const Op& op, std::initializer_list<std::string_view> others) {
  for (const AttrSpec& spec : op.attrs) {
    const bool skipped = std::find(others.begin(), others.end(), spec.name) != others.end();
    if (skipped || spec.name == "names" || find(spec.name)) continue;
    Told& told = told_.emplace_back(Told{&spec, {}});
    const std::string option = option_name(spec.name);
    std::string doc(spec.doc);
    if (spec.type == AttrType::boolean) {
      const bool plain = spec.fallback && !spec.fallback.flag();  // there is nothing to switch off
      told.option = app.add_flag(plain ? option : say(option, ",!--no-", option.substr(2)), told.flag, doc);
      continue;
    }
    if (!spec.choices.empty()) {
      std::string all;
      for (const std::string_view choice : spec.choices) all += say(all.empty() ? "" : ", ", choice);
      doc += say(" (", spec.type == AttrType::setting ? "a number, " : "", all,
                 spec.fallback.type() == AttrType::text ? say("; without it ", spec.fallback.text()) : std::string(),
                 ")");
    }
    told.option = app.add_option(option, told.text, doc);
    if (spec.type == AttrType::real) told.option->type_name("NUMBER");
    told.option->check([&spec](const std::string& text) { return objection(spec, text); });
  }
}

bool AttributeOptions::given(const Told& told) {
  return told.option->count() > 0;
}

const AttributeOptions::Told* AttributeOptions::find(std::string_view name) const {
  const auto at = std::find_if(told_.begin(), told_.end(), [&](const Told& t) { return t.spec->name == name; });
  return at == told_.end() ? nullptr : &*at;
}

Attr AttributeOptions::attr_of(const AttrSpec& spec, const Told& told) {
  if (spec.type == AttrType::boolean) return given(told) ? Attr(told.flag) : spec.fallback;
  if (told.text.empty()) return spec.fallback;
  switch (spec.type) {
    case AttrType::real: return Attr(std::strtod(told.text.c_str(), nullptr));
    case AttrType::setting:
      return is_number(told.text) ? Attr(Setting(std::strtod(told.text.c_str(), nullptr)))
                                  : Attr(Setting(std::string_view(told.text)));
    default: return Attr(intern(told.text));
  }
}

std::vector<Attr> AttributeOptions::of(const Op& op, const std::vector<std::string>& names) const {
  std::vector<Attr> out;
  for (const AttrSpec& spec : op.attrs) {
    const Told* const told = find(spec.name);
    if (spec.name == "names")
      out.push_back(names.empty() ? Attr() : Attr(names));
    else
      out.push_back(told ? attr_of(spec, *told) : spec.fallback);
  }
  return out;
}

std::vector<std::string> AttributeOptions::foreign(const Op& op) const {
  std::vector<std::string> out;
  for (const Told& t : told_) {
    const bool has =
        std::any_of(op.attrs.begin(), op.attrs.end(), [&](const AttrSpec& s) { return s.name == t.spec->name; });
    if (!has && given(t)) out.push_back(option_name(t.spec->name));
  }
  return out;
}

std::string AttributeOptions::text(std::string_view name) const {
  const Told* const told = find(name);
  if (!told) return {};
  if (!told->text.empty()) return told->text;
  return told->spec->fallback.type() == AttrType::text ? std::string(told->spec->fallback.text()) : std::string();
}

std::optional<double> AttributeOptions::number(std::string_view name) const {
  const std::string told = text(name);
  return is_number(told) ? std::optional(std::strtod(told.c_str(), nullptr)) : std::nullopt;
}

bool AttributeOptions::takes(std::string_view name, std::string_view choice) const {
  const Told* const told = find(name);
  return told &&
         std::find(told->spec->choices.begin(), told->spec->choices.end(), choice) != told->spec->choices.end();
}

}  // namespace wp::cli
