// wellposed bisect: the smallest set of rows with which a command still fails.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/paint.hpp"
#include "wellposed/bisect.hpp"
#include "wellposed/io.hpp"

extern char** environ;

namespace wp::cli {
namespace {

struct Options {
  std::string data, out;
  std::vector<std::string> command;
  std::int64_t most_tries = 10000;
  bool json = false, any = false;
};

// How a command ended: its exit code, or the signal that ended it.
struct End {
  int code = 0, signal = 0;
  bool operator==(const End&) const = default;
  bool failed() const noexcept { return code != 0 || signal != 0; }
  std::string text() const {
    return signal ? say("signal ", signal, " (", ::strsignal(signal), ")") : say("exit code ", code);
  }
};

// A file that goes away.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "wellposed-bisect-XXXXXX").string();
    if (!::mkdtemp(name.data())) raise<FileError>("WP-FIL-001", "bisect", "no temporary directory could be made.");
    directory_ = name;
  }
  ~Scratch() {
    std::error_code ignored;  // nothing can be done about it here
    std::filesystem::remove_all(directory_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return (directory_ / "rows.npy").string(); }

 private:
  std::filesystem::path directory_;
};

End run_command(const std::vector<std::string>& words, const std::string& path) {
  std::vector<std::string> arguments = words;
  for (std::string& a : arguments)
    for (std::size_t at = a.find("{}"); at != std::string::npos; at = a.find("{}", at + path.size()))
      a.replace(at, 2, path);
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw UsageError{say("'", words[0], "' cannot be run: ", std::strerror(error), ".")};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? End{0, WTERMSIG(status)} : End{WEXITSTATUS(status), 0};
}

std::string default_out(const std::string& data) {
  return std::filesystem::path(data).stem().string() + "-failing.npy";
}

int run_bisect(const Options& o) {
  bool placed = false;
  for (const std::string& word : o.command) placed |= word.find("{}") != std::string::npos;
  if (!placed) throw UsageError{"the command must have {} where the name of the data file belongs."};
  const Tensor data = load(o.data);
  const Scratch scratch;
  const auto attempt = [&](const Tensor& rows) {
    save(scratch.path(), rows);
    return run_command(o.command, scratch.path());
  };
  const End first = attempt(data);
  if (!first.failed())
    raise<ArgumentError>("WP-ARG-001", "bisect", say("the command does not fail with all of ", o.data, "."),
                         "It fails when it ends with another exit code than 0, or by a signal.");
  Progress progress("bisecting", -1, "runs");
  const Bisection found =
      bisect(data,
             [&](const Tensor& rows) {
               const End end = attempt(rows);
               return o.any ? end.failed() : end == first;
             },
             {.most_tries = o.most_tries, .on_try = [&](std::int64_t, std::int64_t) { progress.add(); }});
  progress.finish();
  const std::string out = o.out.empty() ? default_out(o.data) : o.out;
  save(out, found.data);
  std::string rows;
  for (std::size_t i = 0; i < found.rows.size() && i < 20; ++i) rows += say(i ? ", " : "", found.rows[i]);
  if (found.rows.size() > 20) rows += ", …";
  if (o.json) {
    std::cout << say("{\"schema_version\": 1, \"rows\": ", Dims(found.rows.begin(), found.rows.end()),
                     ", \"of\": ", data.shape()[0], ", \"end\": ", json_quote(first.text()),
                     ", \"runs\": ", found.tries, ", \"minimal\": ", found.minimal, ", \"file\": ", json_quote(out),
                     "}\n");
  } else {
    std::cout << say(found.rows.size(), " of ", plural(data.shape()[0], "row"),
                     found.rows.size() == 1 ? " is" : " are", " enough for it to fail (", first.text(), "): row",
                     found.rows.size() == 1 ? " " : "s ", rows, ".\n",
                     found.minimal ? "Without any one of them it does not fail so."
                                   : "The runs were used up: fewer may be enough (--most).",
                     " ", plural(found.tries, "run"), ".\nWritten to ", out, ".\n");
  }
  return finding;
}

}  // namespace

extern const Command bisect_command;
const Command bisect_command = {
    "bisect", "The smallest set of rows of a data file with which a command still fails.",
    "  wellposed bisect --data X.npy -- ./train {}            writes X-failing.npy\n"
    "  wellposed bisect --data X.csv --out bad.npy --json -- python train.py --data={}",
    [](CLI::App& app) -> std::function<int()> {
      auto o = std::make_shared<Options>();
      app.add_option("--data", o->data, "The data file; its rows are the entries of the first axis.")->required();
      app.add_option("--out", o->out, "Where to write the rows (default: NAME-failing.npy).");
      app.add_option("--most", o->most_tries, "Run the command at most so often.");
      app.add_flag("--any", o->any,
                   "Any failure counts (default: only the same exit code or signal as with all rows).");
      app.add_flag("--json", o->json, "The result as JSON.");
      app.add_option("command", o->command, "The command, with {} for the name of the data file.")->required();
      return [o] { return run_bisect(*o); };
    }};

}  // namespace wp::cli
