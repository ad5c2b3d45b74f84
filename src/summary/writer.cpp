#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/scope.hpp"
#include "base/text.hpp"
#include "linalg/verdict.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "summary/event.hpp"
#include "summary/queue.hpp"
#include "tensor/note.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {

namespace {

std::atomic<unsigned> forks{0};  // that led to this process: getpid() would be a call of the system

}  // namespace

// A process that was forked has neither the thread nor, for certain, the locks of the queue: it leaves that queue
// alone and begins its own.
struct SummaryWriter::State {
  std::string directory;
  SummaryOptions options;
  std::mutex making;
  std::atomic<unsigned> owner{0};  // what `forks` was
  std::atomic<summary::Queue*> queue{nullptr};

  State(std::string d, SummaryOptions o) : directory(std::move(d)), options(std::move(o)) { begin(); }
  ~State() {
    if (owner == forks) delete queue.load();
  }
  void begin() {
    queue = new summary::Queue(directory, options);
    owner = forks.load();
  }
  summary::Queue& mine() {
    if (owner != forks) [[unlikely]] {
      const std::lock_guard lock(making);
      if (owner != forks) begin();
    }
    return *queue;
  }

  void add(std::string_view tag, const SummaryAt& at, std::size_t bytes, decltype(summary::Item::what) what) {
    const Context& here = context();
    const std::int64_t step = at.step.value_or(here.step < 0 ? 0 : here.step);
    const std::string_view scope = at.scoped && here.scope ? here.scope->path : std::string_view();
    std::string full = summary::tag_of(scope, tag);
    bytes += full.size() + sizeof(summary::Item);
    mine().add({summary::wall_time(), step, std::move(full), std::move(what), bytes});
  }
};

namespace {

// The writers of the process, for flush_all. Forks wait for its lock, so that no child finds it closed.
struct Living {
  std::mutex mutex;
  std::vector<std::weak_ptr<SummaryWriter::State>> all;
};
Living& living() {
  static Living& the = *[] {
    pthread_atfork([] { living().mutex.lock(); }, [] { living().mutex.unlock(); },
                   [] {
                     forks.fetch_add(1, std::memory_order_relaxed);
                     living().mutex.unlock();
                   });
    return new Living;  // never goes away: others may end later than statics
  }();
  return the;
}
std::shared_ptr<SummaryWriter::State> made(const std::string& directory, const SummaryOptions& options) {
  Living& l = living();
  auto state = std::make_shared<SummaryWriter::State>(directory, options);
  const std::lock_guard lock(l.mutex);
  std::erase_if(l.all, [](const auto& w) { return w.expired(); });
  l.all.push_back(state);
  return state;
}

// What the writer's thread may look at later: memory of others may change.
Tensor kept(const Tensor& x) {
  const Unseen unseen;
  return x.node()->borrowed ? astype(x, x.dtype(), {.copy = true}) : x;
}

// At most `most` values, evenly spaced over memory, by a stride that meets every column of a matrix.
Tensor sample(const Tensor& x, std::int64_t most) {
  if (most <= 0 || x.size() <= most) return x;
  const Unseen unseen;
  Ints order;
  for (std::int64_t k = 0; k < x.ndim(); ++k) order.push_back(k);
  const auto stride = [&](std::int64_t k) { return std::abs(x.strides()[static_cast<std::size_t>(k)]); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return stride(a) > stride(b); });
  const Tensor flat = x.is_contiguous() ? x : contiguous(permute_dims(x, order));
  std::int64_t every = (x.size() + most - 1) / most;
  while (std::gcd(every, flat.shape(-1)) > 1) ++every;
  return contiguous(reshape(flat, {-1})[{slice(0, x.size(), every)}]);
}

// [n, h, w, c] of bytes.
Tensor pixels_of(const Tensor& x) {
  const Unseen unseen;
  Tensor p = x;
  if (p.ndim() == 2) p = expand_dims(p, {.axis = -1});
  if (p.ndim() == 3) p = expand_dims(p, {.axis = 0});
  const std::int64_t c = p.ndim() == 4 ? p.shape(3) : 0;
  if ((c != 1 && c != 3 && c != 4) || p.size() == 0)
    raise<ShapeError>(
        "WP-SUM-003", "SummaryWriter::image",
        say("an image has the shape [h, w], [h, w, c] or [n, h, w, c] with c = 1, 3 or 4, none of them 0; got ",
            x.shape(), "."));
  if (p.dtype() == u8) return contiguous(kept(p));
  if (!is(p.dtype(), kinds::real_floating))
    raise<DtypeError>("WP-DTY-003", "SummaryWriter::image",
                      say("an image holds u8, or real numbers 0 … 1; got ", x.dtype(), "."));
  const Tensor lit = where(isnan(p), 0.0, clip(p, 0.0, 1.0));
  return contiguous(astype(round(lit * 255.0), u8));
}

}  // namespace

SummaryWriter::SummaryWriter(const std::string& directory, const SummaryOptions& options, std::source_location)
    : state_(made(directory, options)) {}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;
SummaryWriter& SummaryWriter::operator=(SummaryWriter&&) noexcept = default;

void SummaryWriter::scalar(std::string_view tag, double value, const SummaryAt& at) {
  state_->add(tag, at, 0, value);
}
void SummaryWriter::scalar(std::string_view tag, const Tensor& value, const SummaryAt& at) {
  if (value.size() != 1 || is_complex(value.dtype()))
    raise<ShapeError>("WP-SUM-003", "SummaryWriter::scalar",
                      say("a scalar is one real number; got ", value.dtype(), ' ', value.shape(), "."),
                      "Use histogram for many.");
  scalar(tag, value_at(value, 0).real(), at);
}
void SummaryWriter::histogram(std::string_view tag, const Tensor& values, const HistogramAt& at) {
  if (at.bins < 1 || at.bins > 1 << 20)
    raise<ArgumentError>("WP-ARG-001", "SummaryWriter::histogram", say("bins must be 1 to 2^20; got ", at.bins, "."));
  const Tensor some = sample(values, at.most_values);
  state_->add(tag, {at.step, at.scoped}, static_cast<std::size_t>(some.size()) * size_of(some.dtype()),
              summary::Values{kept(some), at.bins});
}
void SummaryWriter::histograms(const std::vector<std::pair<std::string, Tensor>>& named, const HistogramAt& at) {
  for (const auto& [name, values] : named) histogram(name, values, at);
}
void SummaryWriter::text(std::string_view tag, std::string_view markdown, const SummaryAt& at) {
  state_->add(tag, at, markdown.size(), summary::Text{clean_utf8(markdown)});
}
void SummaryWriter::image(std::string_view tag, const Tensor& image, const SummaryAt& at) {
  const Tensor pixels = pixels_of(image);
  state_->add(tag, at, static_cast<std::size_t>(pixels.size()), summary::Image{pixels});
}
void SummaryWriter::diagnosis(std::string_view tag, const linalg::Diagnosis& diagnosis, const SummaryAt& at) {
  const Tensor matrix = diagnosis.state() ? diagnosis.state()->matrix : Tensor();
  const std::size_t elements =
      matrix.defined() ? static_cast<std::size_t>(matrix.size()) * size_of(matrix.dtype()) : 0;
  state_->add(tag, at, elements + static_cast<std::size_t>(diagnosis.size()) * sizeof(linalg::Verdict), diagnosis);
}

void SummaryWriter::flush() {
  state_->mine().flush();
}
void SummaryWriter::close() {
  state_->mine().close();
}
std::string SummaryWriter::path() const {
  return state_->mine().path();
}
std::int64_t SummaryWriter::written() const {
  return state_->mine().written();
}
std::int64_t SummaryWriter::dropped() const {
  return state_->mine().dropped();
}

namespace summary {

void flush_all() {
  std::vector<std::shared_ptr<SummaryWriter::State>> all;
  {
    const std::lock_guard lock(living().mutex);
    for (const auto& w : living().all)
      if (auto state = w.lock()) all.push_back(std::move(state));
  }
  for (const auto& state : all)
    if (state->owner == forks) state->queue.load()->flush();  // others have been given nothing since the fork
}

SummaryWriter* innermost() noexcept {
  return context().summaries;
}
void scalar(std::string_view tag, double value, const SummaryAt& at) {
  if (SummaryWriter* const w = innermost()) w->scalar(tag, value, at);
}
void scalar(std::string_view tag, const Tensor& value, const SummaryAt& at) {
  if (SummaryWriter* const w = innermost()) w->scalar(tag, value, at);
}
void histogram(std::string_view tag, const Tensor& values, const HistogramAt& at) {
  if (SummaryWriter* const w = innermost()) w->histogram(tag, values, at);
}
void histograms(const std::vector<std::pair<std::string, Tensor>>& named, const HistogramAt& at) {
  if (SummaryWriter* const w = innermost()) w->histograms(named, at);
}
void text(std::string_view tag, std::string_view markdown, const SummaryAt& at) {
  if (SummaryWriter* const w = innermost()) w->text(tag, markdown, at);
}
void image(std::string_view tag, const Tensor& image, const SummaryAt& at) {
  if (SummaryWriter* const w = innermost()) w->image(tag, image, at);
}
void diagnosis(std::string_view tag, const linalg::Diagnosis& diagnosis, const SummaryAt& at) {
  if (SummaryWriter* const w = innermost()) w->diagnosis(tag, diagnosis, at);
}

}  // namespace summary
}  // namespace wp
