// Targeted logging that TensorBoard reads (tensorboard --logdir DIR), and `wellposed plot DIR` without it.
//   wp::SummaryWriter log("runs/1");
//   wp::summary::Use here(log);             // free functions below write to it, with the current step and scope
//   wp::set_step(k);
//   wp::summary::histogram("output", y);    // inside scope("layer2"): tag "layer2/output"
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wellposed/context.hpp"
#include "wellposed/diagnosis.hpp"

namespace [[gnu::visibility("default")]] wp {

struct SummaryOptions {
  std::string suffix = {};            // of the file's name
  std::size_t most_bytes = 64 << 20;  // not yet in the file, tensors included; a larger value is taken alone
  double longest_wait = 0.01;  // seconds that a call waits when so much is waiting; then it drops what it was given.
                               // inf: it never does
  double flush_seconds = 1;    // what was given is in the file after this time; 0.001 at least
};

// Where a value stands: step (none: that of set_step, else 0) and tag (the scope's path is put before it).
struct SummaryAt {
  std::optional<std::int64_t> step = std::nullopt;
  bool scoped = true;
};
struct HistogramAt {
  std::optional<std::int64_t> step = std::nullopt;
  bool scoped = true;
  std::int64_t bins = 30;
  std::int64_t most_values = 0;  // that are counted, evenly spaced; 0: all. Inf and NaN between them are not seen.
};

// One event file in a directory, written by a thread of its own. Values may be given from any thread; tensors are
// shared, not copied (borrowed memory is), and looked at by that thread. Inf and NaN do not raise: scalars show them,
// histograms leave them out and count them under TAG/nonfinite.
// Scalars are f32 in the file: one beyond them is inf there, and WP-NUM-001 says it once per tag.
// After a fork the child writes to a file of its own; one that leaves by _exit calls flush_all first. A full disk or
// queue loses records, never time or the file: dropped() counts them, a finding (WP-SUM-001, WP-SUM-002) says it
// once.
class SummaryWriter {
 public:
  // Makes the directory. Throws FileError, and ArgumentError for options outside their range.
  explicit SummaryWriter(const std::string& directory, const SummaryOptions& options = {},
                         std::source_location where = std::source_location::current());
  ~SummaryWriter();  // writes what waits
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) noexcept;

  void scalar(std::string_view tag, double value, const SummaryAt& at = {});
  void scalar(std::string_view tag, const Tensor& value, const SummaryAt& at = {});  // of one element
  void histogram(std::string_view tag, const Tensor& values, const HistogramAt& at = {});
  // A whole set of parameters, or of their gradients.
  void histograms(const std::vector<std::pair<std::string, Tensor>>& named, const HistogramAt& at = {});
  void text(std::string_view tag, std::string_view markdown, const SummaryAt& at = {});
  // [h, w], [h, w, 1 | 3 | 4], or a stack of them [n, h, w, c]: u8, or real numbers 0 … 1 (cut to that).
  void image(std::string_view tag, const Tensor& image, const SummaryAt& at = {});
  // Of the worst member: log10 of its condition number and its digits as scalars, its spectrum as a histogram.
  void diagnosis(std::string_view tag, const linalg::Diagnosis& diagnosis, const SummaryAt& at = {});

  void flush();              // returns when all that was given before is in the file
  void close();              // the same, and ends the thread; later values are dropped and counted
  std::string path() const;  // of the event file
  std::int64_t written() const;
  std::int64_t dropped() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

namespace summary {

// While it lives the writer is the innermost one of this thread, and of the pool's tasks.
class [[nodiscard]] Use : detail::Restore<&Context::summaries> {
 public:
  explicit Use(SummaryWriter& writer) { context().summaries = &writer; }
};
SummaryWriter* innermost() noexcept;  // null: none; the functions then do nothing
void flush_all();                     // every writer's flush(): what this process was given is in the files

void scalar(std::string_view tag, double value, const SummaryAt& at = {});
void scalar(std::string_view tag, const Tensor& value, const SummaryAt& at = {});
void histogram(std::string_view tag, const Tensor& values, const HistogramAt& at = {});
void histograms(const std::vector<std::pair<std::string, Tensor>>& named, const HistogramAt& at = {});
void text(std::string_view tag, std::string_view markdown, const SummaryAt& at = {});
void image(std::string_view tag, const Tensor& image, const SummaryAt& at = {});
void diagnosis(std::string_view tag, const linalg::Diagnosis& diagnosis, const SummaryAt& at = {});

}  // namespace summary
}  // namespace gnu::visibility("default")]]wp
