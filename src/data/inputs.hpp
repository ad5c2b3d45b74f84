// Where data comes from: tensors in memory, or files that are read in blocks.
#pragma once
#include <functional>
#include <memory>

#include "io/blocks.hpp"
#include "wellposed/progress.hpp"
#include "wellposed/validate.hpp"

namespace wp::data {

// One tensor, read in blocks of rows. A table with columns of different dtypes is one tensor [rows, columns] whose
// arrays are its columns.
struct Input {
  std::string name;
  std::string file;    // empty: in memory
  bool table = false;  // the arrays are the columns
  std::function<std::unique_ptr<io::Blocks>()> open;
  // Elements that stand in a file one after the other, as they are in memory: tiles are read where they are looked
  // at.
  std::shared_ptr<const io::Source> direct = nullptr;
  std::uint64_t offset = 0;  // of the first
  std::string note = {};     // what a report should say of how it was read
};
std::vector<Input> inputs_of(const NamedTensors& tensors);
// NAME and PATH of "NAME=PATH"; a PATH alone has no name.
std::pair<std::string, std::string> split_argument(const std::string& argument);
// How files are read: these columns of a table (none: all); sparse matrices dense or as their arrays; LoadOptions'
// max_unfolded.
struct Reading {
  std::vector<std::string> columns = {};
  bool dense = true;
  std::uint64_t max_unfolded = 0;
};
// "x.npy", "x=train.npy", a file with several arrays.
std::vector<Input> inputs_of_files(const std::vector<std::string>& arguments, const Reading& reading);

// Blocks of so many rows that tiles begin where they would in one piece, whatever the reader gives.
class Rows {
 public:
  Rows(io::Blocks& blocks, std::int64_t rows, std::int64_t most) : blocks_(blocks), rows_(rows), most_(most) {}
  // False: the end. `out` has one tensor per array.
  bool next(std::vector<Tensor>& out);
  std::int64_t first() const noexcept { return first_; }  // row of `out`

 private:
  io::Blocks& blocks_;
  std::int64_t rows_, most_, first_ = 0, given_ = 0;
};

// Elements [start, start + n) of a block, or of one of its columns, side by side in `memory` if not in place.
struct Part {
  const void* x;
  DType dtype;
};
Part elements(const Tensor& block, std::int64_t start, std::int64_t n, std::vector<char>& memory);
Part column(const Tensor& block, std::int64_t which, std::int64_t start, std::int64_t n, std::vector<char>& memory);
// Rows of a table, in the dtype that holds all columns.
Part table_rows(const std::vector<Tensor>& columns, std::int64_t row, std::int64_t rows, std::vector<char>& memory);
DType table_dtype(const std::vector<io::ArrayInfo>& columns);

}  // namespace wp::data
