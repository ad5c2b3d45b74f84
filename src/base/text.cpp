#include "base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace wp {

void put(std::string& out, std::string_view s) {
  out.append(s);
}
// The sign of a NaN means nothing.
void put(std::string& out, double v) {
  fmt::format_to(std::back_inserter(out), "{}", std::isnan(v) ? std::fabs(v) : v);
}
void put(std::string& out, float v) {
  fmt::format_to(std::back_inserter(out), "{}", std::isnan(v) ? std::fabs(v) : v);
}
void put(std::string& out, std::int64_t v) {
  fmt::format_to(std::back_inserter(out), "{}", v);
}
void put(std::string& out, std::uint64_t v) {
  fmt::format_to(std::back_inserter(out), "{}", v);
}
void put(std::string& out, const Dims& d) {
  out += '[';
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (i) out += ", ";
    put(out, d[i]);
  }
  out += ']';
}

std::string bytes_text(double bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t u = 0;
  while (bytes >= 1024 && u + 1 < units.size()) {
    bytes /= 1024;
    ++u;
  }
  if (u == 0) return fmt::format("{:.0f} bytes", bytes);
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 1 : 0, units[u]);
}

std::string plural(std::int64_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string kinds_text(Kinds k) {
  struct Row {
    Kinds kinds;
    std::string_view text;
  };
  static constexpr std::array<Row, 11> rows{{{kinds::any, "any dtype"},
                                             {kinds::numeric, "numeric"},
                                             {kinds::real, "real (integer or real floating-point)"},
                                             {kinds::floating, "floating-point (real or complex)"},
                                             {kinds::real_floating, "real floating-point"},
                                             {kinds::complex_floating, "complex"},
                                             {kinds::integer, "integer"},
                                             {kinds::integer | kinds::boolean, "integer or bool"},
                                             {kinds::boolean, "bool"},
                                             {kind(i64), "i64"},
                                             {kinds::any & ~kinds::complex_floating, "anything but complex"}}};
  for (const Row& r : rows)
    if (r.kinds == k) return std::string(r.text);
  std::string out;
  for (int d = 0; d < kDTypes; ++d)
    if (is(static_cast<DType>(d), k)) out += (out.empty() ? "" : ", ") + std::string(name(static_cast<DType>(d)));
  return out;
}

std::string json_list(const std::vector<std::string>& all) {
  std::string out = "[";
  for (const std::string& s : all) out += (out.size() > 1 ? ", " : "") + json_quote(s);
  return out + "]";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string json_quote(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace wp
