// wellposed validate: whether files are what a schema says. wellposed schema: schemas from data, and their
// differences.
#include "wellposed/validate.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/file.hpp"

namespace wp::cli {
namespace {

struct Told {
  std::vector<std::string> files, columns;
  std::string schema, before, html, out;
  int offenders = 5;
  std::uint64_t max_unfolded = 0;
  double slack = 0.1;
  bool as_json = false, drift = false, markdown = false, json_schema = false;
};

void put(const std::string& text, const std::string& file) {
  if (file.empty())
    std::cout << text;
  else
    io::write_text(file, text);
}

int run_validate(const Told& t) {
  const Schema schema = load_schema(t.schema);
  const Report report = validate_files(
      t.files, schema,
      {.offenders = t.offenders, .progress = true, .columns = t.columns, .max_unfolded = t.max_unfolded});
  std::cout << (t.as_json ? report.json() : report.text());
  if (!t.html.empty()) report.html(t.html);
  return report.ok() ? fine : finding;
}

int run_infer(const Told& t) {
  const Schema schema = infer_schema_files(
      t.files,
      {.slack = t.slack, .drift = t.drift, .progress = true, .columns = t.columns, .max_unfolded = t.max_unfolded});
  put(t.as_json || t.out.ends_with(".json") ? schema.json() : schema.toml(), t.out);
  return fine;
}

int run_diff(const Told& t) {
  const std::vector<SchemaChange> changes = schema_diff(load_schema(t.before), load_schema(t.schema));
  if (t.as_json) {
    nlohmann::ordered_json out = {{"schema_version", 1}, {"changes", nlohmann::ordered_json::array()}};
    for (const SchemaChange& c : changes)
      out["changes"].push_back(
          {{"where", c.where}, {"rule", c.rule}, {"kind", c.kind}, {"before", c.before}, {"after", c.after}});
    std::cout << out.dump(1) << '\n';
  } else {
    for (const SchemaChange& c : changes) std::cout << c.text() << '\n';
    if (changes.empty()) std::cerr << "The schemas say the same.\n";
  }
  return changes.empty() ? fine : finding;
}

int run_rules(const Told& t) {
  std::cout << (t.json_schema ? schema_json_schema() : schema_rules_markdown());
  return fine;
}

constexpr const char* kFiles =
    "Files: .npy, .csv, .tsv and others that load() reads, - for stdin; NAME=FILE says which tensor it is.";
constexpr const char* kUnfolded =
    "What a compressed array or a sparse matrix may unfold to, as 4GiB (1 GiB, or 100 times its size).";
constexpr const char* kColumns = "Of tables: read only these, as NAME,NAME (the others may hold text).";

}  // namespace

extern const Command validate_command, schema_command;

const Command validate_command = {
    "validate", "Whether files are what a schema says, and which rows are not.",
    "  wellposed validate train.npy --schema s.toml          exit code 1 if a rule does not hold\n"
    "  wellposed validate x=train.npy y=labels.npy --schema s.toml --json | jq '.rules[] | select(.holds | not)'\n"
    "  wellposed validate big.csv --schema s.toml --html report.html",
    [](CLI::App& app) -> std::function<int()> {
      auto t = std::make_shared<Told>();
      app.add_option("FILES", t->files, kFiles)->required();
      app.add_option("--schema", t->schema, "The schema: .toml or .json.")->required();
      app.add_option("--columns", t->columns, kColumns)->delimiter(',');
      app.add_option("--max-unfolded", t->max_unfolded, kUnfolded)->transform(CLI::AsSizeValue(false));
      app.add_option("--offenders", t->offenders, "How many of the first and of the worst values to show (5).")
          ->check(CLI::Range(0, 1000000));
      app.add_flag("--json", t->as_json, "Print JSON (schema_version inside).");
      app.add_option("--html", t->html, "Write a report with histograms to this file.");
      return [t] { return run_validate(*t); };
    }};

const Command schema_command = {
    "schema", "Schemas: from data (infer), what changed between two (diff), every rule (rules).",
    "  wellposed schema infer train.npy --out s.toml\n"
    "  wellposed schema infer table.csv --drift              with quantiles, to see drift later\n"
    "  wellposed schema diff old.toml new.toml               what widened and narrowed; exit code 1 if different\n"
    "  wellposed schema rules",
    [](CLI::App& app) -> std::function<int()> {
      auto t = std::make_shared<Told>();
      auto action = std::make_shared<std::function<int()>>();
      CLI::App* const infer = app.add_subcommand("infer", "A schema that the data fulfils, with comments.");
      infer->add_option("FILES", t->files, kFiles)->required();
      infer->add_option("--out", t->out, "Write it to this file: .toml or .json.");
      infer->add_option("--columns", t->columns, kColumns)->delimiter(',');
      infer->add_option("--max-unfolded", t->max_unfolded, kUnfolded)->transform(CLI::AsSizeValue(false));
      infer->add_option("--slack", t->slack, "How much wider than the data ranges are, on either side (0.1).")
          ->check(CLI::Range(0.0, 1e6));
      infer->add_flag("--drift", t->drift, "Keep quantiles as a reference, with thresholds for drift.");
      infer->add_flag("--json", t->as_json, "As JSON instead of TOML.");
      infer->callback([t, action] { *action = [t] { return run_infer(*t); }; });
      CLI::App* const diff = app.add_subcommand("diff", "What widened and what narrowed from one schema to another.");
      diff->add_option("BEFORE", t->before, "A schema.")->required();
      diff->add_option("AFTER", t->schema, "Another.")->required();
      diff->add_flag("--json", t->as_json, "Print JSON (schema_version inside).");
      diff->callback([t, action] { *action = [t] { return run_diff(*t); }; });
      CLI::App* const rules =
          app.add_subcommand("rules", "Every rule, as Markdown or as a JSON Schema of schema files.");
      rules->add_flag("--markdown", t->markdown, "As docs/schema.md has it (the default).");
      rules->add_flag("--json-schema", t->json_schema, "As docs/schema.v1.json has it.");
      rules->callback([t, action] { *action = [t] { return run_rules(*t); }; });
      app.require_subcommand(1);
      return [action] { return (*action)(); };
    }};

}  // namespace wp::cli
