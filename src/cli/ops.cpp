// wellposed ops: the op table for people, or as JSON.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/ops_json.hpp"
#include "cli/paint.hpp"
#include "cli/samples_json.hpp"
#include "ops/op.hpp"

namespace wp::cli {
namespace {

struct Options {
  std::string name;
  bool json = false, samples = false;
};

std::string full_name(const Op& op) {
  return op.ns.empty() ? std::string(op.name) : say(op.ns, '.', op.name);
}

std::string_view first_sentence(std::string_view doc) {
  const std::size_t end = doc.find(". ");
  return end == std::string_view::npos ? doc : doc.substr(0, end + 1);
}

std::string signature(const Op& op) {
  std::string out;
  const auto add = [&](const auto&... parts) { out += say(out.empty() ? "" : ", ", parts...); };
  for (const AttrSpec& a : op.attrs)
    if (a.required && a.leading) add(a.name);
  for (const Param& p : op.params) add(p.name, p.variadic ? "..." : p.optional ? "?" : "");
  for (const AttrSpec& a : op.attrs)
    if (a.required && !a.leading) add(a.name);
  for (const AttrSpec& a : op.attrs)
    if (!a.required) add(a.name, '=', a.fallback ? a.fallback.show() : "none");
  return say(full_name(op), '(', out, ')');
}

// Breaks at blanks; every line but the first is indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return out;
}

std::size_t text_width() {
  return static_cast<std::size_t>(std::clamp(terminal::width(stdout), 60, 118));
}

void print_list() {
  const Paint paint(stdout);
  std::map<std::string_view, std::vector<const Op*>> groups;
  std::size_t widest = 0;
  for (const Op* op : op_table()) {
    groups[op->group].push_back(op);
    widest = std::max(widest, full_name(*op).size());
  }
  for (const auto& [group, ops] : groups) {
    std::string title(group);
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    std::cout << paint.bold(title) << '\n';
    for (const Op* op : ops) {
      std::string name = full_name(*op);
      const std::string gap(widest - name.size() + 2, ' ');
      std::cout << "  " << paint.cyan(name) << gap << wrapped(first_sentence(op->doc), widest + 4, text_width())
                << '\n';
    }
    std::cout << '\n';
  }
  std::cerr << op_table().size() << " ops; `wellposed ops NAME` shows one in full.\n";
}

void print_op(const Op& op) {
  const Paint paint(stdout);
  std::vector<std::pair<std::string, std::string>> rows;
  const auto row = [&](std::string_view head, std::string text) { rows.emplace_back(head, std::move(text)); };
  for (const Param& p : op.params)
    row(p.name,
        say(kinds_text(p.kinds), p.optional ? "; optional" : "", p.variadic ? "; any number" : "", ". ", p.doc));
  for (const AttrSpec& a : op.attrs) {
    std::string choices;
    for (const std::string_view c : a.choices) choices += say(choices.empty() ? " One of " : ", ", '\'', c, '\'');
    const std::string fallback = a.required ? "required" : say("default ", a.fallback ? a.fallback.show() : "none");
    row(a.name, say(a.doc, choices, choices.empty() ? " (" : ". (", fallback, ")"));
  }
  std::string outputs;
  for (const std::string_view o : op.outputs) outputs += say(outputs.empty() ? "" : ", ", o);
  row("returns", outputs);
  if (!op.operator_.empty()) row("operator", std::string(op.operator_));
  if (!op.domain.empty()) row("domain", say(op.domain, ". ", op.advice));
  for (const std::string_view b : op.branches) row("case", std::string(b));
  if (!op.no_derivative.empty()) row("derivative", say("none: ", op.no_derivative));
  std::size_t widest = 0;
  for (const auto& [head, text] : rows) widest = std::max(widest, head.size());
  std::cout << paint.bold(signature(op)) << "  " << paint.faint(op.group) << "\n  "
            << wrapped(op.doc, 2, text_width()) << "\n\n";
  for (const auto& [head, text] : rows)
    std::cout << "  " << paint.cyan(head) << std::string(widest - head.size() + 2, ' ')
              << wrapped(text, widest + 4, text_width()) << '\n';
}

const Op& find(const std::string& name) {
  if (const Op* op = find_op(name)) return *op;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const Op* op : op_table()) {
    const std::string other = full_name(*op);
    const bool inside = op->name == name || (name.size() > 2 && other.find(name) != std::string::npos);
    const std::size_t far = inside ? 0 : edit_distance(name, other);
    if (far <= 2 && far < name.size()) near.emplace_back(far, other);
  }
  std::sort(near.begin(), near.end());
  std::string hint;
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i)
    hint += say(hint.empty() ? " Did you mean " : " or ", near[i].second);
  throw UsageError{
      say("there is no op '", name, "'.", hint, hint.empty() ? "" : "?", " `wellposed ops` lists them all.")};
}

int run_ops(const Options& o) {
  if (o.samples) {
    std::cout << samples_json().dump(1) << '\n';
  } else if (o.json) {
    std::cout << (o.name.empty() ? ops_json() : ops_json(find(o.name))).dump(1) << '\n';
  } else if (o.name.empty()) {
    print_list();
  } else {
    print_op(find(o.name));
  }
  return fine;
}

}  // namespace

extern const Command ops_command;
const Command ops_command = {
    "ops", "List the operations, or show one in full.",
    "  wellposed ops               every operation with one sentence, by chapter\n"
    "  wellposed ops log           arguments, domain, special cases\n"
    "  wellposed ops log --json    the same for programs\n"
    "  wellposed ops --json | jq -r '.ops[] | select(.domain != \"\") | .name'",
    [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<Options>();
      app.add_option("NAME", options->name, "The op to show, for example log.");
      app.add_flag("--json", options->json, "Print JSON (schema_version inside).");
      app.add_flag("--samples", options->samples)->group("");  // for the tests: every sample with its result
      return [options] { return run_ops(*options); };
    }};

}  // namespace wp::cli
