// The command `wellposed`: one subcommand per file, one row per subcommand in commands.cpp.
// Data goes to stdout, messages to stderr.
#pragma once
#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace wp::cli {

enum Exit : int {
  fine = 0,
  finding = 1,    // it ran, and there is something to look at
  usage = 2,      // the command line is wrong
  bad_input = 3,  // a file or a value is wrong
  internal = 4,   // a defect, or no memory
};

struct Command {
  const char* name;
  const char* summary;   // one line of `wellposed --help`
  const char* examples;  // the end of `wellposed NAME --help`
  // Adds its options to the parser and returns what to run when they have been read; the result is the exit code.
  std::function<int()> (*declare)(CLI::App& app);
};
std::span<const Command> commands();

// The whole command: parses, runs, and turns every exception into words and an exit code.
int run(int argc, const char* const* argv);

// Throws it: exit code 2 with these words.
struct UsageError {
  std::string words;
};

}  // namespace wp::cli
