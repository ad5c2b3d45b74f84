#include "trace/lines.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "trace/symbols.hpp"

extern char** environ;

namespace wp::trace {
namespace {

// What a command prints; empty if it cannot be run.
std::string output_of(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const bool runs = ::posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string out;
  char part[4096];
  for (ssize_t n = 0; runs && ((n = ::read(ends[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR));)
    if (n > 0) out.append(part, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  while (runs && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return out;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& object, const std::vector<std::uint64_t>& addresses) {
  std::vector<std::string> words{"addr2line", "-e", object};
  for (const std::uint64_t a : addresses) words.push_back(hex(a));
  const std::string told = output_of(std::move(words));
  std::vector<std::string> out(addresses.size());
  std::size_t at = 0;
  for (std::string& line : out) {  // "src/train.cpp:41 (discriminator 2)", "??:0"
    const std::size_t end = told.find('\n', at);
    if (end == std::string::npos) break;
    line = told.substr(at, end - at);
    at = end + 1;
    line = line.substr(0, line.find(" ("));
    line = line.substr(line.rfind('/') + 1);
    if (line.starts_with("??") || line.ends_with(":0") || line.ends_with(":?")) line.clear();
  }
  return out;
}

}  // namespace wp::trace
