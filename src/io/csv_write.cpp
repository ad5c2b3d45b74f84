#include "io/csv.hpp"
#include "io/number_text.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kFlush = 1 << 20;

void check(const Tensor& t, bool named) {
  if (is_complex(t.dtype()))
    refuse<DtypeError>("WP-DTY-001", say("text tables hold real numbers; got ", t.dtype(), " ", t.shape(), "."),
                       "Save as .npy, or real and imaginary part in files of their own.");
  if (t.ndim() > 2)
    refuse<ShapeError>("WP-SHP-001", say("text tables have rows and columns; got shape ", t.shape(), "."),
                       "Save as .npy, or reshape it to two axes.");
  const std::int64_t rows = t.ndim() ? t.shape()[0] : 1, columns = t.ndim() == 2 ? t.shape()[1] : 1;
  if (columns == 0 || (rows == 0 && !named))
    refuse<ShapeError>("WP-SHP-001", say("a text table without numbers cannot tell its shape ", t.shape(), "."),
                       columns ? "Give names, or save as .npy." : "Save as .npy.");
}

void write_names(Sink& sink, const std::vector<std::string>& names, std::int64_t columns, char delimiter) {
  if (static_cast<std::int64_t>(names.size()) != columns)
    refuse<ArgumentError>(
        "WP-ARG-001", say("names must have one entry per column; got ", names.size(), " for ", columns, " columns."));
  std::string line;
  for (const std::string& name : names) {
    if (!line.empty() || &name != names.data()) line += delimiter;
    const bool plain = !name.empty() && name[0] != '#' && name.find_first_of("\"\r\n\t ,;|") == std::string::npos;
    if (plain) {
      line += name;
      continue;
    }
    line += '"';
    for (const char c : name) line.append(c == '"' ? 2 : 1, c);
    line += '"';
  }
  sink.write(line + '\n');
}

template <class T>
void write_rows(Sink& sink, const Tensor& t, std::int64_t rows, std::int64_t columns, char delimiter) {
  fmt::memory_buffer out;
  std::vector<char> row(static_cast<std::size_t>(columns) * sizeof(T));
  const auto* const values = reinterpret_cast<const T*>(row.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    kernels::gather(row.data(), t.dtype(), t.node()->data, t.dtype(), t.shape(), t.strides(), r * columns, columns);
    for (std::int64_t c = 0; c < columns; ++c) {
      if (c) out.push_back(delimiter);
      append_number(out, values[c]);
    }
    out.push_back('\n');
    if (out.size() >= kFlush) {
      sink.write(out.data(), out.size());
      out.clear();
    }
  }
  sink.write(out.data(), out.size());
}

void write_csv_rows(Sink& sink, const Tensor& t, char delimiter) {
  const std::int64_t rows = t.ndim() ? t.shape()[0] : 1, columns = t.ndim() == 2 ? t.shape()[1] : 1;
  kernels::with_type(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    write_rows<T>(sink, t, rows, columns, delimiter);
  });
}

class CsvRows final : public RowSink {
 public:
  CsvRows(Sink& sink, SaveOptions options, char delimiter)
      : sink_(sink), options_(std::move(options)), delimiter_(delimiter) {}
  void rows(const Tensor& t) override {
    if (std::exchange(begun_, true))
      write_csv_rows(sink_, t, delimiter_);
    else
      write_csv(sink_, t, options_, delimiter_);
  }
  void end(DType /*dtype*/, const Dims& /*shape*/) override {}
  bool goes_back() const noexcept override { return false; }

 private:
  Sink& sink_;
  SaveOptions options_;
  char delimiter_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<RowSink> csv_rows(Sink& sink, const SaveOptions& options, char delimiter) {
  return std::make_unique<CsvRows>(sink, options, delimiter);
}

void write_csv(Sink& sink, const Tensor& t, const SaveOptions& options, char delimiter) {
  check(t, !options.names.empty());
  const std::int64_t columns = t.ndim() == 2 ? t.shape()[1] : 1;
  if (!options.names.empty()) write_names(sink, options.names, columns, delimiter);
  write_csv_rows(sink, t, delimiter);
}

void write_columns(Sink& sink, const NamedTensors& columns, const SaveOptions& options, char delimiter) {
  refuse_names(options, "a file of columns");
  constexpr std::int64_t piece = 4096;  // rows at a time
  std::vector<std::string> names;
  for (const auto& [name, t] : columns) {
    if (t.ndim() != 1 || t.size() != columns[0].second.size() || is_complex(t.dtype()))
      refuse<ShapeError>("WP-SHP-001", say("columns of a text table are real, have one axis and equal lengths; got '",
                                           excerpt(name), "' ", t.dtype(), " ", t.shape(), "."));
    names.push_back(name);
  }
  if (names.empty()) refuse<ShapeError>("WP-SHP-001", "a text table needs at least one column.");
  write_names(sink, names, static_cast<std::int64_t>(names.size()), delimiter);
  // Every column as text, a piece at a time; ends[c] are the ends of its fields.
  const std::int64_t rows = columns[0].second.size();
  std::vector<fmt::memory_buffer> texts(names.size());
  std::vector<std::vector<std::size_t>> ends(names.size());
  std::vector<char> values;
  fmt::memory_buffer out;
  for (std::int64_t first = 0; first < rows; first += piece) {
    const std::int64_t n = std::min(piece, rows - first);
    for (std::size_t c = 0; c < names.size(); ++c) {
      const Tensor& t = columns[c].second;
      values.resize(static_cast<std::size_t>(n) * size_of(t.dtype()));
      kernels::gather(values.data(), t.dtype(), t.node()->data, t.dtype(), t.shape(), t.strides(), first, n);
      texts[c].clear();
      ends[c].clear();
      kernels::with_type(t.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (std::int64_t i = 0; i < n; ++i) {
          const T v = reinterpret_cast<const T*>(values.data())[i];
          if constexpr (std::is_same_v<T, bool>)
            texts[c].append(std::string_view(v ? "true" : "false"));
          else
            append_number(texts[c], v);
          ends[c].push_back(texts[c].size());
        }
      });
    }
    out.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      for (std::size_t c = 0; c < names.size(); ++c) {
        const std::size_t begin = i ? ends[c][i - 1] : 0;
        if (c) out.push_back(delimiter);
        out.append(texts[c].data() + begin, texts[c].data() + ends[c][i]);
      }
      out.push_back('\n');
    }
    sink.write(out.data(), out.size());
  }
}

}  // namespace wp::io
