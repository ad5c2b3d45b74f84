// Files longer than memory, some rows at a time; RowWriter (wellposed/io.hpp) writes them so.
//   wp::RowReader rows("long.npy");
//   while (const std::optional<wp::Tensor> block = rows.next(10000)) use(*block);
#pragma once
#include <memory>
#include <optional>

#include "wellposed/io.hpp"

namespace [[gnu::visibility("default")]] wp {

// One array: the only one of a file, or the one that options.names says; a table is [rows, columns]. Memory is taken
// for one block of rows (and for the whole of what has no rows in its file: a Fortran-ordered .npz entry, text of
// .mtx).
class RowReader {
 public:
  // Throws as load() does; only headers have been read.
  explicit RowReader(const std::string& path, const LoadOptions& options = {},
                     std::source_location where = std::source_location::current());
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;
  ~RowReader();

  // The next rows, `limit` of them or what is left (0: about 8 MiB of them); nothing at the end. Throws FormatError
  // where the file is wrong. Blocks of a table are i64 until a field of it is not an integer, then f64.
  std::optional<Tensor> next(std::int64_t limit = 0, std::source_location where = std::source_location::current());
  std::int64_t rows() const noexcept;  // −1: not known before the end (tables)
  std::int64_t row() const noexcept;   // the first row of the next block

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gnu::visibility("default")]]wp
