// wellposed doctor: is this machine set up well, and does it run as fast as it should?
#include "cli/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/paint.hpp"

namespace wp::cli {
namespace {

std::vector<Line> look() {
  std::vector<Line> lines;
  look_at_processor(lines);
  look_at_speed(lines);
  look_at_arithmetic(lines);
  look_at_memory(lines);
  look_at_versions(lines);
  look_at_environment(lines);
  return lines;
}

std::int64_t troubles(const std::vector<Line>& lines) {
  return std::count_if(lines.begin(), lines.end(), [](const Line& l) { return !l.fix.empty(); });
}

void print_text(const std::vector<Line>& lines) {
  const Paint paint(stdout);
  std::size_t widest = 0;
  for (const Line& l : lines) widest = std::max(widest, l.name.size());
  for (const Line& l : lines) {
    std::cout << (l.fix.empty() ? paint.green("ok  ") : paint.yellow("look")) << "  " << l.name
              << std::string(widest - l.name.size() + 2, ' ') << l.value << '\n';
    if (!l.fix.empty()) std::cout << std::string(widest + 8, ' ') << paint.bold("→ ") << l.fix << '\n';
  }
  const std::int64_t n = troubles(lines);
  std::cout << '\n' << (n ? plural(n, "line") + " to look at." : std::string("Everything is in order.")) << '\n';
}

void print_json(const std::vector<Line>& lines) {
  json out = json::array();
  for (const Line& l : lines) {
    json row = {{"name", l.name}, {"value", l.value}, {"verdict", l.fix.empty() ? "ok" : "look"}, {"fix", l.fix}};
    row.update(l.numbers);
    out.push_back(std::move(row));
  }
  const json document = {{"schema_version", 1}, {"verdict", troubles(lines) ? "look" : "ok"}, {"lines", out}};
  std::cout << document.dump(1) << '\n';
}

}  // namespace

int print_doctor() {
  const std::vector<Line> lines = look();
  print_text(lines);
  return troubles(lines) ? finding : fine;
}

extern const Command doctor_command;
const Command doctor_command = {
    "doctor", "Check processor, BLAS, speed, arithmetic, memory and settings of this machine.",
    "  wellposed doctor            one line per fact: ok, or look and what to do; exit code 1 if any says look\n"
    "  wellposed doctor --json     the same for programs, with measured and expected numbers\n"
    "  wellposed doctor --json | jq -r '.lines[] | select(.verdict == \"look\") | .fix'",
    [](CLI::App& app) -> std::function<int()> {
      auto as_json = std::make_shared<bool>(false);
      app.add_flag("--json", *as_json, "Print JSON (schema_version inside).");
      return [as_json] {
        if (!*as_json) return print_doctor();
        const std::vector<Line> lines = look();
        print_json(lines);
        return static_cast<int>(troubles(lines) ? finding : fine);
      };
    }};

}  // namespace wp::cli
