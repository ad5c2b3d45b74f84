// Tables of numbers as text: fields between delimiters, records between line ends (RFC 4180, read with some
// tolerance). Lines that begin with # are skipped, and so are blank lines, except between records of a file with one
// column: there they are missing values.
#pragma once
#include <string>
#include <vector>

#include "io/format.hpp"

namespace wp::io {

struct Field {
  std::string_view text;  // without the outer quotes and the blanks around it
  std::size_t at = 0;     // where it begins, in the text
  bool quoted = false;    // then "" in it stands for one quote
};
std::string unquoted(const Field& f);

// The grammar: a place in text that lies in memory. It never reads at or behind text.size().
struct Cursor {
  enum class Fault : std::uint8_t { none, open_quote, after_quote };

  std::string_view text;
  char delimiter = ',';
  std::size_t at = 0;

  bool at_end_of_line() const noexcept { return at == text.size() || text[at] == '\n' || text[at] == '\r'; }
  void skip_blanks() noexcept;
  void end_line() noexcept;
  // Skips a comment or a blank line; false: a record begins here, or the text ends.
  enum class Line : std::uint8_t { record, comment, blank, end };
  Line skip_line() noexcept;
  // The field that begins here; at is behind it (and behind the blanks after it) then, or where the fault is.
  Fault field(Field& f) noexcept;
  // From the end of one field to the start of the next; false: the record ends here.
  bool next_field() noexcept;
};

// Reads records one by one: heads of files, and what the fast parser does not know.
class Records {
 public:
  Records(const Source& source, std::string_view text, char delimiter);
  // The next record's fields; false at the end. Throws FormatError for bad quotes.
  bool next(std::vector<Field>& fields);
  std::size_t at() const noexcept { return cursor_.at; }

 private:
  const Source& source_;
  Cursor cursor_;
};
// The line that a byte of the file is in, from 1.
std::uint64_t line_of(const Source& source, std::uint64_t offset);
[[noreturn]] void bad_quotes(const Source& source, std::uint64_t offset, Cursor::Fault fault);

enum class FieldKind : std::uint8_t { boolean, integer, real, missing, beyond, text };
struct Number {
  FieldKind kind = FieldKind::text;  // beyond: a number that no f64 holds
  std::int64_t integer = 0;          // also of booleans
  double real = 0;                   // also set for integers
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
std::unique_ptr<RowSink> csv_rows(Sink& sink, const SaveOptions& options, char delimiter);
void write_columns(Sink& sink, const NamedTensors& columns, const SaveOptions& options, char delimiter);

}  // namespace wp::io
