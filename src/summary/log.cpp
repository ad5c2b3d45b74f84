#include "summary/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"

namespace wp::summary {
namespace {

std::string host_name() {
  char name[256] = "host";
  (void)gethostname(name, sizeof name - 1);
  return name;
}

// Names of a process differ by a number, so that two writers of one second do not meet.
std::string file_name(std::string_view suffix) {
  static std::atomic<int> number{0};
  return say("events.out.tfevents.", static_cast<std::int64_t>(std::time(nullptr)), '.', host_name(), '.', getpid(),
             '.', number.fetch_add(1), ".v2", suffix);
}

}  // namespace

Log::Log(const std::string& directory, std::string_view suffix) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    raise<FileError>("WP-FIL-001", "SummaryWriter",
                     say("cannot make the directory '", directory, "': ", error.message(), "."));
  path_ = (std::filesystem::path(directory) / file_name(suffix)).string();
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0)
    raise<FileError>("WP-FIL-001", "SummaryWriter", say("cannot write to '", path_, "': ", std::strerror(errno), "."),
                     "Choose a directory in which files may be made.");
}

Log::~Log() {
  if (fd_ >= 0) close(fd_);
}

int Log::append(std::string_view records) noexcept {
  while (true) {
    const ssize_t n = pwrite(fd_, records.data(), records.size(), size_);
    if (n == static_cast<ssize_t>(records.size())) {
      size_ += n;
      return 0;
    }
    if (n < 0 && errno == EINTR) continue;
    const int error = n < 0 ? errno : ENOSPC;  // a part was written: there was no room for the rest
    while (ftruncate(fd_, size_) != 0 && errno == EINTR) {
    }
    return error;
  }
}

}  // namespace wp::summary
