// wellposed bisect: the smallest set of rows with which a command still fails.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/paint.hpp"
#include "io/file.hpp"
#include "wellposed/bisect.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/io.hpp"
#include "wellposed/ops.hpp"

extern char** environ;

namespace wp::cli {
namespace {

struct Options {
  std::string data, out;
  std::vector<std::string> command;
  std::int64_t most_tries = 10000, repeat = 1;
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
  explicit Scratch(const std::string& name) : name_(name) {
    std::string made = (std::filesystem::temp_directory_path() / "wellposed-bisect-XXXXXX").string();
    if (!::mkdtemp(made.data())) raise<FileError>("WP-FIL-001", "bisect", "no temporary directory could be made.");
    directory_ = made;
  }
  ~Scratch() {
    std::error_code ignored;  // nothing can be done about it here
    std::filesystem::remove_all(directory_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return (directory_ / name_).string(); }

 private:
  std::filesystem::path directory_;
  std::string name_;
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

// The data, and how rows of it are written: as they stand in its file, so that a command reads them as it reads the
// whole. Of a table the lines themselves, of several arrays the same rows of each under its name.
class Data {
 public:
  explicit Data(const std::string& file) : ending_(std::filesystem::path(file).extension()) {
    constexpr std::string_view formats[] = {".npy", ".npz", ".safetensors", ".mtx", ".csv", ".tsv"};
    if (std::find(std::begin(formats), std::end(formats), ending_) == std::end(formats)) ending_ = ".npy";
    const bool several = ending_ == ".npz" || ending_ == ".safetensors";
    arrays_ = several ? load_all(file) : NamedTensors{{"", load(file)}};
    for (const auto& [name, t] : arrays_)
      if (t.ndim() == 0 || t.shape()[0] != arrays_[0].second.shape()[0])
        raise<ArgumentError>("WP-ARG-001", "bisect",
                             say("arrays must have the same number of rows; '", arrays_[0].first, "' is ",
                                 arrays_[0].second.shape(), ", '", name, "' is ", t.shape(), "."));
    if (ending_ == ".csv" || ending_ == ".tsv") read_lines(file);
  }
  std::int64_t rows() const { return arrays_[0].second.shape()[0]; }
  std::string named(const std::string& name) const { return name + ending_; }
  void write(const std::string& file, const Tensor& numbers) const {
    if (!lines_.empty() && file.ends_with(ending_)) {
      std::string text = header_;
      for (const std::int64_t row : numbers.to_vector<std::int64_t>()) text += lines_[static_cast<std::size_t>(row)];
      return io::write_text(file, text);
    }
    NamedTensors parts;
    for (const auto& [name, t] : arrays_) parts.emplace_back(name, take(t, numbers, {.axis = 0}));
    parts[0].first.empty() ? save(file, parts[0].second) : save_all(file, parts);
  }

 private:
  // Lines that hold a record; one more than rows: the first has the names. Where that does not fit (a field that goes
  // over lines) the numbers are written.
  void read_lines(const std::string& file) {
    const std::string text = io::Source(file).text();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      std::string line = text.substr(at, end - at);
      at = end;
      if (line.find_first_not_of(" \t\r\n") == std::string::npos || line[0] == '#') continue;
      if (line.back() != '\n') line += '\n';
      lines_.push_back(std::move(line));
    }
    const auto n = static_cast<std::size_t>(rows());
    if (lines_.size() == n + 1) {
      header_ = lines_[0];
      lines_.erase(lines_.begin());
    }
    if (lines_.size() != n) lines_.clear();
  }

  std::string ending_, header_;
  NamedTensors arrays_;
  std::vector<std::string> lines_;
};

struct Outcome {
  End end;
  bool again = false;  // it failed once more with the rows that were found
};

void tell(const Options& o, const Bisection& found, const Outcome& outcome, std::int64_t of, const std::string& out) {
  if (o.json) {
    std::cout << say("{\"schema_version\": 1, \"rows\": ", Dims(found.rows.begin(), found.rows.end()),
                     ", \"of\": ", of, ", \"end\": ", json_quote(outcome.end.text()), ", \"runs\": ", found.tries,
                     ", \"minimal\": ", found.minimal, ", \"again\": ", outcome.again,
                     ", \"file\": ", json_quote(out), "}\n");
    return;
  }
  std::string rows;
  for (std::size_t i = 0; i < found.rows.size() && i < 20; ++i) rows += say(i ? ", " : "", found.rows[i]);
  if (found.rows.size() > 20) rows += ", …";
  std::cout << say(found.rows.size(), " of ", plural(of, "row"), found.rows.size() == 1 ? " is" : " are",
                   " enough for it to fail (", outcome.end.text(), "): row", found.rows.size() == 1 ? " " : "s ",
                   rows, ".\n",
                   found.minimal ? "Without any one of them it does not fail so."
                                 : "The runs were used up: fewer may be enough (--most).",
                   " ", plural(found.tries, "run"), ".\nWritten to ", out, ".\n");
  if (!outcome.again)
    std::cout
        << "Once more with these rows it did not fail: the command does not always end alike. --repeat 10 counts "
           "a failure in any of 10 runs.\n";
}

int run_bisect(const Options& o) {
  bool placed = false;
  for (const std::string& word : o.command) placed |= word.find("{}") != std::string::npos;
  if (!placed) throw UsageError{"the command must have {} where the name of the data file belongs."};
  if (o.repeat < 1) throw UsageError{"--repeat must be at least 1."};
  const Data data(o.data);
  const Scratch scratch(data.named("rows"));
  // Whether one of the runs fails as `fails` says; its end.
  const auto attempt = [&](const Tensor& rows, const auto& fails) -> std::optional<End> {
    data.write(scratch.path(), rows);
    for (std::int64_t k = 0; k < o.repeat; ++k)
      if (const End end = run_command(o.command, scratch.path()); fails(end)) return end;
    return std::nullopt;
  };
  const Tensor all = arange(data.rows());  // numbers of rows
  const std::optional<End> first = attempt(all, [](const End& end) { return end.failed(); });
  if (!first)
    raise<ArgumentError>("WP-ARG-001", "bisect", say("the command does not fail with all of ", o.data, "."),
                         "It fails when it ends with another exit code than 0, or by a signal.");
  bool asked = false;  // about all rows: that is known
  const auto fails = [&](const Tensor& rows) {
    if (!std::exchange(asked, true)) return true;
    return attempt(rows, [&](const End& end) { return o.any ? end.failed() : end == *first; }).has_value();
  };
  Progress progress("bisecting", -1, "runs");
  const Bisection found =
      bisect(all, fails, {.most_tries = o.most_tries, .on_try = [&](std::int64_t, std::int64_t) { progress.add(); }});
  const Outcome outcome{*first, fails(found.data)};
  progress.finish();
  const std::string out =
      o.out.empty() ? data.named(std::filesystem::path(o.data).stem().string() + "-failing") : o.out;
  data.write(out, found.data);
  tell(o, found, outcome, data.rows(), out);
  return finding;
}

}  // namespace

extern const Command bisect_command;
const Command bisect_command = {
    "bisect", "The smallest set of rows of a data file with which a command still fails.",
    "  wellposed bisect --data X.npy -- ./train {}            writes X-failing.npy\n"
    "  wellposed bisect --data X.csv --json -- python train.py --data={}\n"
    "  wellposed bisect --data X.npy -- timeout 60 ./train {}      a run that hangs ends with exit code 124\n"
    "  wellposed bisect --data X.npy --repeat 10 -- ./train {}     one that fails now and then",
    [](CLI::App& app) -> std::function<int()> {
      auto o = std::make_shared<Options>();
      app.add_option("--data", o->data, "The data file; its rows are the entries of the first axis.")->required();
      app.add_option("--out", o->out, "Where to write the rows (default: NAME-failing, in the format of the data).");
      app.add_option("--most", o->most_tries, "Ask about at most so many sets of rows.");
      app.add_option("--repeat", o->repeat, "Run the command up to so often on each: it fails if one run does (1).");
      app.add_flag("--any", o->any,
                   "Any failure counts (default: only the same exit code or signal as with all rows).");
      app.add_flag("--json", o->json, "The result as JSON.");
      app.add_option("command", o->command, "The command, with {} for the name of the data file.")->required();
      return [o] { return run_bisect(*o); };
    }};

}  // namespace wp::cli
