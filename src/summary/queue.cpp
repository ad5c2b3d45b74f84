#include "summary/queue.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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
constexpr double kForever = 1e9;                       // seconds; what is longer is no time a clock can count

SummaryOptions checked(const SummaryOptions& o) {
  if (!(o.longest_wait >= 0))
    raise<ArgumentError>("WP-ARG-001", "SummaryWriter",
                         say("longest_wait must not be negative; got ", o.longest_wait, " s."),
                         "0 drops at once what does not fit, inf never.");
  if (!(o.flush_seconds >= 1e-3))
    raise<ArgumentError>("WP-ARG-001", "SummaryWriter",
                         say("flush_seconds must be at least 0.001; got ", o.flush_seconds, "."),
                         "Call flush() where a value must be in the file at once.");
  return o;
}

// Appends the events of one item to a file, each as a record.
class Records {
 public:
  Records(const Item& item, std::string& file) : item_(item), file_(file) {
    std::visit([&](const auto& what) { add(what); }, item.what);
  }
  std::int64_t count = 0;

 private:
  void put(std::string_view event) {
    put_record(file_, event);
    ++count;
  }
  void put_scalar(std::string_view tag, float v) {
    put_scalar_record(file_, item_.wall_time, item_.step, tag, v);
    ++count;
  }
  void put_part(std::string_view name, double v) { put_scalar(say(item_.tag, '/', name), static_cast<float>(v)); }
  void put_histogram(const std::string& tag, const Tensor& values, std::int64_t bins) {
    const Histogram h = histogram_of(values, bins);
    put(histogram_event(item_.wall_time, item_.step, tag, h.rows));
    if (h.nan + h.inf > 0) put_part("nonfinite", static_cast<double>(h.nan + h.inf));
  }
  void add(double v) { put_scalar(item_.tag, static_cast<float>(v)); }
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
    put_part("log10_condition", std::log10(worst.cond));
    put_part("digits", worst.digits);
    const Tensor& a = d.state()->matrix;
    if (!a.defined() || a.ndim() < 2 || worst.status == linalg::Status::nonfinite_input) return;
    const Tensor matrix = reshape(a, {-1, a.shape(-2), a.shape(-1)})[{d.worst()}];
    const Tensor s = linalg::svdvals(matrix, {.if_ill = "ignore"});
    put_histogram(item_.tag + "/log10_singular_values", log10(maximum(s, finfo(s.dtype()).smallest_normal)), 30);
  }
  const Item& item_;
  std::string& file_;
};

}  // namespace

Queue::Queue(const std::string& directory, const SummaryOptions& options)
    : options_(checked(options)), log_(directory, options.suffix), thread_([this] { run(); }) {}

Queue::~Queue() {
  close();
}

void Queue::add(Item item) {
  std::unique_lock lock(mutex_);
  const auto room = [&] { return closed_ || bytes_ == 0 || bytes_ + item.bytes <= options_.most_bytes; };
  if (!room()) {
    urgent_ = true;
    work_.notify_one();
    done_.wait_for(lock, std::chrono::duration<double>(std::min(options_.longest_wait, kForever)), room);
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
  (void)append({});
  const auto rest =
      std::min<std::chrono::duration<double>>(kRest, std::chrono::duration<double>(options_.flush_seconds));
  for (bool last = false; !last;) {
    std::vector<Item> items;
    {
      std::unique_lock lock(mutex_);
      work_.wait_for(lock, rest, [&] { return urgent_; });
      items.swap(waiting_);
      urgent_ = false;
      last = closed_;
    }
    write(items);
  }
}

// The first record of a file says what it is: without it nothing else is written.
int Queue::append(std::string_view records) {
  if (!begun_) {
    std::string first;
    put_record(first, version_event(wall_time()));
    if (const int error = log_.append(first); error != 0) return error;
    begun_ = true;
  }
  return log_.append(records);
}

// All records at once; when they do not fit so, those that fit one by one.
void Queue::put(std::string_view records, std::int64_t count) {
  const int error = append(records);
  std::int64_t good = error == 0 ? count : 0;
  while (error != 0 && !records.empty()) {
    std::uint64_t length = 0;
    std::memcpy(&length, records.data(), sizeof length);
    const std::size_t bytes = kRecordHead + static_cast<std::size_t>(length) + kRecordTail;
    if (append(records.substr(0, bytes)) == 0) ++good;
    records.remove_prefix(bytes);
  }
  {
    const std::lock_guard lock(mutex_);
    written_ += good;
  }
  if (good < count) lost(count - good, error);
}

void Queue::write(std::vector<Item>& items) {
  std::string batch;
  std::int64_t count = 0, taken = 0;
  std::size_t held = 0;
  const auto put_batch = [&] {
    if (count > 0) put(batch, count);
    batch.clear();
    {
      const std::lock_guard lock(mutex_);
      bytes_ -= std::exchange(held, 0);
      taken_ += std::exchange(taken, 0);
    }
    done_.notify_all();
    count = 0;
  };
  for (Item& item : items) {
    see_step(item);
    see_range(item);
    const std::size_t before = batch.size();
    try {
      count += Records(item, batch).count;
    } catch (const std::exception&) {  // no memory for one of them: the others go on
      batch.resize(before);
      lost(1, ENOMEM);
    }
    item.what = 0.0;  // lets go of its tensor
    held += item.bytes;
    ++taken;
    if (batch.size() >= kBatch) put_batch();
  }
  put_batch();
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

// TensorBoard keeps scalars in f32.
void Queue::see_range(const Item& item) {
  const double* const value = std::get_if<double>(&item.what);
  if (!value || !std::isfinite(*value) || std::isfinite(static_cast<float>(*value))) return;
  if (told_range_.insert(item.tag).second)
    report({.code = "WP-NUM-001",
            .op = "SummaryWriter",
            .message = say("'", item.tag, "' = ", *value, " is beyond the f32 numbers, in which TensorBoard keeps ",
                           "scalars: the file says ", *value > 0 ? "inf" : "-inf", "."),
            .advice = "Log its logarithm, or divide it by a constant.",
            .measured = *value,
            .threshold = static_cast<double>(std::numeric_limits<float>::max()),
            .step = item.step});
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
