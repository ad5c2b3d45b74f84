// Batches of rows, shuffled, with the numbers of the rows in their data set: blame goes back from a bad loss to
// "data row 7311, column 4".
//   wp::Dataset data(std::vector<std::string>{"train.npy"}, {.batch = 64, .seed = 7});
//   for (int epoch = 0; epoch < 10; ++epoch)
//     for (const wp::Batch& b : data.epoch(epoch)) step(b["train"]);
#pragma once
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wellposed/validate.hpp"

namespace [[gnu::visibility("default")]] wp {

struct Batch {
  NamedTensors tensors;
  std::vector<std::int64_t> rows;                         // their numbers in the data set
  std::int64_t number = 0;                                // 0, 1, 2, … in the epoch
  const Tensor& operator[](std::string_view name) const;  // throws ArgumentError
  const Tensor& only() const;                             // of a data set of one tensor
};

struct DatasetOptions {
  std::int64_t batch = 32;
  bool shuffle = true;
  std::uint64_t seed = 0;  // the order of an epoch is a function of seed, epoch and the number of rows
  bool drop_last = false;  // the last batch of an epoch if it is smaller
  int prefetch = 2;        // batches made ahead by a thread of its own; 0: none
  std::optional<Schema> schema = std::nullopt;  // checked once, before the first batch: ValidationError
  std::vector<std::string> columns = {};  // of tables in files: only these are read, others may hold text; none: all
};

namespace detail {
struct DatasetState;
class BatchQueue;
}  // namespace detail

// The batches of one epoch, once. Not for use by several threads.
class Epoch {
 public:
  explicit Epoch(std::shared_ptr<detail::BatchQueue> queue) : queue_(std::move(queue)) {}
  // False: there are none left. What went wrong in the thread that makes them is thrown here.
  bool next(Batch& out);

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = const Batch&;
    explicit iterator(Epoch* epoch) : epoch_(epoch) { ++*this; }
    iterator() = default;
    reference operator*() const noexcept { return batch_; }
    pointer operator->() const noexcept { return &batch_; }
    iterator& operator++() {
      if (epoch_ && !epoch_->next(batch_)) epoch_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const iterator& o) const noexcept { return epoch_ == o.epoch_; }

   private:
    Epoch* epoch_ = nullptr;
    Batch batch_;
  };
  iterator begin() { return iterator(this); }
  iterator end() { return iterator(); }

 private:
  std::shared_ptr<detail::BatchQueue> queue_;
};

// Tensors with the same rows, in memory or in files. Large .npy files are mapped: a batch reads its own rows. Several
// files that hold a tensor of the same name follow each other. Copies share.
class Dataset {
 public:
  explicit Dataset(const NamedTensors& tensors, const DatasetOptions& options = {});
  explicit Dataset(const std::vector<std::string>& files, const DatasetOptions& options = {});

  std::int64_t rows() const noexcept;
  std::int64_t batches() const noexcept;  // of an epoch
  std::vector<std::string> names() const;
  // What the schema said of the data; empty without one.
  const Report& report() const noexcept;
  Epoch epoch(std::int64_t number = 0) const;
  // Rows chosen at random by the seed: `fraction` of them in the second part. Row numbers stay what they were.
  std::pair<Dataset, Dataset> split(double fraction) const;
  // The file that a row came from, and its number there; the name of the tensor for data in memory.
  std::pair<std::string, std::int64_t> origin(std::int64_t row) const;

 private:
  explicit Dataset(std::shared_ptr<const detail::DatasetState> state) : state_(std::move(state)) {}
  std::shared_ptr<const detail::DatasetState> state_;
};

}  // namespace gnu::visibility("default")]]wp
