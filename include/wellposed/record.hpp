// The flight recorder: what the process was computing, in a file that is readable whatever ended it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] wp {

struct RecordOptions {
  std::int64_t records =
      16384;             // how many calls are kept (256 bytes each); rounded up to a power of two, at least 64
  bool signals = true;   // record SIGSEGV, SIGBUS, SIGABRT, SIGFPE and SIGILL, then do what was done before
  bool children = true;  // a forked process records into a file of its own, run.PID.wpr, from its first op on
};

// Records every op of every thread until it dies:  const auto recorder = wp::record("run.wpr");
// Read it with  wellposed postmortem run.wpr  after a crash, a kill, or while it runs. WELLPOSED_RECORD=run.wpr does
// the same without a line of code, for the whole life of the process; a recorder of the program goes before it.
class [[nodiscard]] Recorder {
 public:
  // Reserves the whole file at once. Throws FileError if that cannot be done (a full disk, no such folder), and
  // ArgumentError if another recorder lives. %p in the path stands for the process id. A file in which a living
  // process records is left alone: the name gets the process id. That of a process that died is kept as run.1.wpr.
  explicit Recorder(std::string_view path, const RecordOptions& options = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};
inline Recorder record(std::string_view path, const RecordOptions& options = {}) {
  return Recorder(path, options);
}

// The rows of the data set that this thread computes with from now on: `count` of them from `first`; 0: not known.
// Recordings tell them beside the step. Tensors with numbered rows (with_rows) say it by themselves.
void set_rows(std::int64_t first, std::int64_t count) noexcept;

// The file that this process records into; empty: none.
std::string recording();

}  // namespace gnu::visibility("default")]]wp
