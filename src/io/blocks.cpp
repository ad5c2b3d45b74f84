#include "io/blocks.hpp"

#include <algorithm>

#include "io/format.hpp"
#include "io/stored.hpp"

namespace wp::io {
namespace {

std::int64_t rows_of(const Dims& shape) noexcept {
  return shape.empty() ? 1 : shape[0];
}

class StoredBlocks final : public Blocks {
 public:
  StoredBlocks(std::shared_ptr<const Source> source, std::string name, const Stored& stored)
      : source_(std::move(source)), stored_(stored) {
    arrays_ = {{std::move(name), stored.dtype, stored.shape}};
    rows_ = rows_of(stored.shape);
  }
  std::uint64_t bytes_done() const noexcept override {
    return rows_ ? stored_.bytes / static_cast<std::uint64_t>(rows_) * static_cast<std::uint64_t>(row_) : 0;
  }
  std::uint64_t bytes() const noexcept override { return stored_.bytes; }

 private:
  std::vector<Tensor> read(std::int64_t limit) override {
    return {read_rows(*source_, stored_, row_, std::min(limit, rows_ - row_))};
  }
  std::shared_ptr<const Source> source_;
  Stored stored_;
};

class LoadedBlocks final : public Blocks {
 public:
  LoadedBlocks(NamedTensors arrays, std::uint64_t bytes) : bytes_(bytes) {
    for (auto& [name, tensor] : arrays) {
      arrays_.push_back({std::move(name), tensor.dtype(), tensor.shape()});
      rows_ = rows_of(tensor.shape());
      tensors_.push_back(std::move(tensor));
    }
  }
  std::uint64_t bytes_done() const noexcept override { return row_ == rows_ ? bytes_ : 0; }
  std::uint64_t bytes() const noexcept override { return bytes_; }

 private:
  std::vector<Tensor> read(std::int64_t limit) override {
    std::vector<Tensor> out;
    const std::int64_t n = std::min(limit, rows_ - row_);
    for (const Tensor& t : tensors_) {
      if (t.ndim() == 0) {
        out.push_back(t);
        continue;
      }
      Dims shape = t.shape();
      shape[0] = n;
      out.push_back(Tensor::adopt(wp::detail::make_view(*t.node(), shape, t.strides(), row_ * t.strides()[0])));
    }
    return out;
  }
  std::vector<Tensor> tensors_;
  std::uint64_t bytes_;
};

}  // namespace

bool Blocks::next(std::int64_t limit, std::vector<Tensor>& block) {
  block.clear();
  if (row_ == rows_) return false;
  block = read(std::max<std::int64_t>(limit, 1));
  const std::int64_t n = block.empty() ? 0 : rows_of(block[0].shape());
  row_ += n;
  if (n == 0) {
    rows_ = row_;
    block.clear();
  }
  return n > 0;
}

std::int64_t rows_for(const Blocks& blocks, std::size_t bytes) {
  std::size_t row = 0;
  for (const ArrayInfo& a : blocks.arrays()) {
    std::size_t one = size_of(a.dtype);
    for (std::size_t k = 1; k < a.shape.size(); ++k) one *= static_cast<std::size_t>(a.shape[k]);
    row += one;
  }
  return static_cast<std::int64_t>(std::max<std::size_t>(bytes / std::max<std::size_t>(row, 1), 1));
}

std::unique_ptr<Blocks> stored_blocks(std::shared_ptr<const Source> source, std::string name, const Stored& stored) {
  return std::make_unique<StoredBlocks>(std::move(source), std::move(name), stored);
}

std::unique_ptr<Blocks> loaded_blocks(NamedTensors arrays, std::uint64_t bytes) {
  return std::make_unique<LoadedBlocks>(std::move(arrays), bytes);
}

std::vector<std::unique_ptr<Blocks>> open_blocks(const std::string& path, const BlockOptions& options) {
  auto source = std::make_shared<const Source>(path);
  const Format& format = format_for(*source);
  return format.blocks(std::move(source), options);
}

}  // namespace wp::io
