#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/pool.hpp"
#include "io/csv_reader.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kHead = 64 * 1024;
constexpr std::size_t kPiece = 256 * 1024, kWindow = 16 * kPiece;

using Trouble = Cells::Trouble;

std::string column_text(std::size_t column, const std::vector<std::string>& names) {
  return say(", column ", column + 1, column < names.size() ? say(" (", excerpt(names[column]), ")") : std::string());
}

// Names that are not UTF-8 are taken as Latin-1.
std::string as_utf8(std::string name) {
  if (valid_utf8(name)) return name;
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xc0 | byte >> 6);
    out += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f));
  }
  return out;
}

char checked_delimiter(char delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '#')
    refuse<ArgumentError>("WP-ARG-001", say("'", excerpt({&delimiter, 1}), "' cannot separate fields."));
  return delimiter;
}

}  // namespace

CsvReader::CsvReader(const Source& source, const LoadOptions& options, char delimiter, bool booleans)
    : source_(source) {
  // The first record decides: names, columns, delimiter. More text is read until it ends inside.
  std::string head;
  std::vector<Field> fields;
  dialect_.booleans = booleans;
  for (std::size_t want = kHead;; want *= 2) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(want, source.size()));
    head.resize(bytes);
    source.read(0, head.data(), bytes);
    const bool whole = bytes == source.size();
    const std::size_t end = whole ? bytes : head.rfind('\n') + 1;  // 0: none
    if (end == 0 && !whole) continue;
    const std::string_view text(head.data(), end);
    dialect_.delimiter = checked_delimiter(options.delimiter ? options.delimiter : delimiter);
    if (!dialect_.delimiter) dialect_.delimiter = detect_delimiter(source, text);
    try {
      Records records(source, text, dialect_.delimiter);
      if (records.next(fields)) {
        read_head(fields, options, records.at());
        return;
      }
    } catch (const FormatError&) {
      if (whole) throw;  // else a quoted field may go on
    }
    if (whole)
      source.refuse_at("WP-FMT-003", 0, say("the file has ", source.size(), " bytes but no record of numbers."));
  }
}

void CsvReader::read_head(const std::vector<Field>& fields, const LoadOptions& options, std::size_t behind) {
  first_ = fields[0].at;
  dialect_.columns = fields.size();
  header_ = options.header.value_or(is_header(fields));
  if (header_)
    for (const Field& f : fields) names_.push_back(as_utf8(unquoted(f)));
  at_ = header_ ? behind : first_;
  seen_.resize(dialect_.columns);
  for (std::size_t c = 0; c < dialect_.columns; ++c) columns_.push_back(c);
  if (options.names.empty()) {
    if (dialect_.booleans) refuse_twins();
    return;
  }
  dialect_.wanted.assign(dialect_.columns, 0);
  columns_.clear();
  for (const std::string& name : options.names) {
    std::size_t c = 0;
    while (c < dialect_.columns && column_name(c) != name) ++c;
    if (c == dialect_.columns) {
      std::string known;
      for (std::size_t k = 0; k < std::min<std::size_t>(dialect_.columns, 8); ++k)
        known += say(k ? ", " : "", excerpt(column_name(k)));
      refuse<ArgumentError>("WP-ARG-001", say("'", source_.path(), "' has no column '", excerpt(name), "'."),
                            say("Its columns are ", known, dialect_.columns > 8 ? ", …." : "."));
    }
    dialect_.wanted[c] = 1;
    columns_.push_back(c);
  }
  refuse_twins();
}

// Columns that are asked for by their names have names of their own.
void CsvReader::refuse_twins() const {
  for (const std::size_t c : columns_)
    if (header_ && std::count(names_.begin(), names_.end(), names_[c]) > 1)
      source_.refuse_at("WP-FMT-002", first_, say("two columns have the name '", excerpt(names_[c]), "'."),
                        "Rename one, or read the table as one matrix: load without names of columns.");
}

std::string CsvReader::column_name(std::size_t column) const {
  return header_ ? names_[column] : say("column_", column);
}

std::vector<std::string> CsvReader::wanted_names() const {
  std::vector<std::string> out;
  for (const std::size_t c : columns_)
    if (header_) out.push_back(names_[c]);
  return out;
}

void CsvReader::raise(const Cells& piece, std::uint64_t base) const {
  const std::uint64_t offset = base + piece.trouble_at, line = line_of(source_, offset);
  if (piece.trouble == Trouble::open_quote || piece.trouble == Trouble::after_quote)
    bad_quotes(source_, offset,
               piece.trouble == Trouble::open_quote ? Cursor::Fault::open_quote : Cursor::Fault::after_quote);
  const std::string_view text(window_.data() + piece.trouble_at, filled_ - piece.trouble_at);
  Cursor cursor{text, dialect_.delimiter};
  Field f;
  (void)cursor.field(f);
  if (piece.trouble == Trouble::length) {
    std::int64_t fields = 1;
    for (; cursor.next_field(); ++fields) (void)cursor.field(f);
    source_.refuse_at("WP-FMT-005", offset,
                      say("line ", line, " has ", plural(fields, "field"), ", line ", line_of(source_, first_),
                          " has ", dialect_.columns, "; the delimiter is '",
                          dialect_.delimiter == '\t' ? "\\t" : std::string(1, dialect_.delimiter), "'."),
                      "Every record needs the same number of fields; give the delimiter if this is not it.");
  }
  const std::string where =
      say("line ", line, column_text(piece.trouble_column, names_), ": '", excerpt(f.text), "' ");
  if (piece.trouble == Trouble::beyond)
    source_.refuse_at("WP-FMT-005", offset, where + "is beyond the largest f64, 1.8e308.",
                      "Write inf if that is meant.");
  if (piece.trouble == Trouble::mixed)
    source_.refuse_at("WP-FMT-005", offset, where + "stands among numbers and among true and false.",
                      "A column holds numbers, or true and false.");
  if (!dialect_.booleans && parse_number(f.text).kind == FieldKind::boolean)
    source_.refuse_at("WP-FMT-005", offset, where + "is not a number.",
                      "load_all reads columns, each of its own dtype, bool among them.");
  std::string pointed(f.text);
  std::replace(pointed.begin(), pointed.end(), ',', '.');
  const bool comma = pointed != f.text && parse_number(pointed).kind == FieldKind::real;
  if (line == 1 && !comma)
    source_.refuse_at("WP-FMT-005", offset, where + "is not a number.",
                      "If line 1 holds names, load with header = true.");
  source_.refuse_at("WP-FMT-005", offset, where + "is not a number.",
                    comma ? "Decimal commas are not read: write a point."
                          : "Missing values are empty, NA, null or nan; name the columns to read (commands: "
                            "--columns), without those of text.");
}

void CsvReader::fill(std::size_t bytes) {
  filled_ = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, source_.size() - at_));
  if (window_.size() < filled_ + kPadding) window_.resize(filled_ + kPadding);
  std::memset(window_.data() + filled_, 0, kPadding);
  parallel_for(static_cast<std::int64_t>(filled_), kPiece, [&](std::int64_t begin, std::int64_t end) {
    source_.read(at_ + static_cast<std::uint64_t>(begin), window_.data() + begin,
                 static_cast<std::size_t>(end - begin));
  });
}

// Pieces begin at the first line after a multiple of kPiece, as if no quoted field went over that border. Then, in
// order: a piece that does not begin where the one before ends was cut wrongly and is read again. So the records are
// those of one reader that goes from the first byte to the last.
bool CsvReader::refill() {
  std::size_t bytes = kWindow;
  while (at_ < source_.size()) {
    fill(bytes);
    const bool final = at_ + filled_ == source_.size();
    const std::string_view all(window_.data(), filled_);
    const std::string_view text = final ? all : all.substr(0, all.rfind('\n') + 1);
    if (!final && text.empty()) {
      bytes *= 2;
      continue;
    }
    std::vector<std::size_t> starts{0};
    for (std::size_t nominal = kPiece; nominal < text.size(); nominal += kPiece)
      starts.push_back(std::max(starts.back(), std::min(text.find('\n', nominal), text.size() - 1) + 1));
    starts.push_back(text.size());
    std::vector<Cells> pieces(starts.size() - 1);
    for (Cells& p : pieces)
      if (!spare_.empty()) {
        p.cells = std::move(spare_.back());
        spare_.pop_back();
      }
    parallel_for(static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) {
        const auto i = static_cast<std::size_t>(k);
        parse_cells(pieces[i], text, starts[i], starts[i + 1], final, dialect_, {});
      }
    });
    const std::size_t end = join(pieces, starts, text, final);
    at_ += end;
    if (end > 0) return true;
    bytes *= 2;
  }
  return false;
}

std::size_t CsvReader::join(std::vector<Cells>& pieces, const std::vector<std::size_t>& starts, std::string_view text,
                            bool final) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Cells& p = pieces[i];
    const auto again = [&](const std::vector<std::uint8_t>& before) {
      parse_cells(p, text, end, std::max(end, starts[i + 1]), final, dialect_, before);
    };
    if (p.begin != end) again({});
    for (std::size_t c = 0; c < seen_.size() && p.trouble == Trouble::none; ++c)
      if (seen::conflict(seen_[c] | p.seen[c])) again(seen_);
    if (p.trouble != Trouble::none) raise(p, at_);
    end = p.end;
    blank_ += p.blank_before;
    if (p.rows == 0) continue;
    if (dialect_.columns == 1 && blank_ > 0) queue_.push_back(missing(blank_));
    blank_ = p.blank_after;
    for (std::size_t c = 0; c < seen_.size(); ++c) seen_[c] |= p.seen[c];
    if (dialect_.columns == 1 && !queue_.empty()) seen_[0] |= queue_.back().seen[0];
    queued_ += static_cast<std::int64_t>(p.rows);
    queue_.push_back(std::move(p));
  }
  return end;
}

// Blank lines between records of a file with one column.
Cells CsvReader::missing(std::int64_t rows) {
  Cells c;
  c.rows = static_cast<std::size_t>(rows);
  c.cells.grow(c.rows, 0);
  std::fill_n(c.cells.data(), c.rows, std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()));
  c.seen = {seen::missing};
  queued_ += rows;
  return c;
}

std::int64_t CsvReader::gather(std::int64_t limit) {
  while (queued_ < limit && refill()) {
  }
  return std::min(queued_, limit);
}

}  // namespace wp::io
