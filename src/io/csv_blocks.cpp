#include <algorithm>
#include <bit>
#include <cstring>

#include "base/pool.hpp"
#include "io/csv_reader.hpp"

namespace wp::io {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 62;
constexpr std::size_t kTile = 64;  // rows turned into columns at a time

double as_f64(std::uint64_t cell, bool real) noexcept {
  return real ? std::bit_cast<double>(cell) : static_cast<double>(static_cast<std::int64_t>(cell));
}

class CsvBlocks final : public Blocks {
 public:
  CsvBlocks(std::shared_ptr<const Source> source, const BlockOptions& options, char delimiter)
      : source_(std::move(source)),
        columns_(options.columns),
        reader_(*source_, options.load, delimiter, options.columns) {
    reader_.gather(1);
    if (columns_)
      for (std::size_t c = 0; c < reader_.columns(); ++c)
        arrays_.push_back({reader_.name(c), reader_.dtype(c), {-1}});
    else
      arrays_ = {{"", reader_.dtype(), {-1, static_cast<std::int64_t>(reader_.columns())}}};
    see_end();
  }
  std::uint64_t bytes_done() const noexcept override { return reader_.offset(); }
  std::uint64_t bytes() const noexcept override { return source_->size(); }

 private:
  void see_end() {
    if (!reader_.ended()) return;
    rows_ = row_;
    for (ArrayInfo& a : arrays_) a.shape[0] = rows_;
  }
  std::vector<Tensor> read(std::int64_t limit) override {
    const std::int64_t rows = reader_.gather(limit);
    std::vector<Tensor> out;
    if (columns_)
      out = reader_.take_columns(rows);
    else
      out.push_back(reader_.take_matrix(rows));
    for (std::size_t c = 0; c < arrays_.size(); ++c) arrays_[c].dtype = out[c].dtype();
    row_ += rows;
    see_end();
    row_ -= rows;
    return out;
  }
  std::shared_ptr<const Source> source_;
  bool columns_;
  CsvReader reader_;
};

}  // namespace

DType CsvReader::dtype(std::size_t column) const noexcept {
  const std::uint8_t bits = seen_[columns_[column]];
  return seen::as_f64(bits) || bits == 0 ? f64 : (bits & seen::boolean) ? DType::boolean : i64;
}

DType CsvReader::dtype() const noexcept {
  for (std::size_t c = 0; c < columns(); ++c)
    if (dtype(c) != i64) return f64;
  return i64;
}

// copy(piece, first row of it, rows, first row of the result) for every piece, in any order; then they are gone.
template <class Copy>
void CsvReader::drain(std::int64_t rows, const Copy& copy) {
  struct Part {
    std::size_t from, rows, to;
  };
  std::vector<Part> parts;
  std::size_t to = 0, from = taken_;
  for (std::size_t i = 0; to < static_cast<std::size_t>(rows); ++i, from = 0) {
    const std::size_t n = std::min(queue_[i].rows - from, static_cast<std::size_t>(rows) - to);
    parts.push_back({from, n, to});
    to += n;
  }
  parallel_for(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t k, std::int64_t end) {
    for (; k < end; ++k) {
      const Part& p = parts[static_cast<std::size_t>(k)];
      copy(queue_[static_cast<std::size_t>(k)], p.from, p.rows, p.to);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].from + parts[i].rows < queue_.front().rows) {
      taken_ = parts[i].from + parts[i].rows;
      break;
    }
    if (spare_.size() < 32) spare_.push_back(std::move(queue_.front().cells));
    queue_.pop_front();
    taken_ = 0;
  }
  queued_ -= rows;
}

Tensor CsvReader::take_matrix(std::int64_t rows) {
  const DType kind = rows ? dtype() : f64;
  Tensor t = Tensor::adopt(wp::detail::make_node(kind, {rows, static_cast<std::int64_t>(columns())}));
  auto* const out = reinterpret_cast<std::uint64_t*>(t.node()->data);
  const std::size_t stride = dialect_.columns, n = columns();
  drain(rows, [&](const Cells& piece, std::size_t from, std::size_t count, std::size_t to) {
    const std::uint64_t* cell = piece.cells.data() + from * stride;
    std::uint64_t* at = out + to * n;
    const auto fits = [&](std::size_t c) { return kind == i64 || seen::as_f64(piece.seen[c]); };
    if (dialect_.wanted.empty() && std::all_of(columns_.begin(), columns_.end(), fits)) {
      std::memcpy(at, cell, count * n * sizeof *at);
      return;
    }
    for (std::size_t r = 0; r < count; ++r, cell += stride)
      for (const std::size_t c : columns_)
        *at++ = kind == i64 ? cell[c] : std::bit_cast<std::uint64_t>(as_f64(cell[c], seen::as_f64(piece.seen[c])));
  });
  return t;
}

std::vector<Tensor> CsvReader::take_columns(std::int64_t rows) {
  std::vector<Tensor> out;
  for (std::size_t c = 0; c < columns(); ++c) out.push_back(Tensor::adopt(wp::detail::make_node(dtype(c), {rows})));
  const std::size_t stride = dialect_.columns;
  drain(rows, [&](const Cells& piece, std::size_t from, std::size_t count, std::size_t to) {
    for (std::size_t tile = 0; tile < count; tile += kTile)
      for (std::size_t k = 0; k < out.size(); ++k) {
        const std::size_t c = columns_[k], n = std::min(kTile, count - tile);
        const std::uint64_t* const cell = piece.cells.data() + (from + tile) * stride + c;
        const bool real = seen::as_f64(piece.seen[c]);
        char* const data = out[k].node()->data;
        auto* const wide = reinterpret_cast<std::uint64_t*>(data) + to + tile;
        if (out[k].dtype() == DType::boolean)
          for (std::size_t r = 0; r < n; ++r) data[to + tile + r] = static_cast<char>(cell[r * stride]);
        else if (real || out[k].dtype() == i64)
          for (std::size_t r = 0; r < n; ++r) wide[r] = cell[r * stride];
        else
          for (std::size_t r = 0; r < n; ++r) wide[r] = std::bit_cast<std::uint64_t>(as_f64(cell[r * stride], false));
      }
  });
  return out;
}

Table read_csv(const Source& source, const LoadOptions& options, char delimiter) {
  CsvReader reader(source, options, delimiter, false);
  Tensor values = reader.take_matrix(reader.gather(kAll));
  return {reader.wanted_names(), std::move(values)};
}

NamedTensors read_columns(const Source& source, const LoadOptions& options, char delimiter) {
  CsvReader reader(source, options, delimiter, true);
  std::vector<Tensor> values = reader.take_columns(reader.gather(kAll));
  NamedTensors out;
  for (std::size_t c = 0; c < values.size(); ++c) out.emplace_back(reader.name(c), std::move(values[c]));
  return out;
}

std::unique_ptr<Blocks> csv_blocks(std::shared_ptr<const Source> source, const BlockOptions& options,
                                   char delimiter) {
  return std::make_unique<CsvBlocks>(std::move(source), options, delimiter);
}

}  // namespace wp::io
