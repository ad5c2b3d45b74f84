// From values to positions: the range that a chart shows and the places of its ticks.
#pragma once
#include <string>
#include <vector>

#include "wellposed/plot.hpp"

namespace wp::plot {

struct Tick {
  double at;  // 0 … 1
  std::string label;
};
class Axis {
 public:
  Axis(const std::vector<double>& values, bool log, bool from_zero = false);
  // 0 … 1; below the range of a logarithmic axis: 0.
  double place(double v) const;
  bool shows(double v) const { return !log_ || v > 0; }
  std::vector<Tick> ticks(int most) const;

 private:
  double scaled(double v) const;
  bool log_;
  double low_ = 0, high_ = 1;  // of log₁₀ v, or of v
};
// Both axes of a chart.
struct Frame {
  Axis x, y;
  explicit Frame(const Chart& chart);
};

}  // namespace wp::plot
