// Reading and writing tensors. The ending of the file's name says the format: .npy, .csv, .tsv.
#pragma once
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct LoadOptions {
  // False: the data of a large (1 MiB and more) little-endian .npy file is shown in place, mapped from the file.
  // Nothing is read until it is used, and the file must not be cut short or overwritten in place meanwhile; save()
  // replaces files, which is harmless. True: always read into memory.
  bool copy = false;
  // .csv, .tsv: whether the first record holds names. Not set: it does when a field of it is not a number
  // and does not begin like one.
  std::optional<bool> header = std::nullopt;
  // .csv, .tsv: what separates fields. 0: tab for .tsv; for .csv the one of , tab ; | and blanks that fits the first
  // records best.
  char delimiter = 0;
};
// The tensor a file holds. Non-finite values in it count as given.
//   .npy   format versions 1.0 to 3.0; every dtype of wellposed that NumPy has, either byte order, C and Fortran
//   order.
//          Python objects are refused: reading them would run code of the file.
//   .csv   always [rows, columns]; i64 when every field is an integer that fits, else f64. Fields may be quoted;
//   empty
//          fields, NA, null and nan are missing values and give NaN; lines that begin with # are skipped.
// Throws FileError (it cannot be opened or read), FormatError (it is not what it says: file, byte and reason; nothing
// was read), OutOfMemory.
Tensor load(const std::string& path, const LoadOptions& options = {},
            std::source_location where = std::source_location::current());

// Several arrays with their names, in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
// All arrays of a file: a table's columns, each of its own dtype (bool, i64, or f64, which missing values make it);
// the array of an .npy file has no name.
NamedTensors load_all(const std::string& path, const LoadOptions& options = {},
                      std::source_location where = std::source_location::current());

struct SaveOptions {
  std::vector<std::string> names = {};  // .csv, .tsv: a header, one name per column
};
// Writes x to a file: .npy little-endian in C order; .csv and .tsv with the shortest text that reads back as the same
// value, one row per line ([n] is one column). The file is written under another name beside it, flushed to disk and
// renamed: there is the whole new file or what was there before, never a part. Made Inf and NaN raise here: they
// leave the computation. Throws FileError, ArgumentError for an unknown ending, DtypeError and ShapeError for what
// the format does not hold.
void save(const std::string& path, const In& x, const SaveOptions& options = {},
          std::source_location where = std::source_location::current());

}  // namespace gnu::visibility("default")]]wp
