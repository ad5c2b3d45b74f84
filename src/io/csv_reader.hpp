// Tables window by window: each window is cut into pieces that threads read, and joined in order.
#pragma once
#include <deque>

#include "io/csv_parse.hpp"

namespace wp::io {

class CsvReader {
 public:
  CsvReader(const Source& source, const LoadOptions& options, char delimiter, bool booleans);

  std::vector<std::string> wanted_names() const;                    // empty without header
  std::size_t columns() const noexcept { return columns_.size(); }  // that are wanted
  std::string name(std::size_t column) const { return column_name(columns_[column]); }
  DType dtype(std::size_t column) const noexcept;  // by the records read so far
  DType dtype() const noexcept;                    // of the matrix
  std::uint64_t offset() const noexcept { return at_; }
  bool ended() const noexcept { return queued_ == 0 && at_ == source_.size(); }

  // Reads until `limit` records wait, or to the end; how many of them wait.
  std::int64_t gather(std::int64_t limit);
  // Takes the first `rows` of them: the matrix [rows, columns], or the columns.
  Tensor take_matrix(std::int64_t rows);
  std::vector<Tensor> take_columns(std::int64_t rows);

 private:
  void read_head(const std::vector<Field>& fields, const LoadOptions& options, std::size_t behind);
  void refuse_twins() const;
  std::string column_name(std::size_t column) const;
  [[noreturn]] void raise(const Cells& piece, std::uint64_t base) const;
  void fill(std::size_t bytes);
  bool refill();
  std::size_t join(std::vector<Cells>& pieces, const std::vector<std::size_t>& starts, std::string_view text,
                   bool final);
  Cells missing(std::int64_t rows);
  template <class Copy>
  void drain(std::int64_t rows, const Copy& copy);

  const Source& source_;
  Dialect dialect_;
  bool header_ = false;
  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;  // wanted, in the order asked for
  std::vector<std::uint8_t> seen_;
  std::uint64_t first_ = 0, at_ = 0;  // of the first record; of the first one that was not read
  std::int64_t blank_ = 0, queued_ = 0;
  std::size_t taken_ = 0;  // rows of the first piece in the queue that are gone
  std::deque<Cells> queue_;
  std::vector<CellBuffer> spare_;
  std::vector<char> window_;
  std::size_t filled_ = 0;
};

}  // namespace wp::io
