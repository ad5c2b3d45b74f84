#include <algorithm>

#include "base/text.hpp"

namespace wp {
namespace {

// The length of the UTF-8 sequence at the front (Unicode 15, table 3-7); 0: none.
std::size_t sequence(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const std::size_t n = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (n == 0 || n > s.size() || byte(0) > 0xf4) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f)) return 0;
  if ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)) return 0;
  return n;
}

}  // namespace

bool valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t n = sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string clean_utf8(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t n = sequence(text);
    const bool kept = lines && (c == '\n' || c == '\t');
    if (n == 0 || (static_cast<unsigned char>(c) < 0x20 && !kept) || c == 0x7f)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

}  // namespace wp
