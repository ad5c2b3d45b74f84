#include <fmt/format.h>

#include <cmath>

#include "io/csv.hpp"
#include "kernels/convert.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kFlush = 1 << 20;

// The shortest text that reads back as v. Floats always show that they are: 1.0, 1e+20, nan.
template <class T>
void append(fmt::memory_buffer& out, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    out.push_back(v ? '1' : '0');
  } else if constexpr (std::is_same_v<T, Half>) {
    append(out, kernels::half_value(v.bits));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    append(out, kernels::bfloat16_value(v.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    const std::size_t start = out.size();
    fmt::format_to(std::back_inserter(out), "{}", v);
    bool whole = true;
    for (std::size_t i = start; i < out.size(); ++i) whole &= out[i] == '-' || (out[i] >= '0' && out[i] <= '9');
    if (whole) out.append(std::string_view(".0"));
  } else if constexpr (std::is_integral_v<T>) {
    fmt::format_to(std::back_inserter(out), "{}", v);
  }
}

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
      append(out, values[c]);
    }
    out.push_back('\n');
    if (out.size() >= kFlush) {
      sink.write(out.data(), out.size());
      out.clear();
    }
  }
  sink.write(out.data(), out.size());
}

}  // namespace

void write_csv(Sink& sink, const Tensor& t, const SaveOptions& options, char delimiter) {
  check(t, !options.names.empty());
  const std::int64_t rows = t.ndim() ? t.shape()[0] : 1, columns = t.ndim() == 2 ? t.shape()[1] : 1;
  if (!options.names.empty()) write_names(sink, options.names, columns, delimiter);
  kernels::with_type(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    write_rows<T>(sink, t, rows, columns, delimiter);
  });
}

}  // namespace wp::io
