// Progress of long work: a bar on a terminal, a plain line now and then elsewhere, nothing when the work is short.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] wp {

// Where and when it shows. The defaults are stderr and the steady clock; tests give their own.
struct ProgressOutput {
  bool tty = false;
  int width = 80;
  std::function<double()> seconds;              // a clock that does not go back
  std::function<void(std::string_view)> write;  // takes whole updates
  static ProgressOutput standard();
};

// One piece of work. add() may be called from any thread and costs one atomic addition and a look at the clock.
//   Progress rows("reading big.csv", count, "rows");
//   … rows.add(1024);
// On a terminal the bar appears after half a second and is redrawn ten times a second; elsewhere a line is written
// every ten seconds. When it ends, what was shown is replaced by (or followed by) one line with the total and the
// time.
class Progress {
 public:
  // total < 0: not known. unit "bytes" shows KiB, MiB, …
  Progress(std::string label, std::int64_t total, std::string unit = "",
           ProgressOutput output = ProgressOutput::standard());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::int64_t n = 1) noexcept;
  std::int64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }
  // The last line; later calls do nothing. The destructor calls it.
  void finish() noexcept;

 private:
  void draw(double now) noexcept;

  const std::string label_, unit_;
  const std::int64_t total_;
  const ProgressOutput output_;
  const double start_, step_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<double> next_;
  std::mutex mutex_;  // of the output
  bool shown_ = false, finished_ = false;
};

// "reading big.csv  41 % |████▏     | 410/1000 rows, 13.2 rows/s, 45 s left": at most `width` columns.
std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, std::string_view unit,
                          double elapsed, int width, bool bar);
// "45 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace gnu::visibility("default")]]wp
