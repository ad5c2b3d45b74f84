#include "plot/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace wp::plot {
namespace {

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::vector<double> values_of(const Chart& chart, std::vector<double> Series::*axis, bool levels) {
  std::vector<double> out;
  for (const Series& s : chart.series) out.insert(out.end(), (s.*axis).begin(), (s.*axis).end());
  if (levels)
    for (const Level& l : chart.levels) out.push_back(l.y);
  return out;
}
bool has_bars(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& s) { return s.mark == Series::Mark::bars; });
}

}  // namespace

Axis::Axis(const std::vector<double>& values, bool log, bool from_zero) : log_(log) {
  low_ = HUGE_VAL;
  high_ = -HUGE_VAL;
  for (const double v : values) {
    if (!std::isfinite(v) || !shows(v)) continue;
    low_ = std::min(low_, scaled(v));
    high_ = std::max(high_, scaled(v));
  }
  if (from_zero && !log) {
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
  }
  if (low_ > high_) low_ = 0, high_ = 1;
  if (log) {
    low_ = std::floor(low_);
    high_ = std::ceil(high_);
  }
  if (low_ == high_) {
    const double room = log || low_ == 0 ? 1 : std::fabs(low_) / 2;
    low_ -= room;
    high_ += room;
  }
}

double Axis::scaled(double v) const {
  return log_ ? std::log10(v) : v;
}

double Axis::place(double v) const {
  return shows(v) ? std::clamp((scaled(v) - low_) / (high_ - low_), 0.0, 1.0) : 0;
}

// Whole powers of ten, or steps of 1, 2 or 5 times one.
std::vector<Tick> Axis::ticks(int most) const {
  const double rough = (high_ - low_) / most, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  if (log_) step = std::max(std::round(step), 1.0);
  std::vector<Tick> out;
  for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ + 1e-9 * step; ++k) {
    const double v = k * step + 0.0;  // no −0
    out.push_back({(v - low_) / (high_ - low_), log_ ? "1e" + number(v) : number(v)});
  }
  return out;
}

Frame::Frame(const Chart& chart)
    : x(values_of(chart, &Series::x, false), chart.log_x),
      y(values_of(chart, &Series::y, true), chart.log_y, has_bars(chart)) {}

}  // namespace wp::plot
