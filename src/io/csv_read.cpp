#include <cstring>

#include "base/memory.hpp"
#include "io/csv.hpp"

namespace wp::io {
namespace {

// The file's text in memory that the allocator knows about.
class Text {
 public:
  explicit Text(const Source& source)
      : bytes_(static_cast<std::size_t>(source.size())), data_(static_cast<char*>(memory::allocate(bytes_))) {
    try {
      source.read(0, data_, bytes_);
    } catch (...) {
      memory::release(data_, bytes_);
      throw;
    }
  }
  ~Text() { memory::release(data_, bytes_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::string_view view() const noexcept { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  char* data_;
};

struct Layout {
  std::int64_t rows = 0;
  std::size_t columns = 0;
  bool header = false;
};

// Counts, and refuses records of unequal length, before memory for the numbers is asked for.
Layout measure(const Source& source, std::string_view text, char delimiter, const LoadOptions& options) {
  Layout l;
  std::vector<Field> fields;
  Records records(source, text, delimiter);
  std::uint64_t first_line = 0;
  while (records.next(fields)) {
    if (first_line == 0) {
      first_line = fields[0].line;
      l.columns = fields.size();
      records.one_column(l.columns == 1);
      l.header = options.header.value_or(is_header(fields));
      if (l.header) continue;
    }
    if (fields.size() != l.columns)
      source.refuse_at(
          "WP-FMT-005", fields[0].offset,
          say("line ", fields[0].line, " has ", plural(static_cast<std::int64_t>(fields.size()), "field"), ", line ",
              first_line, " has ", l.columns, "; the delimiter is '",
              delimiter == '\t' ? "\\t" : std::string(1, delimiter), "'."),
          "Every record needs the same number of fields; give the delimiter if this is not it.");
    ++l.rows;
  }
  if (first_line == 0)
    source.refuse_at("WP-FMT-003", 0, say("the file has ", source.size(), " bytes but no record of numbers."));
  return l;
}

std::string unquoted(const Field& f) {
  std::string out(f.text);
  if (f.quoted)
    for (std::size_t at = 0; (at = out.find("\"\"", at)) != std::string::npos; ++at) out.erase(at, 1);
  return out;
}

[[noreturn]] void not_a_number(const Source& source, const Field& f, std::size_t column, FieldKind kind,
                               const std::vector<std::string>& names) {
  const std::string name = column < names.size() ? say(" (", excerpt(names[column]), ")") : std::string();
  const std::string where = say("line ", f.line, ", column ", column + 1, name, ": '", excerpt(f.text), "' ");
  if (kind == FieldKind::beyond)
    source.refuse_at("WP-FMT-005", f.offset, where + "is beyond the largest f64, 1.8e308.",
                     "Write inf if that is meant.");
  const bool comma = f.text.find(',') != std::string_view::npos;
  if (f.line == 1 && !comma)
    source.refuse_at("WP-FMT-005", f.offset, where + "is not a number.",
                     "If line 1 holds names, load with header = true.");
  source.refuse_at("WP-FMT-005", f.offset, where + "is not a number.",
                   comma ? "Decimal commas are not read: write a point."
                         : "Missing values are empty, NA, null or nan; text columns must be taken out.");
}

// Integers until the first field that is none; from there on f64.
class Values {
 public:
  explicit Values(const Layout& l)
      : values_(Tensor::adopt(
            wp::detail::make_node(l.rows ? i64 : f64, {l.rows, static_cast<std::int64_t>(l.columns)}))) {}
  void put(const Number& n) {
    if (values_.dtype() == i64) {
      if (n.kind == FieldKind::integer) {
        reinterpret_cast<std::int64_t*>(values_.node()->data)[count_++] = n.integer;
        return;
      }
      widen();
    }
    reinterpret_cast<double*>(values_.node()->data)[count_++] = n.real;
  }
  Tensor take() { return std::move(values_); }

 private:
  void widen() {
    Tensor wide = Tensor::adopt(wp::detail::make_node(f64, values_.shape()));
    const auto* const from = reinterpret_cast<const std::int64_t*>(values_.node()->data);
    auto* const to = reinterpret_cast<double*>(wide.node()->data);
    for (std::int64_t i = 0; i < count_; ++i) to[i] = static_cast<double>(from[i]);
    values_ = std::move(wide);
  }
  Tensor values_;
  std::int64_t count_ = 0;
};

}  // namespace

Table read_csv(const Source& source, const LoadOptions& options, char delimiter) {
  const Text text(source);
  if (options.delimiter) delimiter = options.delimiter;
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '#')
    refuse<ArgumentError>("WP-ARG-001", say("'", excerpt({&delimiter, 1}), "' cannot separate fields."));
  if (!delimiter) delimiter = detect_delimiter(source, text.view());
  const Layout layout = measure(source, text.view(), delimiter, options);
  Table table;
  std::vector<Field> fields;
  Records records(source, text.view(), delimiter);
  records.one_column(layout.columns == 1);
  if (layout.header && records.next(fields))
    for (const Field& f : fields) table.names.push_back(unquoted(f));
  Values values(layout);
  while (records.next(fields))
    for (std::size_t c = 0; c < fields.size(); ++c) {
      const Number n = parse_number(fields[c].text);
      if (n.kind >= FieldKind::beyond) not_a_number(source, fields[c], c, n.kind, table.names);
      values.put(n);
    }
  table.values = values.take();
  return table;
}

}  // namespace wp::io
