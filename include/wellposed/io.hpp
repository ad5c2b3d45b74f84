// Reading and writing tensors. The ending of the file's name says the format: .npy, .npz, .safetensors, .mtx, .csv,
// .tsv; .bin and .raw for plain memory.
#pragma once
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct LoadOptions {
  // False: the data of a large (1 MiB and more) little-endian array that stands in the file as it does in memory is
  // shown in place, mapped from the file. Nothing is read until it is used, and the file must not be cut short or
  // overwritten in place meanwhile; save() replaces files, which is harmless. True: always read into memory.
  bool copy = false;
  // .csv, .tsv: whether the first record holds names. Not set: it does when a field of it is not a number
  // and does not begin like one.
  std::optional<bool> header = std::nullopt;
  // .csv, .tsv: what separates fields. 0: tab for .tsv; for .csv the one of , tab ; | and blanks that fits the first
  // records best.
  char delimiter = 0;
  // Only these arrays of a file with several, only these columns of a table, in this order. Empty: all.
  std::vector<std::string> names = {};
  // .mtx: load() makes a dense matrix of a sparse one.
  bool dense = false;
  // .bin, .raw: what the bytes from `offset` on are, little-endian in C order. A length of -1 (one at most) is what
  // the file's size makes it; no shape: [-1].
  std::optional<DType> dtype = std::nullopt;
  std::optional<Dims> shape = std::nullopt;
  std::uint64_t offset = 0;
  // .npz: what a compressed array may unfold to, in bytes; .mtx: the index of a sparse matrix's rows, or
  // with `dense` its elements. 0: 1 GiB, or 100 times the compressed size (the file's size) if that is more.
  std::uint64_t max_unfolded = 0;
};
// The tensor a file holds; of several, the one that options.names says. Non-finite values in it count as given.
//   .npy   format versions 1.0 to 3.0; every dtype of wellposed that NumPy has, either byte order, C and Fortran
//          order. Python objects are refused: reading them would run code of the file.
//   .npz   several .npy files, stored or deflated; zip64. Checksums are verified.
//   .safetensors   several arrays; every dtype of wellposed except c128.
//   .mtx   Matrix Market. A dense file gives [rows, columns]; a sparse one is refused unless options.dense
//          (load_all gives its arrays). i64, f64 or c128.
//   .csv   always [rows, columns]; i64 when every field is an integer that fits, else f64. Fields may be quoted;
//          empty fields, NA, null and nan are missing values and give NaN; lines that begin with # are skipped.
// Throws FileError (it cannot be opened or read), FormatError (it is not what it says: file, byte and reason; nothing
// was read), OutOfMemory, ArgumentError (no such name; several arrays and no name).
Tensor load(const std::string& path, const LoadOptions& options = {},
            std::source_location where = std::source_location::current());

// Arrays with their names, in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
// All arrays of a file. Of a table: its columns, each of its own dtype (bool, i64, or f64, which missing values make
// it), called column_0, column_1, … if they have no names. Of a sparse matrix: indptr, indices and data, for
// linalg::LinearOperator::csr, and shape [2]. The array of a file without names has the name "".
NamedTensors load_all(const std::string& path, const LoadOptions& options = {},
                      std::source_location where = std::source_location::current());

// The text that a .safetensors file carries beside its arrays; nothing of other files.
using Metadata = std::vector<std::pair<std::string, std::string>>;
Metadata load_metadata(const std::string& path, std::source_location where = std::source_location::current());

struct SaveOptions {
  std::vector<std::string> names = {};  // .csv, .tsv: a header, one name per column
  bool compress = false;                // .npz: deflated instead of stored
  Metadata metadata = {};               // .safetensors
};
// Writes x to a file: .npy and .npz little-endian in C order (.npz under the name arr_0, as NumPy does), .safetensors
// (under the name tensor), .mtx dense, .bin and .raw the bytes of the elements alone; .csv and .tsv with the shortest
// text that reads back as the same value, one row per line ([n] is one column). The file is written under another
// name beside it, flushed to disk and renamed: there is the whole new file or what was there before, never a part.
// Made Inf and NaN raise here: they leave the computation. Throws FileError, ArgumentError for an unknown ending,
// DtypeError and ShapeError for what the format does not hold.
void save(const std::string& path, const In& x, const SaveOptions& options = {},
          std::source_location where = std::source_location::current());
// Writes several arrays: .npz, .safetensors; .csv and .tsv (columns of equal length); .mtx (indptr, indices, data and
// shape: a sparse matrix).
void save_all(const std::string& path, const NamedTensors& arrays, const SaveOptions& options = {},
              std::source_location where = std::source_location::current());

// Writes an array of any length to a .npy, .npz, .safetensors, .csv, .tsv, .bin or .raw file, some rows at a time.
// The file is there after close(); without it, what was there before stays.
class RowWriter {
 public:
  explicit RowWriter(const std::string& path, const SaveOptions& options = {},
                     std::source_location where = std::source_location::current());
  RowWriter(RowWriter&&) noexcept;
  RowWriter& operator=(RowWriter&&) noexcept;
  ~RowWriter();
  // rows [n, …]: n may differ from call to call, dtype and the other lengths may not.
  void append(const In& rows, std::source_location where = std::source_location::current());
  void close(std::source_location where = std::source_location::current());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gnu::visibility("default")]]wp
