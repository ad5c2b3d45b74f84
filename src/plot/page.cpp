#include "base/text.hpp"
#include "wellposed/plot.hpp"

namespace wp::plot {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}"
    "pre{white-space:pre-wrap;font:14px/1.45 monospace;background:#f6f8fa;padding:.8rem;border-radius:6px}"
    "svg{width:100%;height:auto}img{min-width:12rem;image-rendering:pixelated}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}"
    "svg path,svg circle,svg rect,svg text[fill]{filter:brightness(1.4)}svg [fill='#fff']{fill:#0d1117;filter:none}}";

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : clean_utf8(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
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
