#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "plot/axis.hpp"
#include "wellposed/plot.hpp"

namespace wp::plot {
namespace {

constexpr double kWidth = 640, kHeight = 300, kLeft = 64, kRight = 16, kTop = 32, kBottom = 44;
constexpr std::array<std::string_view, 4> colours{"#1f6feb", "#d1570a", "#1a7f37", "#8250df"};

std::string at(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}
double across(double place) {
  return kLeft + place * (kWidth - kLeft - kRight);
}
double down(double place) {
  return kHeight - kBottom - place * (kHeight - kTop - kBottom);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return say("<line x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"", at(x2), "\" y2=\"", at(y2), "\" ", style, "/>\n");
}
std::string words(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = {}) {
  return say("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\" ", more, ">", escaped(text),
             "</text>\n");
}

std::string axes(const Chart& chart, const Frame& frame) {
  constexpr std::string_view grid = "stroke=\"currentColor\" stroke-opacity=\"0.15\"";
  std::string out;
  for (const Tick& t : frame.x.ticks(8)) {
    out += line(across(t.at), down(0), across(t.at), down(1), grid);
    out += words(across(t.at), down(0) + 16, "middle", t.label);
  }
  for (const Tick& t : frame.y.ticks(6)) {
    out += line(across(0), down(t.at), across(1), down(t.at), grid);
    out += words(across(0) - 6, down(t.at) + 4, "end", t.label);
  }
  out += words(kWidth / 2, kHeight - 8, "middle", chart.x_label);
  out += words(across(0), kTop - 10, "start", chart.y_label);
  return out + words(across(1), kTop - 10, "end", chart.title, "font-weight=\"bold\"");
}

std::string tip(double x, double y) {
  char text[64];
  std::snprintf(text, sizeof text, "<title>%g: %.6g</title>", x, y);
  return text;
}

std::string drawn(const Series& s, const Frame& frame, std::string_view colour) {
  std::string out, path;
  bool gap = true;  // before the next point of a line
  const double width =
      std::max(2.0, 0.7 * (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, s.x.size())));
  for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i) {
    if (std::isnan(s.y[i])) {
      gap = true;
      continue;
    }
    const double x = across(frame.x.place(s.x[i])), y = down(frame.y.place(s.y[i])), zero = down(frame.y.place(0));
    const bool hollow = !frame.y.shows(s.y[i]);
    if (s.mark == Series::Mark::line || s.mark == Series::Mark::ridge)  // h0: a point between gaps is a dot
      path += std::exchange(gap, false) ? say('M', at(x), ' ', at(y), "h0") : say('L', at(x), ' ', at(y));
    else if (s.mark == Series::Mark::bars)
      out += say("<rect x=\"", at(x - width / 2), "\" y=\"", at(std::min(y, zero)), "\" width=\"", at(width),
                 "\" height=\"", at(std::max(std::fabs(y - zero), 0.5)), "\" fill=\"", colour, "\">",
                 tip(s.x[i], s.y[i]), "</rect>\n");
    else
      out += say("<circle cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"3.5\" stroke=\"", colour, "\" fill=\"",
                 hollow ? "none" : colour, "\">", tip(s.x[i], s.y[i]), "</circle>\n");
  }
  if (s.mark == Series::Mark::ridge && !path.empty()) {  // the page's colour, and a little of the line's
    const std::string base = say(path, 'V', at(down(frame.y.place(s.y[0]))), "z\" ");
    out += say("<g stroke=\"none\"><path class=\"page\" d=\"", base, "fill=\"#fff\"/><path class=\"page\" d=\"", base,
               "fill=\"", colour, "\" fill-opacity=\"0.25\"/></g>\n");
  }
  if (!path.empty())
    out += say("<path d=\"", path, "\" fill=\"none\" stroke=\"", colour,
               "\" stroke-width=\"1.5\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\n");
  return out;
}

}  // namespace

std::string svg(const Chart& chart) {
  const Frame frame(chart);
  std::string out = say("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, ' ', kHeight,
                        "\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>",
                        escaped(chart.title), "</title>\n");
  out += axes(chart, frame);
  for (const Level& l : chart.levels) {
    const double y = down(frame.y.place(l.y));
    out += line(across(0), y, across(1), y, "stroke=\"#cf222e\" stroke-dasharray=\"5 4\"");
    out += words(across(1) - 4, y - 4, "end", l.name, "fill=\"#cf222e\"");
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const bool named = !chart.series[i].name.empty();  // those without a name belong together
    out += drawn(chart.series[i], frame, colours[named ? i % colours.size() : 0]);
    if (named && chart.series.size() > 1)
      out += words(across(0) + 8, kTop + 14 * static_cast<double>(i + 1), "start", chart.series[i].name,
                   say("fill=\"", colours[i % colours.size()], "\""));
  }
  return out + "</svg>\n";
}

}  // namespace wp::plot
