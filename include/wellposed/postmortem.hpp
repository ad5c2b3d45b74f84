// What recordings say about the end of the processes that made them (record.hpp).
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] wp {

namespace trace {
struct Examined;
}

class Postmortem {
 public:
  // A recording (.wpr), or a folder of them. Throws FileError if there is none, and FormatError if it is something
  // else. Damaged recordings are read as far as they go; files of a folder that cannot be read are told beside those
  // that can.
  explicit Postmortem(const std::string& path);
  // Every process ended in order, or still runs, and every recording could be read.
  bool fine() const noexcept;
  // The report that a person reads; `last`: calls that are listed per thread.
  std::string text(std::size_t last = 10) const;
  std::string json(std::size_t last = 10) const;
  void html(const std::string& file, std::size_t last = 10) const;  // with charts

 private:
  std::string path_;
  std::vector<std::string> unread_;  // why, with the name of the file
  std::vector<std::shared_ptr<const trace::Examined>> all_;
};
inline Postmortem postmortem(const std::string& path) {
  return Postmortem(path);
}

}  // namespace gnu::visibility("default")]]wp
