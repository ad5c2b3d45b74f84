#include "summary/queue.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "linalg/verdict.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "summary/event.hpp"
#include "summary/histogram.hpp"
#include "summary/png.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::summary {
namespace {

constexpr auto kRest = std::chrono::milliseconds(20);  // between looks at what waits
constexpr std::size_t kBatch = 1 << 20;                // bytes of records that are written at a time

// Serialised events of one item, each as a record.
class Records {
 public:
  explicit Records(const Item& item) : item_(item) {
    std::visit([&](const auto& what) { add(what); }, item.what);
  }
  std::string text;
  std::int64_t count = 0;

 private:
  void put(std::string_view event) {
    text += record_of(event);
    ++count;
  }
  void put_scalar(std::string_view name, double v) {
    put(scalar_event(item_.wall_time, item_.step, say(item_.tag, '/', name), static_cast<float>(v)));
  }
  void put_histogram(const std::string& tag, const Tensor& values, std::int64_t bins) {
    const Histogram h = histogram_of(values, bins);
    put(histogram_event(item_.wall_time, item_.step, tag, h.rows));
    if (h.nan + h.inf > 0) put_scalar("nonfinite", static_cast<double>(h.nan + h.inf));
  }
  void add(float v) { put(scalar_event(item_.wall_time, item_.step, item_.tag, v)); }
  void add(const Values& v) { put_histogram(item_.tag, v.tensor, v.bins); }
  void add(const Text& t) { put(text_event(item_.wall_time, item_.step, item_.tag, t.markdown)); }
  void add(const Image& i) {
    const Tensor& p = i.pixels;  // [n, h, w, c], u8, contiguous
    const std::int64_t h = p.shape(1), w = p.shape(2), bytes = h * w * p.shape(3);
    std::vector<std::string> files;
    for (std::int64_t k = 0; k < p.shape(0); ++k)
      files.push_back(
          png(h, w, static_cast<int>(p.shape(3)), reinterpret_cast<const std::uint8_t*>(p.node()->data) + k * bytes));
    put(image_event(item_.wall_time, item_.step, item_.tag, w, h, files));
  }
  void add(const linalg::Diagnosis& d) {
    if (d.size() == 0) return;
    const linalg::Member& worst = d[d.worst()];
    put_scalar("log10_condition", std::log10(worst.cond));
    put_scalar("digits", worst.digits);
    const Tensor& a = d.state()->matrix;
    if (!a.defined() || a.ndim() < 2 || worst.status == linalg::Status::nonfinite_input) return;
    const Tensor matrix = reshape(a, {-1, a.shape(-2), a.shape(-1)})[{d.worst()}];
    const Tensor s = linalg::svdvals(matrix, {.if_ill = "ignore"});
    put_histogram(item_.tag + "/log10_singular_values", log10(maximum(s, finfo(s.dtype()).smallest_normal)), 30);
  }
  const Item& item_;
};

}  // namespace

Queue::Queue(const std::string& directory, const SummaryOptions& options)
    : options_(options), log_(directory, options.suffix), thread_([this] { run(); }) {}

Queue::~Queue() {
  close();
}

void Queue::add(Item item) {
  std::unique_lock lock(mutex_);
  const auto room = [&] { return closed_ || waiting_.empty() || bytes_ + item.bytes <= options_.most_bytes; };
  if (!room()) {
    urgent_ = true;
    work_.notify_one();
    done_.wait_for(lock, std::chrono::duration<double>(options_.longest_wait), room);
  }
  if (closed_ || !room()) {
    ++dropped_;
    const bool tell = !closed_ && !std::exchange(told_full_, true);
    lock.unlock();
    if (tell)
      report({.code = "WP-SUM-001",
              .op = "SummaryWriter",
              .message = say("more is given than can be written: '", item.tag, "' was dropped after ",
                             options_.longest_wait, " s, others may follow."),
              .advice = "Log less often, or give SummaryWriter a larger most_bytes; dropped() counts what is lost."});
    return;
  }
  bytes_ += item.bytes;
  ++given_;
  waiting_.push_back(std::move(item));
  if (bytes_ > options_.most_bytes / 2 && !urgent_) {
    urgent_ = true;
    work_.notify_one();
  }
}

void Queue::flush() {
  std::unique_lock lock(mutex_);
  const std::int64_t upto = given_;
  urgent_ = true;
  work_.notify_one();
  done_.wait(lock, [&] { return taken_ >= upto; });
}

void Queue::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = urgent_ = true;
    work_.notify_one();
  }
  thread_.join();
}

std::int64_t Queue::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}
std::int64_t Queue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void Queue::run() {
  if (const int error = log_.append(record_of(version_event(wall_time()))); error != 0) lost(1, error);
  const auto rest =
      std::min<std::chrono::duration<double>>(kRest, std::chrono::duration<double>(options_.flush_seconds));
  for (bool last = false; !last;) {
    std::vector<Item> items;
    {
      std::unique_lock lock(mutex_);
      work_.wait_for(lock, rest, [&] { return urgent_; });
      items.swap(waiting_);
      urgent_ = false;
      bytes_ = 0;
      last = closed_;
    }
    write(items);
    {
      const std::lock_guard lock(mutex_);
      taken_ += static_cast<std::int64_t>(items.size());
    }
    done_.notify_all();
  }
}

void Queue::write(std::vector<Item>& items) {
  std::string batch;
  std::int64_t count = 0;
  const auto put = [&] {
    if (count == 0) return;
    const int error = log_.append(batch);
    if (error != 0) {
      lost(count, error);
    } else {
      const std::lock_guard lock(mutex_);
      written_ += count;
    }
    batch.clear();
    count = 0;
  };
  for (Item& item : items) {
    see_step(item);
    try {
      Records records(item);
      batch += records.text;
      count += records.count;
    } catch (const std::exception&) {  // no memory for one of them: the others go on
      lost(1, ENOMEM);
    }
    item.what = 0.0F;  // lets go of its tensor
    if (batch.size() >= kBatch) put();
  }
  put();
}

// TensorBoard takes a step that goes back for a restart and hides what was logged after it.
void Queue::see_step(const Item& item) {
  std::int64_t& last = last_step_.try_emplace(item.tag, item.step).first->second;
  if (item.step < last && !std::exchange(told_back_, true))
    report({.code = "WP-SUM-004",
            .op = "SummaryWriter",
            .message = say("steps of '", item.tag, "' go back from ", last, " to ", item.step,
                           ": TensorBoard hides what was logged between them."),
            .advice = "Count steps through the whole run, or use one writer and folder per run.",
            .measured = static_cast<double>(item.step),
            .threshold = static_cast<double>(last),
            .step = item.step});
  last = item.step;
}

void Queue::lost(std::int64_t records, int error) {
  {
    const std::lock_guard lock(mutex_);
    dropped_ += records;
    if (std::exchange(told_disk_, true)) return;
  }
  report({.code = "WP-SUM-002",
          .op = "SummaryWriter",
          .message = say("'", log_.path(), "' cannot be written: ", std::strerror(error), ". ",
                         plural(records, "record"), " lost, others may follow; what is in the file stays readable."),
          .advice = "Make room on the disk: later records are tried again; dropped() counts what is lost."});
}

}  // namespace wp::summary
