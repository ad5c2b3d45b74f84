#include <algorithm>
#include <cmath>

#include "plot/axis.hpp"
#include "wellposed/plot.hpp"

namespace wp::plot {
namespace {

// Cells of one character each; every character is one column wide.
class Grid {
 public:
  Grid(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows), " ") {}
  int column(double place) const { return static_cast<int>(std::lround(place * (columns_ - 1))); }
  int row(double place) const { return rows_ - 1 - static_cast<int>(std::lround(place * (rows_ - 1))); }
  std::string& at(int column, int row) { return cells_[static_cast<std::size_t>(row * columns_ + column)]; }
  std::string line(int row) const {
    std::string out;
    for (int c = 0; c < columns_; ++c) out += cells_[static_cast<std::size_t>(row * columns_ + c)];
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

 private:
  int columns_, rows_;
  std::vector<std::string> cells_;
};

void draw(const Series& s, const Frame& frame, Grid& grid) {
  for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i) {
    if (std::isnan(s.y[i])) continue;
    const int c = grid.column(frame.x.place(s.x[i])), r = grid.row(frame.y.place(s.y[i]));
    if (s.mark == Series::Mark::bars) {
      const int zero = grid.row(frame.y.place(0));
      for (int k = std::min(r, zero); k <= std::max(r, zero); ++k) grid.at(c, k) = "█";
    } else {
      grid.at(c, r) = frame.y.shows(s.y[i]) ? (s.mark == Series::Mark::points ? "●" : "·") : "○";
    }
  }
}

}  // namespace

std::string text(const Chart& chart, int columns, int rows) {
  constexpr std::size_t kLabels = 8;
  const Frame frame(chart);
  Grid grid(std::max(columns - static_cast<int>(kLabels) - 2, 8), std::max(rows, 3));
  std::vector<std::string> labels(static_cast<std::size_t>(std::max(rows, 3)));
  for (const Tick& t : frame.y.ticks(std::max(rows / 3, 2)))
    labels[static_cast<std::size_t>(grid.row(t.at))] = t.label;
  std::vector<std::string> notes(labels.size());
  for (const Level& l : chart.levels) {
    const int r = grid.row(frame.y.place(l.y));
    for (int c = 0; c <= grid.column(1); ++c) grid.at(c, r) = "┄";
    notes[static_cast<std::size_t>(r)] = " " + l.name;
  }
  for (const Series& s : chart.series) draw(s, frame, grid);
  std::string out = chart.title.empty() ? "" : chart.title + "\n";
  for (std::size_t r = 0; r < labels.size(); ++r) {
    out += std::string(kLabels - std::min(labels[r].size(), kLabels), ' ') + labels[r].substr(0, kLabels);
    out += labels[r].empty() ? " │" : " ┤";
    out += grid.line(static_cast<int>(r)) + notes[r] + "\n";
  }
  out += std::string(kLabels + 1, ' ') + "└";
  for (int c = 0; c <= grid.column(1); ++c) out += "─";
  return out + (chart.x_label.empty() ? "\n" : "\n" + std::string(kLabels + 2, ' ') + chart.x_label + "\n");
}

}  // namespace wp::plot
