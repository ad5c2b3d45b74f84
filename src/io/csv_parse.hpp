// Text into cells: the fast part of reading tables.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/memory.hpp"
#include "io/csv.hpp"

namespace wp::io {

// What the fields of a column have been so far, one bit each. Cells are f64 when a real or missing one is among them,
// else i64 (booleans are 0 and 1).
namespace seen {
inline constexpr std::uint8_t boolean = 1, integer = 2, real = 4, missing = 8;
constexpr bool as_f64(std::uint8_t bits) noexcept {
  return (bits & (real | missing)) != 0;
}
constexpr bool conflict(std::uint8_t bits) noexcept {
  return (bits & boolean) != 0 && (bits & (integer | real)) != 0;
}
}  // namespace seen

// Cells in memory that the allocator knows about.
class CellBuffer {
 public:
  CellBuffer() = default;
  CellBuffer(CellBuffer&& other) noexcept { swap(other); }
  CellBuffer& operator=(CellBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CellBuffer() { reset(); }
  std::uint64_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  void grow(std::size_t capacity, std::size_t keep);
  void reset() noexcept;

 private:
  void swap(CellBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
  }
  std::uint64_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

struct Dialect {
  char delimiter = ',';
  std::size_t columns = 0;
  bool booleans = false;             // true and false are values
  std::vector<std::uint8_t> wanted;  // by column; empty: all. What is not wanted may be any text.
};

// The records of a piece of text.
struct Cells {
  CellBuffer cells;  // [rows, columns]: bits of i64 or f64, by seen[column]
  std::vector<std::uint8_t> seen;
  std::size_t rows = 0;
  std::size_t begin = 0, end = 0;  // in the text: of the first record, and behind the last one
  std::int64_t blank_before = 0,
               blank_after = 0;  // one column: blank lines before the first and after the last record
  enum class Trouble : std::uint8_t { none, text, beyond, mixed, length, open_quote, after_quote };
  Trouble trouble = Trouble::none;
  std::size_t trouble_at = 0, trouble_column = 0;  // where parsing stopped
};
// Reads the records that begin in [begin, limit) of the text; the last one may end behind limit. A record that is cut
// off by the end of the text is left, unless the text is `final`. text.data() must be followed by kPadding zeros.
// before: what columns have been in the text before (or empty).
inline constexpr std::size_t kPadding = 64;
void parse_cells(Cells& out, std::string_view text, std::size_t begin, std::size_t limit, bool final,
                 const Dialect& dialect, const std::vector<std::uint8_t>& before);

}  // namespace wp::io
