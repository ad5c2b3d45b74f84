#include <cmath>
#include <cstring>
#include <numeric>

#include "base/memory.hpp"
#include "io/csv.hpp"
#include "io/decimal.hpp"
#include "io/mtx.hpp"
#include "io/stored.hpp"

namespace wp::io {
namespace {

enum class Value : std::uint8_t { real, integer, complex, pattern };
enum class Symmetry : std::uint8_t { general, symmetric, skew, hermitian };

struct Header {
  bool sparse = false;
  Value value = Value::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0, columns = 0, count = 0;  // count: lines of entries that follow
  DType dtype() const noexcept { return value == Value::complex ? c128 : value == Value::integer ? i64 : f64; }
};

struct Entry {
  std::int64_t row = 0, column = 0;  // from 0
  std::int64_t integer = 1;
  double real = 1, imaginary = 0;
};

// The file's text, followed by zeros, in memory that the allocator knows about.
class Text {
 public:
  explicit Text(const Source& source) : bytes_(static_cast<std::size_t>(source.size())) {
    data_ = static_cast<char*>(memory::allocate(bytes_ + 64));
    try {
      source.read(0, data_, bytes_);
    } catch (...) {
      memory::release(data_, bytes_ + 64);
      throw;
    }
    std::memset(data_ + bytes_, 0, 64);
  }
  ~Text() { memory::release(data_, bytes_ + 64); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::string_view view() const noexcept { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  char* data_;
};

class Reader {
 public:
  Reader(const Source& source, std::string_view text) : source_(source), text_(text) { read_header(); }
  const Header& header() const noexcept { return header_; }
  std::uint64_t size() const noexcept { return text_.size(); }
  // Rows without entries cost the file nothing, and memory for their index.
  void refuse_rows_beyond(std::uint64_t most) const {
    if (static_cast<std::uint64_t>(header_.rows) < most) return;
    source_.refuse_at("WP-FMT-003", at_,
                      say("the header promises ", header_.rows, " rows for ",
                          header_.count == 1 ? "1 entry" : say(header_.count, " entries"),
                          ": their index would take ", bytes_text(8.0 * static_cast<double>(header_.rows)), "."),
                      kUnfold);
  }

  // A dense matrix of few entries costs the file nothing either.
  void refuse_elements_beyond(std::uint64_t most) const {
    std::uint64_t bytes = 0;
    const bool exists = bytes_of(header_.dtype(), {header_.rows, header_.columns}, bytes);
    if (exists && bytes <= most) return;
    source_.refuse_at("WP-FMT-003", at_,
                      say("as a dense matrix, ", header_.rows, " × ", header_.columns, " elements (",
                          header_.count == 1 ? "1 is" : say(header_.count, " are"), " stored) ",
                          exists ? say("take ", bytes_text(static_cast<double>(bytes)), ".")
                                 : std::string("are more than any memory holds.")),
                      kUnfold);
  }

  // The entries one by one; the last call finds that nothing follows.
  bool next(Entry& e) {
    if (done_ == header_.count) {
      skip_empty();
      if (at_ != text_.size()) bad(say("text follows the ", header_.count, " entries that the header promises."));
      return false;
    }
    skip_empty();
    if (at_ == text_.size())
      bad(say("the header promises ", header_.count, " entries, but only ", done_, " stand here: truncated."));
    if (header_.sparse) {
      e.row = index(header_.rows, "row");
      e.column = index(header_.columns, "column");
      check_triangle(e);
    }
    read_value(e);
    end_line();
    ++done_;
    return true;
  }

 private:
  [[noreturn]] void bad(std::string_view reason, std::string_view code = "WP-FMT-005") const {
    source_.refuse_at(code, at_, say("line ", line_of(source_, at_), ": ", reason));
  }
  void skip_blanks() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool at_end_of_line() const noexcept { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void skip_empty() noexcept {
    for (;;) {
      skip_blanks();
      if (at_ == text_.size() || !at_end_of_line()) return;
      ++at_;
    }
  }
  void end_line() {
    skip_blanks();
    if (!at_end_of_line()) bad(say("more than one entry: '", excerpt(token()), "'."));
  }
  std::string_view token() {
    skip_blanks();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ' ' && text_[end] != '\t' && text_[end] != '\n' && text_[end] != '\r')
      ++end;
    return text_.substr(at_, end - at_);
  }
  std::string word() {
    std::string w(token());
    at_ += w.size();
    for (char& c : w)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return w;
  }

  std::int64_t length(std::string_view what) {
    const std::string_view t = token();
    const Number n = parse_number(t);
    if (n.kind != FieldKind::integer || n.integer < 0)
      bad(say("the number of ", what, " must be a whole number; found '", excerpt(t), "'."), "WP-FMT-002");
    at_ += t.size();
    return n.integer;
  }
  std::int64_t index(std::int64_t limit, std::string_view what) {
    skip_blanks();
    Decimal d;
    const char* const stop = read_decimal(text_.data() + at_, d);
    if (!stop || !d.is_integer || (*stop != ' ' && *stop != '\t' && *stop != '\n' && *stop != '\r' && *stop != 0))
      bad(say("a ", what, " must be a whole number; found '", excerpt(token()), "'."));
    if (d.integer < 1 || d.integer > limit) bad(say(what, " ", d.integer, " is outside of 1 to ", limit, "."));
    at_ = static_cast<std::size_t>(stop - text_.data());
    return d.integer - 1;
  }
  double real() {
    skip_blanks();
    Decimal d;
    const char* const start = text_.data() + at_;
    const char* const stop = read_decimal(start, d);
    if (stop && (*stop == ' ' || *stop == '\n' || (*stop == 0 && stop == text_.data() + text_.size()))) {
      at_ += static_cast<std::size_t>(stop - start);
      return d.is_integer ? static_cast<double>(d.integer) : d.real;
    }
    const std::string_view t = token();
    const Number n = parse_number(t);
    const bool nan = n.kind == FieldKind::missing && t.size() == 3;
    if (n.kind != FieldKind::integer && n.kind != FieldKind::real && !nan)
      bad(say("'", excerpt(t), n.kind == FieldKind::beyond ? "' is beyond the largest f64." : "' is not a number."));
    at_ += t.size();
    return n.real;
  }
  void read_value(Entry& e) {
    if (header_.value == Value::pattern) return;
    if (header_.value == Value::integer) {
      const std::string_view t = token();
      const Number n = parse_number(t);
      if (n.kind != FieldKind::integer && t != "-0") bad(say("'", excerpt(t), "' is not an integer that fits i64."));
      at_ += t.size();
      e.integer = n.integer;
      return;
    }
    e.real = real();
    if (header_.value == Value::complex) e.imaginary = real();
    if (header_.sparse && header_.symmetry == Symmetry::hermitian && e.row == e.column && e.imaginary != 0)
      bad("a Hermitian matrix has a real diagonal.");
  }
  void check_triangle(const Entry& e) const {
    if (header_.symmetry == Symmetry::general) return;
    if (e.row < e.column || (e.row == e.column && header_.symmetry == Symmetry::skew))
      bad(say("entry (", e.row + 1, ", ", e.column + 1, ") is not below the diagonal, where those of a ",
              header_.symmetry == Symmetry::skew ? "skew-symmetric" : "symmetric", " matrix stand."));
  }

  void read_header();
  void read_banner();

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  Header header_;
  std::int64_t done_ = 0;
};

void Reader::read_banner() {
  if (!text_.starts_with(mtx_magic)) bad("a Matrix Market file begins with %%MatrixMarket.", "WP-FMT-001");
  at_ = mtx_magic.size();
  const auto pick = [&](std::initializer_list<std::string_view> known, std::string_view what) -> std::size_t {
    const std::size_t start = (skip_blanks(), at_);
    const std::string w = word();
    std::size_t k = 0;
    for (const std::string_view one : known) {
      if (w == one) return k;
      ++k;
    }
    at_ = start;
    bad(say(what, " '", excerpt(w), "' is not read."), "WP-FMT-004");
  };
  if (text_.size() > at_ && text_[at_] != ' ' && text_[at_] != '\t') bad("a blank must follow.", "WP-FMT-001");
  pick({"matrix"}, "object");
  header_.sparse = pick({"array", "coordinate"}, "format") == 1;
  header_.value = static_cast<Value>(pick({"real", "integer", "complex", "pattern"}, "field"));
  header_.symmetry = static_cast<Symmetry>(pick({"general", "symmetric", "skew-symmetric", "hermitian"}, "symmetry"));
  skip_blanks();
  if (!at_end_of_line()) bad("text follows the symmetry.", "WP-FMT-002");
  if (header_.value == Value::pattern &&
      (!header_.sparse || header_.symmetry == Symmetry::skew || header_.symmetry == Symmetry::hermitian))
    bad("a pattern is sparse, and general or symmetric.", "WP-FMT-002");
  if (header_.symmetry == Symmetry::hermitian && header_.value != Value::complex)
    bad("a Hermitian matrix is complex.", "WP-FMT-002");
}

void Reader::read_header() {
  read_banner();
  for (skip_empty(); at_ < text_.size() && text_[at_] == '%'; skip_empty())
    at_ = std::min(text_.find('\n', at_), text_.size());
  header_.rows = length("rows");
  header_.columns = length("columns");
  if (header_.sparse) header_.count = length("entries");
  end_line();
  const bool square = header_.rows == header_.columns;
  if (header_.symmetry != Symmetry::general && !square)
    bad(say("a symmetric matrix is square; this one is ", header_.rows, " × ", header_.columns, "."), "WP-FMT-002");
  std::uint64_t bytes = 0;
  if (!header_.sparse) {
    if (!bytes_of(c128, {header_.rows, header_.columns}, bytes)) bad("no such matrix can exist.", "WP-FMT-003");
    const std::int64_t n = header_.rows, skew = header_.symmetry == Symmetry::skew ? 1 : 0;
    header_.count = header_.symmetry == Symmetry::general ? n * header_.columns
                    : n % 2                               ? (n + 1 - 2 * skew) / 2 * n
                                                          : n / 2 * (n + 1 - 2 * skew);
  }
  // Every entry takes a line of 2 bytes at least, with indices 4.
  const std::uint64_t least = (header_.sparse ? 4U : 0U) + (header_.value == Value::pattern ? 0U : 2U) +
                              (header_.value == Value::complex ? 2U : 0U);
  const std::uint64_t left = text_.size() - at_;
  if (static_cast<std::uint64_t>(header_.count) > left / least + 1)
    bad(say("the header promises ", header_.count, " entries, but only ", left, " bytes follow: truncated."),
        "WP-FMT-003");
}

complex128 mirrored(const Header& h, complex128 v) {
  if (h.symmetry == Symmetry::skew) return -v;
  return h.symmetry == Symmetry::hermitian ? std::conj(v) : v;
}

// f(row, column, value as T) for every element that is stored or follows from one.
template <class T, class F>
void each(Reader& reader, const F& f) {
  const Header& h = reader.header();
  Entry e;
  std::int64_t row = h.symmetry == Symmetry::skew ? 1 : 0, column = 0;  // dense: down the columns
  while (reader.next(e)) {
    if (!h.sparse) {
      e.row = row;
      e.column = column;
      if (++row == h.rows) {
        ++column;
        row = h.symmetry == Symmetry::general ? 0 : column + (h.symmetry == Symmetry::skew ? 1 : 0);
      }
    }
    T v{}, w{};
    if constexpr (std::is_same_v<T, std::int64_t>) {
      v = e.integer;
      w = h.symmetry == Symmetry::skew ? static_cast<T>(-static_cast<std::uint64_t>(v)) : v;
    } else if constexpr (std::is_same_v<T, double>) {
      v = e.real;
      w = h.symmetry == Symmetry::skew ? -v : v;
    } else {
      v = {e.real, e.imaginary};
      w = mirrored(h, v);
    }
    f(e.row, e.column, v);
    if (h.symmetry != Symmetry::general && e.row != e.column) f(e.column, e.row, w);
  }
}

template <class F>
decltype(auto) with_value(DType d, const F& f) {
  if (d == i64) return f(std::int64_t{});
  if (d == f64) return f(double{});
  return f(complex128{});
}

Tensor dense(Reader& reader, const LoadOptions& options) {
  const Header& h = reader.header();
  if (h.sparse) {
    reader.refuse_elements_beyond(most_unfolded(options, reader.size()));
    // Entries are known to be right before they cost more than a few times what they take in the file.
    std::uint64_t bytes = 0;
    bytes_of(h.dtype(), {h.rows, h.columns}, bytes);
    if (bytes / 8 > reader.size()) {
      Reader ahead = reader;
      for (Entry e; ahead.next(e);) {
      }
    }
  }
  Tensor t = Tensor::adopt(wp::detail::make_node(h.dtype(), {h.rows, h.columns}));
  if (t.nbytes()) std::memset(t.node()->data, 0, t.nbytes());
  with_value(h.dtype(), [&]<class T>(T) {
    T* const data = reinterpret_cast<T*>(t.node()->data);
    each<T>(reader, [&](std::int64_t r, std::int64_t c, T v) {
      T& to = data[r * h.columns + c];
      if constexpr (std::is_same_v<T, std::int64_t>)
        to = static_cast<T>(static_cast<std::uint64_t>(to) + static_cast<std::uint64_t>(v));
      else
        to = h.sparse ? to + v : v;
    });
  });
  return t;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& from, const std::vector<std::size_t>& order) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const std::size_t k : order) out.push_back(from[k]);
  return out;
}

NamedTensors sparse(Reader& reader, const LoadOptions& options) {
  const Header& h = reader.header();
  reader.refuse_rows_beyond(most_unfolded(options, reader.size()) / sizeof(std::int64_t));
  return with_value(h.dtype(), [&]<class T>(T) -> NamedTensors {
    std::vector<std::int64_t> rows, columns;
    std::vector<T> values;
    each<T>(reader, [&](std::int64_t r, std::int64_t c, T v) {
      rows.push_back(r);
      columns.push_back(c);
      values.push_back(v);
    });
    const auto n = static_cast<std::int64_t>(values.size());
    Tensor indptr = Tensor::adopt(wp::detail::make_node(i64, {h.rows + 1}));
    auto* const starts = reinterpret_cast<std::int64_t*>(indptr.node()->data);
    std::fill_n(starts, h.rows + 1, 0);
    for (const std::int64_t r : rows) ++starts[r + 1];
    for (std::int64_t r = 0; r < h.rows; ++r) starts[r + 1] += starts[r];
    // By row, then by column; entries of one place stay in the order of the file.
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(rows[a], columns[a]) < std::pair(rows[b], columns[b]);
    });
    return {{"indptr", indptr},
            {"indices", Tensor::from(permuted(columns, order), {n})},
            {"data", Tensor::from(permuted(values, order), {n})},
            {"shape", Tensor::from(std::vector<std::int64_t>{h.rows, h.columns}, {2})}};
  });
}

}  // namespace

Tensor read_mtx(const Source& source, const LoadOptions& options) {
  const Text text(source);
  Reader reader(source, text.view());
  if (!reader.header().sparse) chosen_one(source, {""}, options.names);
  if (reader.header().sparse && !options.dense) {
    if (!options.names.empty()) {
      const NamedTensors all = sparse(reader, options);
      return all[chosen_one(source, {"indptr", "indices", "data", "shape"}, options.names)].second;
    }
    refuse<ArgumentError>(
        "WP-ARG-001",
        say("'", source.path(), "' holds a sparse matrix of ", reader.header().rows, " × ", reader.header().columns,
            "."),
        "load_all gives its arrays (LinearOperator::csr takes them); load with dense = true makes a "
        "matrix of it.");
  }
  return dense(reader, options);
}

NamedTensors read_all_mtx(const Source& source, const LoadOptions& options) {
  const Text text(source);
  Reader reader(source, text.view());
  if (!reader.header().sparse || options.dense) {
    chosen_one(source, {""}, options.names);
    return {{"", dense(reader, options)}};
  }
  NamedTensors all = sparse(reader, options), out;
  for (const std::size_t i : chosen(source, {"indptr", "indices", "data", "shape"}, options.names))
    out.push_back(all[i]);
  return out;
}

}  // namespace wp::io
