// The page of `wellposed plot`: findings, curves, ridgelines of histograms, texts and pictures of all runs.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "wellposed/events.hpp"
#include "wellposed/plot.hpp"

namespace wp {
namespace {

constexpr std::size_t kPoints = 1000, kRidges = 24, kSpectra = 100, kTexts = 20, kPictures = 4;

// Of a long curve the least and the largest value of every stretch, and a gap where one is not finite: no spike is
// lost.
plot::Series curve(std::string name, const EventSeries<double>& s) {
  plot::Series out{plot::Series::Mark::line, std::move(name), {}, {}};
  const std::size_t n = s.step.size(), stretch = std::max<std::size_t>(1, 2 * n / kPoints);
  for (std::size_t first = 0; first < n; first += stretch) {
    std::optional<std::size_t> least, largest, bad;
    for (std::size_t i = first; i < std::min(n, first + stretch); ++i) {
      if (!std::isfinite(s.value[i])) {
        bad = i;
        continue;
      }
      if (!least || s.value[i] < s.value[*least]) least = i;
      if (!largest || s.value[i] > s.value[*largest]) largest = i;
    }
    std::set<std::size_t> shown;
    for (const auto& i : {least, largest, bad})
      if (i) shown.insert(*i);
    for (const std::size_t i : shown) {
      out.x.push_back(static_cast<double>(s.step[i]));
      out.y.push_back(i == bad ? std::nan("") : s.value[i]);
    }
  }
  if (n == 1) out.mark = plot::Series::Mark::points;
  return out;
}

// What is wrong with a curve; empty: nothing.
std::string wrong_with(const EventSeries<double>& s) {
  std::string out;
  const auto bad = std::find_if(s.value.begin(), s.value.end(), [](double v) { return !std::isfinite(v); });
  if (bad != s.value.end())
    out +=
        say(std::count_if(bad, s.value.end(), [](double v) { return !std::isfinite(v); }), " of ", s.value.size(),
            " values not finite, first ", *bad, " at step ", s.step[static_cast<std::size_t>(bad - s.value.begin())]);
  const auto back = std::adjacent_find(s.step.begin(), s.step.end(), [](auto a, auto b) { return b < a; });
  if (back != s.step.end()) out += say(out.empty() ? "" : "; ", "steps go back from ", *back, " to ", *(back + 1));
  return out;
}
std::string said_of(const std::string& run, const EventSeries<double>& s) {
  const std::string wrong = wrong_with(s);
  return say(run.empty() ? "" : run + ": ", plural(static_cast<std::int64_t>(s.step.size()), "value"), ", last ",
             static_cast<float>(s.value.back()), " at step ", s.step.back(), wrong.empty() ? "" : "; ", wrong, ".\n");
}

// Texts that tell what went wrong: nn::Trainer writes them.
bool tells_findings(std::string_view tag) {
  return tag == "findings" || tag.starts_with("findings/");
}
// What a reader should know before the curves.
std::string findings_of(const Events& events) {
  std::string out;
  for (const auto& [tag, series] : events.texts)
    if (tells_findings(tag))
      for (std::size_t i = 0; i < series.step.size(); ++i)
        out += say(tag.size() > 9 ? tag.substr(9) + ", " : "", "step ", series.step[i], ": ", series.value[i], "\n");
  for (const auto& [tag, series] : events.scalars)
    if (const std::string wrong = wrong_with(series); !wrong.empty())
      out += say(tag, ": ", wrong, ".\n");
    else if (tag.ends_with("/nonfinite"))
      out += say(tag.substr(0, tag.size() - 10), ": Inf or NaN in ",
                 plural(static_cast<std::int64_t>(series.step.size()), "histogram"), ", first ",
                 static_cast<float>(series.value[0]), " of them at step ", series.step[0], ".\n");
  for (const EventDamage& d : events.damage)
    out += say(d.file, " at byte ", d.offset, ": ", plural(static_cast<std::int64_t>(d.bytes), "byte"),
               " lost: ", d.reason, ".\n");
  return out;
}

// Of a spectrum every bucket that is not empty, over steps.
plot::Chart spectrum(const std::string& tag, const EventSeries<Tensor>& s) {
  plot::Chart chart{.title = tag, .x_label = "step", .y_label = "log10 σ"};
  plot::Series points{plot::Series::Mark::points, {}, {}, {}};
  const std::size_t n = s.step.size(), every = (n + kSpectra - 1) / kSpectra;
  for (std::size_t i = 0; i < n; i += every) {
    const std::vector<double> rows = s.value[i].to_vector<double>();
    for (std::size_t k = 0; k + 2 < rows.size(); k += 3) {
      if (rows[k + 2] == 0) continue;
      points.x.push_back(static_cast<double>(s.step[i]));
      points.y.push_back((rows[k] + rows[k + 1]) / 2);
    }
  }
  chart.series.push_back(std::move(points));
  return chart;
}

// Counts of every step, drawn upwards from it; the first steps stand before the later ones.
plot::Chart ridgelines(const std::string& tag, const EventSeries<Tensor>& s) {
  plot::Chart chart{.title = tag, .x_label = "value", .y_label = "step"};
  const std::size_t n = s.step.size(), every = (n + kRidges - 1) / kRidges;
  const auto [least, largest] = std::minmax_element(s.step.begin(), s.step.end());  // steps may go back
  const double range = static_cast<double>(*largest) - static_cast<double>(*least);
  const double between = range > 0 ? range / static_cast<double>(n) * static_cast<double>(every) : 1;
  for (std::size_t j = 0; j < n; j += every) {
    const std::size_t i = (n - 1) / every * every - j;
    const std::vector<double> rows = s.value[i].to_vector<double>();
    double most = 0;
    for (std::size_t k = 0; k + 2 < rows.size(); k += 3) most = std::max(most, rows[k + 2]);
    if (!(most > 0)) continue;
    plot::Series ridge{plot::Series::Mark::ridge, {}, {}, {}};
    const auto put = [&](double x, double count) {
      ridge.x.push_back(x);
      ridge.y.push_back(static_cast<double>(s.step[i]) + 3 * between * count / most);
    };
    put(rows[0], 0);
    for (std::size_t k = 0; k + 2 < rows.size(); k += 3) put((rows[k] + rows[k + 1]) / 2, rows[k + 2]);
    put(rows[rows.size() - 2], 0);
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
  const auto heading = [](const std::string& run, const std::string& tag) {
    return run.empty() ? tag : say(run, ": ", tag);
  };
  for (const auto& [run, events] : runs)
    if (std::string words = findings_of(events); !words.empty())
      sections.push_back({heading(run, "findings"), std::move(words), {}});
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
  for (const auto& [run, events] : runs) {
    for (const auto& [tag, series] : events.histograms)
      sections.push_back(
          {heading(run, tag),
           {},
           plot::svg(tag.ends_with("log10_singular_values") ? spectrum(tag, series) : ridgelines(tag, series))});
    for (const auto& [tag, series] : events.images)
      for (std::size_t i = series.step.size() - std::min(series.step.size(), kPictures); i < series.step.size(); ++i)
        for (const std::string& file : series.value[i].files)
          sections.push_back(
              {say(heading(run, tag), ", step ", series.step[i]),
               {},
               say("<img alt=\"", plot::escaped(tag), "\" src=\"data:image/png;base64,", base64(file), "\">")});
    for (const auto& [tag, series] : events.texts) {
      if (tells_findings(tag)) continue;
      std::string words;
      for (std::size_t i = series.step.size() - std::min(series.step.size(), kTexts); i < series.step.size(); ++i)
        words += say("step ", series.step[i], ": ", series.value[i], "\n");
      sections.push_back({heading(run, tag), words, {}});
    }
  }
  return plot::page(title, sections);
}

}  // namespace wp
