// wellposed events, wellposed plot: what event files hold.
#include "wellposed/events.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/file.hpp"

namespace wp::cli {
namespace {

struct Asked {
  std::string path, html, out;
  bool as_json = false, as_csv = false;
};

// Messages about what could not be read; true if there are any.
bool tell_damage(const std::map<std::string, Events>& runs) {
  bool any = false;
  for (const auto& [run, events] : runs)
    for (const EventDamage& d : events.damage) {
      std::cerr << "wellposed: '" << d.file << "' at byte " << d.offset << ": "
                << plural(static_cast<std::int64_t>(d.bytes), "byte") << " lost: " << d.reason << ".\n";
      any = true;
    }
  return any;
}

template <class Value>
void list(std::string& out, std::string_view kind, const std::map<std::string, EventSeries<Value>>& all) {
  for (const auto& [tag, series] : all) {
    out += say("  ", kind, "  ", clean_utf8(tag, false), ": ",
               plural(static_cast<std::int64_t>(series.step.size()), "step"), ", ", series.step.front(), " to ",
               series.step.back());
    if constexpr (std::is_same_v<Value, double>) out += say(", last value ", static_cast<float>(series.value.back()));
    out += '\n';
  }
}

std::string overview(const std::map<std::string, Events>& runs) {
  std::string out;
  for (const auto& [run, e] : runs) {
    out += say(run.empty() ? "(this run)" : run, ": ", plural(e.records, "record"), '\n');
    list(out, "scalar   ", e.scalars);
    list(out, "histogram", e.histograms);
    list(out, "image    ", e.images);
    list(out, "text     ", e.texts);
  }
  return out;
}

int run_events(const Asked& a) {
  const std::map<std::string, Events> runs = read_events(a.path);
  std::string out;
  if (a.as_json) {
    out = "{\"schema_version\":1,\"runs\":{";
    for (bool first = true; const auto& [run, e] : runs) {
      out += say(first ? "" : ",", json_quote(clean_utf8(run)), ':', e.json());
      first = false;
    }
    out += "}}\n";
  } else if (a.as_csv) {
    out = "run,tag,step,wall_time,value\n";
    for (const auto& [run, e] : runs) out += e.csv(run);
  } else {
    out = overview(runs);
  }
  std::cout << out;
  return tell_damage(runs) ? finding : fine;
}

int run_plot(const Asked& a) {
  const std::map<std::string, Events> runs = read_events(a.path);
  io::write_text(a.html, events_page(runs, a.path));
  std::cerr << "wellposed: wrote '" << a.html << "'\n";
  return tell_damage(runs) ? finding : fine;
}

}  // namespace

extern const Command events_command, plot_command;
const Command events_command = {
    "events", "What the event files of SummaryWriter, TensorFlow or PyTorch hold.",
    "  wellposed events runs/1                  tags, steps, last values; exit code 1 if something is damaged\n"
    "  wellposed events runs/1 --csv > loss.csv\n"
    "  wellposed events runs --json | jq '.runs[].scalars | keys'",
    [](CLI::App& app) -> std::function<int()> {
      auto a = std::make_shared<Asked>();
      app.add_option("DIR", a->path, "A folder with event files, or one of them.")->required();
      CLI::Option* const json =
          app.add_flag("--json", a->as_json, "Print everything as JSON (schema_version inside).");
      app.add_flag("--csv", a->as_csv, "Print scalars as CSV: tag, step, wall_time, value.")->excludes(json);
      return [a] { return run_events(*a); };
    }};
const Command plot_command = {
    "plot", "A page with the curves and histograms of event files, without TensorBoard.",
    "  wellposed plot runs --html page.html     one file: curves of all runs, histograms over steps, pictures, texts",
    [](CLI::App& app) -> std::function<int()> {
      auto a = std::make_shared<Asked>();
      app.add_option("DIR", a->path, "A folder with event files, or one of them.")->required();
      app.add_option("--html", a->html, "The page to write.")->required();
      return [a] { return run_plot(*a); };
    }};

}  // namespace wp::cli
