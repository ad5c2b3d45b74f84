// An event file that grows by whole records.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wp::summary {

class Log {
 public:
  // DIRECTORY/events.out.tfevents.SECONDS.HOST.PID.NUMBER.v2; makes the directory. Throws FileError.
  Log(const std::string& directory, std::string_view suffix);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  const std::string& path() const noexcept { return path_; }
  // Whole records, by one write(). 0, or errno: then nothing of them is in the file.
  int append(std::string_view records) noexcept;

 private:
  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace wp::summary
