#include <gtest/gtest.h>

#include <cmath>

#include "plot/axis.hpp"

namespace {

using wp::plot::Axis;
using wp::plot::Chart;
using wp::plot::Series;

Chart spectrum(std::vector<double> y) {
  Chart c{.title = "σ <& \"τ\">", .x_label = "index", .y_label = "σ", .log_y = true};
  Series s;
  for (std::size_t i = 0; i < y.size(); ++i) s.x.push_back(static_cast<double>(i));
  s.y = std::move(y);
  c.series.push_back(std::move(s));
  return c;
}
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Plot, AxesReachFromTheLeastToTheLargestValue) {
  const Axis linear({-2, 6}, false), log({1e-3, 1e5}, true);
  EXPECT_EQ(linear.place(-2), 0);
  EXPECT_EQ(linear.place(2), 0.5);
  EXPECT_EQ(log.place(10), 0.5);
  EXPECT_EQ(log.place(0), 0);  // below everything
  EXPECT_FALSE(log.shows(0));
  const auto ticks = Axis({0, 10}, false).ticks(5);
  ASSERT_EQ(ticks.size(), 6U);
  EXPECT_EQ(ticks[1].label, "2");
  EXPECT_EQ(Axis({1e-300, 1e300}, true).ticks(6).front().label, "1e-300");
}

TEST(Plot, DegenerateDataIsDrawnWithoutNan) {
  for (const std::vector<double>& y :
       {std::vector<double>{}, {0.0}, {1.0}, {NAN}, {HUGE_VAL, 1.0}, {0.0, 0.0}, {-1.0, 2.0}}) {
    const std::string svg = wp::plot::svg(spectrum(y));
    EXPECT_EQ(svg.find("=\"nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("=\"inf"), std::string::npos) << svg;
    EXPECT_FALSE(wp::plot::text(spectrum(y)).empty());
  }
}

TEST(Plot, EveryValueIsOneMarkAndZeroIsHollow) {
  const Chart c = spectrum({1, 1e-5, 0});
  const std::string svg = wp::plot::svg(c), text = wp::plot::text(c, 40, 8);
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_EQ(count(svg, "fill=\"none\""), 1U);
  EXPECT_EQ(count(text, "●"), 2U);
  EXPECT_EQ(count(text, "○"), 1U);
}

TEST(Plot, ThresholdsAreLinesWithTheirWords) {
  Chart c = spectrum({1, 1e-8});
  c.levels.push_back({1e-4, "threshold"});
  EXPECT_EQ(count(wp::plot::svg(c), "stroke-dasharray"), 1U);
  EXPECT_EQ(count(wp::plot::text(c), "threshold"), 1U);
}

TEST(Plot, TextOfOthersCannotBecomeMarkup) {
  EXPECT_EQ(wp::plot::escaped("<b>&\"'σ\n"), "&lt;b&gt;&amp;&quot;&#39;σ\n");
  EXPECT_EQ(wp::plot::escaped(std::string_view("\xff\x01\xe2\x82", 4)),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  const std::string svg = wp::plot::svg(spectrum({1}));
  EXPECT_EQ(svg.find("<& "), std::string::npos);
  const std::string page = wp::plot::page("<script>", {{"<i>", "a < b", ""}});
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
}

}  // namespace
