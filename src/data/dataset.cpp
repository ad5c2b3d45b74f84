#include "wellposed/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/text.hpp"
#include "data/inputs.hpp"
#include "data/names.hpp"
#include "kernels/walk.hpp"
#include "tensor/label.hpp"
#include "trace/window.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/context.hpp"
#include "wellposed/io.hpp"
#include "wellposed/ops/random.hpp"

namespace wp {
namespace detail {

// A piece of a data set: the tensors of the same rows in one file.
struct Shard {
  std::string file;
  Tensor tensor;
  std::int64_t first;  // the number of its first row
};
struct NamedShards {
  std::string name;
  std::vector<Shard> shards;
};
struct DatasetState {
  std::vector<NamedShards> tensors;
  std::int64_t all_rows = 0;
  std::optional<std::vector<std::int64_t>> chosen;  // of a part that split() made
  DatasetOptions options;
  Report report;

  std::int64_t rows() const { return chosen ? static_cast<std::int64_t>(chosen->size()) : all_rows; }
  std::vector<std::int64_t> order(std::int64_t epoch) const;
  Batch make(const std::vector<std::int64_t>& order, std::int64_t number) const;
};

namespace {

[[noreturn]] void refuse(std::string message, std::string advice = {}) {
  raise<ArgumentError>("WP-ARG-001", "Dataset", std::move(message), std::move(advice));
}

// A permutation of n by Philox: its own blocks for every epoch.
std::vector<std::int64_t> permuted(std::int64_t n, std::uint64_t seed, std::int64_t epoch) {
  const trace::Aside aside;
  const std::int64_t blocks = (n + 1) / 2;
  const Tensor p = random::permutation(n, static_cast<std::int64_t>(seed), epoch * blocks);
  return p.to_vector<std::int64_t>();
}

const Shard& shard_of(const std::vector<Shard>& shards, std::int64_t row) {
  return *std::prev(std::upper_bound(shards.begin(), shards.end(), row,
                                     [](std::int64_t r, const Shard& s) { return r < s.first; }));
}

// The rows of a tensor that is in several pieces, side by side.
Tensor gathered(const NamedShards& t, const std::vector<std::int64_t>& rows) {
  const Tensor& like = t.shards[0].tensor;
  Dims shape = like.shape();
  shape[0] = static_cast<std::int64_t>(rows.size());
  const Tensor out = Tensor::adopt(make_node(like.dtype(), shape));
  std::int64_t width = 1;
  for (std::size_t k = 1; k < shape.size(); ++k) width *= shape[k];
  const auto bytes = static_cast<std::size_t>(width) * size_of(like.dtype());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Shard& s = shard_of(t.shards, rows[i]);
    const std::int64_t start = (rows[i] - s.first) * width;
    char* const to = out.node()->data + i * bytes;
    if (s.tensor.is_contiguous())
      std::memcpy(to, s.tensor.node()->data + start * static_cast<std::int64_t>(size_of(like.dtype())), bytes);
    else
      kernels::gather(to, like.dtype(), s.tensor.node()->data, like.dtype(), s.tensor.shape(), s.tensor.strides(),
                      start, width);
  }
  return with_rows(out, t.name, rows);
}

}  // namespace

std::vector<std::int64_t> DatasetState::order(std::int64_t epoch) const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(rows()));
  if (options.shuffle)
    out = permuted(rows(), options.seed, epoch);
  else
    std::iota(out.begin(), out.end(), 0);
  if (chosen)
    for (std::int64_t& r : out) r = (*chosen)[static_cast<std::size_t>(r)];
  return out;
}

Batch DatasetState::make(const std::vector<std::int64_t>& order, std::int64_t number) const {
  Batch b;
  b.number = number;
  const auto from = order.begin() + number * options.batch;
  b.rows.assign(from, from + std::min<std::int64_t>(options.batch, order.end() - from));
  for (const NamedShards& t : tensors) b.tensors.emplace_back(t.name, gathered(t, b.rows));
  return b;
}

// Batches in order, made by a thread of its own as far as `prefetch` ahead.
class BatchQueue {
 public:
  BatchQueue(std::shared_ptr<const DatasetState> state, std::int64_t epoch, std::int64_t batches)
      : state_(std::move(state)), order_(state_->order(epoch)), batches_(batches) {
    if (state_->options.prefetch > 0 && batches_ > 1) thread_ = std::thread([this, c = context()] { fill(c); });
  }
  ~BatchQueue() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  bool next(Batch& out) {
    if (taken_ == batches_) return false;
    if (!thread_.joinable()) {
      out = state_->make(order_, taken_++);
      return true;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || error_; });
    if (ready_.empty()) std::rethrow_exception(error_);
    out = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return true;
  }

 private:
  void fill(Context parent) noexcept {
    parent.listeners = nullptr;  // what observes, and what runs, belongs to the thread that asked
    parent.running = parent.rule = nullptr;
    const Attach here(parent);
    try {
      for (std::int64_t k = 0; k < batches_; ++k) {
        Batch b = state_->make(order_, k);
        std::unique_lock lock(mutex_);
        changed_.wait(lock,
                      [&] { return stop_ || ready_.size() < static_cast<std::size_t>(state_->options.prefetch); });
        if (stop_) return;
        ready_.push_back(std::move(b));
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::shared_ptr<const DatasetState> state_;
  std::vector<std::int64_t> order_;
  std::int64_t batches_, taken_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

namespace {

void check_options(const DatasetOptions& o) {
  if (o.batch < 1) refuse(say("a batch has at least one row; got batch = ", o.batch, "."));
  if (o.prefetch < 0) refuse(say("prefetch must not be negative; got ", o.prefetch, "."));
}

// Appends a piece; the lengths of all axes but the first and the dtypes of pieces of one tensor are the same.
void append(DatasetState& state, const std::string& name, const std::string& file, const Tensor& t) {
  if (!t.defined() || t.ndim() == 0)
    refuse(say("a data set needs rows; '", name, "' has no axis."), "Give it an axis: reshape(x, {1}).");
  auto place =
      std::find_if(state.tensors.begin(), state.tensors.end(), [&](const NamedShards& n) { return n.name == name; });
  if (place == state.tensors.end()) {
    state.tensors.push_back({name, {}});
    place = std::prev(state.tensors.end());
  }
  std::int64_t first = 0;
  if (!place->shards.empty()) {
    const Shard& last = place->shards.back();
    first = last.first + last.tensor.shape()[0];
    const Tensor& a = last.tensor;
    if (a.dtype() != t.dtype() || a.ndim() != t.ndim() ||
        !std::equal(a.shape().begin() + 1, a.shape().end(), t.shape().begin() + 1))
      raise<ShapeError>("WP-SHP-009", "Dataset",
                        say("pieces of '", name, "' must be alike; got ", a.dtype(), ' ', a.shape(), " (", last.file,
                            ") and ", t.dtype(), ' ', t.shape(), " (", file, ")."));
  }
  place->shards.push_back({file, t, first});
}

void settle(DatasetState& state) {
  if (state.tensors.empty()) refuse("a data set needs at least one tensor.");
  state.all_rows = -1;
  for (const NamedShards& t : state.tensors) {
    const Shard& last = t.shards.back();
    const std::int64_t rows = last.first + last.tensor.shape()[0];
    if (state.all_rows >= 0 && rows != state.all_rows)
      raise<ShapeError>("WP-SHP-001", "Dataset",
                        say("all tensors must have the same number of rows; '", state.tensors[0].name, "' has ",
                            state.all_rows, ", '", t.name, "' has ", rows, "."));
    state.all_rows = rows;
  }
}

}  // namespace
}  // namespace detail

const Tensor& Batch::operator[](std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [n, t] : tensors) {
    if (n == name) return t;
    known.push_back(n);
  }
  detail::refuse(say("a batch has no tensor '", name, "'.", data::nearest(name, known)));
}
const Tensor& Batch::only() const {
  if (tensors.size() != 1) detail::refuse(say("a batch has ", tensors.size(), " tensors: name the one you mean."));
  return tensors[0].second;
}

bool Epoch::next(Batch& out) {
  return queue_->next(out);
}

Dataset::Dataset(const NamedTensors& tensors, const DatasetOptions& options) {
  detail::check_options(options);
  auto state = std::make_shared<detail::DatasetState>();
  state->options = options;
  for (const auto& [name, tensor] : tensors) detail::append(*state, name.empty() ? "data" : name, "", tensor);
  detail::settle(*state);
  if (options.schema) {
    NamedTensors named;
    for (const auto& t : state->tensors)
      for (const auto& s : t.shards) named.emplace_back(t.name, s.tensor);
    state->report = named.size() == 1 ? validate(named[0].second, *options.schema, {.raise = true})
                                      : validate(named, *options.schema, {.raise = true});
  }
  state_ = std::move(state);
}

Dataset::Dataset(const std::vector<std::string>& files, const DatasetOptions& options) {
  detail::check_options(options);
  auto state = std::make_shared<detail::DatasetState>();
  state->options = options;
  if (options.schema)
    state->report = validate_files(files, *options.schema, {.raise = true, .columns = options.columns});
  for (const std::string& argument : files) {
    const auto [given, path] = data::split_argument(argument);
    const std::string stem = given.empty() ? std::filesystem::path(path).stem().string() : given;
    const bool table = path.ends_with(".csv") || path.ends_with(".tsv");
    if (table || path.ends_with(".npy")) {
      detail::append(*state, stem, path, load(path, {.names = table ? options.columns : std::vector<std::string>()}));
      continue;
    }
    for (const auto& [name, tensor] : load_all(path))
      detail::append(*state, name.empty() ? stem : name, path, tensor);
  }
  detail::settle(*state);
  state_ = std::move(state);
}

std::int64_t Dataset::rows() const noexcept {
  return state_->rows();
}
std::int64_t Dataset::batches() const noexcept {
  const std::int64_t b = state_->options.batch;
  return (rows() + (state_->options.drop_last ? 0 : b - 1)) / b;
}
std::vector<std::string> Dataset::names() const {
  std::vector<std::string> out;
  for (const auto& t : state_->tensors) out.push_back(t.name);
  return out;
}
const Report& Dataset::report() const noexcept {
  return state_->report;
}
Epoch Dataset::epoch(std::int64_t number) const {
  if (number < 0) detail::refuse(say("epochs count from 0; got ", number, "."));
  return Epoch(std::make_shared<detail::BatchQueue>(state_, number, batches()));
}

std::pair<Dataset, Dataset> Dataset::split(double fraction) const {
  if (!(fraction >= 0 && fraction <= 1)) detail::refuse(say("fraction must be from 0 to 1; got ", fraction, "."));
  // Another key than that of the order of epochs.
  std::vector<std::int64_t> order = detail::permuted(rows(), ~state_->options.seed, 0);
  if (state_->chosen)
    for (std::int64_t& r : order) r = (*state_->chosen)[static_cast<std::size_t>(r)];
  const auto second = static_cast<std::ptrdiff_t>(std::llround(fraction * static_cast<double>(rows())));
  const auto part = [&](auto begin, auto end) {
    auto state = std::make_shared<detail::DatasetState>(*state_);
    state->chosen.emplace(begin, end);
    std::sort(state->chosen->begin(), state->chosen->end());
    return Dataset(std::move(state));
  };
  return {part(order.begin() + second, order.end()), part(order.begin(), order.begin() + second)};
}

std::pair<std::string, std::int64_t> Dataset::origin(std::int64_t row) const {
  if (row < 0 || row >= state_->all_rows)
    raise<IndexError>("WP-IDX-002", "Dataset", say("there is no row ", row, " of ", state_->all_rows, "."));
  const detail::Shard& s = detail::shard_of(state_->tensors[0].shards, row);
  return {s.file.empty() ? state_->tensors[0].name : s.file, row - s.first};
}

}  // namespace wp
