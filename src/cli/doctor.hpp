// What `wellposed doctor` looks at, line by line.
#pragma once
#include <string>
#include <vector>

#include "cli/ops_json.hpp"

namespace wp::cli {

struct Line {
  std::string name, value;
  std::string fix = {};           // empty: in order; else why to look and what to do
  json numbers = json::object();  // what was measured and expected
};

// In the order of the report.
void look_at_processor(std::vector<Line>& lines);
void look_at_speed(std::vector<Line>& lines);
void look_at_arithmetic(std::vector<Line>& lines);
void look_at_memory(std::vector<Line>& lines);
void look_at_versions(std::vector<Line>& lines);
void look_at_environment(std::vector<Line>& lines);

// Prints the report; the exit code.
int print_doctor();

}  // namespace wp::cli
