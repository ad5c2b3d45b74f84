#include "base/text.hpp"
#include "wellposed/plot.hpp"

namespace wp::plot {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}"
    "pre{white-space:pre-wrap;font:14px/1.45 monospace;background:#f6f8fa;padding:.8rem;border-radius:6px}"
    "svg{width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}}";

// The length of the UTF-8 sequence at the front; 0: none.
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

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t n = sequence(text);
    if (n == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      out += "\xef\xbf\xbd";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string page(std::string_view title, const std::vector<Section>& sections) {
  std::string out =
      say("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>", escaped(title),
          "</title>\n<style>", kStyle, "</style></head>\n<body><h1>", escaped(title), "</h1>\n");
  for (const Section& s : sections) {
    if (!s.heading.empty()) out += say("<h2>", escaped(s.heading), "</h2>\n");
    out += s.svg;
    if (!s.words.empty()) out += say("<pre>", escaped(s.words), "</pre>\n");
  }
  return out + "</body></html>\n";
}

}  // namespace wp::plot
