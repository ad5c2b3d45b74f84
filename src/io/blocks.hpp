// A file as named arrays that are read in blocks of leading rows, with memory for one block at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "wellposed/io.hpp"

namespace wp::io {

struct ArrayInfo {
  std::string name;  // empty where the format has none (.npy)
  // Of text: what the rows read so far ask for. bool and i64 may become f64 later, and so do the blocks from there
  // on.
  DType dtype = f64;
  Dims shape;  // shape[0] = −1: not known before the end (text). [] has one row: itself.
};

// Arrays that share their rows and are read together: the only array of a file, one of several, the columns of a
// table.
class Blocks {
 public:
  virtual ~Blocks() = default;
  const std::vector<ArrayInfo>& arrays() const noexcept { return arrays_; }
  std::int64_t rows() const noexcept { return rows_; }  // −1: not known before the end
  std::int64_t row() const noexcept { return row_; }    // the first row of the next block
  // The next rows of every array, at most `limit` of them, in the order of arrays(); false when there are none left.
  // Throws FormatError where the file is wrong; rows before that have been given out.
  bool next(std::int64_t limit, std::vector<Tensor>& block);
  // Bytes of the file behind what was read, for progress; and all bytes that these arrays take.
  virtual std::uint64_t bytes_done() const noexcept = 0;
  virtual std::uint64_t bytes() const noexcept = 0;

 protected:
  // At most `limit` rows; sets rows_ when the end is found.
  virtual std::vector<Tensor> read(std::int64_t limit) = 0;
  std::vector<ArrayInfo> arrays_;
  std::int64_t rows_ = -1, row_ = 0;
};

struct BlockOptions {
  LoadOptions load = {};
  bool columns = true;  // .csv, .tsv: every column is an array of its own; false: one matrix [rows, columns]
};
// In the order of the file. Throws as load() does; only headers have been read.
std::vector<std::unique_ptr<Blocks>> open_blocks(const std::string& path, const BlockOptions& options = {});

// Rows of an array such that a block takes about this many bytes; at least 1.
std::int64_t rows_for(const Blocks& blocks, std::size_t bytes);

// The arrays of a file that were read whole, and shown in pieces.
std::unique_ptr<Blocks> loaded_blocks(NamedTensors arrays, std::uint64_t bytes);
struct Stored;
std::unique_ptr<Blocks> stored_blocks(std::shared_ptr<const Source> source, std::string name, const Stored& stored);

}  // namespace wp::io
