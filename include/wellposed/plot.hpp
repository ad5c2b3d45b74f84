// Small charts: one description, drawn as SVG or as characters of a terminal.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] wp {
namespace plot {

struct Series {
  // ridge: a line that hides what was drawn before it, down to its first y.
  enum class Mark : char { points, line, bars, ridge } mark = Mark::points;
  std::string name;
  std::vector<double> x, y;
};
// A horizontal line with words: a threshold.
struct Level {
  double y;
  std::string name;
};
// On a logarithmic axis values that are not positive lie on the lower edge, drawn hollow. NaN is left out.
struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Series> series;
  std::vector<Level> levels;
};

std::string svg(const Chart& chart);
std::string text(const Chart& chart, int columns = 72, int rows = 12);

// One HTML page without scripts or anything loaded from elsewhere.
struct Section {
  std::string heading, words;  // words: plain text, kept as it is broken into lines
  std::string svg;             // or empty
};
std::string page(std::string_view title, const std::vector<Section>& sections);
// & < > " ' as entities; what is not UTF-8 or a control character as U+FFFD.
std::string escaped(std::string_view text);

}  // namespace plot
}  // namespace gnu::visibility("default")]]wp
