// What the commands of linear algebra share: reading matrices, reports, and where results go.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wellposed/plot.hpp"
#include "wellposed/wellposed.hpp"

namespace CLI {
class App;
}

namespace wp::cli {

using json = nlohmann::ordered_json;

// A file, FILE:NAME for one of its arrays, or - for stdin (a table, or what its first bytes say). Labels: the header
// of a table, or --names.
struct Matrix {
  std::string file;
  Tensor values;
  std::vector<std::string> names;
};
Matrix read_matrix(const std::string& file, const std::string& names);
// --names, one per column; none if it is empty.
std::vector<std::string> column_names(const std::string& names, std::int64_t columns);

// --ridge: a number, or the name of a rule; none if empty. The text must outlive it.
std::optional<Setting> setting_of(const std::string& text);

// Where results go: --json, --html FILE, --out FILE.
struct Outputs {
  bool as_json = false;
  std::string html, out;
  void declare(CLI::App& app, bool data);
};

// A finished computation, on its way out.
struct Report {
  std::string command;
  Matrix matrix;
  linalg::Diagnosis diagnosis;
  Tensor value;          // or undefined
  std::string words;     // one sentence more, or empty
  Tensor sigma;          // singular values of the member shown, or undefined
  double threshold = 0;  // that they are compared with
  std::vector<plot::Chart> charts;
  json extra = nullptr;  // more fields of the JSON, or null
};
// Data to stdout (or --out), words to stderr; with `always` the report is what was asked for and goes to stdout.
// Returns the exit code: 1 when the diagnosis has something to say.
int deliver(const Report& report, const Outputs& outputs, bool always);

// The member that a report shows: the worst.
std::int64_t shown_member(const linalg::Diagnosis& diagnosis);
Tensor member_of(const Tensor& stack, std::int64_t member);

}  // namespace wp::cli
