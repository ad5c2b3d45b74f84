// Tables of numbers as text: fields between delimiters, records between line ends (RFC 4180, read with some
// tolerance).
#pragma once
#include <string>
#include <vector>

#include "io/format.hpp"

namespace wp::io {

struct Field {
  std::string_view text;     // without the outer quotes and the blanks around it
  std::uint64_t offset = 0;  // in the file
  std::uint64_t line = 0;    // from 1
  bool quoted = false;       // then "" in it stands for one quote
};

// Reads records one by one from text that lies in memory.
class Records {
 public:
  Records(const Source& source, std::string_view text, char delimiter);
  // The next record's fields; false at the end. Lines that begin with # are skipped, and so are blank lines, except
  // between records of a file with one column: there they are missing values. Throws FormatError for bad quotes.
  bool next(std::vector<Field>& fields);
  void one_column(bool yes) noexcept { one_column_ = yes; }
  std::uint64_t line() const noexcept { return line_; }

 private:
  void skip_blanks();
  Field field();
  Field quoted();
  bool at_end_of_line() const noexcept { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void end_line() noexcept;

  const Source& source_;
  std::string_view text_;
  char delimiter_;
  bool one_column_ = false, started_ = false;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1, blank_lines_ = 0;  // since the last record
};

enum class FieldKind : std::uint8_t { integer, real, missing, beyond, text };
struct Number {
  FieldKind kind = FieldKind::text;  // beyond: a number that no f64 holds
  std::int64_t integer = 0;
  double real = 0;  // also set for integers
};
Number parse_number(std::string_view text);

// Whether a first record holds names: a field is not a number, and none only begins like one (1,5 or 2"3 is an
// error).
bool is_header(const std::vector<Field>& fields);
// The delimiter that fits the first records best: the most fields that are numbers, in records of equal length.
char detect_delimiter(const Source& source, std::string_view text);

struct Table {
  std::vector<std::string> names;  // of the columns; empty without a header
  Tensor values;                   // [rows, columns]
};
// delimiter 0: options.delimiter, or detected.
Table read_csv(const Source& source, const LoadOptions& options, char delimiter);
// Every column as an array of its own: bool, i64 or f64. Without a header they are called column_0, column_1, ….
NamedTensors read_columns(const Source& source, const LoadOptions& options, char delimiter);
std::unique_ptr<Blocks> csv_blocks(std::shared_ptr<const Source> source, const BlockOptions& options, char delimiter);
void write_csv(Sink& sink, const Tensor& t, const SaveOptions& options, char delimiter);

}  // namespace wp::io
