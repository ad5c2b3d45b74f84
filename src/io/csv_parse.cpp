#include "io/csv_parse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/decimal.hpp"

namespace wp::io {

void CellBuffer::grow(std::size_t capacity, std::size_t keep) {
  CellBuffer larger;
  larger.data_ = static_cast<std::uint64_t*>(memory::allocate(capacity * sizeof(std::uint64_t)));
  larger.capacity_ = capacity;
  if (keep) std::memcpy(larger.data_, data_, keep * sizeof(std::uint64_t));
  swap(larger);
}

void CellBuffer::reset() noexcept {
  if (data_) memory::release(data_, capacity_ * sizeof(std::uint64_t));
  data_ = nullptr;
  capacity_ = 0;
}

namespace {

using Trouble = Cells::Trouble;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

class Parser {
 public:
  Parser(Cells& out, std::string_view text, bool final, const Dialect& dialect)
      : out_(out), cursor_{text, dialect.delimiter}, dialect_(dialect), final_(final) {}

  // False: the text ends inside a record, whose cells may have left traces.
  bool run(std::size_t begin, std::size_t limit) {
    cursor_.at = out_.begin = out_.end = begin;
    while (cursor_.at < limit && line()) out_.end = cursor_.at;
    return !cut_;
  }

 private:
  // One line: a record, a comment, or nothing. False: the text ends in it, or there is trouble.
  bool line() {
    const char c = cursor_.text[cursor_.at];
    if (c == '#' || c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      const Cursor::Line what = cursor_.skip_line();
      if (what != Cursor::Line::record) {
        if (what == Cursor::Line::end || cut_off()) {
          cut_ = !final_;
          return final_;
        }
        if (what == Cursor::Line::blank) ++(out_.rows ? out_.blank_after : out_.blank_before);
        return true;
      }
    }
    if (dialect_.columns == 1)
      for (; out_.blank_after > 0; --out_.blank_after) missing_row();
    out_.blank_after = 0;
    const std::size_t start = cursor_.at;
    row_ = make_room();
    const Trouble trouble = record();
    cut_ = cut_off() || (trouble == Trouble::open_quote && !final_);
    if (cut_) return false;
    if (trouble != Trouble::none) {
      out_.trouble = trouble;
      if (trouble == Trouble::length) out_.trouble_at = start;
      return false;
    }
    cursor_.end_line();
    cut_ = cut_off();
    if (!cut_) ++out_.rows;
    return !cut_;
  }
  // Whether more text could change what was read: also after \r, which \n may follow.
  bool cut_off() const noexcept {
    if (final_ || cursor_.at < cursor_.text.size()) return false;
    return cursor_.at == 0 || cursor_.text[cursor_.at - 1] != '\n';
  }

  std::uint64_t* make_room() {
    const std::size_t used = out_.rows * dialect_.columns, needed = used + dialect_.columns;
    if (needed > out_.cells.capacity()) {
      // By the rows so far, what the rest of the text may hold.
      const std::size_t done = cursor_.at - out_.begin;
      const std::size_t rest =
          out_.rows < 8 ? 0 : (cursor_.text.size() - cursor_.at) * 9 / 8 / (done / out_.rows + 1);
      out_.cells.grow(std::max(needed * 2, needed + rest * dialect_.columns), used);
    }
    return out_.cells.data() + used;
  }
  void missing_row() {
    row_ = make_room();
    put_real(0, kMissing, seen::missing);
    ++out_.rows;
  }

  void widen(std::size_t column) noexcept {
    std::uint64_t* cell = out_.cells.data() + column;
    for (std::size_t r = 0; r < out_.rows; ++r, cell += dialect_.columns)
      *cell = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(*cell)));
  }
  void put_real(std::size_t column, double value, std::uint8_t bit) noexcept {
    std::uint8_t& bits = out_.seen[column];
    if (!seen::as_f64(bits)) widen(column);
    bits |= bit;
    row_[column] = std::bit_cast<std::uint64_t>(value);
  }
  void put_integer(std::size_t column, std::int64_t value, std::uint8_t bit) noexcept {
    std::uint8_t& bits = out_.seen[column];
    bits |= bit;
    row_[column] = seen::as_f64(bits) ? std::bit_cast<std::uint64_t>(static_cast<double>(value))
                                      : static_cast<std::uint64_t>(value);
  }

  Trouble record() {
    const char* const text = cursor_.text.data();
    const char delimiter = dialect_.delimiter;
    const std::size_t columns = dialect_.columns;
    const bool plain = delimiter != ' ' && dialect_.wanted.empty();
    std::uint8_t* const bits = out_.seen.data();
    for (std::size_t c = 0;; ++c) {
      if (c == columns) return Trouble::length;
      Decimal d;
      const char* const field = text + cursor_.at;
      const char* const stop = plain ? read_decimal(field, d) : nullptr;
      if (stop && (*stop == delimiter || *stop == '\n')) {
        cursor_.at = static_cast<std::size_t>(stop - text);
        const std::uint8_t bit = d.is_integer ? seen::integer : seen::real;
        if (bits[c] == bit)  // nearly always
          row_[c] = d.is_integer ? static_cast<std::uint64_t>(d.integer) : std::bit_cast<std::uint64_t>(d.real);
        else if (d.is_integer)
          put_integer(c, d.integer, bit);
        else
          put_real(c, d.real, bit);
        if (seen::conflict(bits[c])) return trouble_at(Trouble::mixed, static_cast<std::size_t>(field - text), c);
        if (*stop == delimiter) {
          ++cursor_.at;
          continue;
        }
      } else {
        if (const Trouble t = any_field(c); t != Trouble::none) return t;
        if (cursor_.next_field()) continue;
      }
      return c + 1 == columns ? Trouble::none : Trouble::length;
    }
  }

  Trouble trouble_at(Trouble trouble, std::size_t at, std::size_t column) noexcept {
    out_.trouble_at = at;
    out_.trouble_column = column;
    return trouble;
  }
  Trouble any_field(std::size_t c) {
    Field f;
    if (const Cursor::Fault fault = cursor_.field(f); fault != Cursor::Fault::none) {
      const Trouble t = fault == Cursor::Fault::open_quote ? Trouble::open_quote : Trouble::after_quote;
      const std::size_t at = cursor_.at;
      if (fault == Cursor::Fault::open_quote) cursor_.at = cursor_.text.size();
      return trouble_at(t, at, c);
    }
    if (!dialect_.wanted.empty() && !dialect_.wanted[c]) {
      row_[c] = 0;
      return Trouble::none;
    }
    const Number n = parse_number(f.text);
    switch (n.kind) {
      case FieldKind::integer: put_integer(c, n.integer, seen::integer); break;
      case FieldKind::real: put_real(c, n.real, seen::real); break;
      case FieldKind::missing: put_real(c, n.real, seen::missing); break;
      case FieldKind::boolean:
        if (!dialect_.booleans) return trouble_at(Trouble::text, f.at, c);
        put_integer(c, n.integer, seen::boolean);
        break;
      case FieldKind::beyond: return trouble_at(Trouble::beyond, f.at, c);
      case FieldKind::text: return trouble_at(Trouble::text, f.at, c);
    }
    return seen::conflict(out_.seen[c]) ? trouble_at(Trouble::mixed, f.at, c) : Trouble::none;
  }

  Cells& out_;
  Cursor cursor_;
  const Dialect& dialect_;
  const bool final_;
  bool cut_ = false;
  std::uint64_t* row_ = nullptr;
};

}  // namespace

void parse_cells(Cells& out, std::string_view text, std::size_t begin, std::size_t limit, bool final,
                 const Dialect& dialect, const std::vector<std::uint8_t>& before) {
  out.seen = before;
  out.seen.resize(dialect.columns);
  out.rows = 0;
  out.blank_before = out.blank_after = 0;
  out.trouble = Trouble::none;
  if (Parser(out, text, final, dialect).run(begin, limit)) return;
  const std::size_t end = out.end;
  parse_cells(out, text.substr(0, end), begin, std::min(limit, end), true, dialect, before);
}

}  // namespace wp::io
