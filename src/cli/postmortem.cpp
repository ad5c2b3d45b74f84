// wellposed postmortem: what a recording says about the end of a process.
#include "wellposed/postmortem.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/command.hpp"

namespace wp::cli {
namespace {

struct Told {
  std::string path, html;
  std::size_t last = 10;
  bool as_json = false;
};

int run_postmortem(const Told& t) {
  const Postmortem p(t.path);
  std::cout << (t.as_json ? p.json(t.last) + "\n" : p.text(t.last));
  if (!t.html.empty()) p.html(t.html, t.last);
  return p.fine() ? fine : finding;
}

}  // namespace

extern const Command postmortem_command;
const Command postmortem_command = {
    "postmortem", "What a process was doing when it died, from its recording (wp::record, WELLPOSED_RECORD).",
    "  WELLPOSED_RECORD=run.wpr ./train         record every op\n"
    "  wellposed postmortem run.wpr             what died, how, and in which op; exit code 1 if it did not end well\n"
    "  wellposed postmortem run.wpr --html report.html --last 50\n"
    "  wellposed postmortem runs/ --json | jq '.recordings[].look_first'",
    [](CLI::App& app) -> std::function<int()> {
      auto t = std::make_shared<Told>();
      app.add_option("RECORDING", t->path, "A recording (.wpr), or a folder of them.")->required();
      app.add_option("--last", t->last, "How many calls to list per thread (10).");
      app.add_flag("--json", t->as_json, "Print JSON (schema_version inside).");
      app.add_option("--html", t->html, "Write a report with charts to this file.");
      return [t] { return run_postmortem(*t); };
    }};

}  // namespace wp::cli
