// The page of `wellposed plot`: curves, ridgelines of histograms, texts and pictures of all runs.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "wellposed/events.hpp"
#include "wellposed/plot.hpp"

namespace wp {
namespace {

constexpr std::size_t kPoints = 1000, kRidges = 24, kTexts = 20, kPictures = 4;

// Of a long curve the least and the largest value of every stretch: no spike is lost.
plot::Series curve(std::string name, const EventSeries<double>& s) {
  plot::Series out{plot::Series::Mark::line, std::move(name), {}, {}};
  const auto put = [&](std::size_t i) {
    out.x.push_back(static_cast<double>(s.step[i]));
    out.y.push_back(std::isfinite(s.value[i]) ? s.value[i] : std::nan(""));
  };
  const std::size_t n = s.step.size(), stretch = std::max<std::size_t>(1, 2 * n / kPoints);
  for (std::size_t first = 0; first < n; first += stretch) {
    const auto begin = s.value.begin() + static_cast<std::ptrdiff_t>(first),
               end = s.value.begin() + static_cast<std::ptrdiff_t>(std::min(n, first + stretch));
    const auto [least, largest] = std::minmax_element(begin, end);
    const auto a = static_cast<std::size_t>(std::min(least, largest) - s.value.begin()),
               b = static_cast<std::size_t>(std::max(least, largest) - s.value.begin());
    put(a);
    if (b != a) put(b);
  }
  if (n == 1) out.mark = plot::Series::Mark::points;
  return out;
}

std::string said_of(const std::string& run, const EventSeries<double>& s) {
  std::string out = run.empty() ? std::string() : run + ": ";
  out += say(plural(static_cast<std::int64_t>(s.step.size()), "value"), ", last ", s.value.back(), " at step ",
             s.step.back());
  const auto bad = std::find_if(s.value.begin(), s.value.end(), [](double v) { return !std::isfinite(v); });
  if (bad != s.value.end())
    out += say("; ", std::count_if(bad, s.value.end(), [](double v) { return !std::isfinite(v); }),
               " not finite, first ", *bad, " at step ", s.step[static_cast<std::size_t>(bad - s.value.begin())]);
  const auto back = std::adjacent_find(s.step.begin(), s.step.end(), [](auto a, auto b) { return b < a; });
  if (back != s.step.end()) out += say("; steps go back from ", *back, " to ", *(back + 1));
  return out + ".\n";
}

// Counts of every step, drawn upwards from it.
plot::Chart ridgelines(const std::string& tag, const EventSeries<Tensor>& s) {
  plot::Chart chart{.title = tag, .x_label = "value", .y_label = "step"};
  const std::size_t n = s.step.size(), every = (n + kRidges - 1) / kRidges;
  const double between = n > every ? std::fabs(static_cast<double>(s.step[n - 1] - s.step[0])) /
                                         static_cast<double>(n) * static_cast<double>(every)
                                   : 1;
  for (std::size_t i = 0; i < n; i += every) {
    const std::vector<double> rows = s.value[i].to_vector<double>();
    double most = 0;
    for (std::size_t k = 0; k + 2 < rows.size(); k += 3) most = std::max(most, rows[k + 2]);
    if (!(most > 0)) continue;
    plot::Series ridge{plot::Series::Mark::line, {}, {}, {}};
    for (std::size_t k = 0; k + 2 < rows.size(); k += 3) {
      ridge.x.push_back((rows[k] + rows[k + 1]) / 2);
      ridge.y.push_back(static_cast<double>(s.step[i]) + 2 * std::max(between, 1e-300) * rows[k + 2] / most);
    }
    chart.series.push_back(std::move(ridge));
  }
  return chart;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? letters[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

template <class Value>
std::set<std::string> tags(const std::map<std::string, Events>& runs,
                           std::map<std::string, EventSeries<Value>> Events::*kind) {
  std::set<std::string> all;
  for (const auto& [run, events] : runs)
    for (const auto& [tag, series] : events.*kind) all.insert(tag);
  return all;
}

}  // namespace

std::string events_page(const std::map<std::string, Events>& runs, std::string_view title) {
  std::vector<plot::Section> sections;
  for (const std::string& tag : tags(runs, &Events::scalars)) {
    plot::Chart chart{.title = tag, .x_label = "step"};
    std::string words;
    for (const auto& [run, events] : runs)
      if (const auto at = events.scalars.find(tag); at != events.scalars.end()) {
        chart.series.push_back(curve(run, at->second));
        words += said_of(run, at->second);
      }
    sections.push_back({tag, words, plot::svg(chart)});
  }
  const auto heading = [](const std::string& run, const std::string& tag) {
    return run.empty() ? tag : say(run, ": ", tag);
  };
  for (const auto& [run, events] : runs) {
    for (const auto& [tag, series] : events.histograms)
      sections.push_back({heading(run, tag), {}, plot::svg(ridgelines(tag, series))});
    for (const auto& [tag, series] : events.images)
      for (std::size_t i = series.step.size() - std::min(series.step.size(), kPictures); i < series.step.size(); ++i)
        for (const std::string& file : series.value[i].files)
          sections.push_back(
              {say(heading(run, tag), ", step ", series.step[i]),
               {},
               say("<img alt=\"", plot::escaped(tag), "\" src=\"data:image/png;base64,", base64(file), "\">")});
    for (const auto& [tag, series] : events.texts) {
      std::string words;
      for (std::size_t i = series.step.size() - std::min(series.step.size(), kTexts); i < series.step.size(); ++i)
        words += say("step ", series.step[i], ": ", series.value[i], "\n");
      sections.push_back({heading(run, tag), words, {}});
    }
    std::string lost;
    for (const EventDamage& d : events.damage)
      lost += say(d.file, ": ", plural(static_cast<std::int64_t>(d.bytes), "byte"), " at ", d.offset, ": ", d.reason,
                  ".\n");
    if (!lost.empty()) sections.push_back({heading(run, "Lost"), lost, {}});
  }
  return plot::page(title, sections);
}

}  // namespace wp
