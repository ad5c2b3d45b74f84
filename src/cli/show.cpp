#include "cli/show.hpp"

#include <iostream>
#include <vector>

namespace wp::cli {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The end of a statement that began before, or nothing: not worth a line.
bool is_rest(std::string_view line) {
  return line.find_first_not_of(" })(;") == std::string_view::npos;
}

}  // namespace

Show::Show() : paint_(stdout) {}

void Show::title(std::string_view text) {
  std::cout << '\n' << paint_.bold(text) << '\n';
  for (std::size_t i = 0; i < text.size(); ++i) std::cout << "─";
  std::cout << '\n';
}

void Show::words(std::string_view text, std::source_location here) {
  std::size_t column = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    if (column > 0 && column + 1 + blank > 96) {
      std::cout << '\n';
      column = 0;
    }
    std::cout << (column ? " " : "") << rest.substr(0, blank);
    column += blank + (column ? 1 : 0);
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  std::cout << "\n\n";
  // The statement may end some lines further down.
  const std::vector<std::string_view> source = lines_of(chapters_source());
  for (last_ = here.line(); last_ < source.size() && !source[last_ - 1].ends_with(");");) ++last_;
}

void Show::list(std::uint32_t line) {  // and the braces that close around it
  const std::vector<std::string_view> source = lines_of(chapters_source());
  while (line < source.size() && indent_of(source[line]) > 0 && source[line].ends_with("}") && is_rest(source[line]))
    ++line;
  std::size_t first = last_;
  while (first < line && is_rest(source[first])) ++first;
  std::size_t indent = 100;
  for (std::size_t i = first; i < line; ++i)
    if (!source[i].empty()) indent = std::min(indent, indent_of(source[i]));
  for (std::size_t i = first; i < line; ++i)
    std::cout << "    " << paint_.cyan(source[i].substr(std::min(indent, source[i].size()))) << '\n';
  last_ = line;
}

void Show::operator()(std::string_view value, std::source_location here) {
  list(here.line());
  for (const std::string_view line : lines_of(value)) std::cout << "  " << paint_.green("┃") << ' ' << line << '\n';
  std::cout << '\n';
}

void Show::operator()(const Tensor& value, std::source_location here) {
  (*this)(value.to_string(), here);
}

}  // namespace wp::cli
